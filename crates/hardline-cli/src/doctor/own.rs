//! Checks our program, our directories, and the files in them.

use std::env;
use std::fs::{self, File, Metadata};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use bytesize::ByteSize;
use hardline_client::config::{self, ConfigError, Dialect, Problem, ProcessVariables};
use hardline_proxy::audit;
use hardline_proxy::pins::{PinError, PinStore};
use hardline_transport::file;

use super::print::counted;
use super::report::{Report, Status};
use crate::client::config::own_file;
use crate::install::program::Program;
use crate::{directory, pin, policy};

/// Limit on counted directory entries, because the state directory may contain foreign files.
const MAX_ENTRIES: usize = 10_000;
/// Bytes of the test file that shows if the disk has room: more than a page of the audit database.
const PROBE_BYTES: usize = 64 << 10;

pub(super) fn check(report: &mut Report, program: &Program) {
    own_program(report, program);
    state(report);
    if let Some(state) = directory::state() {
        database(report, &state.join(audit::FILE_NAME));
        lock(report, &state);
    }
    own_policy(report);
    own_servers(report);
}

fn own_program(report: &mut Report, program: &Program) {
    let version = env!("CARGO_PKG_VERSION");
    let (status, detail) = match &program.warning {
        None => (Status::Pass, format!("{} ({version})", program.path)),
        Some(warning) => (Status::Warn, format!("{version}; {warning}")),
    };
    report.add("program", "program", status, detail);
    // Entries with a bare name use this one.
    let found = find_in_path("hardline");
    let (status, detail) = match &found {
        None => (Status::Warn, "there is no hardline in PATH".to_owned()),
        Some(path) if is_same_program(path, Path::new(&program.path)) => {
            (Status::Pass, path.display().to_string())
        }
        Some(path) => (Status::Warn, format!("{} is not this hardline program", path.display())),
    };
    report.add("path", "PATH", status, detail);
}

fn state(report: &mut Report) {
    let Some(folder) = directory::state() else {
        let detail = "its location is unknown; set HOME or XDG_STATE_HOME";
        report.add("state", "state directory", Status::Fail, detail);
        return;
    };
    let name = folder.display();
    let (status, detail) = match fs::metadata(&folder) {
        Err(_) => (Status::Skip, format!("{name} does not exist yet; it will be created")),
        Ok(it) if !it.is_dir() => {
            (Status::Fail, format!("{name} is not a directory; move it away"))
        }
        Ok(it) if it.permissions().readonly() => {
            (Status::Fail, format!("{name} is read-only; allow writing to it"))
        }
        Ok(it) => match (try_write(&folder), is_open(&it)) {
            (Err(error), _) => {
                let detail = format!("{name} is not writable, so nothing can be stored: {error}");
                (Status::Fail, detail)
            }
            (Ok(()), true) => {
                let detail = format!("other users can read {name}; restrict it with chmod 700");
                (Status::Warn, detail)
            }
            (Ok(()), false) => {
                let size = ByteSize::b(size(&folder, &mut 0));
                (Status::Pass, format!("{name} ({size})"))
            }
        },
    };
    report.add("state", "state directory", status, detail);
}

/// Writes a small file and removes it. Finds a full disk and a directory that is not writable.
fn try_write(folder: &Path) -> io::Result<()> {
    let path = folder.join(format!(".doctor-{}", std::process::id()));
    let mut file = file::create_new(&path)?;
    // Without the sync, a full disk may go unnoticed.
    let written = file.write_all(&[0; PROBE_BYTES]).and_then(|()| file.sync_all());
    // The probe file must not stay behind, even after a failed write.
    let removed = fs::remove_file(&path);
    written.and(removed)
}

fn database(report: &mut Report, path: &Path) {
    const BEGINNING: &[u8] = b"SQLite format 3\0";
    let name = path.display();
    let (status, detail) = match file::open(path) {
        Err(_) if !path.exists() => (Status::Skip, "nothing was stored yet".to_owned()),
        Err(error) => (Status::Fail, format!("cannot read {name}: {error}")),
        Ok(mut file) => {
            let mut begin = [0; 16];
            let length = file.metadata().map_or(0, |it| it.len());
            match file.read_exact(&mut begin) {
                // `wrap` creates the file before it writes the first page.
                Err(_) if length == 0 => (Status::Pass, format!("{name} is empty")),
                Ok(()) if begin == *BEGINNING => {
                    (Status::Pass, format!("{name} ({})", ByteSize::b(length)))
                }
                _ => (Status::Fail, format!("{name} is not an audit database; move it away")),
            }
        }
    };
    report.add("audit", "audit", status, detail);
}

fn lock(report: &mut Report, state: &Path) {
    let (status, detail) = match PinStore::in_state(state).read_all() {
        Err(PinError::Broken { path, error }) => {
            (Status::Fail, format!("{}: {error}", path.display()))
        }
        Err(error) => (Status::Fail, error.to_string()),
        Ok(lock) => match lock.servers().count() {
            0 => (Status::Skip, "no tools are pinned yet".to_owned()),
            servers => (Status::Pass, format!("{} (servers: {servers})", state.display())),
        },
    };
    let (status, detail) = match pin::waiting() {
        // Broken pins explain more than pending approvals.
        _ if status == Status::Fail => (status, detail),
        Err(error) => (Status::Fail, format!("{error:#}")),
        Ok(waiting) => match &*waiting {
            [] => (status, detail),
            [_] => (Status::Warn, "1 server waits for approval: hardline pin diff".to_owned()),
            all => (
                Status::Warn,
                format!("{} servers wait for approval: hardline pin diff", all.len()),
            ),
        },
    };
    report.add("lock", "pinned tools", status, detail);
}

