//! Buffers with bounded growth.

/// Appends `bytes` to `buffer`, which never holds more than `most`. Capacity grows by doubling, but
/// not beyond `most`.
pub(crate) fn extend_within(buffer: &mut Vec<u8>, bytes: &[u8], most: usize) {
    let needed = buffer.len() + bytes.len();
    if buffer.capacity() < needed {
        // `Vec` alone would double past the limit.
        let doubled = (buffer.capacity() * 2).min(most).max(needed);
        buffer.reserve_exact(doubled - buffer.len());
    }
    buffer.extend_from_slice(bytes);
}
