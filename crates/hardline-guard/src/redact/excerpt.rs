//! Redacted excerpt of the last lines of a stream, for a log.
//!
//! The captured part of a server's standard error can begin and end anywhere, even inside a key or
//! a word. A private key without its first line cannot be recognized by its shape, so lines of
//! nothing but base64 are hidden as well.

use super::{REDACTED, redact_text};

/// Limit on the lines of an excerpt.
const MAX_LINES: usize = 8;
/// Limit on the bytes of an excerpt. The last line is included even if it is longer.
const MAX_BYTES: usize = 1024;
/// Shortest line of base64 that counts as part of a key. Lines of keys have 64 bytes, the last one
/// fewer.
const MIN_KEY_LINE_BYTES: usize = 40;
/// Mark of a shortened line, after its beginning: see `hardline_wire::excerpt`.
const CUT: &str = "… ";

/// Joins the last lines into one, without secrets.
///
/// ```
/// use hardline_guard::redact::redact_excerpt;
///
/// let lines = ["cannot log in", "API_KEY=d41d8cd98f00b204"].map(String::from);
/// assert_eq!(redact_excerpt(&lines), "cannot log in | API_KEY=[redacted]");
/// ```
pub fn redact_excerpt(lines: &[String]) -> String {
    let lines: Vec<&str> = lines.iter().map(|line| without_cut_word(line)).collect();
    let mut text = lines.join("\n");
    // Redacted as one text, because a key has many lines, and before lines are dropped, because the
    // first line of a key may be among those.
    redact_text(&mut text);
    hide_end_of_key(&mut text);
    let mut shown: Vec<&str> = text.split('\n').map(hide_key_line).collect();
    shown.dedup_by(|one, other| one == other && *one == REDACTED);
    let mut bytes = 0;
    let fitting = |line: &&&str| {
        bytes += line.len();
        bytes <= MAX_BYTES
    };
    let count = shown.iter().rev().take(MAX_LINES).take_while(fitting).count();
    let start = shown.len().saturating_sub(count.max(1));
    shown.get(start..).unwrap_or_default().join(" | ")
}

/// Removes the last word of a shortened line, which may be half a secret.
fn without_cut_word(line: &str) -> &str {
    let Some((before, after)) = line.rsplit_once(CUT) else { return line };
    let is_cut = after.starts_with(|first: char| first.is_ascii_digit());
    if is_cut && after.contains(" bytes more") {
        before.rfind(char::is_whitespace).map_or("", |end| before.get(..end).unwrap_or(""))
    } else {
        line
    }
}

/// Hides the end of a private key whose beginning is missing.
fn hide_end_of_key(text: &mut String) {
    let Some(end) = text.find("-----END") else { return };
    let line_end =
        text.get(end..).and_then(|rest| rest.find('\n')).map_or(text.len(), |it| end + it);
    let is_key = text.get(end..line_end).is_some_and(|line| line.contains("PRIVATE KEY"));
    if is_key {
        text.replace_range(..line_end, REDACTED);
    }
}

fn hide_key_line(line: &str) -> &str {
    let word = line.trim();
    let is_base64 = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=-_".contains(&byte);
    let is_key = word.len() >= MIN_KEY_LINE_BYTES && word.bytes().all(is_base64);
    if is_key { REDACTED } else { line }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(lines: &[&str], expected: &str) {
        let lines: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
        assert_eq!(redact_excerpt(&lines), expected);
    }

    #[test]
    fn the_last_lines_are_shown_without_their_secrets() {
        check(&[], "");
        check(&["cannot open x", "giving up"], "cannot open x | giving up");
        check(&["GET https://me:hunter2@example.com/x"], "GET https://me:[redacted]@example.com/x");
        check(&["  'DB_PASSWORD': 'hunter2',"], "  'DB_PASSWORD': '[redacted]',");
        let lines: Vec<String> = (0..32).map(|number| number.to_string()).collect();
        assert_eq!(redact_excerpt(&lines), "24 | 25 | 26 | 27 | 28 | 29 | 30 | 31");
    }

    #[test]
    fn a_key_is_hidden_whichever_part_of_it_is_left() {
        let begin = "-----BEGIN RSA PRIVATE KEY-----";
        let (body, last, end) = ("Ab1+".repeat(16), "Zz9=", "-----END RSA PRIVATE KEY-----");
        check(&["x", begin, &body, &body, last, end, "y"], "x | [redacted] | y");
        check(&[&body, &body, last, end, "y"], "[redacted] | y");
        check(&[&body, &body], "[redacted]");
        check(&["x", begin, &body], "x | [redacted]");
        check(&["-----END CERTIFICATE-----", "y"], "-----END CERTIFICATE----- | y");
    }

    #[test]
    fn a_word_that_was_cut_is_left_out() {
        check(&["token is ghp_aB3dE5… 1016 bytes more"], "token is");
        check(&["ghp_aB3dE5… 1016 bytes more (a line of 9000 bytes)", "end"], " | end");
        check(&["wait… 3 times"], "wait… 3 times");
    }
}
