//! Brackets of a text that is no JSON.

/// Counts the brackets outside of strings: those that open, less those that close.
///
/// Returns `None` if the text ends inside a string, and, if `is_strict`, if it has anything that JSON
/// does not have outside of strings.
pub(crate) fn brackets(text: &[u8], is_strict: bool) -> Option<i32> {
    let (mut depth, mut inside, mut escape) = (0_i32, false, false);
    for &byte in text {
        if inside {
            inside = escape || byte != b'"';
            escape = byte == b'\\' && !escape;
            continue;
        }
        match byte {
            b'"' => inside = true,
            b'{' | b'[' => depth = depth.saturating_add(1),
            b'}' | b']' => depth = depth.saturating_sub(1),
            b',' | b':' | b' ' | b'\t' | b'\r' | b'-' | b'+' | b'.' | b'0'..=b'9' => {}
            // The letters of `true`, `false`, `null` and of exponents.
            b'a' | b'e' | b'E' | b'f' | b'l' | b'n' | b'r' | b's' | b't' | b'u' => {}
            _ if is_strict => return None,
            _ => {}
        }
    }
    (!inside).then_some(depth)
}

/// Returns the position behind the bracket that closes the first one, outside of strings.
pub(crate) fn first_end(text: &[u8]) -> Option<usize> {
    let (mut depth, mut inside, mut escape) = (0_usize, false, false);
    for (at, &byte) in text.iter().enumerate() {
        if inside {
            inside = escape || byte != b'"';
            escape = byte == b'\\' && !escape;
            continue;
        }
        match byte {
            b'"' => inside = true,
            b'{' | b'[' => depth += 1,
            b'}' | b']' if depth == 1 => return Some(at + 1),
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    None
}
