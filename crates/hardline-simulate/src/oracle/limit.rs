//! The documented limits: planted messages that cannot be told from a server's own.
//!
//! Each limit is a predicate on what the server wrote and when. A planted message that none of them
//! excuses is a failure.

use std::time::Duration;

use memchr::memmem;

use super::transcript::{ServerLine, Transcript};
use crate::reader::{Json, parse};

/// Longest pause that the relay bridges while it reassembles a torn frame.
const JOIN_PAUSE: Duration = Duration::from_millis(250);
/// Longest time for which the relay reassembles a torn frame, pauses or not.
const JOIN_TIME: Duration = Duration::from_secs(5);
/// Quiet time after which the relay ends an answer that has no newline.
const END_OF_ANSWER: Duration = Duration::from_secs(2);
/// Time after a torn frame for which the relay suspects what a server says on its own.
const SUSPICION: Duration = Duration::from_secs(30);

/// Least quiet time before the relay lets a request of a server pass.
const REQUEST_HOLD_BACK: Duration = Duration::from_millis(20);
/// Quiet times after which the relay lets a message pass that the server never was quiet after.
const MAX_HOLD_BACKS: u32 = 10;

/// Longest line that the relay holds, in sessions with overlong lines.
const MAX_HEAD: usize = 1000;
/// Words that make a broken line recognizable as a message.
const WORDS: [&[u8]; 4] = [b"jsonrpc", b"result", b"error", b"method"];

/// First bytes of a message.
const STARTS: [&[u8]; 3] = [b"{\"jsonrpc\"", b"{\"id\"", b"{\"result\""];

/// Brackets of a line that are tried as the start of a message.
const MAX_BRACKETS: usize = 8;

/// A documented limit.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Limit {
    /// The message stands on a line of its own, nothing before it is torn, and no rest of an answer
    /// follows within the hold-back: these are the bytes of an honest server that speaks twice.
    ClosedAnswer,
    /// The same, and the message answers a pending request: such answers are not held back.
    ClosedPendingAnswer,
    /// The message answers a pending request, and a long pause separates it from the torn head.
    LatePendingAnswer,
    /// The message answers a pending request, and the torn head stands behind words, as in a log line
    /// that quotes it. Servers cut such log lines short and then send the answer.
    QuotedPendingAnswer,
    /// More time than the relay stays suspicious separates the message from the torn head.
    LongPause,
}

/// Kind of a planted message.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Planted {
    /// An answer.
    Answer,
    /// A request.
    Request,
    /// A notification.
    Notification,
}

/// The settings of the relay that a limit depends on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Relay {
    pub(super) is_strict: bool,
    /// Quiet time before a message that the server sends on its own after another one.
    pub(super) hold_back: Duration,
}

impl Relay {
    /// Returns the quiet time before a request.
    fn request_hold_back(self) -> Duration {
        self.hold_back.max(REQUEST_HOLD_BACK)
    }
}

/// Returns the limit that excuses the delivery of the planted message with this mark.
pub(super) fn excuse(
    transcript: &Transcript,
    mark: &str,
    kind: Planted,
    relay: Relay,
    now: Duration,
) -> Option<Limit> {
    let (mut lines, planted) = transcript.lines_with(mark);
    // The relay has ended a planted line that did not go on.
    let is_last = planted.last().is_some_and(|at| at + 1 == lines.len());
    if let Some(last) = lines.last_mut().filter(|_| is_last) {
        last.at = now;
    }
    let as_written = lines.clone();
    for line in &mut lines {
        // The relay may have ended the line before the rest of it came.
        let part = transcript.part_before(line, now);
        if line.at == now && is_whole_message(part) {
            line.text = part;
        }
    }
    let parts = transcript.split(&as_written, END_OF_ANSWER, is_whole_message);
    // Nothing shows whether it did. A server may also write a document twice, and nothing shows which
    // copy was delivered.
    [as_written, lines, parts].into_iter().find_map(|lines| {
        let has_mark = |at: &usize| {
            lines.get(*at).is_some_and(|it| memmem::find(it.text, mark.as_bytes()).is_some())
        };
        let look = |at| excuse_line(transcript, &lines, at, kind, relay);
        (0..lines.len()).filter(has_mark).find_map(look)
    })
}

