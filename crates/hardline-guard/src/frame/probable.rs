//! The ids that a line was probably meant to carry, where no id can be had with certainty.
//!
//! Recovery names an id only where there is no doubt, because answering the wrong request does harm.
//! A broken answer leaves its request waiting for ever, though. So this looks for anything that reads
//! like a member `id`, in any notation: Python's `'id': 3`, JavaScript's `id: 3`, JSON inside a string,
//! UTF-16, two ids in one object. The session fails such a request only after a while without a proper
//! answer.

use std::borrow::Cow;
use std::collections::HashSet;

use hardline_wire::id::Id;
use hardline_wire::json::{Checker, Value};
use hardline_wire::limits::Limits;
use memchr::{memchr, memchr2_iter, memmem};

use super::balance::{brackets, first_end};

/// Limit on the bytes of one character of an id with escapes.
const MAX_ESCAPED: usize = 6;
/// Limit on the ids found on one line.
const MAX_IDS: usize = 8;
/// Limit on the ids at each end of a line that is a part of a message.
const MAX_PART_IDS: usize = 256;

/// Finds the ids of a line that reads like an answer. Other lines have none.
///
/// A log line that mentions an id is no answer: the words `jsonrpc`, and `result` or `error`, must be
/// there as well. Half of an answer may lack one of them; its brackets do not match.
pub(crate) fn probable_ids(text: &[u8], max_id_bytes: usize) -> Vec<Id<'static>> {
    let text = as_utf8(text);
    let lower = text.to_ascii_lowercase();
    let has = |word: &[u8]| memmem::find(&lower, word).is_some();
    let has_outcome = has(b"result") || has(b"error");
    let has_id = || has(b"id\"") || count_members(&lower, b"id") > 0;
    let is_half = || has_id() && brackets(&text, false) != Some(0);
    let is_answer = match (has(b"jsonrpc"), has_outcome) {
        (true, true) => true,
        (true, false) => is_half() && !has(b"method"),
        (false, true) => is_half() || is_plain_answer(&lower),
        (false, false) => false,
    };
    if is_answer { find_ids(&text, max_id_bytes) } else { Vec::new() }
}

/// Returns all ids that a line of a torn message names, whatever else is on the line: content may stand
/// beside the id. A line whose brackets match is a log line, or names the ids of an answer.
pub(crate) fn ids_of_part(text: &[u8], max_id_bytes: usize) -> HashSet<Id<'static>> {
    let text = as_utf8(text);
    if brackets(&text, false) == Some(0) {
        return probable_ids(&text, max_id_bytes).into_iter().collect();
    }
    // Content may name many other ids, but it stands between the members of the real message.
    let is_id = |at: &usize| is_id_key(&text, *at);
    let first = memchr2_iter(b'i', b'I', &text).filter(is_id).take(MAX_PART_IDS);
    let last = memchr2_iter(b'i', b'I', &text).rev().filter(is_id).take(MAX_PART_IDS);
    let read = |at: usize| text.get(at + 2..).and_then(|rest| read_member(rest, max_id_bytes));
    first.chain(last).filter_map(read).collect()
}

/// Returns true if a text is an object with an outcome and without the members of a log line, such as
/// `{"id":3,"error":"bad request"}`.
fn is_plain_answer(lower: &[u8]) -> bool {
    const LOGGED: [&[u8]; 7] =
        [b"level", b"severity", b"time", b"timestamp", b"ts", b"msg", b"logger"];
    let has = |name: &[u8]| count_members(lower, name) > 0;
    let is_object = lower.trim_ascii().starts_with(b"{") && lower.trim_ascii().ends_with(b"}");
    is_object && (has(b"result") || has(b"error")) && !LOGGED.into_iter().any(has)
}

/// Finds the ids on the lines of a torn message. Those of requests do not count.
pub(crate) fn probable_ids_of_lines(text: &[u8], max_id_bytes: usize) -> Vec<Id<'static>> {
    let has_answers = !probable_ids(text, max_id_bytes).is_empty();
    let mut ids = Vec::new();
    for line in text.split(|byte| *byte == b'\n') {
        let is_call = memmem::find(line, b"\"method\"").is_some();
        let found = if has_answers && !is_call {
            find_ids(line, max_id_bytes)
        } else {
            probable_ids(line, max_id_bytes)
        };
        ids.extend(found);
        ids.truncate(MAX_IDS * MAX_IDS);
    }
    ids.dedup();
    ids
}

