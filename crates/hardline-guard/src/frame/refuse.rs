//! Refuses lines that are no valid message: names the rule, the place, and the requests that wait
//! for an answer.

use std::borrow::Cow;

use hardline_wire::encode::code;
use hardline_wire::excerpt::Excerpt;
use hardline_wire::frame::{Refusal, RefusalReason};
use hardline_wire::json::Reason;
use hardline_wire::line::Overlong;
use hardline_wire::message::{Message, MessageReason};
use hardline_wire::recover::{Ending, Recovered, recover};

use super::look::{is_damaged_envelope, is_envelope, is_message_like};
use super::mend::{mend, touches_name};
use super::{FrameJudge, Refused, header, look};
use crate::finding::{Direction, Finding};
use crate::rule::Rule;

/// Limit on the bytes of a line that a finding shows.
const EXCERPT_BYTES: usize = 96;

impl FrameJudge {
    pub(super) fn bom(&self) -> Finding {
        let detail = "a byte order mark stands before the line; it is not passed on";
        Finding {
            excerpt: "\\u{feff}".to_owned(),
            ..finding_at(Rule::FrameBom, self.direction, b"", 0, 0, detail)
        }
    }

    /// Returns true if a server logged this array: nothing in it looks like a message.
    pub(super) fn is_logged_array(&self, text: &[u8], ending: Ending) -> bool {
        self.is_from_server() && !recover(text, ending, &self.limits).any(|it| is_message_like(&it))
    }

    pub(super) fn refuse_noise(&self, text: &[u8], findings: &mut Vec<Finding>) -> Refused {
        let detail = "not a message: removed from the protocol stream";
        let rule = Rule::FrameNoise;
        findings.reserve_exact(1);
        findings.push(finding_at(rule, self.direction, text, 0, text.len(), detail));
        let code = code::INVALID_REQUEST;
        Refused { code, ..Refused::new(rule, Rule::FrameNoise.title()) }
    }

    pub(super) fn refuse_overlong(
        &self,
        overlong: &Overlong<'_>,
        findings: &mut Vec<Finding>,
    ) -> Refused {
        let (length, limit) = (overlong.length, self.limits.max_frame_bytes());
        let reason = format!("message too large: {length} bytes, at most {limit} are accepted");
        let rule = Rule::FrameTooLarge;
        let shown = usize::try_from(length).unwrap_or(usize::MAX);
        findings.push(Finding {
            length: shown,
            ..finding_at(rule, self.direction, overlong.prefix, 0, shown, &reason)
        });
        let mut refused = Refused { code: code::INVALID_REQUEST, ..Refused::new(rule, reason) };
        self.name_waiting(&mut refused, overlong.recovered.to_vec(), false);
        // The guard cannot tell if a message on it was whole, and no honest log line is that long.
        refused.is_torn = true;
        // It cannot tell either how many answers were on it.
        refused.has_more_answers = true;
        refused.may_answer = self.is_from_server();
        refused
    }

    pub(super) fn refuse_unexpected_batch(
        &self,
        text: &[u8],
        ending: Ending,
    ) -> (Finding, Refused) {
        let rule = Rule::FrameNotJsonrpc;
        let reason = "the negotiated version has no batches";
        let finding = finding_at(rule, self.direction, text, 0, text.len(), reason);
        (finding, self.refuse_for(text, ending, rule, reason))
    }

    /// Refuses a valid line because of `rule`.
    pub(crate) fn refuse_for(
        &self,
        text: &[u8],
        ending: Ending,
        rule: Rule,
        reason: &'static str,
    ) -> Refused {
        let mut refused = Refused { code: code::INVALID_REQUEST, ..Refused::new(rule, reason) };
        let recovered = recover(text, ending, &self.limits);
        self.name_waiting(&mut refused, recovered.take(self.most_ids()).collect(), false);
        refused
    }

