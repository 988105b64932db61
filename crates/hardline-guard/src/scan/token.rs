//! The tokens of JSON below values: white space, comments and words, as the most lenient reader
//! accepts them.

use memchr::memchr;

/// Limit on the length of a comment that is skipped.
const MAX_COMMENT: usize = 256;

/// Returns the number of bytes at the start of `text` that some reader or trimmer skips.
#[inline]
pub(super) fn blank_length(text: &[u8]) -> usize {
    match text {
        [] | [0x21..=0x7e, ..] => 0,
        _ => long_blank_length(text),
    }
}

fn long_blank_length(text: &[u8]) -> usize {
    let mut at = 0;
    loop {
        let rest = text.get(at..).unwrap_or_default();
        at += match rest {
            // UTF-8 of control characters, spaces and format characters up to U+3000 and U+FEFF.
            [0..=0x20 | 0x7f, ..] => 1,
            [0xc2, 0x80..=0xa0 | 0xad, ..] => 2,
            [0xe1, 0x9a, 0x80, ..] | [0xe1, 0xa0, 0x8e, ..] => 3,
            [0xe2, 0x80, 0x80..=0x8f | 0xa8..=0xaf, ..] => 3,
            [0xe2, 0x81, 0x9f..=0xaf, ..] | [0xe3, 0x80, 0x80, ..] | [0xef, 0xbb, 0xbf, ..] => 3,
            _ => return at,
        };
    }
}

pub(super) fn comment_length(text: &[u8]) -> Option<usize> {
    let near = text.get(..MAX_COMMENT).unwrap_or(text);
    match text {
        [b'/', b'*', ..] => near.windows(2).skip(2).position(|it| it == b"*/").map(|it| it + 4),
        [b'/', b'/', ..] => match memchr(b'\n', near) {
            // The end of the text ends a line comment too.
            None if near.len() == text.len() => Some(text.len()),
            end => end,
        },
        _ => None,
    }
}

pub(super) fn word_end(text: &[u8], at: usize) -> usize {
    let is_word = |it: &u8| {
        it.is_ascii_alphanumeric() || matches!(it, b'+' | b'-' | b'.' | b'_' | b'$' | b'/')
    };
    at + text.get(at..).map_or(0, |rest| rest.iter().take_while(|it| is_word(it)).count())
}

/// Returns true if a reader in common use accepts the word as a number or a literal.
pub(super) fn is_known_word(word: &[u8]) -> bool {
    matches!(word, b"true" | b"false" | b"null" | b"NaN" | b"Infinity" | b"-Infinity" | b"-NaN")
        || matches!(word, [b'+' | b'-' | b'.' | b'0'..=b'9', ..])
            && word.iter().all(|it| it.is_ascii_hexdigit() || b"+-.xX_".contains(it))
}
