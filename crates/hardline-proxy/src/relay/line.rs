//! Lines of our own making, and ids put into lines of others.

use hardline_wire::encode::{code, push_id, push_json_string, refusal};
use hardline_wire::id::Id;
use hardline_wire::json::{Checker, Value};
use hardline_wire::limits::Limits;

/// An error of ours, without a line end.
pub(super) fn failure(id: &Id<'_>, rule: &str, reason: &str) -> Vec<u8> {
    let mut line = refusal(id, code::INTERNAL_ERROR, rule, reason).into_bytes();
    line.pop();
    line
}

/// Says that a request needs no answer any more.
pub(super) fn cancelled(id: &Id<'_>, reason: &str) -> Vec<u8> {
    let mut line = String::from(
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"#,
    );
    push_id(&mut line, id);
    line.push_str(r#","reason":"#);
    push_json_string(&mut line, reason);
    line.push_str("}}");
    line.into_bytes()
}

/// Says that a list has changed.
pub(super) fn list_changed(capability: &str) -> Vec<u8> {
    format!(r#"{{"jsonrpc":"2.0","method":"notifications/{capability}/list_changed"}}"#)
        .into_bytes()
}

/// Asks for a page of a list.
pub(super) fn list(id: &Id<'_>, method: &str, cursor: Option<&str>) -> Vec<u8> {
    let mut line = String::from(r#"{"jsonrpc":"2.0","id":"#);
    push_id(&mut line, id);
    line.push_str(r#","method":""#);
    line.push_str(method);
    line.push_str(r#"","params":{"#);
    if let Some(cursor) = cursor {
        line.push_str(r#""cursor":"#);
        push_json_string(&mut line, cursor);
    }
    line.push_str("}}");
    line.into_bytes()
}

/// `frame` with another id. It has passed the strict check.
pub(super) fn with_id(frame: &[u8], id: &Id<'_>, limits: &Limits) -> Option<Vec<u8>> {
    replace(frame, id, limits, |message| message.get("id"))
}

/// The same for a cancellation: the id of the request that it is about.
pub(super) fn with_request_id(frame: &[u8], id: &Id<'_>, limits: &Limits) -> Option<Vec<u8>> {
    replace(frame, id, limits, |message| message.get("params")?.get("requestId"))
}

fn replace(
    frame: &[u8],
    id: &Id<'_>,
    limits: &Limits,
    find: impl FnOnce(Value<'_>) -> Option<Value<'_>>,
) -> Option<Vec<u8>> {
    let checked = Checker::new(limits).check(frame).ok()?;
    let place = find(checked.value)?;
    let (start, end) = (place.offset(), place.offset() + place.text().len());
    let mut written = String::new();
    push_id(&mut written, id);
    Some([frame.get(..start)?, written.as_bytes(), frame.get(end..)?].concat())
}