    /// Refuses the content of a line, or an element of a batch, with the wire's reason.
    pub(super) fn refuse(
        &mut self,
        text: &[u8],
        refusal: Refusal,
        ending: Ending,
        is_element: bool,
        findings: &mut Vec<Finding>,
    ) -> Refused {
        let may_be_noise = self.is_from_server() && !is_element;
        if may_be_noise && self.detect_plain_noise(text, &refusal) {
            return self.refuse_noise(text, findings);
        }
        let recovered: Vec<_> = recover(text, ending, &self.limits).take(self.most_ids()).collect();
        let is_meant = !may_be_noise || is_meant(&refusal, text, &recovered);
        let rule = self.rule_of(text, &refusal, is_meant);
        if rule == Rule::FrameNoise {
            return self.refuse_noise(text, findings);
        }
        let offset = refusal.offset.min(text.len());
        let length = length_of(text, &refusal);
        let detail = match rule {
            Rule::FrameContentLength => "a header of another protocol's framing".to_owned(),
            Rule::FrameConcatenated => "a second value follows on the same line".to_owned(),
            _ => refusal.reason.to_string(),
        };
        let mut finding = finding_at(rule, self.direction, text, offset, length, &detail);
        finding.path = path_of(&refusal).map(str::to_owned);
        findings.push(finding);

        let mut refused = Refused { code: refusal.code(), ..Refused::new(rule, detail) };
        if refusal.is_mendable() {
            refused.mended = self.mended(text, findings);
        }
        // A `Method` beside a result is a method to some readers and nothing to others.
        let is_both = matches!(
            refusal.reason,
            RefusalReason::Message(MessageReason::TwoKinds | MessageReason::AmbiguousKey)
        );
        self.name_waiting(&mut refused, recovered, is_both);
        refused.is_torn = self.judge_tear(text, &refusal);
        refused
    }

    /// Returns true if content may have broken a line, so that its rest may follow on the next ones.
    ///
    /// The check reports the first fault alone, so any fault may hide that the line has ended too
    /// early. Two kinds are known to hide nothing: unpaired surrogates, which are reported only if
    /// nothing else is wrong, and the numbers that JSON has no words for.
    fn judge_tear(&mut self, text: &[u8], refusal: &Refusal) -> bool {
        match refusal.reason {
            RefusalReason::Json(Reason::LoneSurrogate | Reason::LoneSurrogateInKey) => false,
            RefusalReason::Json(
                Reason::InvalidLiteral | Reason::ExpectedValue | Reason::InvalidNumber,
            ) => self.checker.check(&look::without_odd_numbers(text)).is_err(),
            // Content may also have ended a message without an id, or with two kinds in it.
            _ => true,
        }
    }

    fn is_from_server(&self) -> bool {
        self.direction == Direction::ServerToClient
    }

    fn most_ids(&self) -> usize {
        self.limits.max_in_flight()
    }

    /// Returns true if a line is noise for a reason that does not depend on ids.
    fn detect_plain_noise(&mut self, text: &[u8], refusal: &Refusal) -> bool {
        match refusal.reason {
            // The line does not even begin as JSON, so a message behind that is a quotation.
            RefusalReason::Json(Reason::ExpectedValue | Reason::InvalidLiteral) => {
                let start = text.len() - text.trim_ascii_start().len();
                refusal.offset == start && !header::starts_with_header(text)
            }
            RefusalReason::Message(_) => match self.checker.check(text) {
                Ok(checked) if checked.envelope.is_some() => {
                    !is_envelope(checked.value, self.limits.max_id_bytes())
                }
                _ => true,
            },
            _ => false,
        }
    }

