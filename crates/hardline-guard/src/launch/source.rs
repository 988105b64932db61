//! Words that stand for code without being a file of it: standard input, `data:` addresses.

/// Whether a word, or what it sets, is code or the way to standard input.
///
/// A server reads the protocol there, which the client writes: it cannot read its code as well.
pub(super) fn is_code(word: &str) -> bool {
    let set = word.rsplit('=').next().unwrap_or(word);
    [word, set].into_iter().any(|it| is_input(it) || is_address(it))
}

/// Whether a word is the way to standard input, or to another file that is open already.
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

/// Whether a word is an address that has the code in it. Who reads addresses drops blanks.
fn is_address(word: &str) -> bool {
    let start: String = word
        .chars()
        .filter(|char| !char.is_ascii_control() && *char != ' ')
        .take(5)
        .flat_map(char::to_lowercase)
        .collect();
    start == "data:" || start == "php:/"
}

/// Whether a word is the name of a module, perhaps with what is wanted of it.
pub(super) fn is_module(word: &str) -> bool {
    word.chars().all(|char| char.is_alphanumeric() || "_:=,./-".contains(char))
}

/// Whether a shell would read one word as a command with arguments.
pub(super) fn is_line(word: &str) -> bool {
    let mut parts = word.split_whitespace();
    let is_first_path = parts.next().is_some_and(|first| first.contains(['/', '\\']));
    word.contains([';', '|', '&', '$', '<', '>', '`']) || parts.next().is_some() && !is_first_path
}

/// Whether a word is most likely a program's text, and no name or number.
pub(super) fn is_text(word: &str) -> bool {
    is_line(word) || word.contains('(')
}
