//! Finds the servers of a configuration and classifies their entries.
//!
//! A client's servers are the members of an object. Each place where a client looks for servers is
//! a list of keys (`*` matches any key). Only entries with a command ever change. An entry that is
//! not fully understood stays untouched and is reported.

use std::ops::Range;

use anyhow::{Result, bail};
use hardline_wire::excerpt::Excerpt;

use super::document::{Document, Member, Node, Value};

/// Keys that lead to an object with servers.
pub(crate) type Keys = &'static [&'static str];

/// Keys of a remote server's address.
const ADDRESSES: &[&str] = &["url", "httpUrl", "serverUrl", "server_url"];

/// A server entry.
#[derive(Clone, Debug)]
pub(crate) struct ServerEntry {
    /// All keys from the root to the entry.
    pub(crate) path: Vec<String>,
    pub(crate) name: String,
    /// Offset of the entry.
    start: usize,
    /// Line of the entry, for messages.
    pub(crate) line: usize,
    pub(crate) kind: EntryKind,
}

#[derive(Clone, Debug)]
pub(crate) enum EntryKind {
    /// Started by a command.
    Plain(EntryLaunch),
    /// Already started by Hardline; `inner` is the index of the server's own command in the
    /// arguments.
    Wrapped { launch: EntryLaunch, inner: usize },
    /// Remote: the client starts nothing.
    Remote,
    /// Neither a command nor an address: built into the client.
    Builtin,
    /// Not understood, with the reason.
    Odd(String),
}

/// Command of a server and its position in the text.
#[derive(Clone, Debug)]
pub(crate) struct EntryLaunch {
    pub(crate) program: Literal,
    /// Range of the key before the program.
    pub(crate) key: Range<usize>,
    /// Arguments, if the entry has a list of them.
    pub(crate) args: Option<ArgumentList>,
    /// True if the object is written between `{` and `}`, as an inline table.
    pub(crate) is_inline: bool,
    /// Variables in its `env` that redirect our directories.
    #[cfg_attr(
        not(unix),
        expect(dead_code, reason = "only `wrap` reads them, and it is for Unix")
    )]
    pub(crate) redirects: Vec<&'static str>,
}

/// Variables that determine the user's home and our directories.
const PLACES: [&str; 4] = ["HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "USERPROFILE"];

#[derive(Clone, Debug)]
pub(crate) struct ArgumentList {
    pub(crate) range: Range<usize>,
    pub(crate) items: Vec<Literal>,
}

/// A string and its position in the text.
#[derive(Clone, Debug)]
pub(crate) struct Literal {
    pub(crate) range: Range<usize>,
    pub(crate) text: String,
}

impl ServerEntry {
    /// Returns the name, with the project of the server if it has one. Unique in the file.
    pub(crate) fn title(&self) -> String {
        let name = Excerpt::new(self.name.as_bytes(), 80);
        match &*self.path {
            [projects, project, ..] if projects == "projects" => {
                format!("{name} of {}", Excerpt::new(project.as_bytes(), 200))
            }
            _ => name.to_string(),
        }
    }
}

/// Finds the servers of a configuration, in text order.
///
/// # Errors
///
/// A key on the path to the servers, or a server name, occurs twice. Some clients use the first one
/// and some the last.
pub(crate) fn find(document: &Document, places: &[Keys]) -> Result<Vec<ServerEntry>> {
    let mut servers = Vec::new();
    let Some(root) = &document.root else { return Ok(servers) };
    if root.members().is_none() {
        bail!("line 1: the file is not an object, so it has no servers");
    }
    for keys in places {
        descend(document, root, keys, &mut Vec::new(), &mut servers)?;
    }
    // The places are searched one by one; the output should follow the file.
    servers.sort_by_key(|server| server.start);
    Ok(servers)
}

/// Returns true if a program name is `hardline`, also with a suffix such as `.exe` or a version.
pub(crate) fn is_hardline(program: &str) -> bool {
    let name = program.rsplit(['/', '\\']).next().unwrap_or(program).to_ascii_lowercase();
    // A build or a download may have a version or a platform in its name.
    let rest = name.strip_prefix("hardline");
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '-', '_']))
}

fn descend(
    document: &Document,
    node: &Node,
    keys: &[&str],
    path: &mut Vec<String>,
    servers: &mut Vec<ServerEntry>,
) -> Result<()> {
    let Some(members) = node.members() else { return Ok(()) };
    let Some((first, rest)) = keys.split_first() else {
        // Some clients use the first one and some the last, so neither is safe to change.
        if let Some(twice) = node.duplicate() {
            let line = document.line(&twice.node);
            let name = Excerpt::new(twice.key.as_bytes(), 80);
            bail!("line {line}: there are two servers named {name}; remove one of them");
        }
        for Member { key, node, .. } in members {
            let mut path = path.clone();
            path.push(key.clone());
            let (start, line) = (node.range.start, document.line(node));
            let kind = match kind(document, node).unwrap_or_else(EntryKind::Odd) {
                // The name becomes an argument of `wrap`, and no argument can contain NUL.
                EntryKind::Plain(_) if key.contains('\0') => {
                    EntryKind::Odd("its name contains a NUL character".to_owned())
                }
                kind => kind,
            };
            servers.push(ServerEntry { path, name: key.clone(), start, line, kind });
        }
        return Ok(());
    };
    let mut found = members.iter().filter(|member| *first == "*" || member.key == *first);
    if *first != "*" && found.clone().nth(1).is_some() {
        let line = found.nth(1).map_or(1, |member| document.line(&member.node));
        bail!("line {line}: the key {first} occurs twice; remove one of them");
    }
    for member in found {
        path.push(member.key.clone());
        descend(document, &member.node, rest, path, servers)?;
        path.pop();
    }
    Ok(())
}

