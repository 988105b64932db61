//! Describes a server for display, without its secrets.
//!
//! A file may contain secrets in plain text. `env` and `headers` are never shown. This module also hides
//! the query of an address, and arguments that the guard's `redact` takes for secrets.

use std::iter;

use hardline_guard::redact::{may_be_secret_option, redact_command};
use hardline_wire::excerpt::REDACTED;

use super::error::show;

/// Describes a command and its arguments.
pub(super) fn command<'a>(program: &'a str, args: impl Iterator<Item = &'a str>) -> String {
    let words: Vec<String> = iter::once(program).chain(args).map(str::to_owned).collect();
    let mut shown = quoted(&show(program.as_bytes()));
    let mut is_secret = false;
    for (arg, redacted) in words.iter().zip(redact_command(&words)).skip(1) {
        shown.push(' ');
        let (text, is_next_secret) = argument(arg, &redacted, is_secret);
        shown.push_str(&quoted(&text));
        is_secret = is_next_secret;
    }
    shown
}

/// Returns an address without its user info, query and fragment.
pub(super) fn url(text: &str) -> String {
    let end = text.find(['?', '#']).unwrap_or(text.len());
    let (text, _) = text.split_at(end);
    let text = match text.split_once("://") {
        Some((scheme, rest)) => {
            let host = rest.split('/').next().unwrap_or(rest);
            // The last `@`: a password may contain one.
            let user = host.rfind('@').map_or(0, |at| at + 1);
            format!("{scheme}://{}", rest.get(user..).unwrap_or_default())
        }
        None => text.to_owned(),
    };
    show(text.as_bytes())
}

/// Describes an argument, of which `redacted` lacks what is known to be a secret. Also returns true if
/// the next argument may be secret.
fn argument(arg: &str, redacted: &str, is_secret: bool) -> (String, bool) {
    let is_variable = arg.contains("${") || arg.starts_with('$');
    if is_secret && !is_variable && !arg.starts_with('-') {
        return (REDACTED.to_owned(), false);
    }
    let name = match arg.split_once('=') {
        // A `=` in the query of a URL is no `name=value` argument.
        Some((name, _)) if !name.contains("://") => Some(name),
        _ => None,
    };
    // The name of a variable is no secret.
    let shown = if is_variable { arg } else { redacted };
    let may_be_secret = may_be_secret_option(name.unwrap_or(arg));
    match name {
        Some(name) if !is_variable && may_be_secret => {
            (format!("{}={REDACTED}", show(name.as_bytes())), false)
        }
        _ if arg.contains("://") => (url(shown), false),
        Some(_) => (show(shown.as_bytes()), false),
        None => (show(shown.as_bytes()), arg.starts_with('-') && may_be_secret),
    }
}

fn quoted(text: &str) -> String {
    if text.is_empty() || text.contains([' ', '"', '\'']) {
        format!("\"{}\"", text.replace('"', "\\\""))
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &[&str], expected: &str) {
        assert_eq!(command(line[0], line[1..].iter().copied()), expected);
    }

    #[test]
    fn shows_a_command_as_it_would_be_typed() {
        check(&["npx", "-y", "server"], "npx -y server");
        check(&["npx", "a b", "", "c\nd"], "npx \"a b\" \"\" c\\nd");
        check(&["x", "${KEY}", "--token", "${KEY}"], "x ${KEY} --token ${KEY}");
    }

    #[test]
    fn hides_secret_arguments() {
        check(&["x", "--api-key", "1234", "y"], "x --api-key [redacted] y");
        check(&["x", "--api-key=1234", "y"], "x --api-key=[redacted] y");
        check(&["x", "-e", "TOKEN=1234"], "x -e TOKEN=[redacted]");
        check(&["x", "ghp_0123456789abcdefghij"], "x [redacted]");
        check(&["x", "--header", "Authorization: Bearer abc"], "x --header [redacted]");
        check(&["x", "--token", "--verbose"], "x --token --verbose");
        check(&["x", "https://me:pw@h.example/a?key=1#f"], "x https://h.example/a");
        check(&["x", "postgres://ada:secret@localhost/app"], "x postgres://localhost/app");
    }

    #[test]
    fn shows_an_address_without_user_query_and_fragment() {
        for (text, expected) in [
            ("https://h.example/mcp?key=s#x", "https://h.example/mcp"),
            ("https://u:p@h.example/a@b", "https://h.example/a@b"),
            ("${BASE:-https://h.example}/mcp", "${BASE:-https://h.example}/mcp"),
            ("h.example/\u{1b}[2J", "h.example/\\u{1b}[2J"),
        ] {
            assert_eq!(url(text), expected);
        }
    }
}