fn own_policy(report: &mut Report) {
    let path = policy::default_file().filter(|path| path.exists());
    let (status, detail) = match path {
        None => (Status::Skip, "there is none; the profile balanced applies".to_owned()),
        Some(path) => match policy::read(&path, None) {
            Ok(policy) => (Status::Pass, format!("{} (profile {})", path.display(), policy.base())),
            Err(error) => (Status::Fail, format!("{error:#}")),
        },
    };
    report.add("policy", "policy", status, detail);
}

/// Checks our own server file, which `tools` and `call` read first.
fn own_servers(report: &mut Report) {
    const TITLE: &str = "own servers";
    let file = own_file().map(|path| config::read_as(&path, Dialect::Generic));
    let file = match file {
        None => return,
        Some(Err(error)) if *error.problem() == Problem::NoFile => {
            let detail = format!("{} does not exist; it is optional", error.file().display());
            return report.add("servers", TITLE, Status::Skip, detail);
        }
        Some(Err(error)) => return report.add("servers", TITLE, Status::Fail, error.to_string()),
        Some(Ok(file)) => file,
    };
    let disabled = file.servers.iter().filter(|it| it.is_disabled()).count();
    let disabled = if disabled == 0 { String::new() } else { format!(", {disabled} disabled") };
    let count = counted(file.servers.len(), "server");
    let detail = format!("{}: {count}{disabled}", file.path.display());
    if file.mistakes.iter().any(ConfigError::is_fatal) {
        report.add_sum("servers", TITLE, detail);
    } else {
        report.add("servers", TITLE, Status::Pass, detail);
    }
    for mistake in &file.mistakes {
        let status = if mistake.is_fatal() { Status::Fail } else { Status::Warn };
        report.add("entry", TITLE, status, mistake.to_string());
    }
    for server in file.servers.iter().filter(|it| !it.is_disabled()) {
        // Only a warning: the variable may be set in other shells.
        let (resolved, secrets) = server.resolve_with_secrets(&ProcessVariables::new());
        if let Err(mistake) = resolved {
            report.add("entry", TITLE, Status::Warn, secrets.hide(&mistake.to_string()));
        }
    }
}

/// Returns the program that a name stands for in `PATH`.
pub(super) fn find_in_path(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    let endings: &[&str] = if cfg!(windows) { &[".exe", ".cmd", ".bat", ""] } else { &[""] };
    let folders: Vec<_> = env::split_paths(&path).collect();
    let candidates = folders.iter().flat_map(|folder| {
        endings.iter().map(move |ending| folder.join(format!("{name}{ending}")))
    });
    candidates.into_iter().find(|path| is_executable(path))
}

/// Returns true if a file exists and is executable.
pub(super) fn is_executable(path: &Path) -> bool {
    let Ok(metadata) = fs::metadata(path) else { return false };
    #[cfg(unix)]
    let has_bit = std::os::unix::fs::PermissionsExt::mode(&metadata.permissions()) & 0o111 != 0;
    #[cfg(not(unix))]
    let has_bit = true;
    metadata.is_file() && has_bit
}

/// Returns true if two paths lead to the same file or to copies of it.
pub(super) fn is_same_program(one: &Path, other: &Path) -> bool {
    let whole = |path| fs::canonicalize(path).ok();
    // A link to this program is this program.
    if whole(one).is_some() && whole(one) == whole(other) {
        return true;
    }
    // Files of different lengths need not be read.
    let length = |path| fs::metadata(path).map(|it| it.len()).ok();
    if length(one).is_none() || length(one) != length(other) {
        return false;
    }
    let (Ok(mut one), Ok(mut other)) = (file::open(one), file::open(other)) else { return false };
    // Compared in chunks: a program can have many megabytes.
    let (mut own, mut others) = (vec![0; 1 << 16], vec![0; 1 << 16]);
    loop {
        let (Ok(read), Ok(other_read)) = (fill(&mut one, &mut own), fill(&mut other, &mut others))
        else {
            return false;
        };
        if own.get(..read) != others.get(..other_read) {
            return false;
        }
        if read == 0 {
            return true;
        }
    }
}

/// Reads until the buffer is full or the file ends.
fn fill(file: &mut File, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    // A read may return less than there is, and both files are compared at the same places.
    while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match file.read(rest)? {
            0 => break,
            read => filled += read,
        }
    }
    Ok(filled)
}

fn size(folder: &Path, seen: &mut usize) -> u64 {
    let mut bytes = 0;
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        *seen += 1;
        // The limit also ends the recursion.
        if *seen > MAX_ENTRIES {
            break;
        }
        // `metadata` of an entry does not follow links, so there are no cycles.
        let Ok(metadata) = entry.metadata() else { continue };
        bytes += if metadata.is_dir() { size(&entry.path(), seen) } else { metadata.len() };
    }
    bytes
}

#[cfg(unix)]
fn is_open(metadata: &Metadata) -> bool {
    std::os::unix::fs::PermissionsExt::mode(&metadata.permissions()) & 0o077 != 0
}

#[cfg(not(unix))]
fn is_open(_: &Metadata) -> bool {
    false
}
