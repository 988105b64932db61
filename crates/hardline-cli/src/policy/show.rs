//! `hardline policy show`: the action for every rule, and the line of the policy that decides it.

use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::Result;
use hardline_guard::policy::{Explanation, Policy};
use hardline_guard::{Direction, Rule};
use hardline_wire::limits::Limits;
use serde_json::json;

use super::{PolicyArgs, read_rule};
use crate::argument::Format;
use crate::json;
use crate::terminal::table::{Cell, Layout, Table, width};
use crate::terminal::{harmless, shown_path};

/// Show the action for each rule, and the line that decides it
///
/// Without --server, shows the actions for servers that the policy does not name. Rules about tools
/// and starts apply to servers only, so they have no action for the client. With --rule, also shows
/// the lines that are overridden.
#[derive(Debug, clap::Args)]
#[command(after_help = "Exit status: 0; 2 if the policy cannot be read.\n\n\
    Examples:\n  hardline policy show\n  hardline policy show --server docs --tool read_page\n  \
    hardline policy show --profile strict --rule content.hidden")]
pub(super) struct PolicyShowArgs {
    #[command(flatten)]
    policy: PolicyArgs,

    /// Show the policy for this server
    #[arg(long, value_name = "NAME")]
    server: Option<String>,

    /// Show the policy for this tool of the server
    #[arg(long, value_name = "NAME", requires = "server")]
    tool: Option<String>,

