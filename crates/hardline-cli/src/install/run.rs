//! Processes all files; an error in one does not stop the others.

use std::io::{self, Write};
use std::process::ExitCode;

use anstream::AutoStream;
use anyhow::Result;
use hardline_wire::excerpt::Excerpt;

use super::apply::{self, Action, FileOutcome};
use super::backup::Backups;
use super::select::{Selection, Target};
use super::show;
use crate::terminal::{Color, complain};

/// Wording of the output.
#[derive(Debug)]
pub(crate) struct Words {
    /// Verb between hardline and a server, such as "put in front of".
    pub(crate) done: &'static str,
    /// Next step for the user, after one changed server and after several.
    pub(crate) end: [&'static str; 2],
    /// Message for no change.
    pub(crate) nothing: &'static str,
}

/// Counts over all files.
#[derive(Debug, Default)]
struct Tally {
    found: usize,
    changed: usize,
    odd: usize,
    failed: usize,
    names: Vec<String>,
}

pub(crate) fn all(
    selection: &Selection,
    action: Action<'_>,
    is_dry: bool,
    color: Color,
    words: &Words,
) -> Result<ExitCode> {
    let targets = selection.targets()?;
    // A dry run must not create the directory or take the lock.
    let backups = if is_dry { Backups::look()? } else { Backups::open()? };
    let mut out = AutoStream::new(io::stdout().lock(), color.choice());
    let mut tally = Tally::default();
    let done = if is_dry { format!("would be {}", words.done) } else { words.done.to_owned() };
    for target in &targets {
        match apply::run(target, selection, action, &backups, is_dry) {
            Ok(Some(outcome)) => {
                tally.found += 1;
                print(&mut out, target, &outcome, &done)?;
                tally.add(outcome);
            }
            Ok(None) if target.is_named => fail(&mut tally, target, "the file does not exist"),
            Ok(None) => {}
            Err(error) => fail(&mut tally, target, &format!("{error:#}; nothing was written")),
        }
    }
    for client in selection.missing(&targets) {
        tally.failed += 1;
        complain(&format!("{client}: no configuration file was found; name one with --config"));
    }
    // A misspelled name would otherwise look like success.
    for name in selection.servers.iter().filter(|name| !tally.names.contains(name)) {
        tally.failed += 1;
        let name = Excerpt::new(name.as_bytes(), 80);
        complain(&format!("these files have no server named {name}"));
    }
    let changed = tally.changed;
    let [one, several] = words.end;
    let (servers, end) = if changed == 1 { ("server", one) } else { ("servers", several) };
    match (tally.found, changed) {
        (0, _) if tally.failed == 0 => writeln!(out, "no client configuration was found")?,
        (_, 0) if tally.failed + tally.odd > 0 => writeln!(out, "nothing was changed")?,
        (_, 0) => writeln!(out, "{}", words.nothing)?,
        _ if is_dry => writeln!(out, "{changed} {servers} would change; nothing was written")?,
        _ => writeln!(out, "hardline was {done} {changed} {servers}; {end}")?,
    }
    out.flush()?;
    // Errors outrank entries that were not understood.
    Ok(ExitCode::from(match (tally.failed, tally.odd) {
        (0, 0) => 0,
        (0, _) => 1,
        _ => 2,
    }))
}

impl Tally {
    fn add(&mut self, outcome: FileOutcome) {
        self.changed += outcome.changed.len();
        self.odd += outcome.odd.len();
        self.names.extend(outcome.names);
    }
}

/// Prints the outcome for a file. `done` describes the change to its servers.
pub(crate) fn print(
    out: &mut dyn Write,
    target: &Target,
    outcome: &FileOutcome,
    done: &str,
) -> Result<()> {
    let path = target.path.display();
    // A directory name can contain control characters.
    let path = Excerpt::new(path.to_string().as_bytes(), 1000).to_string();
    for odd in &outcome.odd {
        complain(&format!("{path}: {odd}; the entry stays unchanged"));
    }
    if outcome.change.is_none() && outcome.left.is_empty() {
        return Ok(());
    }
    match target.client {
        Some(client) => writeln!(out, "{client}: {path}")?,
        None => writeln!(out, "{path}")?,
    }
    if let Some((before, after)) = &outcome.change {
        show::diff(out, &path, before, after)?;
        writeln!(out, "  {done} {}", outcome.changed.join(", "))?;
    }
    for (title, why) in &outcome.left {
        writeln!(out, "  left alone: {title} ({why})")?;
    }
    Ok(())
}

fn fail(tally: &mut Tally, target: &Target, what: &str) {
    tally.failed += 1;
    let path = target.path.display();
    match target.client {
        Some(client) => complain(&format!("{client}: {path}: {what}")),
        None => complain(&format!("{path}: {what}")),
    }
}
