//! Suggested commands: complete, with the options of the present command, so that they work as
//! shown.
//!
//! Invariant: they repeat nothing that may contain a secret: no query of an address, no header, no
//! command.

use std::path::PathBuf;
use std::sync::Arc;

use hardline_wire::excerpt::is_unsafe;

use super::print::name;
use crate::terminal::is_obeyed;

/// Options with which a server was found. Clones are cheap.
#[derive(Clone, Debug)]
pub(super) enum Again {
    /// By name, with these options; each has a space before it.
    Named { options: Arc<str> },
    /// At an address; `None` if the address must not be shown.
    Url { url: Option<Arc<str>>, has_headers: bool },
    /// By a command.
    Command,
}

impl Again {
    /// In named files, or in the known places.
    pub(super) fn named(files: &[PathBuf]) -> Self {
        let options = files.iter().map(|it| format!(" --config {}", quoted(&it.to_string_lossy())));
        Self::Named { options: options.collect::<String>().into() }
    }

    pub(super) fn url(url: &str, has_headers: bool) -> Self {
        // A query or a fragment may contain a token.
        let url = (!url.contains(['?', '#'])).then(|| quoted(url).into());
        Self::Url { url, has_headers }
    }

    /// Returns a command about a server, ready to type. `None` if a part of it must not be
    /// repeated.
    pub(super) fn line(&self, command: &str, server: &str, words: &[&str]) -> Option<String> {
        let start = self.start(command, server, words);
        match self {
            Self::Named { options } => Some(format!("{start}{options}")),
            Self::Url { url: Some(url), has_headers } if is_login(command) || !has_headers => {
                Some(format!("{start} --url {url}"))
            }
            Self::Url { .. } | Self::Command => None,
        }
    }

    /// Returns the same for a sentence, with a note about the options to add.
    pub(super) fn phrase(&self, command: &str, server: &str, words: &[&str]) -> String {
        if let Some(line) = self.line(command, server, words) {
            return format!("`{line}`");
        }
        let start = self.start(command, server, words);
        match self {
            Self::Url { has_headers: true, .. } if !is_login(command) => {
                format!("`{start}` with the same --url and --header")
            }
            Self::Url { .. } => format!("`{start}` with the same --url"),
            // The command may contain secrets, so it is not repeated.
            _ => format!("`{start} -- …`"),
        }
    }

    fn start(&self, command: &str, server: &str, words: &[&str]) -> String {
        let server = match self {
            // clap would parse such a name as an option.
            Self::Named { .. } if server.starts_with('-') => {
                format!(" --server={}", quoted(server))
            }
            Self::Named { .. } => format!(" {}", quoted(server)),
            Self::Url { .. } | Self::Command => String::new(),
        };
        let words = words.iter().map(|it| format!(" {}", quoted(it)));
        format!("hardline {command}{server}{}", words.collect::<String>())
    }
}

/// Returns true for commands about tokens, which need no headers.
fn is_login(command: &str) -> bool {
    matches!(command, "login" | "logout")
}

/// Returns true if a word cannot be shown as it is, so that it cannot be copied.
pub(super) fn is_odd(word: &str) -> bool {
    word.chars().any(|it| is_obeyed(it) || is_unsafe(it))
}

/// Quotes a word for a shell, escaped for a terminal.
pub(super) fn quoted(word: &str) -> String {
    let is_plain = |it: char| {
        it.is_alphanumeric() || "_-./:@%+,".contains(it) || (cfg!(windows) && it == '\\')
    };
    if is_odd(word) {
        // No shell accepts the escaped form, but the user recognizes the word.
        return format!("'{}'", name(word));
    }
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(again: &Again, command: &str, expected: &str) {
        assert_eq!(again.phrase(command, "my server", &["echo"]), expected);
    }

    #[test]
    fn what_is_needed_is_repeated() {
        check(&Again::named(&[]), "tools", "`hardline tools 'my server' echo`");
        let files = ["a/b.json".into(), "it's $x.json".into()];
        let expected =
            "`hardline call 'my server' echo --config a/b.json --config 'it'\\''s $x.json'`";
        check(&Again::named(&files), "call", expected);
        let url = "http://[::1]:80/mcp";
        let quoted = "`hardline tools echo --url 'http://[::1]:80/mcp'`";
        check(&Again::url(url, false), "tools", quoted);
        check(
            &Again::url("https://a.b/c", false),
            "login",
            "`hardline login echo --url https://a.b/c`",
        );
        check(
            &Again::url("https://a.b/c", true),
            "login",
            "`hardline login echo --url https://a.b/c`",
        );
    }

    #[test]
    fn what_may_be_secret_is_not() {
        let headers = "`hardline tools echo` with the same --url and --header";
        check(&Again::url("https://a.b/c", true), "tools", headers);
        check(&Again::url("https://a.b/?k=s", true), "tools", headers);
        check(
            &Again::url("https://a.b/?k=s", true),
            "login",
            "`hardline login echo` with the same --url",
        );
        check(
            &Again::url("https://a.b/?k=s", false),
            "call",
            "`hardline call echo` with the same --url",
        );
        check(&Again::Command, "call", "`hardline call echo -- …`");
        assert_eq!(
            Again::named(&[]).phrase("call", "-x y", &[]),
            "`hardline call --server='-x y'`"
        );
        assert!(Again::Command.line("call", "x", &[]).is_none());
    }

    #[test]
    fn words_are_quoted_for_a_shell_and_harmless() {
        assert_eq!(quoted("a_b-c/d.e"), "a_b-c/d.e");
        assert_eq!(quoted(""), "''");
        assert_eq!(quoted("a b"), "'a b'");
        assert_eq!(quoted("`x`"), "'`x`'");
        assert_eq!(quoted("é"), "é");
        assert_eq!(quoted("\u{1b}[2J"), "'\\u{1b}[2J'");
    }
}
