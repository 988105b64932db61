//! Rules out lines that cannot contain a message, without parsing them.

use memchr::{memchr, memchr2_iter};

/// Length of `{"id":1`; no shorter text names an id.
const MIN_OBJECT: usize = 7;

/// The keys that a line may have.
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

    /// Returns true if there may be a message or an id.
    pub(super) fn has_any(self) -> bool {
        self.has_id || self.has_jsonrpc
    }
}
