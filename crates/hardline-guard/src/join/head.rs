//! Recognizes the first line of a message that raw newlines tore apart.
//!
//! A head begins a JSON-RPC message and is incomplete: it ends inside a string, or with an object or
//! array still open. The second kind matters as much as the first. Content with a quote before its
//! newline (`a"`, `a"}],"_meta":`) closes the string that it stands in.

use hardline_wire::id::Id;
use hardline_wire::json::ends_in_string;
use hardline_wire::limits::Limits;
use hardline_wire::recover::{Ending, Recovered, recover};
use memchr::{memchr_iter, memmem, memrchr};

use super::keys::Keys;
use crate::frame::{brackets, cut_junk};

/// Most opening braces of a line that are tried as the start of an object.
const MAX_OBJECTS: usize = 8;
/// Limit on a line of opening brackets that counts as the start of a pretty-printed message, in
/// bytes.
const MAX_BARE_BYTES: usize = 16;

/// The facts about a message that its first line shows.
#[derive(Debug)]
pub(super) struct Head {
    pub(super) id: Option<Id<'static>>,
    /// Set if it is a call, so that the id is one of the server.
    pub(super) has_method: bool,
    /// Messages before it on the same line.
    pub(super) before: Vec<Recovered>,
    /// Set if only a string that does not end shows that the line is torn: it has no key of a message.
    pub(super) is_plain: bool,
    /// Set if the line consists of opening brackets. The next line decides if they begin a message.
    pub(super) is_bare: bool,
    /// Length of the progress bar, or of the end of another message, that stands before it.
    pub(super) start: usize,
}

impl Head {
    /// Reads a line as a head, if it is one.
    pub(super) fn read(line: &[u8], limits: &Limits) -> Option<Self> {
        // After a progress bar or the end of another message, a message begins as if it stood alone. On a
        // terminal, the text behind a carriage return overwrites any other.
        let begins = |it: &&[u8]| is_repr(it) || starts_with_member(it) || is_torn_string(it);
        let read_undecorated = || {
            let behind_return = || cut_junk(line.get(memrchr(b'\r', line)? + 1..)?);
            let text = cut_junk(line).filter(begins).or_else(|| behind_return().filter(begins))?;
            let head = Self::read_text(text, limits)?;
            Some(Self { start: line.len() - text.len(), ..head })
        };
        Self::read_text(line, limits).or_else(read_undecorated)
    }

    /// Returns true if a log line may have printed it: it has no key of a message, and follows other text on
    /// its line.
    pub(super) fn is_quoted(&self) -> bool {
        self.is_plain && self.start > 0
    }

    fn read_text(text: &[u8], limits: &Limits) -> Option<Self> {
        let start = text.trim_ascii_start();
        if !matches!(start.first()?, b'{' | b'[') {
            return None;
        }
        if is_bare(start) {
            return Some(Self {
                id: None,
                has_method: false,
                before: Vec::new(),
                is_plain: false,
                is_bare: true,
                start: 0,
            });
        }
        if is_repr(text) {
            return Some(Self {
                id: None,
                has_method: false,
                before: Vec::new(),
                is_plain: false,
                is_bare: false,
                start: 0,
            });
        }
        let is_torn_string = is_torn_string(text);
        let may_be_message = Keys::of(text).has_any() || starts_with_member(text);
        if !(may_be_message || is_torn_string) || !is_incomplete(text) {
            return None;
        }
        let mut before: Vec<_> =
            recover(text, Ending::Cut, limits).take(limits.max_in_flight()).collect();
        // Logs are full of ids, so one counts only beside a method or an outcome.
        let is_message = before.iter().any(|it| {
            let has_kind = it.has_method || it.is_response;
            !it.follows_junk && (it.has_jsonrpc || it.id.is_some() && has_kind)
        });
        if !is_message && !is_torn_string && !starts_with_member(text) {
            return None;
        }
        // Only the last message on a line can be the one that is torn.
        let open = before.pop().filter(|it| !it.follows_junk);
        let has_method = open.as_ref().is_some_and(|it| it.has_method);
        Some(Self {
            id: open.and_then(|it| it.id),
            has_method,
            before,
            is_plain: !may_be_message,
            is_bare: false,
            start: 0,
        })
    }

    /// Returns true if a line consists of opening brackets.
    pub(super) fn is_bare_line(text: &[u8]) -> bool {
        is_bare(text.trim_ascii_start())
    }

    /// Returns true if `text`, the first line after opening brackets that is not blank, shows that
    /// they begin a message.
    pub(super) fn is_confirmed_by(text: &[u8]) -> bool {
        let start = text.trim_ascii_start();
        if is_bare(start) {
            return true;
        }
        let members = start.strip_prefix(b"{").unwrap_or(start);
        first_key_is_member(members)
    }
}