/// Finds everything that reads like a member `id`.
fn find_ids(text: &[u8], max_id_bytes: usize) -> Vec<Id<'static>> {
    let mut ids = Vec::new();
    for at in memchr2_iter(b'i', b'I', text) {
        if !is_id_key(text, at) {
            continue;
        }
        let Some(id) = text.get(at + 2..).and_then(|rest| read_member(rest, max_id_bytes)) else {
            continue;
        };
        if !ids.contains(&id) {
            ids.push(id);
        }
        if ids.len() == MAX_IDS {
            break;
        }
    }
    ids
}

/// Returns true if the letter at this position begins the word `id`.
fn is_id_key(text: &[u8], at: usize) -> bool {
    let before = at.checked_sub(1).and_then(|before| text.get(before));
    let is_inside = before.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    !is_inside && matches!(text.get(at + 1), Some(b'd' | b'D'))
}

/// Returns true if a broken text has more answers in it, or parts of them, than the `named` ones.
pub(crate) fn has_unnamed_answer(text: &[u8], named: usize) -> bool {
    let text = as_utf8(text).to_ascii_lowercase();
    let count = |key: &[u8]| memmem::find_iter(&text, key).take(MAX_IDS + 1).count();
    let methods = count(b"\"method\"");
    let outcomes = count_members(&text, b"result") + count_members(&text, b"error");
    let messages = count(b"\"jsonrpc\"").saturating_sub(methods);
    let mut parts = outcomes.max(messages);
    // Where the brackets match, ids and objects are those of a result.
    if brackets(&text, false) != Some(0) {
        let keys: [&[u8]; 4] = [b"{\"jsonrpc\"", b"{\"id\"", b"{\"result\"", b"{\"error\""];
        let starts: usize = keys.into_iter().map(count).sum();
        let ids = count(b"\"id\"");
        parts = parts.max(ids.max(starts).saturating_sub(methods));
    }
    // Where several answers are mixed up, parts of others may be cut so that nothing shows them.
    named > 1 || parts > named.max(1)
}

/// Counts the members of this name, in any notation, up to [`MAX_IDS`] and one more.
fn count_members(text: &[u8], name: &[u8]) -> usize {
    let is_member = |at: &usize| {
        let before = at.checked_sub(1).and_then(|before| text.get(before));
        let is_whole_word = before.is_none_or(|byte| !byte.is_ascii_alphanumeric());
        let rest = text.get(at + name.len()..).unwrap_or_default();
        let sign = skip_quotes(rest).1.trim_ascii_start().first();
        is_whole_word && matches!(sign, Some(b':' | b'='))
    };
    memmem::find_iter(text, name).filter(is_member).take(MAX_IDS + 1).count()
}

/// Returns true if a text without an id reads like an answer: it begins with its result, or has the word
/// `jsonrpc` beside one.
pub(crate) fn is_unnamed_answer(text: &[u8]) -> bool {
    let text = as_utf8(text).to_ascii_lowercase();
    let has = |key: &[u8]| memmem::find(&text, key).is_some();
    is_bare_outcome(&text)
        || starts_with_result(&text)
        || has(b"\"jsonrpc\"") && (has(b"\"result\"") || has(b"\"error\""))
}

/// Members that a result of a tool or an error has, and hardly any log line has alone.
const OF_OUTCOME: [&str; 5] = ["content", "iserror", "structuredcontent", "error", "result"];

