//! Commands that are suggested: with whatever of the present one they need, so that they work as they are
//! shown.
//!
//! Invariant: nothing is repeated that may hold a secret: no query of an address, no header, no command.

use std::path::PathBuf;
use std::sync::Arc;

use hardline_wire::excerpt::is_unsafe;

use super::print::name;
use crate::terminal::is_obeyed;

/// How a server was found. Clones are cheap.
#[derive(Clone, Debug)]
pub(super) enum Again {
    /// By its name, with these options in front of which there is a space.
    Named { options: Arc<str> },
    /// At an address, which is `None` if it is not to be shown.
    Url { url: Option<Arc<str>>, has_headers: bool },
    /// As a command.
    Command,
}

impl Again {
    /// In files that were named, or in the known places.
    pub(super) fn named(files: &[PathBuf]) -> Self {
        let options = files.iter().map(|it| format!(" --config {}", quoted(&it.to_string_lossy())));
        Self::Named { options: options.collect::<String>().into() }
    }

    pub(super) fn url(url: &str, has_headers: bool) -> Self {
        let url = (!url.contains(['?', '#'])).then(|| quoted(url).into());
        Self::Url { url, has_headers }
    }

    /// A command for a server, as it is typed. `None` if there is something in it that is not repeated.
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

    /// The same in a sentence: with what there is to be added.
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
            _ => format!("`{start} -- …`"),
        }
    }

    fn start(&self, command: &str, server: &str, words: &[&str]) -> String {
        let server = match self {
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

/// Whether a command is about tokens, so that no header is of use to it.
fn is_login(command: &str) -> bool {
    matches!(command, "login" | "logout")
}

/// Whether a word cannot be shown as it is, so that nobody can copy it.
pub(super) fn is_odd(word: &str) -> bool {
    word.chars().any(|it| is_obeyed(it) || is_unsafe(it))
}

/// A word as a shell takes it, fit for a terminal.
pub(super) fn quoted(word: &str) -> String {
    let is_plain = |it: char| {
        it.is_alphanumeric() || "_-./:@%+,".contains(it) || (cfg!(windows) && it == '\\')
    };
    if is_odd(word) {
        // No shell would take it: at least it can be recognized.
        return format!("'{}'", name(word));
    }
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
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
