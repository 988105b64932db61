//! All files, one after the other; an error of one does not keep the others from being done.

use std::io::{self, Write};
use std::process::ExitCode;

use anstream::AutoStream;
use anyhow::Result;
use hardline_wire::excerpt::Excerpt;

use super::apply::{self, Action, Outcome};
use super::backup::Backups;
use super::select::{Selection, Target};
use super::show;
use crate::terminal::{Color, complain};

/// How it is said.
#[derive(Debug)]
pub(crate) struct Words {
    /// What became of the guard and a server, as "put in front of".
    pub(crate) done: &'static str,
    /// What to do now, after one server and after several.
    pub(crate) end: [&'static str; 2],
    /// There was nothing to do.
    pub(crate) nothing: &'static str,
}

/// What came of all files.
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
            Ok(None) if target.is_named => fail(&mut tally, target, "it does not exist"),
            Ok(None) => {}
            Err(error) => fail(&mut tally, target, &format!("{error:#}; nothing was written")),
        }
    }
    for client in selection.missing(&targets) {
        tally.failed += 1;
        complain(&format!("{client}: no configuration was found; name one with --config"));
    }
    for name in selection.servers.iter().filter(|name| !tally.names.contains(name)) {
        tally.failed += 1;
        let name = Excerpt::new(name.as_bytes(), 80);
        complain(&format!("there is no server called {name} in these files"));
    }
    let changed = tally.changed;
    let [one, several] = words.end;
    let (servers, end) = if changed == 1 { ("server", one) } else { ("servers", several) };
    match (tally.found, changed) {
        (0, _) if tally.failed == 0 => writeln!(out, "no configuration of a client was found")?,
        (_, 0) if 0 < tally.failed + tally.odd => writeln!(out, "nothing was changed")?,
        (_, 0) => writeln!(out, "{}", words.nothing)?,
        _ if is_dry => writeln!(out, "{changed} {servers} would change; nothing was written")?,
        _ => writeln!(out, "hardline was {done} {changed} {servers}; {end}")?,
    }
    out.flush()?;
    Ok(ExitCode::from(match (tally.failed, tally.odd) {
        (0, 0) => 0,
        (0, _) => 1,
        _ => 2,
    }))
}

impl Tally {
    fn add(&mut self, outcome: Outcome) {
        self.changed += outcome.changed.len();
        self.odd += outcome.odd.len();
        self.names.extend(outcome.names);
    }
}

/// Shows what became of a file, and what was `done` to which of its servers.
pub(crate) fn print(
    out: &mut dyn Write,
    target: &Target,
    outcome: &Outcome,
    done: &str,
) -> Result<()> {
    let path = target.path.display();
    // The path is the user's own, but a directory can be called anything.
    let path = Excerpt::new(path.to_string().as_bytes(), 1000).to_string();
    for odd in &outcome.odd {
        complain(&format!("{path}: {odd}; it was left alone"));
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
