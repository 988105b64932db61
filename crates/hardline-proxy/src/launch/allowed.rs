//! Checks a program against the policy's list, by its file and not by the name it is called by.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use hardline_guard::launch::{
    Entry, Links, Local, Look, can_import_directory, can_import_file, local_sources,
};
use hardline_guard::policy::LaunchPolicy;
use hardline_wire::excerpt::Excerpt;

use super::Start;
use super::link::find;

/// Returns the search path for programs without a directory, if the policy defines one.
pub fn search_path(launch: &LaunchPolicy) -> Option<OsString> {
    let directories = launch.path()?;
    std::env::join_paths(directories).ok()
}

/// Returns the system's own directories that exist, as a search path.
pub fn standard_path() -> Option<OsString> {
    let there = LaunchPolicy::STANDARD_PATH.iter().filter(|it| Path::new(it).is_dir());
    std::env::join_paths(there).ok()
}

/// Limit on the entries of a working directory that are searched for modules. A directory with more
/// counts as one with modules.
const MAX_ENTRIES: usize = 100_000;

/// The policy's list of programs, and the context for comparing a start with it.
#[derive(Clone, Copy)]
pub(super) struct List<'a> {
    pub(super) entries: &'a [Entry],
    pub(super) launch: &'a LaunchPolicy,
    pub(super) links: Links<'a>,
    /// Home directory of the user. Files in it are the user's own.
    pub(super) home: Option<&'a Path>,
}

impl List<'_> {
    /// Returns the reason why a start is not covered: its program, or one that it starts.
    pub(super) fn objection(
        &self,
        start: &Start,
        look: &Look,
        path: Option<&str>,
    ) -> Option<String> {
        if let Some(objection) = self.one(&start.program, &start.command, start) {
            return Some(objection);
        }
        for at in &look.nested {
            // A wrapper such as `env` or `sudo` starts another program, which must be listed as
            // well.
            let command = start.command.get(*at..).unwrap_or_default();
            let word = command.first().map_or("", String::as_str);
            let before = start.command.get(..*at).unwrap_or_default();
            if before.iter().any(|it| it.starts_with("PATH=")) {
                let why = "`PATH=` on the command line changes which program runs; remove it";
                return Some(why.to_owned());
            }
            let file = if !word.contains('/') {
                find(word, path.unwrap_or_default()).unwrap_or_else(|| PathBuf::from(word))
            } else if word.starts_with('/') {
                PathBuf::from(word)
            } else {
                // A relative path depends on a directory that the wrapper may change.
                let why = "a program that another program starts must have an absolute path";
                return Some(why.to_owned());
            };
            if let Some(objection) = self.one(&file, command, start) {
                return Some(objection);
            }
        }
        None
    }

    fn one(&self, file: &Path, command: &[String], start: &Start) -> Option<String> {
        let entries = self.entries;
        let mut meant = entries.iter().filter(|it| is_meant(it, file, self.launch)).peekable();
        if meant.peek().is_none() {
            let shown = Excerpt::new(file.to_string_lossy().as_bytes(), 200).to_string();
            let hint = if entries.iter().any(|entry| Some(entry.name()) == name(file)) {
                "; a name on the list stands for a file in `launch.path` or the system's own directories"
            } else {
                ""
            };
            return Some(format!("{shown} is not on the list of programs{hint}"));
        }
        // One matching entry is enough; of several mismatches the last reason is reported.
        let mut last = None;
        for entry in meant {
            // An entry without arguments allows the program to run any package.
            let local = || self.local(command, start).filter(|_| entry.has_arguments());
            last = Some(entry.objection(command, self.links).or_else(local)?);
        }
        last
    }

    /// Returns the reason why the working directory can change the code that runs, if it can.
    fn local(&self, command: &[String], start: &Start) -> Option<String> {
        let directory = start.directory.as_deref().filter(|_| self.launch.directory().is_none())?;
        let is_strange = |folder: &&Path| Some(*folder) != self.home;
        for local in local_sources(command, self.links) {
            let depth = if local.is_above { usize::MAX } else { 1 };
            let mut folders = directory.ancestors().take(depth).take_while(is_strange);
            if let Some(found) = folders.find_map(|folder| find_local(folder, &local)) {
                let shown = Excerpt::new(found.to_string_lossy().as_bytes(), 200).to_string();
                let program = command.first().map_or("", String::as_str);
                return Some(format!(
                    "{shown} can change what `{program}` runs in this directory; start the client in \
                     another directory, or set `launch.directory` to one: to this one if that is \
                     intended"
                ));
            }
        }
        None
    }
}

/// Returns the file in a directory that chooses code, if there is one, or the directory that has too
/// many entries to be searched.
fn find_local(folder: &Path, local: &Local) -> Option<PathBuf> {
    if local.path == Local::TREE {
        return find_module(folder, MAX_ENTRIES);
    }
    let Some(ending) = local.path.strip_prefix('*') else {
        return Some(folder.join(&local.path)).filter(|path| path.exists());
    };
    for (count, entry) in std::fs::read_dir(folder).ok()?.flatten().enumerate() {
        if count == MAX_ENTRIES {
            return Some(folder.to_owned());
        }
        let found = match ending.strip_prefix('/') {
            Some(inner) => Some(entry.path().join(inner)).filter(|path| path.exists()),
            None => entry.file_name().to_string_lossy().ends_with(ending).then(|| entry.path()),
        };
        if found.is_some() {
            return found;
        }
    }
    None
}

/// Returns a module below a directory that Python can import, or the directory in which the search
/// reached `max_entries`.
fn find_module(folder: &Path, max_entries: usize) -> Option<PathBuf> {
    // Only the owner of the system creates directories in the root directory.
    folder.parent()?;
    let mut left = max_entries;
    // Breadth first, because a module is most likely close to the top. Links may form a loop, which
    // the limit on entries ends.
    let mut folders = VecDeque::from([folder.to_owned()]);
    while let Some(folder) = folders.pop_front() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            if left == 0 {
                return Some(folder);
            }
            left -= 1;
            let (name, path) = (entry.file_name(), entry.path());
            let name = name.to_string_lossy();
            if can_import_file(&name) {
                return Some(path);
            }
            if can_import_directory(&name) && path.is_dir() {
                folders.push_back(path);
            }
        }
    }
    None
}

/// Returns true if an entry stands for a file.
fn is_meant(entry: &Entry, file: &Path, launch: &LaunchPolicy) -> bool {
    if Some(name_of(entry)) != name(file).map(str::to_owned) {
        // A multi-call program such as `busybox` behaves according to the name it is called by.
        return false;
    }
    if entry.is_path() {
        let wanted = Path::new(entry.name());
        return wanted == file || is_same(wanted, file);
    }
    let Some(parent) = file.parent().and_then(|it| it.canonicalize().ok()) else { return false };
    let is_parent = |directory: &Path| directory.canonicalize().is_ok_and(|it| it == parent);
    match launch.path() {
        Some(directories) => directories.iter().any(|it| is_parent(Path::new(it))),
        None => LaunchPolicy::STANDARD_PATH.iter().any(|it| is_parent(Path::new(it))),
    }
}

fn is_same(one: &Path, other: &Path) -> bool {
    matches!((one.canonicalize(), other.canonicalize()), (Ok(one), Ok(other)) if one == other)
}

fn name(file: &Path) -> Option<&str> {
    file.file_name()?.to_str()
}

fn name_of(entry: &Entry) -> String {
    let name = Path::new(entry.name()).file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests;