    fn rule_of(&mut self, text: &[u8], refusal: &Refusal, is_meant: bool) -> Rule {
        if header::starts_with_header(text) {
            return Rule::FrameContentLength;
        }
        match refusal.reason {
            RefusalReason::Json(Reason::TooLong { .. }) => Rule::FrameTooLarge,
            RefusalReason::Json(Reason::TooDeep { .. }) => Rule::FrameTooDeep,
            RefusalReason::Json(Reason::TrailingData) => {
                let behind = text.get(refusal.offset..).unwrap_or_default();
                self.rule_of_surplus(text, behind, is_meant)
            }
            _ if !is_meant => Rule::FrameNoise,
            RefusalReason::Json(reason) => match reason {
                Reason::DuplicateKey => Rule::FrameDuplicateKey,
                Reason::InvalidUtf8 => Rule::FrameInvalidUtf8,
                Reason::LoneSurrogate | Reason::LoneSurrogateInKey => Rule::FrameLoneSurrogate,
                Reason::ControlCharacter => Rule::FrameControlCharacter,
                _ => Rule::FrameNotJson,
            },
            RefusalReason::Message(MessageReason::AmbiguousKey) => Rule::FrameAmbiguousKey,
            RefusalReason::BatchTooLarge { .. } => Rule::FrameTooLarge,
            _ => Rule::FrameNotJsonrpc,
        }
    }

    /// Returns the rule for a value with text behind it.
    fn rule_of_surplus(&mut self, text: &[u8], behind: &[u8], is_meant: bool) -> Rule {
        let starts_object = |text: &[u8]| text.trim_ascii_start().first() == Some(&b'{');
        if header::starts_with_header(behind) {
            Rule::FrameContentLength
        } else if starts_object(text) && starts_object(behind) {
            Rule::FrameConcatenated
        } else if !is_meant {
            Rule::FrameNoise
        } else if self.starts_value(behind) {
            Rule::FrameConcatenated
        } else {
            Rule::FrameNotJson
        }
    }

    /// Returns true if `text` starts with something that is, or was meant as, a JSON value.
    fn starts_value(&mut self, text: &[u8]) -> bool {
        match text.first() {
            Some(b'{' | b'[' | b'"') => true,
            Some(_) => {
                let is_end = |byte: &u8| b" \t,:{}[]\"".contains(byte);
                let end = text.iter().position(is_end).unwrap_or(text.len());
                self.checker.check(text.get(..end).unwrap_or_default()).is_ok()
            }
            None => false,
        }
    }

    /// Returns the mended text if nothing but surrogates keeps it from being a message. Otherwise
    /// adds a finding for its other fault.
    fn mended(&mut self, text: &[u8], findings: &mut Vec<Finding>) -> Option<Vec<u8>> {
        let mended = mend(text);
        let checked = self.checker.check(&mended).ok()?;
        if let Err(error) = Message::read(&checked, &self.limits) {
            let rule = match error.reason {
                MessageReason::AmbiguousKey => Rule::FrameAmbiguousKey,
                _ => Rule::FrameNotJsonrpc,
            };
            let detail = error.reason.to_string();
            findings.push(finding_at(rule, self.direction, text, error.offset, 1, &detail));
            return None;
        }
        let is_safe = checked.envelope.is_some_and(|it| !touches_name(text, &it));
        is_safe.then_some(mended)
    }

    /// Names the requests that wait for an answer because of the line.
    fn name_waiting(&self, refused: &mut Refused, recovered: Vec<Recovered>, is_both: bool) {
        let is_answer = recovered.iter().any(|it| it.is_response);
        let has_method = recovered.iter().any(|it| it.has_method && !it.follows_junk);
        refused.may_answer = self.is_from_server() && (is_answer || !has_method);
        for it in recovered {
            let Some(id) = it.id else { continue };
            // An object of the server with an id and without a method is an answer, even if damaged.
            let is_response = it.is_response || self.is_from_server() && !it.has_method;
            // A log line that quotes a message neither answers nor asks.
            let is_quoted = it.follows_junk;
            if !(is_response || is_quoted && self.is_from_server()) {
                refused.requests.push(id.clone());
            }
            if (is_response || is_both && self.is_from_server()) && !is_quoted {
                refused.responses.push(id);
            }
        }
        let is_unnamed = refused.requests.is_empty() && !is_answer;
        refused.owes_anonymous = is_unnamed && !self.is_from_server();
    }
}

