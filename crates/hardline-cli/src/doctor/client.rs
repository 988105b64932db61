//! Checks the configuration files of clients, and if the commands in them exist.

use std::collections::HashMap;
use std::path::Path;
#[cfg(unix)]
use std::path::PathBuf;

use anyhow::Result;

use super::own::{find_in_path, is_executable, is_same_program};
use super::report::{File, Report, ServerReport, Status};
#[cfg(unix)]
use crate::directory;
use crate::install::document::{Document, Format};
use crate::install::file::Original;
use crate::install::program::{Program, is_absolute};
use crate::install::select::{Selection, Target};
use crate::install::server::{self, EntryKind, EntryLaunch};
#[cfg(unix)]
use crate::wrap::Directories;

pub(super) fn check(report: &mut Report, selection: &Selection, program: &Program) -> Result<()> {
    // Shared by all files: two clients can use one name for different servers.
    let mut commands = HashMap::new();
    for target in selection.targets()? {
        let title = target.client.unwrap_or("file");
        match servers(&target) {
            Ok(None) if target.is_named => {
                let detail = format!("{} does not exist", target.path.display());
                report.add("client", title, Status::Fail, detail);
            }
            // A client that is not installed is not worth a line.
            Ok(None) => {}
            Ok(Some(found)) => {
                let chosen = found.into_iter().filter(|server| selection.has(server)).collect();
                file(report, target, chosen, program, &mut commands);
            }
            Err(error) => {
                let detail = format!("{}: {error:#}", target.path.display());
                report.add("client", title, Status::Fail, detail);
            }
        }
    }
    if report.files.is_empty() {
        report.add("client", "clients", Status::Skip, "no client configuration was found");
    }
    Ok(())
}

fn servers(target: &Target) -> Result<Option<Vec<server::ServerEntry>>> {
    let Some(original) = Original::read(&target.path)? else { return Ok(None) };
    let document = Document::parse(&original.bytes, Format::of(&target.path, &original.bytes))?;
    server::find(&document, target.places).map(Some)
}

/// Command of each server name, and the first file that has it.
type Commands = HashMap<String, (Vec<String>, String)>;