/// Returns true if a text, in lower case, is an outcome without the message around it: an object with nothing
/// but members of results and errors, or a piece of content.
pub(crate) fn is_bare_outcome(text: &[u8]) -> bool {
    let text = text.trim_ascii();
    if text.first() != Some(&b'{') {
        return false;
    }
    let mut checker = Checker::new(&Limits::default());
    let Ok(checked) = checker.check(text) else { return false };
    let is_text = |value: Value<'_>| {
        let is_text = value.get("type").and_then(|it| it.as_str()).is_some_and(|it| it == "text");
        is_text && value.get("text").is_some() && value.members().count() == 2
    };
    let value = checked.value;
    let mut others = value.members().filter(|(key, _)| key != "_meta").peekable();
    let has_others = others.peek().is_some();
    has_others && others.all(|(key, _)| OF_OUTCOME.contains(&&*key)) || is_text(value)
}

/// Returns true if the first key of an object is `result`. Log lines begin with other keys.
pub(super) fn starts_with_result(text: &[u8]) -> bool {
    let object = text.trim_ascii_start().strip_prefix(b"{").unwrap_or_default();
    object.trim_ascii_start().starts_with(b"\"result\"")
}

/// Returns true if a text has a key of an answer, and brackets that do not match.
pub(crate) fn is_half_of_answer(text: &[u8]) -> bool {
    let text = as_utf8(text).to_ascii_lowercase();
    let keys: [&[u8]; 3] = [b"\"result\"", b"\"error\"", b"\"jsonrpc\""];
    let has_key = keys.into_iter().any(|key| memmem::find(&text, key).is_some());
    has_key && brackets(&text, false) != Some(0)
}

/// Returns true if a text has the key of an outcome.
pub(crate) fn has_outcome(text: &[u8]) -> bool {
    let text = as_utf8(text).to_ascii_lowercase();
    count_members(&text, b"result") + count_members(&text, b"error") > 0
}

/// Returns true if a broken line is one object from its first byte to its last, with no more in it
/// than one answer, or one call. Then it took no answer from a request that it does not name.
pub(crate) fn is_clear(text: &[u8]) -> bool {
    let text = as_utf8(text).trim_ascii().to_ascii_lowercase();
    if !is_one_object(&text) || count(&text, b"jsonrpc") > 1 {
        return false;
    }
    let is_call = count_members(&text, b"method") > 0;
    let outcomes = count_members(&text, b"result") + count_members(&text, b"error");
    outcomes <= usize::from(!is_call)
}

/// Returns true if a line that is no message may be a part of one: it has a key of an answer, or
/// brackets or quotes that do not match.
pub(crate) fn may_be_part(text: &[u8]) -> bool {
    let text = as_utf8(text).to_ascii_lowercase();
    let keys: [&[u8]; 4] = [b"jsonrpc", b"id", b"result", b"error"];
    keys.into_iter().any(|key| count_members(&text, key) > 0) || brackets(&text, false) != Some(0)
}

/// Returns true if a text is an object that ends with its last byte.
fn is_one_object(text: &[u8]) -> bool {
    text.starts_with(b"{") && first_end(text) == Some(text.len())
}

fn count(text: &[u8], word: &[u8]) -> usize {
    memmem::find_iter(text, word).take(MAX_IDS + 1).count()
}

/// Returns true if a line is in UTF-16, at least in part. Then a newline that ended it may be one half of
/// a letter, and content may have chosen that letter.
pub(crate) fn is_utf16(text: &[u8]) -> bool {
    let is_wide =
        |pair: &[u8]| pair.iter().enumerate().all(|(at, byte)| (*byte == 0) == (at % 2 == 1));
    memchr(0, text).is_some() && text.windows(4).any(is_wide)
}

/// Reads text with NUL bytes as if they were not there: they are padding, or the second half of letters
/// in UTF-16 of either byte order. A line may have both UTF-8 and UTF-16 on it.
fn as_utf8(text: &[u8]) -> Cow<'_, [u8]> {
    if memchr(0, text).is_none() {
        return Cow::Borrowed(text);
    }
    let bytes: Vec<u8> = text.iter().copied().filter(|byte| *byte != 0).collect();
    if str::from_utf8(&bytes).is_ok() {
        return Cow::Owned(bytes);
    }
    // The first 256 characters of Unicode are those of Latin-1.
    Cow::Owned(bytes.iter().copied().map(char::from).collect::<String>().into_bytes())
}

