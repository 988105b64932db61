//! Checks before a server is started: which file runs, whether the policy allows it, and whether it
//! has changed.
//!
//! [`judge`] inspects a command before it runs: the file that its first word names and the links
//! behind it, the policy's list of programs, and arguments that contain code. [`known`] stores the
//! executables of servers by their hash.

mod allowed;
mod confine;
mod identity;
pub mod known;
mod link;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use hardline_guard::launch::{CodeKind, injects_code, inspect_with};
use hardline_guard::policy::Policy;
use hardline_guard::tools::Glob;
use hardline_guard::{Action, Direction, Finding, Found, Rule};
use hardline_wire::excerpt::Excerpt;

use allowed::List;
pub use allowed::{search_path, standard_path};
pub use confine::{Confined, User, confine};
pub use identity::LaunchId;

/// Limit on the part of a command that goes into a finding, in bytes.
const EXCERPT_BYTES: usize = 200;

/// Description of a start.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Start {
    /// The file that runs.
    pub program: PathBuf,
    /// The command; its first word is as given.
    pub command: Vec<String>,
    /// The working directory, unless the policy sets one.
    pub directory: Option<PathBuf>,
}

impl Start {
    /// Describes a start of `program`, the file that the first word of `command` names.
    pub fn new(program: impl Into<PathBuf>, command: &[OsString]) -> Self {
        let command = command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        Self { program: program.into(), command, directory: std::env::current_dir().ok() }
    }

    /// Creates a finding about this start, with the action that `policy` takes for `server`.
    pub fn found(&self, policy: &Policy, server: &str, rule: Rule, detail: String) -> Found {
        let direction = Direction::ServerToClient;
        let excerpt = Excerpt::new(self.command.join(" ").as_bytes(), EXCERPT_BYTES).to_string();
        let finding = Finding::new(rule, direction, excerpt, detail);
        let action = policy.decide(&finding, Some(server), None);
        Found::new(finding, action)
    }
}

/// Checks a start against the policy. `variables` is the environment of the server.
///
/// Findings that the policy allows are left out.
pub fn judge(
    start: &Start,
    variables: &[(String, String)],
    policy: &Policy,
    server: &str,
) -> Vec<Found> {
    let mut details = Vec::new();
    let variable = |name: &str| variables.iter().find(|it| it.0 == name).map(|it| &*it.1);
    let path = variable("PATH");
    // A name may be a link to an interpreter, so the checks must see the whole chain.
    let links = |word: &str| match start.command.first() {
        Some(first) if first == word => link::chain(&start.program),
        _ if word.contains('/') => link::chain(Path::new(word)),
        _ => link::find(word, path.unwrap_or_default()).map_or(Vec::new(), |it| link::chain(&it)),
    };
    let look = inspect_with(&start.command, &links);
    let inline = look.code.iter().find(|code| code.kind == CodeKind::Inline);
    if let Some(code) = inline {
        let detail = format!("`{}` runs code from the command line", code.shown);
        details.push((Rule::LaunchInlineCode, detail));
    }
    let launch = policy.settings(Some(server)).launch();
    if let Some(entries) = launch.programs() {
        let list = List { entries, launch, links: &links, home: variable("HOME").map(Path::new) };
        let objection = list.objection(start, &look, path);
        // A variable that the policy names is intended.
        let is_named = |name: &str| launch.env().iter().any(|it| Glob::new(it).matches(name));
        let injects =
            |(name, value): &&(String, String)| injects_code(name, value) && !is_named(name);
        let injected = variables.iter().find(injects);
        let injected = injected.map(|(name, _)| {
            format!("the variable `{name}` makes programs load other code; unset it, or set `clean_env = true`; if it is intended, name it in `env`")
        });
        if let Some(detail) = objection.or(injected) {
            details.push((Rule::LaunchProgram, detail));
        }
    }
    let found = details.into_iter().map(|(rule, detail)| start.found(policy, server, rule, detail));
    found.filter(|found| found.action != Action::Allow).collect()
}
