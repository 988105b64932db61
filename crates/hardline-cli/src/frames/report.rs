//! Reports on single frames.

use hardline_wire::encode::code;
use hardline_wire::frame::{Decoder, Frame, Refusal};
use hardline_wire::id::Id;
use hardline_wire::limits::Limits;
use hardline_wire::line::{Content, Line};
use hardline_wire::message::Message;
use hardline_wire::recover::{Ending, Recovered, recover};

/// Report on a frame or on an element of a batch.
#[derive(Debug)]
pub(super) struct Report<'a> {
    /// Offset in the stream, in bytes.
    pub(super) offset: u64,
    /// Length in bytes, without the line end.
    pub(super) length: u64,
    pub(super) kind: Kind,
    ids: Ids<'a>,
    pub(super) method: Option<String>,
    pub(super) error: Option<ReportError>,
    /// Elements of a batch.
    pub(super) elements: Option<Vec<Report<'a>>>,
    /// Content, as far as it was stored.
    pub(super) bytes: &'a [u8],
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Kind {
    Request,
    Notification,
    Response,
    Error,
    Batch,
    Invalid,
    Oversized,
}

/// Source of a frame's ids.
#[derive(Debug)]
enum Ids<'a> {
    /// The frame has no id.
    None,
    /// Id of a valid message.
    Own(Id<'a>),
    /// Ids that the framer recovered from a line that was too long to store.
    Found(&'a [Recovered]),
    /// Recovered anew for each use, because there may be very many.
    Lost { line: &'a [u8], ending: Ending, limits: Limits },
}

/// Error of a frame, with the JSON-RPC code for its sender.
#[derive(Debug)]
pub(super) struct ReportError {
    pub(super) code: i64,
    pub(super) reason: String,
    /// Offset in the frame or element, in bytes.
    pub(super) offset: u64,
}

impl Kind {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::Notification => "notification",
            Self::Response => "response",
            Self::Error => "error",
            Self::Batch => "batch",
            Self::Invalid => "invalid",
            Self::Oversized => "oversized",
        }
    }
}

/// Creates reports and counts invalid frames.
#[derive(Debug)]
pub(super) struct Reporter {
    limits: Limits,
    decoder: Decoder,
    invalid: u64,
}

impl Reporter {
    pub(super) fn new(limits: &Limits) -> Self {
        Self { limits: limits.clone(), decoder: Decoder::new(limits), invalid: 0 }
    }

    /// Returns the number of invalid frames; a batch counts once.
    pub(super) fn invalid(&self) -> u64 {
        self.invalid
    }

    pub(super) fn report<'a>(&mut self, line: &Line<'a>) -> Report<'a> {
        let report = match line.content {
            Content::Whole(bytes) => self.report_whole(line, bytes),
            Content::Overlong(overlong) => {
                let limit = self.limits.max_frame_bytes();
                let reason = format!("message too large: {} bytes, limit {limit}", overlong.length);
                let error =
                    ReportError { code: code::INVALID_REQUEST, reason, offset: limit as u64 };
                let ids = Ids::Found(overlong.recovered);
                let report = Report::new(Kind::Oversized, line.offset, overlong.prefix);
                // The stored prefix is shorter than the line.
                Report { length: overlong.length, ids, error: Some(error), ..report }
            }
        };
        self.invalid += u64::from(!report.is_valid());
        report
    }

    fn report_whole<'a>(&mut self, line: &Line<'a>, bytes: &'a [u8]) -> Report<'a> {
        let batch = match self.decoder.decode(bytes) {
            Ok(Frame::Message(message, _)) => return Report::message(line.offset, bytes, message),
            Ok(Frame::Batch(batch)) => batch,
            Err(refusal) => return self.refused(line.offset, bytes, refusal, line.ending()),
        };
        let mut elements = Vec::with_capacity(batch.len());
        for element in batch.elements() {
            let offset = line.offset + element.offset as u64;
            elements.push(match self.decoder.decode_element(element) {
                Ok((message, _)) => Report::message(offset, element.text, message),
                // An element is never cut, even if the line is.
                Err(refusal) => self.refused(offset, element.text, refusal, Ending::Whole),
            });
        }
        let report = Report::new(Kind::Batch, line.offset, bytes);
        Report { elements: Some(elements), ..report }
    }

    fn refused<'a>(
        &self,
        offset: u64,
        bytes: &'a [u8],
        refusal: Refusal,
        ending: Ending,
    ) -> Report<'a> {
        let error = ReportError {
            code: refusal.code(),
            reason: refusal.reason.to_string(),
            offset: refusal.offset as u64,
        };
        // Recovered only where the ids are shown.
        let ids = Ids::Lost { line: bytes, ending, limits: self.limits.clone() };
        Report { ids, error: Some(error), ..Report::new(Kind::Invalid, offset, bytes) }
    }
}

impl<'a> Report<'a> {
    fn new(kind: Kind, offset: u64, bytes: &'a [u8]) -> Self {
        let (ids, method, error, elements) = (Ids::None, None, None, None);
        Self { offset, length: bytes.len() as u64, kind, ids, method, error, elements, bytes }
    }

    fn message(offset: u64, bytes: &'a [u8], message: Message<'a>) -> Self {
        let kind = match &message {
            Message::Request(_) => Kind::Request,
            Message::Notification(_) => Kind::Notification,
            Message::Response(_) => Kind::Response,
            Message::Error(_) => Kind::Error,
        };
        let ids = message.id().cloned().map_or(Ids::None, Ids::Own);
        let method = message.method().map(str::to_owned);
        Self { ids, method, ..Self::new(kind, offset, bytes) }
    }

    /// Returns the id of a message, or all ids that can be recovered from an invalid frame.
    pub(super) fn ids(&self) -> Box<dyn Iterator<Item = Id<'a>> + '_> {
        match &self.ids {
            Ids::None => Box::new(std::iter::empty()),
            Ids::Own(id) => Box::new(std::iter::once(id.clone())),
            Ids::Found(recovered) => Box::new(recovered.iter().filter_map(|it| it.id.clone())),
            Ids::Lost { line, ending, limits } => {
                Box::new(recover(line, *ending, limits).filter_map(|it| it.id))
            }
        }
    }

    /// Returns true if the frame, and every element of a batch, is valid.
    pub(super) fn is_valid(&self) -> bool {
        self.error.is_none() && self.elements.iter().flatten().all(Report::is_valid)
    }
}
