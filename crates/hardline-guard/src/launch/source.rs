//! Words that stand for code but are not a file with code: standard input, `data:` addresses.

/// Returns true if a word, or the value that it sets, is code or a path to standard input.
///
/// The client writes the protocol to the standard input of a server, so a server cannot read its
/// code from there.
pub(super) fn is_code(word: &str) -> bool {
    let set = word.rsplit('=').next().unwrap_or(word);
    [word, set].into_iter().any(|it| is_input(it) || is_address(it))
}

/// Returns true if a word is a path to standard input, or to another file that is already open.
fn is_input(word: &str) -> bool {
    if word == "-" {
        return true;
    }
    let parts: Vec<&str> = word.split('/').filter(|it| !it.is_empty() && *it != ".").collect();
    let is_number = |it: &str| it.chars().all(|char| char.is_ascii_digit());
    match &*parts {
        [.., "dev", "stdin"] => word.contains('/'),
        [.., "dev", "fd", number] => is_number(number),
        [.., "fd", number] => parts.contains(&"proc") && is_number(number),
        _ => false,
    }
}

/// Returns true if a word is an address that contains the code. Readers of addresses ignore blanks
/// in it.
fn is_address(word: &str) -> bool {
    let start: String = word
        .chars()
        .filter(|char| !char.is_ascii_control() && *char != ' ')
        .take(5)
        .flat_map(char::to_lowercase)
        .collect();
    start == "data:" || start == "php:/"
}

/// Returns true if a word is the name of a module, optionally with the imported names.
pub(super) fn is_module(word: &str) -> bool {
    word.chars().all(|char| char.is_alphanumeric() || "_:=,./-".contains(char))
}

/// Returns true if a shell would read one word as a command with arguments.
pub(super) fn is_line(word: &str) -> bool {
    let mut parts = word.split_whitespace();
    // A path may contain blanks: `/opt/My App/run`.
    let is_first_path = parts.next().is_some_and(|first| first.contains(['/', '\\']));
    word.contains([';', '|', '&', '$', '<', '>', '`']) || parts.next().is_some() && !is_first_path
}

/// Returns true if a word is most likely source code, not a name or number.
pub(super) fn is_text(word: &str) -> bool {
    is_line(word) || word.contains('(')
}
