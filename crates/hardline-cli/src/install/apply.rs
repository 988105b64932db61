//! One file, from reading to writing.
//!
//! Invariants:
//! - Nothing is written before the whole change is known to be right and a backup is on the disk.
//! - A file that somebody else writes meanwhile is read and changed anew, not overwritten.

use anyhow::{Context, Result, bail};

use super::backup::Backups;
use super::document::{Document, Format};
use super::edit::{self, Change};
use super::file::{Original, Replaced};
use super::select::{Selection, Target};
use super::server::{self, Kind, Server};

/// How often a file is read anew that others write at the same time.
const ATTEMPTS: usize = 5;

/// What to do with the servers that were chosen.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Action<'a> {
    Install {
        program: &'a str,
        options: &'a [String],
    },
    Uninstall,
    /// Have those that are wrapped started by this program.
    Repoint {
        program: &'a str,
    },
}

/// What became of a file.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// The text before and after, if there is a difference.
    pub(crate) change: Option<(Document, Document)>,
    /// Servers that were changed.
    pub(crate) changed: Vec<String>,
    /// Servers that are well as they are, and why.
    pub(crate) left: Vec<(String, &'static str)>,
    /// Servers that could not be understood.
    pub(crate) odd: Vec<String>,
    /// Names of all chosen servers.
    pub(crate) names: Vec<String>,
}

/// Does it. `None` if there is no such file.
///
/// # Errors
///
/// The file cannot be read, understood or written. It is as it was.
pub(crate) fn run(
    target: &Target,
    selection: &Selection,
    action: Action<'_>,
    backups: &Backups,
    is_dry: bool,
) -> Result<Option<Outcome>> {
    for _ in 0..ATTEMPTS {
        let Some(original) = Original::read(&target.path)? else { return Ok(None) };
        let plan = Plan::new(target, selection, action, backups, &original)?;
        let outcome = plan.outcome()?;
        if is_dry {
            return Ok(Some(outcome));
        }
        if outcome.change.is_none() {
            // It may belong to somebody who lets us read it and nothing else.
            let _ = original.clean();
            return Ok(Some(outcome));
        }
        original.check_writable()?;
        if !plan.is_clean {
            let added = plan.added_args.clone();
            backups.keep(&original.path, &plan.base, &plan.written, added)?;
        }
        if original.replace(&plan.written)? == Replaced::Changed {
            continue;
        }
        if plan.is_clean {
            backups.forget(&original.path)?;
        }
        return Ok(Some(outcome));
    }
    bail!("it is being written all the time; close the client and try again")
}

/// What is to become of a file.
struct Plan<'a> {
    document: Document,
    servers: Vec<Server>,
    /// Where the servers stand that were wrapped before we were asked to, and are so again.
    stay: Vec<Vec<String>>,
    selection: &'a Selection,
    action: Action<'a>,
    /// The file without us.
    base: Vec<u8>,
    /// The new file.
    written: Vec<u8>,
    /// Servers whose list of arguments is ours.
    added_args: Vec<Vec<String>>,
    /// Whether there will be nothing of us in it.
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
        let record = backups.record(&original.path);
        let is_first = record.is_none() && matches!(action, Action::Install { .. });
        let mut added = record.map(|it| it.added_args).unwrap_or_default();
        let backup = backups.original(&original.path, &original.bytes);

        let is_wrapped = |server: &&Server| matches!(server.kind, Kind::Wrapped { .. });
        let wrapped: Vec<_> = servers.iter().filter(is_wrapped).collect();
        let chosen: Vec<_> = servers.iter().filter(|server| selection.has(server)).collect();
        let base = match backup {
            Some(backup) => backup,
            // What is wrapped in it already, somebody has wrapped by hand.
            None if is_first => original.bytes.clone(),
            None => {
                let text = edit::apply(&document, &wrapped, &Change::Unwrap { added: &added })?;
                document.with_text(&text)
            }
        };
        let all_chosen = wrapped.iter().all(|server| selection.has(server));
        let is_clean = matches!(action, Action::Uninstall) && all_chosen;
        let written = match action {
            Action::Install { program, options } => {
                let text = edit::apply(&document, &chosen, &Change::Wrap { program, options })?;
                document.with_text(&text)
            }
            Action::Uninstall if all_chosen => base.clone(),
            Action::Uninstall => {
                let text = edit::apply(&document, &chosen, &Change::Unwrap { added: &added })?;
                document.with_text(&text)
            }
            Action::Repoint { program } => {
                let text = edit::apply(&document, &chosen, &Change::Repoint { program })?;
                document.with_text(&text)
            }
        };
        added.retain(|path| wrapped.iter().any(|server| server.path == *path));
        if let Action::Install { .. } = action {
            let new = chosen.iter().filter(|server| match &server.kind {
                Kind::Plain(launch) => launch.args.is_none(),
                _ => false,
            });
            added.extend(new.map(|server| server.path.clone()));
        }
        let stay = if is_clean { still_wrapped(target, &document, &written)? } else { Vec::new() };
        Ok(Self {
            document,
            servers,
            stay,
            selection,
            action,
            base,
            written,
            added_args: added,
            is_clean,
        })
    }

    fn outcome(&self) -> Result<Outcome> {
        let mut outcome = Outcome::default();
        for server in self.servers.iter().filter(|server| self.selection.has(server)) {
            outcome.names.push(server.name.clone());
            let title = server.title();
            let is_install = matches!(self.action, Action::Install { .. });
            match &server.kind {
                Kind::Plain(_) if is_install => outcome.changed.push(title),
                Kind::Plain(_) => outcome.left.push((title, "not wrapped")),
                Kind::Wrapped { .. } if is_install => outcome.left.push((title, "wrapped already")),
                Kind::Wrapped { .. } if self.stay.contains(&server.path) => {
                    outcome.left.push((title, "it was wrapped by hand before `install`"));
                }
                Kind::Wrapped { .. } => outcome.changed.push(title),
                Kind::Remote => outcome.left.push((title, "remote: nothing is started here")),
                Kind::Builtin => outcome.left.push((title, "no command")),
                Kind::Odd(why) => {
                    outcome.odd.push(format!("line {}: server {title}: {why}", server.line));
                }
            }
        }
        if self.written != self.document.with_text(&self.document.text) {
            let after = Document::parse(&self.written, self.document.format);
            let after = after.context("the change would break it")?;
            outcome.change = Some((self.document.clone(), after));
        }
        Ok(outcome)
    }
}

/// Where servers stand that are wrapped in a new text.
fn still_wrapped(target: &Target, document: &Document, text: &[u8]) -> Result<Vec<Vec<String>>> {
    let after = Document::parse(text, document.format).context("the change would break it")?;
    let servers = server::find(&after, target.places)?.into_iter();
    let wrapped = servers.filter(|server| matches!(server.kind, Kind::Wrapped { .. }));
    Ok(wrapped.map(|server| server.path).collect())
}
