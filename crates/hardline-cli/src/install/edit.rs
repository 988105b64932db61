//! Changes to a configuration, as replacements of bytes.
//!
//! Wrapping replaces the server's program by ours, and inserts the server's program, as it is
//! written there, before its own arguments. Unwrapping is the opposite. It needs nothing but the
//! text, except where the entry had no list of arguments.
//!
//! Invariants:
//! - Bytes outside a command and the beginning of its arguments never change.
//! - Wrapping followed by unwrapping gives the original text, byte for byte.
//! - A changed text is parsed again and must have exactly the expected values.

use std::ops::Range;

use anyhow::{Context, Result, anyhow, bail, ensure};
use hardline_wire::splice::splice;

use super::document::{Document, Format, Node, Value};
use super::server::{ArgumentList, EntryKind, EntryLaunch, ServerEntry};
use super::toml;

/// Change to the entries of servers.
#[derive(Clone, Debug)]
pub(crate) enum EntryChange<'a> {
    /// Put `program` before the server, with these options of `wrap`.
    Wrap { program: &'a str, options: &'a [String] },
    /// Remove `wrap`. `added` are the servers that had no list of arguments.
    Unwrap { added: &'a [Vec<String>] },
    /// Let a wrapped server be started by `program`.
    Repoint { program: &'a str },
}

/// Changes some servers of a document.
///
/// Servers that the change does not apply to, such as an already wrapped one, stay as they are.
///
/// # Errors
///
/// The text is written in a way that this module cannot change safely.
pub(crate) fn apply(
    document: &Document,
    servers: &[&ServerEntry],
    change: &EntryChange<'_>,
) -> Result<String> {
    let mut edits = Vec::new();
    let mut expected = document.root.clone();
    for server in servers {
        let Some(step) = Step::new(document, server, change) else { continue };
        edits.extend(step.edits);
        let root = expected.as_mut().context("there is no server in an empty file")?;
        expect(root, &server.path, &step.command)?;
    }
    // The edits work on bytes, so the result is verified on the level of values.
    let text = apply_edits(&document.text, edits)?;
    let changed = Document::parse(text.as_bytes(), document.format);
    let is_right = changed.is_ok_and(|changed| match (&changed.root, &expected) {
        (Some(changed), Some(expected)) => changed.says_what(expected),
        (changed, expected) => changed.is_none() && expected.is_none(),
    });
    if !is_right {
        bail!("the file is written in a way that cannot be changed safely; change it by hand");
    }
    Ok(text)
}

/// Edits for one server.
struct Step {
    edits: Vec<Edit>,
    /// Program and arguments of the entry after the edits; `None` if it has no list of arguments.
    command: (String, Option<Vec<String>>),
}

type Edit = (Range<usize>, String);

impl Step {
    fn new(document: &Document, server: &ServerEntry, change: &EntryChange<'_>) -> Option<Self> {
        match (change, &server.kind) {
            (EntryChange::Wrap { program, options }, EntryKind::Plain(launch)) => {
                Some(Self::wrap(document, launch, &server.name, program, options))
            }
            (EntryChange::Unwrap { added }, EntryKind::Wrapped { launch, inner }) => {
                Self::unwrap(document, launch, *inner, added.contains(&server.path))
            }
            (EntryChange::Repoint { program }, EntryKind::Wrapped { launch, .. }) => {
                let edit = (launch.program.range.clone(), quote(document.format, program));
                let args = launch.args.as_ref().map(texts);
                Some(Self { edits: vec![edit], command: ((*program).to_owned(), args) })
            }
            _ => None,
        }
    }

    fn wrap(
        document: &Document,
        launch: &EntryLaunch,
        name: &str,
        program: &str,
        options: &[String],
    ) -> Self {
        let mut ours = vec!["wrap".to_owned()];
        match name {
            "" => {}
            // A name with a leading dash would be parsed as an option.
            _ if name.starts_with('-') => ours.push(format!("--name={name}")),
            _ => ours.extend(["--name".to_owned(), name.to_owned()]),
        }
        ours.extend_from_slice(options);
        ours.push("--".to_owned());

        let space = if is_dense(document, launch) { "" } else { " " };
        let mut written: Vec<_> = ours.iter().map(|it| quote(document.format, it)).collect();
        // The original spelling is copied, so that unwrapping restores it byte for byte.
        written.push(document.slice(&launch.program.range).to_owned());
        let written = written.join(&format!(",{space}"));
        ours.push(launch.program.text.clone());

        let mut edits = vec![(launch.program.range.clone(), quote(document.format, program))];
        edits.push(match &launch.args {
            None => {
                let at = launch.program.range.end;
                (at..at, format!("{}[{written}]", before_added(document, launch)))
            }
            Some(ArgumentList { range, items, .. }) => match items.first() {
                None => (range.start + 1..range.start + 1, written),
                Some(first) => {
                    let at = first.range.start;
                    // A list with one item per line keeps its layout.
                    let gap = line_start(document, at)
                        .map_or(space, |start| document.slice(&(start..at)));
                    (at..at, format!("{written},{gap}"))
                }
            },
        });
        ours.extend(launch.args.as_ref().map(texts).unwrap_or_default());
        Self { edits, command: (program.to_owned(), Some(ours)) }
    }

    fn unwrap(
        document: &Document,
        launch: &EntryLaunch,
        inner: usize,
        was_added: bool,
    ) -> Option<Self> {
        let args = launch.args.as_ref()?;
        let (first, program) = (args.items.first()?, args.items.get(inner)?);
        let mut edits = Vec::new();
        edits.push((launch.program.range.clone(), document.slice(&program.range).to_owned()));
        let rest = args.items.get(inner + 1..).unwrap_or_default();
        let mut texts: Option<Vec<_>> = Some(rest.iter().map(|it| it.text.clone()).collect());
        let between = launch.program.range.end..args.range.start;
        if let Some(next) = rest.first() {
            edits.push((first.range.start..next.range.start, String::new()));
        // The list is removed only if it still looks as `wrap` wrote it.
        } else if was_added && document.slice(&between) == before_added(document, launch) {
            edits.push((between.start..args.range.end, String::new()));
            texts = None;
        } else {
            edits.push((first.range.start..program.range.end, String::new()));
        }
        Some(Self { edits, command: (program.text.clone(), texts) })
    }
}

/// Returns the text between a program and a list of arguments that is added after it. It imitates
/// the layout before the program.
fn before_added(document: &Document, launch: &EntryLaunch) -> String {
    let key = launch.key.start;
    match document.format {
        Format::Json => {
            let start = line_start(document, key);
            let space = if is_dense(document, launch) { "" } else { " " };
            let gap = start.map_or(space, |start| document.slice(&(start..key)));
            format!(",{gap}\"args\":{space}")
        }
        // Indentation and the beginning of a dotted key are repeated before the new key.
        Format::Toml if launch.is_inline => {
            let before = document.text.get(..key).unwrap_or_default();
            let start = before.rfind(['{', ',', '\n']).map_or(0, |at| at + 1);
            format!(", {}args = ", document.slice(&(start..key)).trim_start())
        }
        Format::Toml => {
            let before = document.text.get(..key).unwrap_or_default();
            let start = before.rfind('\n').map_or(0, |at| at + 1);
            let end = if document.text.contains("\r\n") { "\r\n" } else { "\n" };
            format!("{end}{}args = ", document.slice(&(start..key)))
        }
    }
}

/// Returns the position of the line end before `at`, if only white space is in between.
fn line_start(document: &Document, at: usize) -> Option<usize> {
    let before = document.text.get(..at)?.trim_end_matches([' ', '\t']);
    let before = before.strip_suffix('\n')?;
    Some(before.strip_suffix('\r').unwrap_or(before).len())
}

/// Returns true if the text is written without spaces.
fn is_dense(document: &Document, launch: &EntryLaunch) -> bool {
    let between = launch.key.end..launch.program.range.start;
    matches!(document.slice(&between), ":" | "=")
}

fn quote(format: Format, text: &str) -> String {
    match format {
        Format::Json => quote_json(text),
        Format::Toml => toml::quote(text),
    }
}

fn texts(args: &ArgumentList) -> Vec<String> {
    args.items.iter().map(|item| item.text.clone()).collect()
}

/// Changes a tree to the expected values of an entry.
fn expect(root: &mut Node, path: &[String], command: &(String, Option<Vec<String>>)) -> Result<()> {
    let lost = || anyhow!("the entry of a server has moved");
    let mut node = root;
    for key in path {
        node = member_mut(node, key).ok_or_else(lost)?;
    }
    // Zed's older format has the program in `command.path`.
    if member_mut(node, "command").is_some_and(|it| it.members().is_some()) {
        node = member_mut(node, "command").ok_or_else(lost)?;
        set(node, "path", Some(Value::String(command.0.clone())));
    } else {
        set(node, "command", Some(Value::String(command.0.clone())));
    }
    let args = command.1.as_ref().map(|args| {
        let items = args.iter().map(|it| Node { range: 0..0, value: Value::String(it.clone()) });
        Value::Array(items.collect())
    });
    set(node, "args", args);
    Ok(())
}

fn member_mut<'a>(node: &'a mut Node, key: &str) -> Option<&'a mut Node> {
    let Value::Object(members) = &mut node.value else { return None };
    members.iter_mut().find(|member| member.key == key).map(|member| &mut member.node)
}

fn set(node: &mut Node, key: &str, value: Option<Value>) {
    let Value::Object(members) = &mut node.value else { return };
    members.retain(|member| member.key != key);
    members.extend(value.map(|value| super::document::Member {
        key: key.to_owned(),
        key_range: 0..0,
        node: Node { range: 0..0, value },
    }));
}

/// Quotes a text as a JSON string.
pub(super) fn quote_json(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn apply_edits(text: &str, mut edits: Vec<Edit>) -> Result<String> {
    // Edits are collected per server, not in text order.
    edits.sort_by_key(|(range, _)| (range.start, range.end));
    ensure!(
        edits.is_sorted_by(|(one, _), (other, _)| one.end <= other.start),
        "two changes overlap"
    );
    let changed = splice(text.as_bytes(), edits);
    String::from_utf8(changed).context("a change splits a character")
}

#[cfg(test)]
mod tests;
