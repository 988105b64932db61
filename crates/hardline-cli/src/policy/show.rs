//! `hardline policy show`: what is done about every rule, and which line of the policy says so.

use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::ValueEnum;
use hardline_guard::policy::{Explanation, Policy};
use hardline_guard::{Direction, Rule};
use serde_json::json;

use super::PolicyArgs;

/// Show what is done about each kind of finding, and which line decides it
///
/// Without a server, it is what holds for every server of which the policy says nothing.
#[derive(Debug, clap::Args)]
#[command(after_help = "Exit status: 0; 2 if the policy cannot be read.\n\n\
    Examples:\n  hardline policy show\n  hardline policy show --server docs --tool read_page\n  \
    hardline policy show --profile strict --rule content.hidden")]
pub(super) struct Args {
    #[command(flatten)]
    policy: PolicyArgs,

    /// For this server
    #[arg(long, value_name = "NAME")]
    server: Option<String>,

    /// For this tool of the server
    #[arg(long, value_name = "NAME", requires = "server")]
    tool: Option<String>,

    /// This rule alone; can be given several times
    #[arg(long = "rule", value_name = "RULE", value_parser = read_rule)]
    rules: Vec<Rule>,

    /// How to print
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    Text,
    Json,
}

pub(super) fn run(args: &Args) -> Result<ExitCode> {
    let policy = args.policy.read()?;
    let explanations = args.explanations(&policy);
    let mut out = io::stdout().lock();
    match args.format {
        Format::Text => {
            let file = args.policy.file();
            let from = file.map_or("no file".to_owned(), |path| path.display().to_string());
            writeln!(out, "policy: {from}, profile: {}", policy.base())?;
            writeln!(out, "{}", settings(&policy, args.server.as_deref()))?;
            for explanation in explanations {
                writeln!(out, "{explanation}")?;
            }
        }
        Format::Json => {
            let rules: Vec<_> = explanations.iter().map(rule).collect();
            let document = json!({
                "policy": args.policy.file().map(|path| path.display().to_string()),
                "profile": policy.base().to_string(),
                "server": args.server,
                "tool": args.tool,
                "settings": settings(&policy, args.server.as_deref()).lines().collect::<Vec<_>>(),
                "rules": rules,
            });
            serde_json::to_writer_pretty(&mut out, &document).context("cannot print")?;
            writeln!(out)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

impl Args {
    fn explanations(&self, policy: &Policy) -> Vec<Explanation> {
        let (server, tool) = (self.server.as_deref(), self.tool.as_deref());
        let is_asked = |rule: &&Rule| self.rules.is_empty() || self.rules.contains(rule);
        let rules = Rule::ALL.iter().filter(is_asked);
        let both = [Direction::ServerToClient, Direction::ClientToServer];
        rules.flat_map(|&rule| both.map(|it| policy.explain(rule, server, tool, it))).collect()
    }
}

fn settings(policy: &Policy, server: Option<&str>) -> String {
    let settings = policy.settings(server);
    let burst = settings.burst();
    let close = settings.close_after().map_or("never".to_owned(), |count| format!("after {count}"));
    let mut text = format!(
        "largest frame: {} bytes, notifications at once: {} in {:?}, session closed: {close}",
        settings.limits().max_frame_bytes(),
        burst.count(),
        burst.window(),
    );
    if !settings.tools().is_open() {
        text.push_str(&format!("\ntools: {}", settings.tools()));
    }
    let launch = settings.launch();
    if let Some(programs) = launch.programs() {
        text.push_str(&format!("\nprograms: {}", joined(programs.iter())));
    }
    if let Some(path) = launch.path() {
        text.push_str(&format!("\nlooked for in: {}", joined(path.iter())));
    }
    if launch.is_env_clean() {
        let listed = joined(launch.env().iter());
        text.push_str(&format!(
            "\nenvironment: the few variables that every program needs, {listed}"
        ));
    }
    text
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

fn read_rule(name: &str) -> Result<Rule, String> {
    let found = Rule::ALL.iter().find(|rule| rule.to_string() == name).copied();
    found.ok_or_else(|| "there is no such rule; hardline policy show lists them".to_owned())
}
