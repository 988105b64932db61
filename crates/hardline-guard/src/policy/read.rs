//! Parses TOML into statements and settings.
//!
//! Invariants:
//! - Nothing is skipped: an unknown key, rule, action or profile is a fault.
//! - All faults are collected. The text is a policy only if there are none.
//! - A statement for every server can only make the profile stricter, unless its key starts with
//!   `danger`.

use std::ops::Range;

use hardline_wire::excerpt::Excerpt;
use toml::de::{DeTable, DeValue};

use super::error::{Faults, PolicyError, quoted};
use super::read_settings::read_settings;
use super::settings::PolicySettings;
use super::statement::{AllStatements, Says, ServerStatements, Statement, Statements};
use super::suggest::{list, nearest_rule};
use super::value::{Node, Reader, Scope, join};
use super::{Origin, Place, Profile};
use crate::finding::{Direction, Severity};
use crate::rule::{Action, Rule};

use Direction::{ClientToServer, ServerToClient};

/// Content of a parsed policy.
#[derive(Debug)]
pub(super) struct Read {
    pub(super) profile: Profile,
    pub(super) statements: AllStatements,
    pub(super) settings: PolicySettings,
    /// Only for servers whose settings differ from the global ones.
    pub(super) server_settings: Vec<(String, PolicySettings)>,
}

/// Keys of the top level and of a server.
const SHARED_KEYS: &[&str] = &[
    "profile",
    "close_after",
    "hold_back_ms",
    "limits",
    "burst",
    "allow_tools",
    "deny_tools",
    "read_only",
    "launch",
    "rules",
    "client_rules",
    "allow_jsonrpc",
];
const TOP_KEYS: &[&str] =
    &["server", "allow", "danger_rules", "danger_client_rules", "danger_allow_jsonrpc"];
const SERVER_KEYS: &[&str] = &["tool"];
const TOOL_KEYS: &[&str] = &["allow_jsonrpc", "rules", "client_rules"];
const ALLOW_KEYS: &[&str] = &["rule", "server", "tool", "reason"];

/// Parses `text`. If `profile` is given, it replaces the one that the text names.
pub(super) fn read(text: &str, profile: Option<Profile>) -> Result<Read, PolicyError> {
    let mut faults = Faults::new(text);
    // The recoverable parser reports all syntax errors at once, not just the first.
    let (document, errors) = DeTable::parse_recoverable(text);
    for error in &errors {
        faults.add(error.span().unwrap_or(0..0), "", error.message());
    }
    // After a syntax error the rest of the text may be misread, so its faults would mislead.
    if !errors.is_empty()
        && let Some(error) = faults.into_error()
    {
        return Err(error);
    }

    let mut reader = Reader { faults: Faults::new(text) };
    let read = policy(&mut reader, document.get_ref(), profile);
    match reader.faults.into_error() {
        Some(error) => Err(error),
        None => Ok(read),
    }
}

fn policy(reader: &mut Reader<'_>, top: &DeTable<'_>, given: Option<Profile>) -> Read {
    let scope = Scope { table: top, path: String::new() };
    reader.known_keys(&scope, &[SHARED_KEYS, TOP_KEYS].concat());
    // A known key at the wrong place gets a better message than an unknown one.
    if let Some(value) = top.get("allow_jsonrpc") {
        let message = "at the top level it would apply to every server";
        let help = "write it in `[server.NAME.tool.NAME]` or `[server.NAME]`";
        reader.faults.add_with_help(value.span(), "allow_jsonrpc", message, help);
    }
    let own = profile(reader, &scope);
    let profile = given.or(own.as_ref().map(|(profile, _)| *profile)).unwrap_or_default();

    let mut all = AllStatements::default();
    // A profile of the text that the caller replaced must not appear as an origin.
    if let Some((own, origin)) = own.filter(|(own, _)| *own == profile) {
        all.global.add(Statement { says: Says::Profile(own), origin });
    }
    allow_jsonrpc(reader, &scope, "danger_allow_jsonrpc", &mut all.global);
    // `rules` may only tighten the profile; the `danger_` keys have no such bound.
    for (key, direction, is_bound) in [
        ("rules", ServerToClient, true),
        ("client_rules", ClientToServer, true),
        ("danger_rules", ServerToClient, false),
        ("danger_client_rules", ClientToServer, false),
    ] {
        let at_least = is_bound.then_some(profile);
        rules(reader, &scope, key, direction, at_least, &mut all.global);
    }

    let mut settings = PolicySettings::of(profile);
    read_settings(reader, &scope, &mut settings);
    let mut server_settings = Vec::new();
    if let Some(servers) = reader.table(&scope, "server") {
        for (name, value) in servers.table {
            let path = join(&servers.path, name.get_ref());
            if let Some(table) = reader.as_table(value, &path) {
                let scope = Scope { table, path };
                let statements = all.servers.entry(name.get_ref().to_string()).or_default();
                if let Some(own) = server(reader, &scope, statements, &settings) {
                    server_settings.push((name.get_ref().to_string(), own));
                }
            }
        }
    }
    // After the server tables, so that a conflict is reported at the `[[allow]]`.
    allows(reader, &scope, &mut all);
    Read { profile, statements: all, settings, server_settings }
}

