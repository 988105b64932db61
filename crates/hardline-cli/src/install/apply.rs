//! Processes one file, from reading to writing.
//!
//! Invariants:
//! - Nothing is written before the whole change is verified and a backup is on disk.
//! - A file that another program writes meanwhile is read again and changed anew, not overwritten.

use anyhow::{Context, Result, bail};

use super::backup::Backups;
use super::document::{Document, Format};
use super::edit::{self, EntryChange};
use super::file::{Original, Replaced};
use super::select::{Selection, Target};
use super::server::{self, EntryKind, ServerEntry};

/// Limit on attempts for a file that another program keeps writing.
const ATTEMPTS: usize = 5;

/// Change to make to the chosen servers.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Action<'a> {
    Install {
        program: &'a str,
        options: &'a [String],
    },
    Uninstall,
    /// Let wrapped servers be started by this program.
    Repoint {
        program: &'a str,
    },
}

/// Outcome for a file.
#[derive(Debug, Default)]
pub(crate) struct FileOutcome {
    /// Contents before and after, if they differ.
    pub(crate) change: Option<(Document, Document)>,
    /// Servers that changed.
    pub(crate) changed: Vec<String>,
    /// Servers that need no change, with the reason.
    pub(crate) left: Vec<(String, &'static str)>,
    /// Servers whose entries were not understood.
    pub(crate) odd: Vec<String>,
    /// Names of all chosen servers.
    pub(crate) names: Vec<String>,
}

/// Processes the file. Returns `None` if it does not exist.
///
/// # Errors
///
/// The file cannot be read, understood or written. It stays unchanged.
pub(crate) fn run(
    target: &Target,
    selection: &Selection,
    action: Action<'_>,
    backups: &Backups,
    is_dry: bool,
) -> Result<Option<FileOutcome>> {
    for _ in 0..ATTEMPTS {
        // Read anew in every attempt, because the file may have changed.
        let Some(original) = Original::read(&target.path)? else { return Ok(None) };
        let plan = Plan::new(target, selection, action, backups, &original)?;
        let outcome = plan.outcome()?;
        if is_dry {
            return Ok(Some(outcome));
        }
        if outcome.change.is_none() {
            // The user may be allowed to read the file but not to write beside it.
            let _ = original.clean();
            return Ok(Some(outcome));
        }
        original.check_writable()?;
        // The backup is written first: a crash after it leaves a backup of an unchanged file.
        if !plan.is_clean {
            let (added, by_hand) = (plan.added_args.clone(), plan.by_hand.clone());
            backups.keep(&original.path, &plan.base, &plan.written, added, by_hand)?;
        }
        if original.replace(&plan.written)? == Replaced::Changed {
            continue;
        }
        // Nothing of Hardline is left in the file, so its backup is obsolete.
        if plan.is_clean {
            backups.forget(&original.path)?;
        }
        return Ok(Some(outcome));
    }
    bail!("another program keeps writing the file; close the client and try again")
}

/// Planned contents of a file.
struct Plan<'a> {
    document: Document,
    servers: Vec<ServerEntry>,
    selection: &'a Selection,
    action: Action<'a>,
    /// File contents without `hardline wrap`.
    base: Vec<u8>,
    /// New file contents.
    written: Vec<u8>,
    /// Servers whose list of arguments was added by Hardline.
    added_args: Vec<Vec<String>>,
    /// Servers that the user wrapped by hand before `install`; they stay wrapped.
    by_hand: Vec<Vec<String>>,
    /// True if no entry of Hardline will be left.
    is_clean: bool,
}

impl<'a> Plan<'a> {
    fn new(
        target: &Target,
        selection: &'a Selection,
        action: Action<'a>,
        backups: &Backups,
        original: &Original,
    ) -> Result<Self> {
        let document = Document::parse(&original.bytes, Format::of(&target.path, &original.bytes))?;
        let servers = server::find(&document, target.places)?;
        let is_wrapped = |server: &&ServerEntry| matches!(server.kind, EntryKind::Wrapped { .. });
        let wrapped: Vec<_> = servers.iter().filter(is_wrapped).collect();
        let chosen: Vec<_> = servers.iter().filter(|server| selection.has(server)).collect();
        let (added, mut by_hand) = recorded(backups, original, action, &wrapped);
        // Uninstalling a server by name undoes it even if the user wrapped it.
        let undone: Vec<_> = match action {
            Action::Uninstall if !selection.servers.is_empty() => {
                let is_undone = |path: &Vec<String>| chosen.iter().any(|it| it.path == *path);
                by_hand.extract_if(.., |path| is_undone(path)).collect()
            }
            _ => Vec::new(),
        };
        let is_ours = |server: &&&ServerEntry| !by_hand.contains(&server.path);
        let ours: Vec<_> = wrapped.iter().filter(is_ours).copied().collect();
        let unwrap = EntryChange::Unwrap { added: &added };
        // The backup is byte-exact; without one, the entries are unwrapped in the current text.
        let base = match backups.original(&original.path, &original.bytes) {
            Some(backup) => without(target, &document, backup, &undone, &unwrap)?,
            None => document.with_text(&edit::apply(&document, &ours, &unwrap)?),
        };
        let is_clean =
            matches!(action, Action::Uninstall) && ours.iter().all(|server| selection.has(server));
        let written = match action {
            Action::Install { program, options } => {
                let text =
                    edit::apply(&document, &chosen, &EntryChange::Wrap { program, options })?;
                document.with_text(&text)
            }
            // With a backup, the file is restored byte for byte.
            Action::Uninstall if is_clean => base.clone(),
            Action::Uninstall => {
                let leaving: Vec<_> = ours.iter().filter(|it| selection.has(it)).copied().collect();
                document.with_text(&edit::apply(&document, &leaving, &unwrap)?)
            }
            Action::Repoint { program } => {
                let text = edit::apply(&document, &chosen, &EntryChange::Repoint { program })?;
                document.with_text(&text)
            }
        };
        let added = still_added(added, action, &wrapped, &chosen);
        Ok(Self {
            document,
            servers,
            selection,
            action,
            base,
            written,
            added_args: added,
            by_hand,
            is_clean,
        })
    }

