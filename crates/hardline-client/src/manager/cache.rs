//! Lists of tools that outlive a run.
//!
//! A list is kept under the fingerprint of its server's configuration, so that another server under the
//! same name has another. What is kept is only shown: a call goes to the server, whatever was kept.
//!
//! Invariants:
//! - A file that cannot be read, or was not written by us, is as good as none.
//! - A reader sees the old file or the new one, never half of one. Only its owner can read it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hardline_transport::file;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::catalog::ListedTool;

/// The longest file that is written or read.
const MAX_BYTES: u64 = 16 << 20;
/// How it is laid out.
const FORMAT: u32 = 1;

#[derive(Clone, Debug)]
pub(super) struct Cache {
    file: PathBuf,
}

#[derive(Deserialize)]
struct Kept {
    format: u32,
    tools: Vec<Box<RawValue>>,
}

#[derive(Serialize)]
struct Keep<'a> {
    format: u32,
    tools: Vec<&'a RawValue>,
}

impl Cache {
    pub(super) fn new(directory: &Path, fingerprint: &str) -> Option<Self> {
        let is_name =
            !fingerprint.is_empty() && fingerprint.chars().all(|it| it.is_ascii_alphanumeric());
        is_name.then(|| Self { file: directory.join(format!("{fingerprint}.json")) })
    }

    pub(super) fn load(&self) -> Option<Vec<Arc<ListedTool>>> {
        let kept: Kept = serde_json::from_slice(&self.read().ok()?).ok()?;
        let tools = kept.tools.into_iter().filter_map(ListedTool::new).map(Arc::new);
        (kept.format == FORMAT).then(|| tools.collect())
    }

    fn read(&self) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        #[expect(clippy::disallowed_methods, reason = "bounded by take()")]
        file::open(&self.file)?.take(MAX_BYTES).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    pub(super) fn save(&self, tools: &[Arc<ListedTool>]) -> io::Result<()> {
        let tools = tools.iter().map(|tool| tool.raw()).collect();
        let text = serde_json::to_vec(&Keep { format: FORMAT, tools })?;
        if MAX_BYTES < text.len() as u64 {
            return Ok(());
        }
        if self.read().is_ok_and(|old| old == text) {
            return Ok(());
        }
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let directory = self.file.parent().unwrap_or(Path::new("."));
        create_directory(directory)?;
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let draft = directory.join(format!(".{}-{number}", std::process::id()));
        let written = create(&draft).and_then(|mut file| file.write_all(&text));
        let moved = written.and_then(|()| fs::rename(&draft, &self.file));
        if moved.is_err() {
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
    fn keeps_what_was_said_and_nothing_that_is_not_ours() {
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
    fn its_name_leads_nowhere_else() {
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
