//! What is shown of a change: the difference, without secrets as far as they can be told: what is in the
//! environment or in headers, and arguments that look like it.

use std::io::{self, Write};
use std::ops::Range;

use anstyle::{AnsiColor, Style};
use hardline_proxy::redact::redact_command;
use similar::{ChangeTag, TextDiff};

use super::document::{Document, Node, Value};
use super::json;
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
        find(root, "", &mut secrets);
    }
    secrets.sort_by_key(|(range, _)| range.start);
    let mut text = String::with_capacity(document.text.len());
    let mut at = 0;
    for (range, mask) in secrets {
        text.push_str(document.slice(&(at..range.start)));
        text.push_str(&mask);
        at = range.end;
    }
    text.push_str(document.slice(&(at..document.text.len())));
    text
}

/// Finds what is not to be shown in `node`, which stands under `key`, and what is shown instead.
fn find(node: &Node, key: &str, secrets: &mut Vec<(Range<usize>, String)>) {
    match &node.value {
        Value::String(_) if SECRETS.contains(&key) => {
            secrets.push((node.range.clone(), MASK.to_owned()));
        }
        Value::Object(members) => {
            for member in members {
                let key = if SECRETS.contains(&key) { key } else { &member.key };
                find(&member.node, key, secrets);
            }
        }
        Value::Array(items) if key == "args" => {
            let words: Vec<_> =
                items.iter().map(|it| it.as_str().unwrap_or_default().to_owned()).collect();
            for (item, (word, shown)) in items.iter().zip(words.iter().zip(redact_command(&words)))
            {
                if *word != shown {
                    secrets.push((item.range.clone(), json::quote(&shown)));
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| find(item, key, secrets)),
        Value::String(_) | Value::Other(_) => {}
    }
}