    /// Returns true if a server stays wrapped on uninstall.
    fn is_kept(&self, server: &ServerEntry) -> bool {
        matches!(self.action, Action::Uninstall) && self.by_hand.contains(&server.path)
    }

    fn outcome(&self) -> Result<FileOutcome> {
        let mut outcome = FileOutcome::default();
        for server in self.servers.iter().filter(|server| self.selection.has(server)) {
            outcome.names.push(server.name.clone());
            let title = server.title();
            let is_install = matches!(self.action, Action::Install { .. });
            match &server.kind {
                EntryKind::Plain(_) if is_install => outcome.changed.push(title),
                EntryKind::Plain(_) => outcome.left.push((title, "not wrapped")),
                EntryKind::Wrapped { .. } if is_install => {
                    outcome.left.push((title, "already wrapped"));
                }
                EntryKind::Wrapped { .. } if self.is_kept(server) => {
                    outcome.left.push((title, "wrapped by hand before `install`"));
                }
                EntryKind::Wrapped { .. } => outcome.changed.push(title),
                EntryKind::Remote => {
                    outcome.left.push((title, "remote, so nothing is started here"));
                }
                EntryKind::Builtin => outcome.left.push((title, "no command")),
                EntryKind::Odd(why) => {
                    outcome.odd.push(format!("line {}: server {title}: {why}", server.line));
                }
            }
        }
        // Compared with the encoded text, because a byte order mark is kept.
        if self.written != self.document.with_text(&self.document.text) {
            let after = Document::parse(&self.written, self.document.format);
            let after = after.context("the change would break the file")?;
            outcome.change = Some((self.document.clone(), after));
        }
        Ok(outcome)
    }
}

/// Returns the servers whose list of arguments Hardline added earlier, and those that the user wrapped
/// by hand.
fn recorded(
    backups: &Backups,
    original: &Original,
    action: Action<'_>,
    wrapped: &[&ServerEntry],
) -> (Vec<Vec<String>>, Vec<Vec<String>>) {
    let paths = || wrapped.iter().map(|server| server.path.clone()).collect();
    let (added, mut by_hand) = match backups.record(&original.path) {
        Some(record) => (record.added_args, record.by_hand),
        // The first install: servers that are wrapped already were wrapped by hand.
        None if matches!(action, Action::Install { .. }) => (Vec::new(), paths()),
        None => (Vec::new(), Vec::new()),
    };
    by_hand.retain(|path| wrapped.iter().any(|server| server.path == *path));
    (added, by_hand)
}

/// Returns the servers whose list of arguments is Hardline's after the change.
fn still_added(
    mut added: Vec<Vec<String>>,
    action: Action<'_>,
    wrapped: &[&ServerEntry],
    chosen: &[&ServerEntry],
) -> Vec<Vec<String>> {
    // Entries that were removed from the file lose their record.
    added.retain(|path| wrapped.iter().any(|server| server.path == *path));
    if let Action::Install { .. } = action {
        let has_no_args = |server: &&&ServerEntry| match &server.kind {
            EntryKind::Plain(launch) => launch.args.is_none(),
            _ => false,
        };
        added.extend(chosen.iter().filter(has_no_args).map(|server| server.path.clone()));
    }
    added
}

/// Unwraps these servers in a text, such as a backup, that has the format of `document`.
fn without(
    target: &Target,
    document: &Document,
    text: Vec<u8>,
    undone: &[Vec<String>],
    unwrap: &EntryChange<'_>,
) -> Result<Vec<u8>> {
    if undone.is_empty() {
        return Ok(text);
    }
    let document = Document::parse(&text, document.format).context("its backup is damaged")?;
    let servers = server::find(&document, target.places)?;
    let undone: Vec<_> = servers.iter().filter(|it| undone.contains(&it.path)).collect();
    Ok(document.with_text(&edit::apply(&document, &undone, unwrap)?))
}