/// Returns true if a line has an object with a first key and ends before the object does, as in
/// `INFO {"jsonrpc":…,"text":"a`.
///
/// The server may go on with the rest of a message on the next lines, whatever the first keys are:
/// the others may follow.
pub(super) fn has_incomplete_object(text: &[u8]) -> bool {
    memchr_iter(b'{', text).take(MAX_OBJECTS).any(|brace| {
        let object = text.get(brace..).unwrap_or_default();
        is_repr(object) || begins_object(object) && is_incomplete(object)
    })
}

/// Returns true if a text begins an object, or an array of objects, with a quoted key.
fn begins_object(text: &[u8]) -> bool {
    let text = text.trim_ascii_start();
    let text = text.strip_prefix(b"[").map_or(text, <[u8]>::trim_ascii_start);
    let members = text.strip_prefix(b"{").map(<[u8]>::trim_ascii_start);
    members.is_some_and(|it| it.first() == Some(&b'"'))
}

/// Returns true if a line begins an object and ends inside one of its strings.
///
/// Programs break JSON between values when they print it, but never inside a string. So a raw newline has
/// torn this object, whatever its keys are: the others may follow.
fn is_torn_string(text: &[u8]) -> bool {
    begins_object(text) && ends_in_string(text)
}

/// Returns true if a line begins a message as another language prints it, `{'jsonrpc': '2.0', …`, and ends
/// before the message does.
fn is_repr(text: &[u8]) -> bool {
    let object = text.trim_ascii_start().strip_prefix(b"{").unwrap_or_default();
    // A backslash begins JSON inside of a string.
    let first = object.trim_ascii_start().first();
    let is_json = matches!(first, None | Some(b'"' | b'{' | b'}' | b'\\'));
    if is_json || memmem::find(text, b"jsonrpc").is_none() {
        return false;
    }
    let (mut depth, mut quote, mut escape) = (0_usize, None, false);
    for &byte in text {
        match (quote, byte) {
            (Some(_), _) if escape => escape = false,
            (Some(_), b'\\') => escape = true,
            (Some(open), _) if open == byte => quote = None,
            (Some(_), _) => {}
            (None, b'"' | b'\'') => quote = Some(byte),
            (None, b'{' | b'[') => depth += 1,
            (None, b'}' | b']') => depth = depth.saturating_sub(1),
            (None, _) => {}
        }
    }
    depth > 0 || quote.is_some()
}

/// Returns true if a line that starts with a bracket ends before its value does.
///
/// Content may have closed brackets of the wrong kind, so the kinds do not count.
fn is_incomplete(text: &[u8]) -> bool {
    ends_in_string(text) || brackets(text, false).is_none_or(|depth| depth > 0)
}

/// Returns true if a line begins in the middle of a value. No message and no log line begins like that.
pub(crate) fn begins_inside(text: &[u8]) -> bool {
    let first = text.trim_ascii_start().first();
    matches!(first, Some(b'"' | b'\'' | b'}' | b']' | b',' | b':'))
}

/// Returns true if the first line of a text consists of opening brackets.
pub(crate) fn begins_bare(text: &[u8]) -> bool {
    text.split(|byte| *byte == b'\n').next().is_some_and(Head::is_bare_line)
}

fn is_bare(text: &[u8]) -> bool {
    let is_opening = |byte: &u8| matches!(byte, b'{' | b'[' | b' ' | b'\t' | b'\r');
    let starts = matches!(text.first(), Some(b'{' | b'['));
    starts && text.len() <= MAX_BARE_BYTES && text.iter().all(is_opening)
}

/// Returns true if the first key of an object is one of JSON-RPC: a message may begin with its
/// result.
pub(crate) fn starts_with_member(text: &[u8]) -> bool {
    let text = text.trim_ascii_start();
    let text = text.strip_prefix(b"[").map_or(text, <[u8]>::trim_ascii_start);
    text.strip_prefix(b"{").is_some_and(first_key_is_member)
}

fn first_key_is_member(members: &[u8]) -> bool {
    const NAMES: [&[u8]; 6] = [b"jsonrpc", b"id", b"method", b"params", b"result", b"error"];
    let Some(key) = members.trim_ascii_start().strip_prefix(b"\"") else { return false };
    NAMES.into_iter().any(|name| {
        let (start, rest) = key.split_at_checked(name.len()).unwrap_or_default();
        start.eq_ignore_ascii_case(name) && rest.first() == Some(&b'"')
    })
}