/// Reads what follows the word `id`: the end of its quotes, a colon or an equals sign, and a value.
fn read_member(rest: &[u8], max_id_bytes: usize) -> Option<Id<'static>> {
    let rest = skip_quotes(rest).1.trim_ascii_start();
    let signs: [&[u8]; 3] = [b"=>", b":", b"="];
    let rest = signs.into_iter().find_map(|sign| rest.strip_prefix(sign))?.trim_ascii_start();
    let (quotes, value) = skip_quotes(rest);
    if quotes == 0 {
        let is_digit = |byte: &&u8| byte.is_ascii_digit() || **byte == b'-';
        let digits = value.iter().take_while(is_digit).count();
        let number = str::from_utf8(value.get(..digits)?).ok()?;
        return number.parse().ok().map(Id::from_integer);
    }
    if rest.starts_with(b"\"") {
        return read_json_string(rest, max_id_bytes);
    }
    let end = value.iter().position(|byte| matches!(byte, b'"' | b'\'' | b'`' | b'\\'))?;
    let content = str::from_utf8(value.get(..end)?).ok()?;
    (content.len() <= max_id_bytes).then(|| Id::from_string(content).into_owned())
}

/// Reads an id that is a JSON string, escapes and all.
fn read_json_string(text: &[u8], max_id_bytes: usize) -> Option<Id<'static>> {
    let (mut end, mut escape) = (1, false);
    while let Some(&byte) = text.get(end).filter(|byte| escape || **byte != b'"') {
        escape = byte == b'\\' && !escape;
        end += 1;
    }
    let string = text.get(..=end).filter(|it| it.len() <= max_id_bytes * MAX_ESCAPED)?;
    let checked = Checker::new(&Limits::default()).check(string).ok()?;
    let content = checked.value.as_str()?;
    (content.len() <= max_id_bytes).then(|| Id::from_string(&content).into_owned())
}

/// Skips quotes of any kind and the backslashes before them. Returns how many bytes that are.
fn skip_quotes(text: &[u8]) -> (usize, &[u8]) {
    let is_quote = |byte: &&u8| matches!(byte, b'"' | b'\'' | b'`' | b'\\');
    let count = text.iter().take_while(is_quote).count();
    (count, text.get(count..).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &[u8], expected: &[&str]) {
        let ids: Vec<_> = probable_ids(text, 256).iter().map(ToString::to_string).collect();
        assert_eq!(ids, expected, "{}", String::from_utf8_lossy(text));
    }

    #[test]
    fn finds_ids_in_any_notation() {
        check(b"{'jsonrpc': '2.0', 'id': 3, 'result': {}}", &["3"]);
        check(b"{ jsonrpc: '2.0', id: 'a-1', result: [Object] }", &[r#""a-1""#]);
        check(br#""{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}""#, &["7"]);
        check(br#"{"jsonrpc":"2.0","id":3,"id":4,"result":{}}"#, &["3", "4"]);
        check(b"{:jsonrpc=>\"2.0\", :id=>-5, :error=>{}}", &["-5"]);
        check(b"Response(jsonrpc='2.0', id=3, result={})", &["3"]);
        let utf16: Vec<u8> = r#"{"jsonrpc":"2.0","id":3,"result":{}}"#
            .encode_utf16()
            .flat_map(u16::to_le_bytes)
            .collect();
        check(&utf16, &["3"]);
    }

    #[test]
    fn log_lines_that_mention_an_id_mean_none() {
        check(br#"{"level":"info","msg":"handling","id":4}"#, &[]);
        check(br#"got {"jsonrpc":"2.0","id":4,"method":"tools/call"}"#, &[]);
        check(br#"{"jsonrpc":"2.0","requestid":4,"uuid":5,"result":{}}"#, &[]);
    }

    #[test]
    fn ids_are_bounded() {
        let text = format!("jsonrpc result {}", "id:1 id:2 id:3 id:4 id:5 id:6 id:7 id:8 id:9");
        assert_eq!(probable_ids(text.as_bytes(), 256).len(), MAX_IDS);
        check(b"jsonrpc result id:99999999999999999999 id: id:'a", &[]);
        assert!(probable_ids(b"jsonrpc result id:'too long'", 4).is_empty());
    }
}