impl Refused {
    fn new(rule: Rule, reason: impl Into<Cow<'static, str>>) -> Self {
        Self {
            rule,
            code: code::PARSE_ERROR,
            reason: reason.into(),
            requests: Vec::new(),
            responses: Vec::new(),
            owes_anonymous: false,
            mended: None,
            is_torn: false,
            may_answer: false,
            has_more_answers: false,
        }
    }
}

/// Returns true if a line that is not plainly noise was meant as a message.
fn is_meant(refusal: &Refusal, text: &[u8], recovered: &[Recovered]) -> bool {
    match refusal.reason {
        RefusalReason::Json(_) => is_damaged_envelope(text, recovered),
        RefusalReason::Message(_) => true,
        _ => recovered.iter().any(is_message_like),
    }
}

/// Creates a finding at a place of `text`, with an excerpt of the text there.
pub(crate) fn finding_at(
    rule: Rule,
    direction: Direction,
    text: &[u8],
    offset: usize,
    length: usize,
    detail: &str,
) -> Finding {
    let rest = text.get(offset..).filter(|rest| !rest.is_empty());
    let tail = text.get(text.len().saturating_sub(EXCERPT_BYTES)..).unwrap_or_default();
    Finding {
        rule,
        severity: rule.severity(),
        direction,
        path: None,
        offset,
        length: length.min(text.len().saturating_sub(offset)),
        excerpt: excerpt(rest.unwrap_or(tail)),
        detail: detail.to_owned(),
    }
}

fn excerpt(text: &[u8]) -> String {
    let is_plain = |byte: &u8| matches!(byte, b' '..b'\x7f') && *byte != b'\\';
    if text.len() <= EXCERPT_BYTES && text.iter().all(is_plain) {
        // Most lines of noise are short and plain, and there may be many.
        return str::from_utf8(text).unwrap_or_default().to_owned();
    }
    Excerpt::new(text, EXCERPT_BYTES).to_string()
}

/// Returns the length of a fault in bytes.
fn length_of(text: &[u8], refusal: &Refusal) -> usize {
    let rest = text.get(refusal.offset..).unwrap_or_default();
    match refusal.reason {
        RefusalReason::Json(reason) => match reason {
            Reason::TrailingData | Reason::TooLong { .. } => rest.len(),
            Reason::LoneSurrogate | Reason::LoneSurrogateInKey => 6,
            Reason::InvalidUtf8 => {
                let chunk = rest.utf8_chunks().next();
                chunk.map_or(1, |it| it.valid().len() + it.invalid().len())
            }
            _ => 1,
        },
        RefusalReason::EmptyBatch
        | RefusalReason::NestedBatch
        | RefusalReason::BatchTooLarge { .. } => rest.len(),
        RefusalReason::Message(
            MessageReason::NotAnObject
            | MessageReason::NoVersion
            | MessageReason::NoId
            | MessageReason::NoKind,
        ) => rest.len(),
        _ => 1,
    }
}

/// Returns the path of the envelope member that is at fault.
fn path_of(refusal: &Refusal) -> Option<&'static str> {
    let RefusalReason::Message(reason) = refusal.reason else { return None };
    match reason {
        MessageReason::NotAnObject | MessageReason::NoVersion => Some("$"),
        MessageReason::NoId | MessageReason::NoKind => Some("$"),
        MessageReason::WrongVersion => Some("$.jsonrpc"),
        MessageReason::BadId(_) => Some("$.id"),
        MessageReason::BadMethod => Some("$.method"),
        MessageReason::BadParams => Some("$.params"),
        MessageReason::BadError => Some("$.error"),
        _ => None,
    }
}