/// Returns the limit that excuses the delivery of one line.
fn excuse_line(
    transcript: &Transcript,
    lines: &[ServerLine<'_>],
    planted: usize,
    kind: Planted,
    relay: Relay,
) -> Option<Limit> {
    let is_answer = kind == Planted::Answer;
    let (before, rest) = lines.split_at_checked(planted)?;
    let (planted, after) = rest.split_first()?;
    if !is_whole_message(planted.text) {
        return None;
    }
    let is_request = kind == Planted::Request;
    if is_request
        && (has_answer_beside(planted.text) || is_followed(transcript, planted, after, relay))
    {
        return None;
    }
    let is_same =
        |it: &&ServerLine<'_>| it.output == planted.output && !it.text.trim_ascii().is_empty();
    let first = before.iter().find(is_same).map_or(planted.at, |it| it.begun);
    if transcript.longest_gap(first, planted.at) >= SUSPICION {
        return Some(Limit::LongPause);
    }
    let closed = ends_from_each_output(before, is_answer);
    if is_answer && (!closed.is_empty() || ends_in_other_output(before)) {
        return Some(Limit::ClosedPendingAnswer);
    }
    let excuse_closed = |closed| excuse_closed(transcript, planted, after, closed, relay);
    if let Some(limit) = closed.into_iter().find_map(excuse_closed) {
        return Some(limit);
    }
    let across =
        State::after(before.iter().filter(|it| !it.text.trim_ascii().is_empty()), is_answer);
    match across {
        State::Torn { is_open: true, is_quoted: true, .. } if is_answer => {
            return Some(Limit::QuotedPendingAnswer);
        }
        State::Torn { is_open: true, .. } => {}
        _ if is_answer => return Some(Limit::ClosedPendingAnswer),
        _ => {}
    }
    match State::after(before.iter().filter(is_same), is_answer) {
        // An answer that reached the client was pending, or another oracle objects.
        State::Torn { is_open: false, .. } if is_answer => Some(Limit::ClosedPendingAnswer),
        State::Torn { is_quoted: true, .. } if is_answer => Some(Limit::QuotedPendingAnswer),
        State::Torn { last, .. } if planted.at.saturating_sub(last) >= SUSPICION => {
            Some(Limit::LongPause)
        }
        State::Torn { head, .. } => {
            let gap = transcript.longest_gap(head, planted.at);
            let time = planted.at.saturating_sub(head);
            let is_late = gap >= JOIN_PAUSE || time >= JOIN_TIME;
            let is_inside = || goes_on_behind(transcript, planted, after, relay);
            (is_answer && is_late && !is_inside()).then_some(Limit::LatePendingAnswer)
        }
        State::Closed(closed) => excuse_closed(closed),
        State::Empty => Some(Limit::ClosedAnswer),
    }
}

/// Returns the times at which the last message ended, read from the start of each output.
///
/// The relay may have taken the lines of several outputs for one torn message, and does not know at
/// which output the torn message begins.
fn ends_from_each_output(before: &[ServerLine<'_>], is_answer: bool) -> Vec<Duration> {
    let end = |start| match State::after(before.get(start..)?.iter(), is_answer) {
        State::Closed(closed) => Some(closed),
        State::Empty | State::Torn { .. } => None,
    };
    output_starts(before).filter_map(end).collect()
}

/// Returns true if a line of one output may end a message that was torn in an earlier one: the relay may
/// have taken a head between them for text of that message.
fn ends_in_other_output(before: &[ServerLine<'_>]) -> bool {
    before.iter().enumerate().filter(|(_, head)| is_torn(head.text)).any(|(at, head)| {
        let later = before.iter().skip(at + 1).filter(|it| it.output != head.output);
        let ends =
            |it: &ServerLine<'_>| holds_message(&[from_bracket(head.text), it.text].concat());
        later.into_iter().any(ends)
    })
}

/// Returns the limit that excuses a planted line after a message that ended at `closed`.
fn excuse_closed(
    transcript: &Transcript,
    planted: &ServerLine<'_>,
    after: &[ServerLine<'_>],
    closed: Duration,
    relay: Relay,
) -> Option<Limit> {
    // The relay keeps the start of an overlong line alone, so it knows the end by the newline.
    let is_unseen = |it: &ServerLine<'_>| {
        let is_last = after.last().is_some_and(|last| std::ptr::eq(last, it));
        is_last && it.text.len() > MAX_HEAD
    };
    let is_same =
        |it: &&ServerLine<'_>| it.output == planted.output && !it.text.trim_ascii().is_empty();
    let is_tail = |it: &&ServerLine<'_>| is_rest(it.text) && !is_unseen(it);
    let Some(tail) = after.iter().filter(is_same).find(is_tail) else {
        return Some(Limit::ClosedAnswer);
    };
    if answers_something(planted.text) {
        return Some(Limit::ClosedPendingAnswer);
    }
    // An answer that the client waits for releases what is held back.
    let between = after.iter().filter(is_same).take_while(|it| !is_tail(it));
    if between.into_iter().any(|it| answers_something(it.text)) {
        return Some(Limit::ClosedPendingAnswer);
    }
    // A request waits at any time, and longer.
    let is_request = asks_something(planted.text);
    let hold_back = if is_request { relay.request_hold_back() } else { relay.hold_back };
    // A pause inside of the planted line is no pause before it.
    let is_before = !is_request && transcript.longest_gap(closed, planted.begun) >= hold_back;
    let is_behind = transcript.longest_gap(planted.at, tail.at) >= hold_back
        || tail.at.saturating_sub(planted.at) >= hold_back * MAX_HOLD_BACKS;
    (is_before || is_behind).then_some(Limit::ClosedAnswer)
}

/// Returns true if a line behind a planted request shows in time that content may have written the
/// request: a line that is no message and ends with a bracket, or, for a strict relay, any message that the
/// server sends on its own.
fn is_followed(
    transcript: &Transcript,
    planted: &ServerLine<'_>,
    after: &[ServerLine<'_>],
    relay: Relay,
) -> bool {
    let hold_back = relay.request_hold_back();
    let is_in_time = |it: &&ServerLine<'_>| {
        transcript.longest_gap(planted.at, it.at) < hold_back
            && it.at.saturating_sub(planted.at) < hold_back * MAX_HOLD_BACKS
    };
    let is_sign = |it: &ServerLine<'_>| match parse(it.text) {
        Some((Json::Array(_), _)) => false,
        Some((value, _)) if value.is_message() => relay.is_strict && value.get("method").is_some(),
        _ => {
            let is_closed = matches!(it.text.trim_ascii_end().last(), Some(b'}' | b']'));
            is_closed && it.text.len() <= MAX_HEAD
        }
    };
    let is_same = |it: &&ServerLine<'_>| it.output == planted.output;
    // The last line has not ended.
    let after = after.split_last().map_or(after, |(_, ended)| ended);
    after.iter().filter(is_same).take_while(is_in_time).any(is_sign)
}

/// Returns true if a line behind a planted answer shows in time that the torn message goes on: it begins in
/// the middle of a value.
fn goes_on_behind(
    transcript: &Transcript,
    planted: &ServerLine<'_>,
    after: &[ServerLine<'_>],
    relay: Relay,
) -> bool {
    let is_in_time = |it: &&ServerLine<'_>| {
        transcript.longest_gap(planted.at, it.at) < relay.hold_back
            && it.at.saturating_sub(planted.at) < relay.hold_back * MAX_HOLD_BACKS
    };
    let begins_inside = |it: &ServerLine<'_>| {
        matches!(it.text.trim_ascii_start().first(), Some(b'"' | b'\'' | b'}' | b']' | b',' | b':'))
    };
    let is_same = |it: &&ServerLine<'_>| it.output == planted.output;
    let after = after.split_last().map_or(after, |(_, ended)| ended);
    // What follows the start of another value may belong to that.
    let begins_value =
        |it: &ServerLine<'_>| is_torn(it.text) || is_incomplete(from_bracket(it.text));
    let is_near = |it: &&ServerLine<'_>| is_in_time(it) && !begins_value(it);
    after.iter().filter(is_same).take_while(is_near).any(begins_inside)
}

/// Returns true if a line is a batch with an answer.
fn has_answer_beside(line: &[u8]) -> bool {
    matches!(parse(line), Some((Json::Array(_), _))) && answers_something(line)
}

/// Returns the positions of the lines that begin another output than the line before them.
fn output_starts(lines: &[ServerLine<'_>]) -> impl Iterator<Item = usize> {
    let is_start = |at: &usize| {
        let output = |at: usize| lines.get(at).map(|it| it.output);
        *at == 0 || output(at - 1) != output(*at)
    };
    (0..lines.len()).filter(is_start)
}

/// The lines of an output before a planted message.
#[derive(Clone, Copy, Debug)]
enum State {
    /// They hold no message.
    Empty,
    /// Their last message ended at this time.
    Closed(Duration),
    /// A message has begun and not ended, or is broken.
    Torn {
        /// True if it has not ended.
        is_open: bool,
        /// True if its first line stands behind words, as in a log line.
        is_quoted: bool,
        /// The time of its first line.
        head: Duration,
        /// The time of the last line that begins something and does not end it.
        last: Duration,
    },
}

impl State {
    /// Returns the state after these lines. An answer right after opening brackets shows that they begin
    /// no message, because such brackets do not hold it up.
    fn after<'a>(lines: impl Iterator<Item = &'a ServerLine<'a>>, is_answer: bool) -> Self {
        let (mut state, mut open, mut first) = (Self::Empty, Vec::new(), Vec::new());
        // The state before a line of opening brackets, which the next line shows to be a head or text.
        let mut before_bare = None;
        for line in lines {
            if let Some(before) = before_bare.take().filter(|_| !goes_on(line.text)) {
                state = before;
            }
            if is_answer && is_bare(line.text) && !matches!(state, Self::Torn { .. }) {
                before_bare = Some(state);
            }
            let is_torn = is_torn(line.text);
            state = match state {
                Self::Torn { head, last, is_quoted, is_open } => {
                    open.push(b'\n');
                    open.extend_from_slice(line.text);
                    // The lines between may be text: the first and the last make a message alone.
                    let ends = [&*first, line.text].concat();
                    // A value that is no message begins none.
                    let is_whole = parse(&open).is_some();
                    if is_whole || holds_message(&open) || holds_message(&ends) {
                        Self::Closed(line.at)
                    } else {
                        // Half a bracket is text of the document; half a message is another head.
                        let last = if is_torn && has_word(line.text) { line.at } else { last };
                        Self::Torn { is_open, is_quoted, head, last }
                    }
                }
                _ if is_torn => {
                    open = from_bracket(line.text).to_vec();
                    first.clone_from(&open);
                    // A line over the frame limit is not held.
                    let is_open = is_incomplete(&open) && line.text.len() <= MAX_HEAD;
                    let is_quoted = is_quoted(line.text);
                    // The relay ends a line that does not go on.
                    Self::Torn { is_open, is_quoted, head: line.begun, last: line.at }
                }
                // The relay keeps the start of an overlong line alone, so it sees no message on it.
                _ if is_answer && is_jumble(line.text) => {
                    Self::Torn { is_open: false, is_quoted: false, head: line.begun, last: line.at }
                }
                _ if holds_message(line.text) => Self::Closed(line.at),
                state => state,
            };
        }
        // The planted message is whole, so it does not go on with what the brackets began.
        before_bare.unwrap_or(state)
    }
}

/// Returns true if a line is over the frame limit of short sessions, and has more on it than a message.
fn is_jumble(line: &[u8]) -> bool {
    line.len() > MAX_HEAD && holds_message(line) && !is_whole_message(line)
}

/// Returns true if a line has nothing but opening brackets.
fn is_bare(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    !line.is_empty() && line.iter().all(|byte| matches!(byte, b'{' | b'[' | b' ' | b'\t'))
}

/// Returns true if a line goes on with a message that a line of opening brackets began.
fn goes_on(line: &[u8]) -> bool {
    let line = line.trim_ascii_start();
    let members = line.strip_prefix(b"{").unwrap_or(line).trim_ascii_start();
    let is_member = members.first() == Some(&b'"') && has_word(members);
    is_bare(line) || is_member && !is_whole_message(line)
}

/// Returns true if a line closes a string or brackets that it did not open, as the rest of a message
/// does. Other lines of a document look like log lines.
fn is_rest(line: &[u8]) -> bool {
    let text = line.trim_ascii();
    let count = |bytes: &[u8]| text.iter().filter(|byte| bytes.contains(byte)).count();
    let is_quotes = !text.is_empty() && text.iter().all(|byte| b"\",".contains(byte));
    let closes = count(b"}]") > count(b"{[") && matches!(text.last(), Some(b'}' | b']'));
    parse(line).is_none() && (is_quotes || closes && count(b"\"'") > 0)
}

/// Returns true if a line is an answer, or a batch with one.
fn answers_something(line: &[u8]) -> bool {
    let is_answer = |value: &Json<'_>| value.is_message() && value.get("method").is_none();
    match parse(line) {
        Some((Json::Array(elements), _)) => elements.iter().any(is_answer),
        Some((value, _)) => is_answer(&value),
        None => false,
    }
}

/// Returns true if a line is a request, or a batch with one.
fn asks_something(line: &[u8]) -> bool {
    let is_request = |value: &Json<'_>| value.get("method").is_some() && value.get("id").is_some();
    match parse(line) {
        Some((Json::Array(elements), _)) => elements.iter().any(is_request),
        Some((value, _)) => is_request(&value),
        None => false,
    }
}

/// Returns true if words stand before the last message that a line begins, behind its last carriage
/// return.
fn is_quoted(line: &[u8]) -> bool {
    let first = line.iter().position(|byte| *byte == b'{').unwrap_or(line.len());
    let last = STARTS.iter().filter_map(|start| memmem::rfind(line, start)).max();
    // One inside of another message is a part of that.
    let is_apart = |at: &usize| {
        let before = line.get(first..*at).unwrap_or_default();
        !is_incomplete(before) || !has_word(before)
    };
    let brace = last.filter(is_apart).unwrap_or(first);
    let before = line.get(..brace).unwrap_or_default();
    let shown = before.rsplit(|byte| *byte == b'\r').next().unwrap_or_default();
    shown.iter().any(u8::is_ascii_alphanumeric)
}

/// Returns true if a line is one message, or a batch.
fn is_whole_message(line: &[u8]) -> bool {
    let Some((value, quirks)) = parse(line) else { return false };
    quirks.is_empty() && (value.is_message() || matches!(value, Json::Array(_)))
}

/// Returns true if a line begins a message, behind noise or not, and does not end it.
fn is_torn(line: &[u8]) -> bool {
    let rest = from_bracket(line);
    let begins = is_bare(line) || rest.starts_with(b"{\"") && is_incomplete(rest);
    !holds_message(line) && !rest.is_empty() && (has_word(rest) || begins)
}

fn has_word(text: &[u8]) -> bool {
    WORDS.iter().any(|word| memmem::find(text, word).is_some())
}

/// Leaves out the noise before the first bracket.
fn from_bracket(line: &[u8]) -> &[u8] {
    let start = line.iter().position(|it| b"{[".contains(it)).unwrap_or(line.len());
    line.get(start..).unwrap_or_default()
}

/// Returns true if a line has a whole message on it, as a lenient reader takes it, with or without
/// noise around it.
fn holds_message(line: &[u8]) -> bool {
    let brackets = line.iter().enumerate().filter(|(_, byte)| b"{[".contains(byte));
    let Some(first) = brackets.clone().map(|(at, _)| at).next() else { return false };
    brackets.take(MAX_BRACKETS).any(|(at, _)| {
        // One inside of another is a part of that. Behind a progress bar it stands alone.
        let before = line.get(first..at).unwrap_or_default();
        let is_inside = is_incomplete(before) && (has_word(before) || !before.ends_with(b"\r"));
        let value = parse(line.get(at..).unwrap_or_default()).map(|(value, _)| value);
        let is_batch = |value: &Json<'_>| matches!(value, Json::Array(elements) if elements.iter().any(Json::is_message));
        !is_inside && value.is_some_and(|it| it.is_message() || is_batch(&it))
    })
}

/// Returns true if a string or a bracket stays open.
fn is_incomplete(text: &[u8]) -> bool {
    let (mut depth, mut quote, mut is_escaped) = (0_usize, None, false);
    for byte in text {
        match (quote, byte) {
            (Some(_), _) if is_escaped => is_escaped = false,
            (Some(_), b'\\') => is_escaped = true,
            (Some(open), _) if open == *byte => quote = None,
            (Some(_), _) => {}
            (None, b'"' | b'\'') => quote = Some(*byte),
            (None, b'{' | b'[') => depth += 1,
            (None, b'}' | b']') => depth = depth.saturating_sub(1),
            (None, _) => {}
        }
    }
    depth > 0 || quote.is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANSWER: &str = r#"{"jsonrpc":"2.0","id":1,"result":{"content":[]}}"#;
    const PLANTED: &str = r#"{"jsonrpc":"2.0","method":"PLANTED1."}"#;

    /// Checks which limit excuses the planted line when each part comes at its time in milliseconds.
    #[track_caller]
    fn check(parts: &[(u64, &str)], is_answer: bool, expected: Option<Limit>) {
        let mut transcript = Transcript::default();
        for (at, part) in parts {
            transcript.add(1, part.as_bytes(), Duration::from_millis(*at));
        }
        let relay = Relay { is_strict: false, hold_back: Duration::from_millis(2) };
        let kind = if is_answer { Planted::Answer } else { Planted::Notification };
        let now = parts.last().map_or(Duration::ZERO, |(at, _)| Duration::from_millis(*at));
        let excused = excuse(&transcript, "PLANTED1.", kind, relay, now);
        assert_eq!(excused, expected, "{parts:?}");
    }

    #[test]
    fn nothing_excuses_a_planted_line_after_a_torn_head() {
        let planted = &format!("{PLANTED}\n");
        for head in [
            r#"{"jsonrpc":"2.0","id":1,"result":{"text":"a"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{"text":"a""#,
            r#"{"jsonrpc":"2.0","id":1,"result":{"text":["a"}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{"_meta":{"jsonrpc":"2.0","method":"x"}"#,
            r#"[INFO] {"jsonrpc":"2.0","id":1,"result":{"text":"a"#,
            "{",
        ] {
            let head = &format!("{head}\n");
            check(&[(0, head), (0, planted), (0, "\"}}\n")], false, None);
            check(&[(0, head), (2000, planted), (2000, "\"}}\n")], false, None);
            check(&[(0, head), (31_000, planted)], false, Some(Limit::LongPause));
            if head.starts_with("[INFO]") {
                check(&[(0, head), (100, planted)], true, Some(Limit::QuotedPendingAnswer));
                continue;
            }
            if head.starts_with("{\n") {
                // A whole answer shows that the bracket began nothing.
                check(&[(0, head), (0, planted)], true, Some(Limit::ClosedPendingAnswer));
                continue;
            }
            check(&[(0, head), (100, planted)], true, None);
            check(&[(0, head), (400, planted)], true, Some(Limit::LatePendingAnswer));
        }
        // Not on a line of its own.
        check(&[(0, &format!("[INFO] {PLANTED}\n"))], false, None);
    }

    #[test]
    fn an_overlong_line_is_not_held() {
        let planted = &format!("{PLANTED}\n");
        let long = "x".repeat(MAX_HEAD);
        let whole = &format!("{ANSWER}{ANSWER}{long}\n");
        let head = "{\"a\":[{\"b\":\"\n";
        let excused = Some(Limit::ClosedPendingAnswer);
        check(&[(0, whole), (0, head), (0, planted)], true, excused);
        // A short one has no such excuse.
        let whole = &format!("{ANSWER}{ANSWER}\n");
        check(&[(0, whole), (0, head), (0, planted)], true, None);
    }

    /// The head stands behind a whole message, on a line over the frame limit.
    #[test]
    fn a_head_on_an_overlong_line_is_not_seen() {
        let long =
            format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"text":"{}"}}}}"#, "x".repeat(MAX_HEAD));
        let head = r#"{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"a"#;
        let between = "Text.{\"a\":[{\"b\":\"\r{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{}}";
        let planted = r#"{"jsonrpc":"2.0","id":2,"error":{"code":1,"message":"PLANTED1."}}"#;
        let mut transcript = Transcript::default();
        transcript.add(1, long.as_bytes(), Duration::ZERO);
        let text = format!("{head}\n{between}\n{planted}\n");
        transcript.add(2, text.as_bytes(), Duration::from_millis(1));
        let relay = Relay { is_strict: false, hold_back: Duration::from_millis(2) };
        let now = Duration::from_millis(1);
        let excused = excuse(&transcript, "PLANTED1.", Planted::Answer, relay, now);
        assert_eq!(excused, Some(Limit::ClosedPendingAnswer));
    }

    /// The joiner takes the head of the next message for text of the one before it.
    #[test]
    fn a_head_inside_of_another_torn_message_is_not_seen() {
        let mut transcript = Transcript::default();
        let first = "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":1,\"data\":\"a\nb\"}}}\n";
        transcript.add(1, first.as_bytes(), Duration::ZERO);
        let head = "{\"jsonrpc\":\"2.0\",\"id\":\"t\",\"method\":\"x\",\"params\":{\"a\":{\"text\":\"a\n\nb\"}}\n";
        let planted =
            "{\"jsonrpc\":\"2.0\",\"id\":\"2\",\"result\":{\"PLANTED1.\":1},\"extra\":[1]}\n";
        transcript.add(2, format!("{head}{planted}").as_bytes(), Duration::ZERO);
        let relay = Relay { is_strict: false, hold_back: Duration::from_millis(2) };
        let now = Duration::from_millis(2);
        let excused = excuse(&transcript, "PLANTED1.", Planted::Answer, relay, now);
        assert_eq!(excused, Some(Limit::ClosedPendingAnswer));
    }

    #[test]
    fn an_honest_server_may_speak_twice() {
        let (answer, planted) = (&format!("{ANSWER}\n"), &format!("{PLANTED}\n"));
        let excused = Some(Limit::ClosedAnswer);
        check(&[(0, answer), (0, planted)], false, excused);
        check(&[(0, "[INFO] hello\n"), (0, planted), (0, "\"}]}}\n")], false, excused);
        check(&[(0, answer), (0, planted), (0, "\"}]}}\n")], false, None);
        check(&[(0, answer), (100, planted), (100, "\"}]}}\n")], false, excused);
        let noisy = &format!("[INFO] {ANSWER}}}\n");
        check(&[(0, noisy), (0, planted), (0, "\"}]}}\n")], false, None);
        check(&[(0, noisy), (100, planted), (100, "\"}]}}\n")], false, excused);
        check(&[(0, answer), (0, planted), (100, "\"}]}}\n")], false, excused);
        // A pause inside of the planted line is no pause between the two messages.
        let (start, end) = planted.split_at(9);
        check(&[(0, answer), (0, start), (400, end), (400, "\"}]}}\n")], false, None);
        check(&[(0, answer), (100, start), (400, end), (400, "\"}]}}\n")], false, excused);
        // The document has ended the answer on its second line.
        let head = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"text\":\"a\nb\"}}\n";
        check(&[(0, head), (0, planted), (0, "\"}]}}\n")], false, None);
        check(&[(0, head), (100, planted), (100, "\"}]}}\n")], false, excused);
        let pending = Some(Limit::ClosedPendingAnswer);
        check(&[(0, answer), (0, planted), (0, "\"}]}}\n")], true, pending);
    }

    /// The relay ends an answer without a newline, and the planted line comes in two parts.
    #[test]
    fn a_pause_ends_an_answer() {
        let (start, end) = PLANTED.split_at(9);
        let end = &format!("{end}\n\"}}]}}\n");
        let answer = &format!("{ANSWER}\r");
        let check = |from, excused| {
            check(&[(0, answer), (from, start), (from + 400, end)], false, excused);
        };
        check(1999, None);
        check(2000, None);
        check(2001, None);
        check(2002, Some(Limit::ClosedAnswer));
        // Blanks are no progress.
        let (blank, start) = ((1500, " "), (2002, start));
        let parts = [(0, &**answer), blank, start, (2402, end)];
        self::check(&parts, false, Some(Limit::ClosedAnswer));
    }
}