    /// Show only this rule; can be repeated
    #[arg(long = "rule", value_name = "RULE", value_parser = read_rule)]
    rules: Vec<Rule>,

    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

const LAYOUT: Layout = Layout::whole(&["RULE", "FROM SERVER", "FROM CLIENT", "DECIDED BY"], 3);
/// Both directions, with the sender of their frames.
const FROM: [(Direction, &str); 2] = [
    (Direction::ServerToClient, "from the server"),
    (Direction::ClientToServer, "from the client"),
];

pub(super) fn run(args: &PolicyShowArgs) -> Result<ExitCode> {
    let policy = args.policy.read()?;
    let explanations = args.explanations(&policy);
    let mut out = io::stdout().lock();
    match args.format {
        Format::Text => {
            let file = args.policy.file(None);
            let from = file.map_or("no file".to_owned(), |path| shown_path(&path));
            let profile = policy.base_of(args.server.as_deref());
            let of =
                args.server.as_ref().map_or(String::new(), |it| format!(" of {}", harmless(it)));
            writeln!(out, "policy: {from}, profile{of}: {profile}")?;
            writeln!(out, "{}", settings(&policy, args.server.as_deref()))?;
            let mut table = Table::new(LAYOUT, false);
            // Both directions of a rule share a row.
            for both in explanations.chunk_by(|one, other| one.rule == other.rule) {
                table.push(row(both));
            }
            table.write(&mut out, width())?;
            // With rules on the command line, the user wants to know why.
            if !args.rules.is_empty() {
                overridden(&mut out, &explanations)?;
            }
        }
        Format::Json => {
            let rules: Vec<_> = explanations.iter().map(rule).collect();
            let document = json!({
                "policy": args.policy.file(None).map(|path| path.display().to_string()),
                "profile": policy.base_of(args.server.as_deref()).to_string(),
                "server": args.server,
                "tool": args.tool,
                "settings": settings(&policy, args.server.as_deref()).lines().collect::<Vec<_>>(),
                "rules": rules,
            });
            writeln!(out, "{}", json::pretty(&document)?)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

impl PolicyShowArgs {
    fn explanations(&self, policy: &Policy) -> Vec<Explanation> {
        let (server, tool) = (self.server.as_deref(), self.tool.as_deref());
        let is_asked = |rule: &&Rule| self.rules.is_empty() || self.rules.contains(rule);
        let rules = Rule::ALL.iter().filter(is_asked);
        let both = FROM.map(|(direction, _)| direction);
        let all = rules.flat_map(|rule| both.map(|direction| (*rule, direction)));
        // Rows without a meaning would confuse more than they tell.
        let real = all.filter(|(rule, direction)| can_be(*rule, *direction));
        real.map(|(rule, direction)| policy.explain(rule, server, tool, direction)).collect()
    }
}

/// Returns true if a rule can have findings in this direction.
fn can_be(rule: Rule, direction: Direction) -> bool {
    // Only servers send tool lists, and only they are started.
    direction == Direction::ServerToClient || !matches!(rule.group(), "tool" | "launch")
}

/// Returns the row of a rule, with its actions in both directions.
fn row(both: &[Explanation]) -> Vec<Cell> {
    let [server, client] =
        FROM.map(|(direction, _)| both.iter().find(|it| it.direction == direction));
    let action = |it: Option<&Explanation>| it.map_or("-", |it| it.action.name());
    let by = |it: &Explanation| it.decided_by.to_string();
    let by = match (server.map(by), client.map(by)) {
        // Only different origins need both texts.
        (Some(server), Some(client)) if server != client => {
            format!("{server}; from the client: {client}")
        }
        (Some(one), _) | (None, Some(one)) => one,
        (None, None) => String::new(),
    };
    vec![
        Cell::firm(both.first().map_or("", |it| it.rule.name())),
        Cell::firm(action(server)),
        Cell::firm(action(client)),
        Cell::new(by),
    ]
}

/// Prints the actions that would apply without the deciding line.
fn overridden(out: &mut dyn Write, explanations: &[Explanation]) -> io::Result<()> {
    for Explanation { rule, direction, overridden, .. } in explanations {
        let from = FROM.iter().find(|(it, _)| it == direction).map_or("", |(_, from)| from);
        // The strongest of the overridden lines first.
        for (origin, action) in overridden.iter().rev() {
            let origin = origin.to_string();
            let origin = harmless(&origin);
            writeln!(out, "{rule} {from} overrides {}, by {origin}", action.name())?;
        }
    }
    Ok(())
}

fn settings(policy: &Policy, server: Option<&str>) -> String {
    let settings = policy.settings(server);
    let (limits, burst) = (settings.limits(), settings.burst());
    let close = settings.close_after().map_or("never".to_owned(), |count| format!("after {count}"));
    let mut text = format!(
        "largest frame: {}, notification burst: {} in {:?}, session closed: {close}",
        size(limits.max_frame_bytes()),
        burst.count(),
        burst.window(),
    );
    if !settings.hold_back().is_zero() {
        text.push_str(&format!("\nhold-back after a message: {:?}", settings.hold_back()));
    }
    // Defaults are left out, to keep the list short.
    if limits.max_depth() != Limits::default().max_depth() {
        text.push_str(&format!("\ndeepest nesting: {}", limits.max_depth()));
    }
    if settings.max_content_bytes() < limits.max_frame_bytes() {
        text.push_str(&format!("\nmost text in a frame: {}", size(settings.max_content_bytes())));
    }
    if !settings.tools().is_open() {
        text.push_str(&format!("\ntools: {}", settings.tools()));
    }
    let launch = settings.launch();
    if let Some(programs) = launch.programs() {
        text.push_str(&format!("\nprograms: {}", joined(programs.iter())));
    }
    if let Some(path) = launch.path() {
        text.push_str(&format!("\nsearch path: {}", joined(path.iter())));
    }
    if launch.is_env_clean() {
        let listed = joined(launch.env().iter());
        text.push_str(&format!("\nenvironment: basic variables, and {listed}"));
    }
    text
}

/// Formats a size in the largest unit that gives an integer.
fn size(bytes: usize) -> String {
    let units = [(30, "GiB"), (20, "MiB"), (10, "KiB")];
    // Whole units only: a rounded limit would be a wrong one.
    let unit = units.into_iter().find(|(power, _)| bytes.is_multiple_of(1 << power));
    unit.map_or_else(
        || format!("{bytes} bytes"),
        |(power, unit)| format!("{} {unit}", bytes >> power),
    )
}

fn joined<T: ToString>(words: impl Iterator<Item = T>) -> String {
    let words: Vec<String> = words.map(|word| format!("`{}`", word.to_string())).collect();
    if words.is_empty() { "nothing else".to_owned() } else { words.join(", ") }
}

fn rule(explanation: &Explanation) -> serde_json::Value {
    let Explanation { rule, direction, action, decided_by, overridden, .. } = explanation;
    let overridden: Vec<_> = overridden
        .iter()
        .map(|(origin, action)| json!({"action": action.name(), "by": origin.to_string()}))
        .collect();
    json!({
        "rule": rule.to_string(),
        "direction": direction.name(),
        "action": action.name(),
        "by": decided_by.to_string(),
        "overrides": overridden,
    })
}
