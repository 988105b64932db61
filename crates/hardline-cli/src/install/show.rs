//! Shows a change as a diff. Secrets are masked as far as they are recognizable, and long lines are
//! cut around the change.
//!
//! Masked are the values of environments and headers, values under keys that name a secret, and
//! text that looks like a secret, in arguments, addresses and elsewhere.

use std::io::{self, Write};
use std::ops::Range;

use anstyle::{AnsiColor, Style};
use hardline_guard::redact::{REDACTED, may_be_secret_key, redact_command, redact_text};
use similar::{ChangeTag, DiffOp, TextDiff};

use super::document::{Document, Format, Node, Value};
use super::{edit, long, toml};
use crate::terminal::Pieces;

/// Keys of objects whose values are often secret.
const SECRETS: &[&str] = &["env", "environment", "headers", "http_headers"];
/// Options that are followed by an environment variable and its value.
const ENVIRONMENT: &[&str] = &["-e", "--env"];
/// Lines of context around a change.
const CONTEXT: usize = 2;

/// Writes a unified diff of two texts.
pub(crate) fn diff(
    out: &mut dyn Write,
    name: &str,
    before: &Document,
    after: &Document,
) -> io::Result<()> {
    // Both sides are masked before the diff, so that no secret reaches it.
    let (before, after) = (masked(before), masked(after));
    let diff = TextDiff::from_lines(&before, &after);
    let color = |color: AnsiColor| Style::new().fg_color(Some(color.into()));
    let (bold, dim) = (Style::new().bold(), color(AnsiColor::Cyan));
    writeln!(out, "{bold}--- {name}{bold:#}")?;
    writeln!(out, "{bold}+++ {name}{bold:#}")?;
    for hunk in diff.unified_diff().context_radius(CONTEXT).iter_hunks() {
        writeln!(out, "{dim}{}{dim:#}", hunk.header())?;
        for op in hunk.ops() {
            let lines: Vec<_> = diff.iter_changes(op).map(|it| (it.tag(), it.value())).collect();
            for (tag, line) in shortened(op, lines) {
                let (sign, style) = match tag {
                    ChangeTag::Equal => (' ', Style::new()),
                    ChangeTag::Delete => ('-', color(AnsiColor::Red)),
                    ChangeTag::Insert => ('+', color(AnsiColor::Green)),
                };
                writeln!(out, "{style}{sign}{}{style:#}", shown(&line))?;
            }
        }
    }
    Ok(())
}

/// Cuts long lines. A deleted line and its replacement are cut around their difference.
fn shortened(op: &DiffOp, lines: Vec<(ChangeTag, &str)>) -> Vec<(ChangeTag, String)> {
    let (old, new) = (op.old_range().len(), op.new_range().len());
    // A block of lines replaced by as many lines is compared line by line.
    let is_paired = matches!(op, DiffOp::Replace { .. }) && old == new;
    // Deleted lines come first and inserted lines follow, so the partner is `old` lines away.
    let other = |index: usize| {
        let paired = lines.get((index + old) % lines.len().max(1)).filter(|_| is_paired);
        paired.map(|(_, line)| *line)
    };
    let one = |(index, (tag, line)): (usize, &(ChangeTag, &str))| {
        let line = match (other(index), tag) {
            (Some(other), ChangeTag::Delete) => long::cut_pair(line, other).0,
            (Some(other), _) => long::cut_pair(other, line).1,
            (None, _) => long::cut(line),
        };
        (*tag, line)
    };
    lines.iter().enumerate().map(one).collect()
}

/// Escapes a line, so that it cannot move the cursor.
fn shown(line: &str) -> String {
    let line = line.trim_end_matches(['\r', '\n']);
    let parts = line.split('\t').map(|part| Pieces::new(part.as_bytes(), true));
    let parts: Vec<_> = parts.map(|part| part.first(usize::MAX, false)).collect();
    parts.join("\t")
}

/// Returns the text of a document with its secrets masked.
fn masked(document: &Document) -> String {
    let mut search = Search { document, secrets: Vec::new() };
    if let Some(root) = &document.root {
        search.find(root, "", false);
    }
    let Search { mut secrets, .. } = search;
    secrets.sort_by_key(|(range, _)| range.start);
    let mut text = String::with_capacity(document.text.len());
    let mut at = 0;
    for (range, mask) in secrets {
        text.push_str(document.slice(&(at..range.start)));
        text.push_str(&mask);
        at = range.end;
    }
    text.push_str(document.slice(&(at..document.text.len())));
    // Comments can contain secrets too.
    redact_text(&mut text);
    text
}

/// Collects the secrets of a document and their masks.
struct Search<'a> {
    document: &'a Document,
    secrets: Vec<(Range<usize>, String)>,
}

