//! Lines that can hold no message, told without reading them.

use memchr::{memchr, memchr2_iter};

/// The length of `{"id":1`; nothing shorter names an id.
const MIN_OBJECT: usize = 7;

/// Which keys may be on a line, told by a look that is cheaper than reading it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Keys {
    pub(super) has_id: bool,
    pub(super) has_jsonrpc: bool,
}

impl Keys {
    pub(super) fn of(text: &[u8]) -> Self {
        let mut keys = Self::default();
        if text.len() < MIN_OBJECT {
            return keys;
        }
        let Some(brace) = memchr(b'{', text) else { return keys };
        let rest = text.get(brace..).unwrap_or_default();
        for at in memchr2_iter(b'"', b'\\', rest) {
            match rest.get(at..) {
                Some([b'"', b'i', b'd', b'"', ..]) => keys.has_id = true,
                Some([b'"', b'j', b's', ..]) => keys.has_jsonrpc = true,
                // A key may be written with escapes.
                Some([b'\\', ..]) => return Self { has_id: true, has_jsonrpc: true },
                _ => {}
            }
        }
        keys
    }

    /// Whether there may be a message, or an id.
    pub(super) fn has_any(self) -> bool {
        self.has_id || self.has_jsonrpc
    }
}