/// Parses the table of one server. Returns its settings if they differ from the global ones.
fn server(
    reader: &mut Reader<'_>,
    scope: &Scope<'_, '_>,
    statements: &mut ServerStatements,
    global: &PolicySettings,
) -> Option<PolicySettings> {
    reader.known_keys(scope, &[SHARED_KEYS, SERVER_KEYS].concat());
    let mut settings = global.clone();
    if let Some((profile, origin)) = profile(reader, scope) {
        // A profile sets only these three; the other settings are inherited.
        let PolicySettings { burst, close_after, hold_back_ms, .. } = PolicySettings::of(profile);
        settings = PolicySettings { burst, close_after, hold_back_ms, ..settings };
        statements.own.add(Statement { says: Says::Profile(profile), origin });
    }
    allow_jsonrpc(reader, scope, "allow_jsonrpc", &mut statements.own);
    rules(reader, scope, "rules", ServerToClient, None, &mut statements.own);
    rules(reader, scope, "client_rules", ClientToServer, None, &mut statements.own);
    read_settings(reader, scope, &mut settings);
    if let Some(tools) = reader.table(scope, "tool") {
        for (name, value) in tools.table {
            let path = join(&tools.path, name.get_ref());
            if let Some(table) = reader.as_table(value, &path) {
                let scope = Scope { table, path };
                let statements = statements.tools.entry(name.get_ref().to_string()).or_default();
                reader.known_keys(&scope, TOOL_KEYS);
                allow_jsonrpc(reader, &scope, "allow_jsonrpc", statements);
                rules(reader, &scope, "rules", ServerToClient, None, statements);
                rules(reader, &scope, "client_rules", ClientToServer, None, statements);
            }
        }
    }
    (settings != *global).then_some(settings)
}

fn profile(reader: &mut Reader<'_>, scope: &Scope<'_, '_>) -> Option<(Profile, Origin)> {
    let (name, value) = reader.string(scope, "profile")?;
    let path = join(&scope.path, "profile");
    let names = Profile::ALL.map(Profile::name);
    let profile = reader.one_of(value, &path, ("profile", &names), name, name.parse().ok())?;
    let key = format!("{path} = \"{profile}\"");
    Some((profile, origin(reader, value, key, None)))
}

fn allow_jsonrpc(
    reader: &mut Reader<'_>,
    scope: &Scope<'_, '_>,
    key: &str,
    statements: &mut Statements,
) {
    if let Some((allows, value)) = reader.boolean(scope, key) {
        let key = format!("{} = {allows}", join(&scope.path, key));
        let origin = origin(reader, value, key, None);
        statements.add(Statement { says: Says::AllowJsonrpc(allows), origin });
    }
}

/// Parses a table of rules: `content.frame = "log"`, or `"content.frame" = "log"`.
fn rules(
    reader: &mut Reader<'_>,
    scope: &Scope<'_, '_>,
    key: &str,
    direction: Direction,
    at_least: Option<Profile>,
    statements: &mut Statements,
) {
    let Some(rules) = reader.table(scope, key) else { return };
    for (name, value) in rules.table {
        match value.get_ref() {
            // TOML reads the dot of `content.frame` as a nested table.
            DeValue::Table(inner) if !name.get_ref().contains('.') => {
                for (last, value) in inner {
                    let name = format!("{}.{}", name.get_ref(), last.get_ref());
                    let at = (last.span(), &*rules.path);
                    one_rule(reader, (&name, value), at, direction, at_least, statements);
                }
            }
            _ => {
                let at = (name.span(), &*rules.path);
                one_rule(reader, (name.get_ref(), value), at, direction, at_least, statements);
            }
        }
    }
}

