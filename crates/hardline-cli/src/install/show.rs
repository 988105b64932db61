//! What is shown of a change: the difference, without secrets.

use std::io::{self, Write};

use anstyle::{AnsiColor, Style};
use similar::{ChangeTag, TextDiff};

use super::document::{Document, Node, Value};
use crate::terminal::Pieces;

/// Keys whose texts are often secret.
const SECRETS: &[&str] = &["env", "headers", "http_headers"];
const MASK: &str = "\"…\"";

/// Writes the difference of two texts in the form of `diff -u`.
pub(crate) fn diff(
    out: &mut dyn Write,
    name: &str,
    before: &Document,
    after: &Document,
) -> io::Result<()> {
    let (before, after) = (masked(before), masked(after));
    let diff = TextDiff::from_lines(&before, &after);
    let color = |color: AnsiColor| Style::new().fg_color(Some(color.into()));
    let (bold, dim) = (Style::new().bold(), color(AnsiColor::Cyan));
    writeln!(out, "{bold}--- {name}{bold:#}")?;
    writeln!(out, "{bold}+++ {name}{bold:#}")?;
    for hunk in diff.unified_diff().context_radius(2).iter_hunks() {
        writeln!(out, "{dim}{}{dim:#}", hunk.header())?;
        for change in hunk.iter_changes() {
            let (sign, style) = match change.tag() {
                ChangeTag::Equal => (' ', Style::new()),
                ChangeTag::Delete => ('-', color(AnsiColor::Red)),
                ChangeTag::Insert => ('+', color(AnsiColor::Green)),
            };
            writeln!(out, "{style}{sign}{}{style:#}", shown(change.value()))?;
        }
    }
    Ok(())
}

/// A line for a terminal: nothing in it moves a cursor.
fn shown(line: &str) -> String {
    let line = line.trim_end_matches(['\r', '\n']);
    let parts = line.split('\t').map(|part| Pieces::new(part.as_bytes(), true));
    let parts: Vec<_> = parts.map(|part| part.first(usize::MAX, false)).collect();
    parts.join("\t")
}

/// The text of a document with marks in the place of what may be secret.
fn masked(document: &Document) -> String {
    let mut secrets = Vec::new();
    if let Some(root) = &document.root {
        find(root, false, &mut secrets);
    }
    secrets.sort_by_key(|range: &std::ops::Range<usize>| range.start);
    let mut text = String::with_capacity(document.text.len());
    let mut at = 0;
    for range in secrets {
        text.push_str(document.slice(&(at..range.start)));
        text.push_str(MASK);
        at = range.end;
    }
    text.push_str(document.slice(&(at..document.text.len())));
    text
}

fn find(node: &Node, is_secret: bool, secrets: &mut Vec<std::ops::Range<usize>>) {
    match &node.value {
        Value::String(_) if is_secret => secrets.push(node.range.clone()),
        Value::Object(members) => {
            for member in members {
                find(&member.node, is_secret || SECRETS.contains(&&*member.key), secrets);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| find(item, is_secret, secrets)),
        Value::String(_) | Value::Other(_) => {}
    }
}
