//! A copy of the workspace that mutants are applied to.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::Edit;
use crate::process::{capture, command, root};

/// A copy of the tracked files, as they are in the working tree.
#[derive(Debug)]
pub(super) struct Tree {
    root: PathBuf,
}

impl Tree {
    /// Copies the tracked files to `to`. Files that are the same keep their times, so that cargo does
    /// not build them again.
    pub(super) fn copy(to: &Path) -> Result<Self, String> {
        let (is_fine, listed) = capture(&mut command("git", &["ls-files", "-z"]));
        if !is_fine {
            return Err(format!("git ls-files: {listed}"));
        }
        for name in listed.split_terminator('\0') {
            let (source, copy) = (root().join(name), to.join(name));
            // A file that was deleted and not yet committed.
            let Ok(content) = fs::read(&source) else { continue };
            if fs::read(&copy).is_ok_and(|it| it == content) {
                continue;
            }
            if let Some(folder) = copy.parent() {
                fs::create_dir_all(folder).map_err(|error| with_path(folder, &error))?;
            }
            fs::write(&copy, content).map_err(|error| with_path(&copy, &error))?;
        }
        Ok(Self { root: to.to_path_buf() })
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// Runs `work` while the edits are in the tree, then restores the files.
    pub(super) fn with<T>(
        &self,
        edits: &[Edit],
        work: impl FnOnce() -> Result<T, String>,
    ) -> Result<T, String> {
        let mut originals = BTreeMap::new();
        let mut edited: BTreeMap<PathBuf, String> = BTreeMap::new();
        for Edit { file, find, replace } in edits {
            let path = self.root.join(file);
            let text = fs::read_to_string(&path).map_err(|error| with_path(&path, &error))?;
            let text = edited.remove(&path).unwrap_or_else(|| {
                originals.insert(path.clone(), text.clone());
                text
            });
            if text.matches(find).count() != 1 {
                return Err(format!("{file} does not have this text once: {find}"));
            }
            edited.insert(path, text.replacen(find, replace, 1));
        }
        let outcome = write_all(&edited).and_then(|()| work());
        write_all(&originals)?;
        outcome
    }
}

fn write_all(files: &BTreeMap<PathBuf, String>) -> Result<(), String> {
    files
        .iter()
        .try_for_each(|(path, text)| fs::write(path, text).map_err(|error| with_path(path, &error)))
}

fn with_path(path: &Path, error: &std::io::Error) -> String {
    format!("{}: {error}", path.display())
}