/// Returns the kind of an entry, or the problem with it.
fn kind(document: &Document, entry: &Node) -> Result<EntryKind, String> {
    if entry.members().is_none() {
        return Err("it is not an object".into());
    }
    if let Some(twice) = entry.duplicate() {
        return Err(format!("the key {} occurs twice", Excerpt::new(twice.key.as_bytes(), 80)));
    }
    let is_remote = ADDRESSES.iter().any(|key| {
        entry.member(key).and_then(|it| it.node.as_str()).is_some_and(|it| !it.is_empty())
    });
    let Some(command) = entry.member("command") else {
        return Ok(if is_remote { EntryKind::Remote } else { EntryKind::Builtin });
    };
    // Clients disagree on which of the two counts.
    if is_remote {
        return Err("it has both a command and an address".into());
    }
    // Zed's older format has the program, its arguments and its environment in one object.
    let launch = match &command.node.value {
        Value::Object(_) => {
            if let Some(twice) = command.node.duplicate() {
                let key = Excerpt::new(twice.key.as_bytes(), 80);
                return Err(format!("the key command.{key} occurs twice"));
            }
            let path = command.node.member("path").ok_or("command.path is missing")?;
            launch(document, &command.node, path, "command.path", "command.args")?
        }
        _ => launch(document, entry, command, "command", "args")?,
    };
    Ok(match inner(&launch)? {
        Some(inner) => EntryKind::Wrapped { launch, inner },
        None => EntryKind::Plain(launch),
    })
}

fn launch(
    document: &Document,
    holder: &Node,
    program: &Member,
    program_name: &str,
    args_name: &str,
) -> Result<EntryLaunch, String> {
    let text = program.node.as_str().ok_or_else(|| format!("{program_name} is not a string"))?;
    if text.trim().is_empty() {
        return Err(format!("{program_name} is empty"));
    }
    let args = match holder.member("args") {
        None => None,
        Some(member) => {
            let Value::Array(items) = &member.node.value else {
                return Err(format!("{args_name} is not a list"));
            };
            let items = items.iter().map(|item| {
                let text = item.as_str()?.to_owned();
                Some(Literal { range: item.range.clone(), text })
            });
            let items: Option<Vec<_>> = items.collect();
            let items =
                items.ok_or_else(|| format!("{args_name} has an item that is not a string"))?;
            Some(ArgumentList { range: member.node.range.clone(), items })
        }
    };
    Ok(EntryLaunch {
        program: Literal { range: program.node.range.clone(), text: text.to_owned() },
        key: program.key_range.clone(),
        args,
        redirects: PLACES.into_iter().filter(|name| has_variable(holder, name)).collect(),
        // In TOML, an inline table needs commas, a normal table needs lines.
        is_inline: document.slice(&holder.range).starts_with('{'),
    })
}

/// Returns true if the `env` of an entry sets a variable.
fn has_variable(holder: &Node, name: &str) -> bool {
    holder.member("env").is_some_and(|env| env.node.member(name).is_some())
}

/// Returns the index of the server's own command in the arguments, if Hardline starts it.
fn inner(launch: &EntryLaunch) -> Result<Option<usize>, String> {
    let items = launch.args.as_ref().map_or(&[][..], |args| &args.items);
    let mut inner = 0;
    let mut program = &launch.program.text;
    // The user may have wrapped a wrapped command again.
    while is_hardline(program) && items.get(inner).is_some_and(|item| item.text == "wrap") {
        let rest = items.get(inner..).unwrap_or_default();
        let end = rest.iter().position(|item| item.text == "--");
        let end = end.ok_or("hardline wrap has no -- and no command")?;
        inner += end + 1;
        let Some(next) = items.get(inner) else {
            return Err("hardline wrap has no command after --".into());
        };
        program = &next.text;
        inner += 1;
    }
    Ok(inner.checked_sub(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_its_own_name() {
        for path in [
            "hardline",
            "/usr/bin/hardline",
            "C:\\bin\\Hardline.EXE",
            "/opt/hardline-0.1.0",
            "hardline_x86_64",
        ] {
            assert!(is_hardline(path), "{path}");
        }
        for path in ["", "hardliner", "/usr/bin/hardline/npx", "my-hardline", "hard"] {
            assert!(!is_hardline(path), "{path}");
        }
    }
}
