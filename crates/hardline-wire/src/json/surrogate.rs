//! Positions of unpaired surrogate escapes, for a layer that repairs them.

use super::string::Escape;

/// Returns the position of each surrogate escape in `text` that has no partner.
///
/// For a text that [`Checker::check`](super::Checker::check) refused with an error that [is
/// mendable](super::JsonError::is_mendable). Each escape is six bytes long, like `\uFFFD`:
/// overwriting every one with that repairs the text in place.
pub fn lone_surrogates(text: &[u8]) -> impl Iterator<Item = usize> {
    let mut pos = 0;
    std::iter::from_fn(move || {
        // Backslashes occur only in strings, and each begins an escape.
        loop {
            let at = pos + memchr::memchr(b'\\', text.get(pos..)?)?;
            let Ok(escape) = Escape::read(text, at) else {
                pos = at + 1;
                continue;
            };
            pos = at + escape.len();
            if escape.is_lone() {
                return Some(at);
            }
        }
    })
}