impl Search<'_> {
    /// Visits `node`, which is the value of `key`. `is_secret` is inherited from an outer value.
    fn find(&mut self, node: &Node, key: &str, is_secret: bool) {
        match &node.value {
            Value::Object(members) => {
                for member in members {
                    let is_secret = is_secret || is_secret_member(&member.key, &member.node);
                    self.find(&member.node, &member.key, is_secret);
                }
            }
            Value::Array(items) if key == "args" && !is_secret => self.arguments(items),
            Value::Array(items) => items.iter().for_each(|item| self.find(item, key, is_secret)),
            Value::String(text) if is_secret && !text.is_empty() => {
                self.hide(node, format!("\"{REDACTED}\""));
            }
            Value::String(text) => self.replace(node, text, address(key, text)),
            // A number can be a PIN; `true` and `null` reveal nothing.
            Value::Other(text) if is_secret && text.starts_with(|it: char| it.is_ascii_digit()) => {
                self.hide(node, format!("\"{REDACTED}\""));
            }
            Value::Other(_) => {}
        }
    }

    fn arguments(&mut self, items: &[Node]) {
        let words: Vec<_> =
            items.iter().map(|it| it.as_str().unwrap_or_default().to_owned()).collect();
        let mut is_variable = false;
        for (item, (word, redacted)) in items.iter().zip(words.iter().zip(redact_command(&words))) {
            let shown = match word.split_once('=') {
                Some((name, _)) if is_variable => format!("{name}={REDACTED}"),
                Some((option, value)) if ENVIRONMENT.contains(&option) => {
                    let name = value.split('=').next().unwrap_or_default();
                    format!("{option}={name}={REDACTED}")
                }
                _ => redacted,
            };
            // `-e NAME=VALUE`: the next word is a variable.
            is_variable = ENVIRONMENT.contains(&word.as_str());
            self.replace(item, word, shown);
        }
    }

    fn replace(&mut self, node: &Node, text: &str, shown: String) {
        if shown != text {
            // The document has its own escapes, and a mask must not break them.
            let quote = match self.document.format {
                Format::Json => edit::quote_json,
                Format::Toml => toml::quote,
            };
            self.hide(node, quote(&shown));
        }
    }

    fn hide(&mut self, node: &Node, mask: String) {
        self.secrets.push((node.range.clone(), mask));
    }
}

/// Returns true if everything under a key is secret. An entry with a command is a server, and a
/// server may have any name.
fn is_secret_member(key: &str, node: &Node) -> bool {
    // A server may be named `token-counter`; then the key is no name of a secret.
    SECRETS.contains(&key) || (may_be_secret_key(key) && node.member("command").is_none())
}

/// Returns a text for display; a URL loses its query.
fn address(key: &str, text: &str) -> String {
    let mut shown = match text.split_once('?') {
        // The query of an address may have a key in it.
        Some((before, _)) if key.to_ascii_lowercase().ends_with("url") => {
            format!("{before}?{REDACTED}")
        }
        _ => text.to_owned(),
    };
    redact_text(&mut shown);
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let format = if text.starts_with('{') { Format::Json } else { Format::Toml };
        let document = Document::parse(text.as_bytes(), format).unwrap();
        assert_eq!(masked(&document), expected);
    }

    #[test]
    fn what_may_be_secret_is_not_shown() {
        check(
            r#"{"primaryApiKey":"a","oauthAccount":{"token":["b"]},"clientSecret":"c","n":1}"#,
            r#"{"primaryApiKey":"[redacted]","oauthAccount":{"token":["[redacted]"]},"clientSecret":"[redacted]","n":1}"#,
        );
        check(
            r#"{"url": "https://u:pw@h/sse?k=v", "environment": {"A": "x", "B": {"C": 7, "D": true}}}"#,
            r#"{"url": "https://u:[redacted]@h/sse?[redacted]", "environment": {"A": "[redacted]", "B": {"C": "[redacted]", "D": true}}}"#,
        );
        check(
            r#"{"args": ["-e", "A=x", "--env=B=y", "--token", "z", "plain=p"], "en\u0076": {"A": "x"}}"#,
            r#"{"args": ["-e", "A=[redacted]", "--env=B=[redacted]", "--token", "[redacted]", "plain=p"], "en\u0076": {"A": "[redacted]"}}"#,
        );
        check(
            "{\"a\": \"b\" // password=hunter2\n, \"mySecretThing\": \"x\"}",
            "{\"a\": \"b\" // password=[redacted]\n, \"mySecretThing\": \"[redacted]\"}",
        );
        check(
            "url = 'https://u:pw@h'\n[env]\nA = 'x'\n",
            "url = \"https://u:[redacted]@h\"\n[env]\nA = \"[redacted]\"\n",
        );
        let plain = r#"{"token-server": {"command": "npx"}, "args": ["-y", "/home/me"]}"#;
        check(plain, plain);
        let plain = r#"{"command": "npx", "args": ["-y", "server", "/home/me"], "type": "stdio"}"#;
        check(plain, plain);
    }
}