fn one_rule(
    reader: &mut Reader<'_>,
    (name, value): (&str, &Node<'_>),
    (span, path): (Range<usize>, &str),
    direction: Direction,
    at_least: Option<Profile>,
    statements: &mut Statements,
) {
    let path = format!("{path}.{}", Excerpt::new(name.as_bytes(), 80));
    let Some(rule) = rule(reader, name, span, &path) else { return };
    let Some(word) = reader.as_string(value, &path) else { return };
    let known = Action::ALL.into_iter().find(|it| it.name() == word);
    let names = Action::ALL.map(Action::name);
    let action = reader.one_of(value, &path, ("action", &names), word, known);
    let Some(action) = action else { return };

    if let Some(profile) = at_least {
        // Compares with the strictest action of the profile, because an action of the policy
        // applies to all severities.
        let all = Severity::ALL.map(|severity| profile.action(rule, severity, direction));
        let own = all.into_iter().max().unwrap_or(Action::Close);
        if action < own {
            let message = format!(
                "`{}` for every server is weaker than the profile `{profile}`, which has `{}`",
                action.name(),
                own.name()
            );
            // `client_rules` becomes `danger_client_rules`, not `client_danger_rules`.
            let danger = path.replacen("rules", "danger_rules", 1);
            let danger = danger.replace("client_danger_rules", "danger_client_rules");
            let help = format!(
                "silence one false alarm with an `[[allow]]` that names rule, server and tool; \
                 change one server in `[server.NAME.rules]`; or, if it must hold everywhere, \
                 write `{danger}`"
            );
            return reader.faults.add_with_help(value.span(), &path, message, help);
        }
    }

    let origin = origin(reader, value, format!("{path} = \"{}\"", action.name()), None);
    let statement = Statement { says: Says::Rule(rule, Some(direction), action), origin };
    add(reader, value, &path, statements, statement);
}

/// Parses the `[[allow]]` entries.
fn allows(reader: &mut Reader<'_>, scope: &Scope<'_, '_>, all: &mut AllStatements) {
    let Some(value) = scope.table.get("allow") else { return };
    let DeValue::Array(entries) = value.get_ref() else {
        let help = "write `[[allow]]`, with two brackets: there may be several";
        return reader.faults.add_with_help(value.span(), "allow", "expected a list", help);
    };
    for (index, entry) in entries.iter().enumerate() {
        let path = format!("allow[{index}]");
        if let Some(table) = reader.as_table(entry, &path) {
            allow(reader, entry, &Scope { table, path }, all);
        }
    }
}

fn allow(
    reader: &mut Reader<'_>,
    entry: &Node<'_>,
    scope: &Scope<'_, '_>,
    all: &mut AllStatements,
) {
    let path = &*scope.path;
    reader.known_keys(scope, ALLOW_KEYS);
    let name = reader.required(entry, scope, "rule", "name the rule that raised the false alarm");
    let named = name.and_then(|(name, value)| {
        Some((rule(reader, name, value.span(), &join(path, "rule"))?, value))
    });
    let server = reader.required(
        entry,
        scope,
        "server",
        "add `server = \"NAME\"`, the name that findings show; to change a rule for every server \
         there is `[danger_rules]`",
    );
    let reason = reader.required(entry, scope, "reason", "explain why it is a false alarm");
    let tool = match reader.string(scope, "tool") {
        Some((tool, _)) => Some(tool),
        // A `tool` of the wrong type was already reported as a fault.
        None if scope.table.contains_key("tool") => return,
        // Findings about bytes, sessions and starts belong to no tool. All other rules need one.
        None if named.is_none_or(|(rule, _)| rule.is_without_tool()) => None,
        None => {
            let help = "add `tool = \"NAME\"`, or `tool = \"*\"` for every tool of this server";
            reader.faults.add_with_help(entry.span(), path, "`tool` is missing", help);
            return;
        }
    };
    let (Some((rule, value)), Some((server, _)), Some((reason, _))) = (named, server, reason)
    else {
        return;
    };

    let key = format!("{path}: {rule} on {}", quoted(server));
    let key = match &tool {
        Some(tool) => format!("{key}, tool {}", quoted(tool)),
        None => key,
    };
    let origin = origin(reader, value, key, Some(reason.to_owned()));
    let statement = Statement { says: Says::Rule(rule, None, Action::Allow), origin };
    let of_server = all.servers.entry(server.to_owned()).or_default();
    let statements = match tool {
        Some(tool) if tool != "*" => of_server.tools.entry(tool.to_owned()).or_default(),
        _ => &mut of_server.own,
    };
    add(reader, value, path, statements, statement);
}

/// Adds a statement, or reports a fault if an earlier one decides the same.
fn add(
    reader: &mut Reader<'_>,
    value: &Node<'_>,
    path: &str,
    statements: &mut Statements,
    statement: Statement,
) {
    if let Some(earlier) = statements.add(statement) {
        let message = format!("decided already by {}", earlier.origin);
        reader.faults.add_with_help(value.span(), path, message, "keep one of the two");
    }
}

fn rule(reader: &mut Reader<'_>, name: &str, span: Range<usize>, path: &str) -> Option<Rule> {
    if let Ok(rule) = name.parse() {
        return Some(rule);
    }
    // Searching for the nearest rule is expensive, and the result would be thrown away.
    if reader.faults.count_if_full() {
        return None;
    }
    let rules = Rule::ALL.iter().filter(|rule| rule.group() == name);
    let of_group: Vec<_> = rules.map(|rule| rule.name()).collect();
    let (message, help) = if of_group.is_empty() {
        let help = nearest_rule(name).map(|near| format!("did you mean `{near}`?"));
        (format!("no such rule: {}", quoted(name)), help)
    } else {
        let message = format!("{} is a group, and rules are set one by one", quoted(name));
        (message, Some(format!("it has {}", list(&of_group))))
    };
    match help {
        Some(help) => reader.faults.add_with_help(span, path, message, help),
        None => reader.faults.add(span, path, message),
    }
    None
}

fn origin(reader: &Reader<'_>, value: &Node<'_>, key: String, reason: Option<String>) -> Origin {
    let line = reader.faults.line(value.span().start);
    Origin { place: Place::Line(line), key, reason }
}
