//! Tool lists on disk, so that a new run can show them before its servers answer.
//!
//! The file name is the fingerprint of the server's configuration, so a different server under the same name
//! has a different file. Cached tools are only displayed; every call goes to the server.
//!
//! Invariants:
//! - A file that is unreadable, or that this module did not write, counts as missing.
//! - A reader sees the old file or the new file, never a partial one. Only the owner can read it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hardline_transport::file;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::catalog::ListedTool;

/// Limit on the size of a file, for reading and writing.
const MAX_BYTES: u64 = 16 << 20;
/// Version of the file format.
const FORMAT: u32 = 1;

#[derive(Clone, Debug)]
pub(super) struct Cache {
    file: PathBuf,
}

#[derive(Deserialize)]
struct StoredList {
    format: u32,
    tools: Vec<Box<RawValue>>,
}

#[derive(Serialize)]
struct StoredListRef<'a> {
    format: u32,
    tools: Vec<&'a RawValue>,
}

impl Cache {
    pub(super) fn new(directory: &Path, fingerprint: &str) -> Option<Self> {
        // The fingerprint becomes a file name, so it must not contain separators or dots.
        let is_name =
            !fingerprint.is_empty() && fingerprint.chars().all(|it| it.is_ascii_alphanumeric());
        is_name.then(|| Self { file: directory.join(format!("{fingerprint}.json")) })
    }

    pub(super) fn load(&self) -> Option<Vec<Arc<ListedTool>>> {
        let stored: StoredList = serde_json::from_slice(&self.read().ok()?).ok()?;
        let tools = stored.tools.into_iter().filter_map(ListedTool::new).map(Arc::new);
        // A list of another format is read as if it were missing.
        (stored.format == FORMAT).then(|| tools.collect())
    }

    fn read(&self) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        #[expect(clippy::disallowed_methods, reason = "bounded by take()")]
        file::open(&self.file)?.take(MAX_BYTES).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    pub(super) fn save(&self, tools: &[Arc<ListedTool>]) -> io::Result<()> {
        let tools = tools.iter().map(|tool| tool.raw()).collect();
        let text = serde_json::to_vec(&StoredListRef { format: FORMAT, tools })?;
        // A list that could not be loaded again need not be stored.
        if text.len() as u64 > MAX_BYTES {
            return Ok(());
        }
        // Most lists never change; skipping the write saves one per connection.
        if self.read().is_ok_and(|old| old == text) {
            return Ok(());
        }
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let directory = self.file.parent().unwrap_or(Path::new("."));
        create_directory(directory)?;
        // A rename within the directory is atomic; the process id and number keep writers apart.
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let draft = directory.join(format!(".{}-{number}", std::process::id()));
        let written = create(&draft).and_then(|mut file| file.write_all(&text));
        let moved = written.and_then(|()| fs::rename(&draft, &self.file));
        if moved.is_err() {
            // A draft that stays would never be found again.
            let _ = fs::remove_file(&draft);
        }
        moved
    }
}

#[cfg(unix)]
fn create_directory(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;

    fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}

#[cfg(not(unix))]
fn create_directory(path: &Path) -> io::Result<()> {
    fs::create_dir_all(path)
}

fn create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    file::open_with(&mut options, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tools(names: &[&str]) -> Vec<Arc<ListedTool>> {
        let tool = |name: &&str| {
            let json = format!(r#"{{"name":"{name}","big":1e400,"inputSchema":{{}}}}"#);
            Arc::new(ListedTool::new(serde_json::from_str(&json).unwrap()).unwrap())
        };
        names.iter().map(tool).collect()
    }

    #[test]
    fn loads_the_saved_list_and_ignores_foreign_files() {
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path().join("deep/tools");
        let cache = Cache::new(&place, "abc123").unwrap();
        assert!(cache.load().is_none());
        cache.save(&tools(&["a", "b"])).unwrap();
        let loaded = cache.load().unwrap();
        let loaded: Vec<&str> = loaded.iter().map(|it| it.json()).collect();
        assert_eq!(loaded[1], r#"{"name":"b","big":1e400,"inputSchema":{}}"#);
        assert!(Cache::new(&place, "abc124").unwrap().load().is_none());
        for junk in ["", "{", "[]", r#"{"format":2,"tools":[]}"#, "\u{0}"] {
            fs::write(place.join("abc123.json"), junk).unwrap();
            assert!(cache.load().is_none(), "{junk}");
        }
        cache.save(&tools(&[])).unwrap();
        assert_eq!(cache.load().unwrap().len(), 0);
        assert_eq!(fs::read_dir(&place).unwrap().count(), 1);
    }

    #[test]
    fn a_fingerprint_cannot_name_a_file_outside_the_directory() {
        for name in ["", "..", "../x", "a/b", "a.b", "C:"] {
            assert!(Cache::new(Path::new("/nowhere"), name).is_none(), "{name}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn only_its_owner_can_read_it() {
        use std::os::unix::fs::PermissionsExt;

        let directory = tempfile::tempdir().unwrap();
        let cache = Cache::new(&directory.path().join("tools"), "a").unwrap();
        cache.save(&tools(&["a"])).unwrap();
        let mode = fs::metadata(&cache.file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}
