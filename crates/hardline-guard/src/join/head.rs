//! Lines that begin a message and end inside one of its strings.

use hardline_wire::id::Id;
use hardline_wire::json::ends_in_string;
use hardline_wire::limits::Limits;
use hardline_wire::recover::{Ending, Recovered, recover};

use super::keys::Keys;

/// What is known of a message from its first line.
#[derive(Debug)]
pub(super) struct Head {
    pub(super) id: Option<Id<'static>>,
    /// Whether it is a call, so that an id is the server's own.
    pub(super) has_method: bool,
    /// Messages before it on the same line.
    pub(super) before: Vec<Recovered>,
}

impl Head {
    /// Reads a line as a head, if it is one.
    pub(super) fn read(text: &[u8], limits: &Limits) -> Option<Self> {
        let is_structure = matches!(text.trim_ascii_start().first()?, b'{' | b'[');
        let may_be_message = || Keys::of(text).has_any() || starts_with_member(text);
        if !is_structure || !ends_in_string(text) || !may_be_message() {
            return None;
        }
        let mut before: Vec<_> =
            recover(text, Ending::Cut, limits).take(limits.max_in_flight()).collect();
        let is_message = before.iter().any(|it| {
            let has_kind = it.has_method || it.is_response;
            !it.follows_junk && (it.has_jsonrpc || it.id.is_some() && has_kind)
        });
        if !is_message && !starts_with_member(text) {
            return None;
        }
        let open = before.pop().filter(|it| !it.follows_junk);
        let has_method = open.as_ref().is_some_and(|it| it.has_method);
        Some(Self { id: open.and_then(|it| it.id), has_method, before })
    }
}

/// Whether the first key of an object is one of JSON-RPC's: a message may begin with its result.
fn starts_with_member(text: &[u8]) -> bool {
    const NAMES: [&[u8]; 6] = [b"jsonrpc", b"id", b"method", b"params", b"result", b"error"];
    let object = text.trim_ascii_start().strip_prefix(b"{").unwrap_or_default();
    let Some(key) = object.trim_ascii_start().strip_prefix(b"\"") else { return false };
    NAMES.into_iter().any(|name| {
        let (start, rest) = key.split_at_checked(name.len()).unwrap_or_default();
        start.eq_ignore_ascii_case(name) && rest.first() == Some(&b'"')
    })
}