/// A problem with an entry: the id of the check, its status and the reason.
type Problem = (&'static str, Status, String);

fn file(
    report: &mut Report,
    target: Target,
    found: Vec<server::ServerEntry>,
    program: &Program,
    commands: &mut Commands,
) {
    let title = target.client.unwrap_or("file");
    let path = target.path.display().to_string();
    let mut servers = Vec::new();
    let mut details = Vec::new();
    for server in found {
        let mut problems = Vec::new();
        let mut place = path.clone();
        let mut is_fixable = false;
        let (kind, command) = match &server.kind {
            EntryKind::Wrapped { launch, inner } => {
                // `--fix` repairs this: it makes the entry start this program.
                let wrong = wrong_program(&launch.program.text, program);
                is_fixable = wrong.is_some();
                problems.extend(wrong.map(|why| ("entry", Status::Fail, why)));
                problems.extend(wrapped_command(launch, *inner, &server.name, &path, commands));
                ("wrapped", Some(launch.program.text.clone()))
            }
            EntryKind::Plain(launch) => ("plain", Some(launch.program.text.clone())),
            EntryKind::Remote => ("remote", None),
            EntryKind::Builtin => ("builtin", None),
            EntryKind::Odd(why) => {
                place = format!("{path}, line {}", server.line);
                problems.push(("entry", Status::Fail, why.clone()));
                ("odd", None)
            }
        };
        let is_broken = kind == "wrapped" && problems.iter().any(|it| it.1 == Status::Fail);
        let name = server.title();
        let describe = |(id, status, why)| (id, status, format!("{place}: {name}: {why}"));
        details.extend(problems.into_iter().map(describe));
        servers.push(ServerReport { name: server.name, kind, is_broken, command, is_fixable });
    }
    let has_plain = servers.iter().any(|server| server.kind == "plain");
    let detail = format!("{path}: {}", counts(&servers));
    // The failures follow as checks of their own, so this line must not count again.
    if servers.iter().any(|server| server.is_broken || server.kind == "odd") {
        report.add_sum("client", title, detail);
    } else {
        let status = if has_plain { Status::Warn } else { Status::Pass };
        report.add("client", title, status, detail);
    }
    for (id, status, detail) in details {
        report.add(id, title, status, detail);
    }
    report.files.push(File { target, servers });
}

/// Returns the problems with the arguments of a wrapped entry and with the server's own command,
/// which begins at the argument `inner`.
fn wrapped_command(
    launch: &EntryLaunch,
    inner: usize,
    name: &str,
    path: &str,
    commands: &mut Commands,
) -> Vec<Problem> {
    let mut problems = Vec::new();
    #[cfg(unix)]
    problems.extend(wrong_arguments(launch));
    let items = launch.args.as_ref().map_or(&[][..], |args| &args.items);
    let command = items.get(inner..).unwrap_or_default();
    let command: Vec<_> = command.iter().map(|item| item.text.clone()).collect();
    problems.extend(missing(&command).map(|why| ("command", Status::Fail, why)));
    problems.extend(shared(commands, name, command, path).map(|why| ("name", Status::Warn, why)));
    problems
}

/// Returns the problem with the hardline program that an entry starts.
fn wrong_program(path: &str, program: &Program) -> Option<String> {
    let found = if is_absolute(path) { Some(path.into()) } else { find_in_path(path) };
    let Some(found) = found else { return Some(format!("{path} is not in PATH")) };
    if !found.exists() {
        return Some(format!("{path} does not exist any more"));
    }
    if !is_executable(&found) {
        return Some(format!("{path} is not executable"));
    }
    let is_same = is_same_program(&found, Path::new(&program.path));
    (!is_same).then(|| format!("{path} is not this hardline, which is {}", program.path))
}

/// Returns the problem with the `wrap` arguments of an entry.
#[cfg(unix)]
fn wrong_arguments(launch: &EntryLaunch) -> Option<(&'static str, Status, String)> {
    let items = launch.args.as_ref().map_or(&[][..], |args| &args.items);
    match crate::wrap::check(items.iter().map(|it| it.text.as_str())) {
        Err(why) => Some(("entry", Status::Fail, format!("it cannot start: {why:#}"))),
        Ok(places) => {
            let why = elsewhere(&places, &launch.redirects)?;
            Some(("places", Status::Warn, why))
        }
    }
}

/// Describes an entry whose state or policy directory is not the one that this command uses.
#[cfg(unix)]
fn elsewhere(places: &Directories, redirects: &[&str]) -> Option<String> {
    let is_other = |given: &Option<PathBuf>, own: Option<PathBuf>| {
        given.is_some() && !own.is_some_and(|own| is_same_folder(&own, given.as_deref()))
    };
    if let Some(state) =
        places.state.as_ref().filter(|_| is_other(&places.state, directory::state()))
    {
        let state = state.display();
        return Some(format!(
            "its pins and audit log are in {state}, but `hardline pin` and `hardline audit` use another directory"
        ));
    }
    if let Some(config) =
        places.config.as_ref().filter(|_| is_other(&places.config, directory::config()))
    {
        let config = config.display();
        return Some(format!(
            "its policy is read from {config}, not from your configuration directory"
        ));
    }
    // With explicit directories, variables cannot redirect the entry.
    let is_fixed = places.state.is_some() && (places.has_policy || places.config.is_some());
    (!is_fixed && !redirects.is_empty()).then(|| {
        let names = redirects.join(" and ");
        format!(
            "its env sets {names}, which can redirect it to another policy or other pins; uninstall it and \
                         install it again to fix its paths"
        )
    })
}

#[cfg(unix)]
fn is_same_folder(one: &Path, other: Option<&Path>) -> bool {
    let whole = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    other.is_some_and(|other| whole(one) == whole(other))
}

/// Returns the reason why the command of a server cannot start, as far as visible from here.
fn missing(command: &[String]) -> Option<String> {
    let program = command.first()?;
    // Only the client knows the values of its variables and the meaning of `~`.
    if program.contains('$') || program.contains('%') || program.starts_with('~') {
        return None;
    }
    if is_absolute(program) {
        let is_there = is_executable(Path::new(program));
        return (!is_there).then(|| format!("its command {program} does not exist"));
    }
    // A relative path depends on the client's working directory, so only names are looked up.
    let is_name = !program.contains(['/', '\\']);
    (is_name && find_in_path(program).is_none())
        .then(|| format!("its command {program} is not in PATH"))
}

/// Reports a name that stands for different servers, because they would share pins, policy and
/// audit log.
fn shared(commands: &mut Commands, name: &str, command: Vec<String>, path: &str) -> Option<String> {
    let first =
        commands.entry(name.to_owned()).or_insert_with(|| (command.clone(), path.to_owned()));
    (first.0 != command)
        .then(|| format!("{} has another server of this name; both share pins and policy", first.1))
}

fn counts(servers: &[ServerReport]) -> String {
    let kinds = [
        ("wrapped", "guarded"),
        ("plain", "not guarded (hardline install)"),
        ("remote", "remote"),
        ("builtin", "without a command"),
        ("odd", "not understood"),
    ];
    let broken = servers.iter().filter(|server| server.is_broken).count();
    let mut counts = Vec::new();
    for (kind, name) in kinds {
        let count = servers.iter().filter(|server| server.kind == kind).count();
        if kind == "wrapped" && broken > 0 {
            counts.push(format!("{} {name}, {broken} broken", count - broken));
        } else if count > 0 {
            counts.push(format!("{count} {name}"));
        }
    }
    if counts.is_empty() { "no servers".to_owned() } else { counts.join(", ") }
}
