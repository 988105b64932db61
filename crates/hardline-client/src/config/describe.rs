//! Describes a server for display, without its secrets.
//!
//! A file may contain secrets in plain text. `env` and `headers` are never shown. This module also hides
//! the query of an address, and arguments that are secret by their name or their prefix.

use super::error::show;

/// Words in the name of a flag or a variable that mark its value as secret.
const SECRET_WORDS: [&str; 9] =
    ["key", "token", "secret", "passw", "pwd", "auth", "credential", "bearer", "header"];

/// Prefixes of the keys of well-known services.
const SECRET_PREFIXES: [&str; 12] = [
    "sk-",
    "pk-",
    "ghp_",
    "gho_",
    "ghs_",
    "github_pat_",
    "glpat-",
    "xox",
    "eyJ",
    "AKIA",
    "AIza",
    "hf_",
];

/// Replacement for a hidden value.
const HIDDEN: &str = "…";

/// Describes a command and its arguments.
pub(super) fn command<'a>(program: &str, args: impl Iterator<Item = &'a str>) -> String {
    let mut shown = quoted(&show(program.as_bytes()));
    let mut is_secret = false;
    for arg in args {
        shown.push(' ');
        let (text, is_next_secret) = argument(arg, is_secret);
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

/// Describes an argument. Also returns true if the next argument is secret.
fn argument(arg: &str, is_secret: bool) -> (String, bool) {
    let is_variable = arg.contains("${") || arg.starts_with('$');
    if is_secret && !is_variable && !arg.starts_with('-') {
        return (HIDDEN.to_owned(), false);
    }
    let (name, value) = match arg.split_once('=') {
        // A `=` in the query of a URL is no `name=value` argument.
        Some((name, value)) if !name.contains("://") => (name, Some(value)),
        _ => (arg, None),
    };
    let names_secret = has_secret_word(name);
    match value {
        Some(value) if !is_variable && (names_secret || is_known_secret(value)) => {
            (format!("{}={HIDDEN}", show(name.as_bytes())), false)
        }
        _ if arg.contains("://") => (url(arg), false),
        None if !is_variable && is_known_secret(arg) => (HIDDEN.to_owned(), false),
        None => (show(arg.as_bytes()), arg.starts_with('-') && names_secret),
        Some(_) => (show(arg.as_bytes()), false),
    }
}

fn has_secret_word(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    // Tools in the style of curl take a header after `-H`.
    name == "-h" || SECRET_WORDS.iter().any(|word| name.contains(word))
}

fn is_known_secret(text: &str) -> bool {
    const SHORTEST: usize = 12;
    let text = text.trim_start_matches("Bearer ");
    text.len() >= SHORTEST && SECRET_PREFIXES.iter().any(|it| text.starts_with(it))
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
        check(&["x", "--api-key", "1234", "y"], "x --api-key … y");
        check(&["x", "--api-key=1234", "y"], "x --api-key=… y");
        check(&["x", "-e", "TOKEN=1234"], "x -e TOKEN=…");
        check(&["x", "ghp_0123456789abcdefghij"], "x …");
        check(&["x", "--header", "Authorization: Bearer abc"], "x --header …");
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
