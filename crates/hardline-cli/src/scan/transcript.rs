//! Scans a transcript or a recording, line by line.
//!
//! A transcript does not name the sender of a line, so each line is judged as the server's, because
//! most attacks come from there; the rules for strings are the same in both directions. A recording
//! names the sender. Lines of the server that belong together are joined before they are judged
//! (see `torn`).

use std::time::Duration;

use hardline_guard::Direction;
use hardline_wire::frame::{Decoder, Frame};
use hardline_wire::json::Checker;
use hardline_wire::limits::Limits;
use hardline_wire::line::{Line, LineFramer};
use hardline_wire::message::Message;

use super::kind::Kind;
use super::line_scanner::{BOM, LineScanner, Origin};
use super::position::Position;
use super::report::Report;
use super::source::Source;
use super::torn::Torn;
use super::{Judges, Stop, read_on};
use crate::recording::{Recorded, file_limits};

/// Scans a source.
pub(super) fn scan(
    judges: &mut Judges,
    source: &mut Source,
    report: &mut Report<'_>,
) -> Result<(), Stop> {
    let frame_limits = judges.limits.clone();
    let (mut reader, limits) = match report.file.kind {
        Kind::Recording => (Reader::of_recording(&frame_limits), file_limits(&frame_limits)),
        _ => (Reader::of_transcript(&frame_limits), frame_limits),
    };
    let mut framer = LineFramer::new(&limits);
    // Positions of the start of the current line, and of the end of what was read.
    let (mut start, mut end) = (Position::START, Position::START);
    loop {
        read_on(source, report)?;
        let (chunk, encoding) = (source.text(), source.encoding());
        let mut scanner = LineScanner { judges, report, encoding };
        let mut rest = chunk;
        loop {
            let before = rest;
            // An empty chunk is the end, and the framer still has the last line.
            let is_end = chunk.is_empty();
            let line = if is_end { framer.finish() } else { framer.next_line(&mut rest) };
            let read = before.get(..before.len() - rest.len()).unwrap_or_default();
            end.advance(read, encoding);
            let Some(line) = line else { break };
            scanner.report.totals.bytes += end.offset - start.offset;
            let mut place = start;
            if line.has_bom {
                // The framer strips the mark, so the content starts after it.
                place.advance(BOM, encoding);
            }
            reader.take(&line, place, &mut scanner)?;
            start = end;
        }
        if chunk.is_empty() {
            report.totals.not_text += source.replaced();
            return reader.torn.finish(&mut LineScanner { judges, report, encoding });
        }
    }
}

/// Handles the lines of a file.
struct Reader {
    torn: Torn,
    recording: Option<Box<Recording>>,
}

/// State of a recorded session.
struct Recording {
    checker: Checker,
    decoder: Decoder,
    server: Stream,
    client: Stream,
    /// Time of the first line.
    started: Option<Duration>,
    /// Time of the last line, since the first one.
    now: Duration,
}

/// Bytes of one side.
struct Stream {
    framer: LineFramer,
    /// Number of bytes so far.
    length: u64,
}

impl Reader {
    fn of_transcript(limits: &Limits) -> Self {
        Self { torn: Torn::untimed(limits), recording: None }
    }

    fn of_recording(limits: &Limits) -> Self {
        let stream = || Stream { framer: LineFramer::new(limits), length: 0 };
        let recording = Recording {
            checker: Checker::new(&file_limits(limits)),
            decoder: Decoder::new(limits),
            server: stream(),
            client: stream(),
            started: None,
            now: Duration::ZERO,
        };
        Self { torn: Torn::timed(limits), recording: Some(Box::new(recording)) }
    }

    /// Handles a line of the file, whose content starts at `place`.
    fn take(
        &mut self,
        line: &Line<'_>,
        place: Position,
        scanner: &mut LineScanner<'_, '_>,
    ) -> Result<(), Stop> {
        let Self { torn, recording } = self;
        if let (Some(recording), Some(text)) = (recording, line.whole())
            && let Some(recorded) = Recorded::read(&mut recording.checker, text)
        {
            return recording.take(&recorded, text, place, torn, scanner);
        }
        // A line that is not part of the recording is judged as it is.
        let text = line.whole().unwrap_or_default();
        let origin = Origin::of(text, place);
        let judged = scanner.judge_line(Direction::ServerToClient, line, origin);
        torn.take(line, judged, Duration::ZERO, scanner)
    }
}

impl Recording {
    /// Handles the bytes of a peer.
    fn take(
        &mut self,
        recorded: &Recorded<'_>,
        text: &[u8],
        place: Position,
        torn: &mut Torn,
        scanner: &mut LineScanner<'_, '_>,
    ) -> Result<(), Stop> {
        if let Some(time) = recorded.time {
            // The joiner counts time from zero.
            let started = *self.started.get_or_insert(time);
            // The clock of the machine may have gone backwards while recording.
            self.now = self.now.max(time.saturating_sub(started));
        }
        let Self { server, client, decoder, now, .. } = self;
        let direction = recorded.direction;
        let is_server = direction == Direction::ServerToClient;
        let stream = if is_server { server } else { client };
        // The framer needs a line end, which recorded lines usually lack.
        let end: &[u8] = if recorded.raw.ends_with(b"\n") { b"" } else { b"\n" };
        let start = stream.length;
        stream.length += (recorded.raw.len() + end.len()) as u64;
        for mut chunk in [&*recorded.raw, end] {
            while let Some(line) = stream.framer.next_line(&mut chunk) {
                // One recorded entry can contain several lines.
                let base = usize::try_from(line.offset - start).unwrap_or_default();
                let origin = Origin { line: text, place, written: Some(&recorded.written), base };
                let judged = scanner.judge_line(direction, &line, origin);
                // A refused line answers no request.
                let frame = line.whole().filter(|_| !judged.is_refused());
                let frame = frame.and_then(|text| decoder.decode(text).ok());
                if !is_server {
                    // Only lines of the server are joined, as in a live session.
                    scanner.report(&judged)?;
                    for_each_message(frame, decoder, |message| torn.note_request(message));
                } else {
                    torn.take(&line, judged, *now, scanner)?;
                    for_each_message(frame, decoder, |message| torn.note_answer(message));
                }
            }
        }
        Ok(())
    }
}

/// Calls `take` with each message of a frame.
fn for_each_message(
    frame: Option<Frame<'_>>,
    decoder: &mut Decoder,
    mut take: impl FnMut(&Message<'_>),
) {
    match frame {
        Some(Frame::Message(message, _)) => take(&message),
        Some(Frame::Batch(batch)) => {
            for element in batch.elements() {
                if let Ok((message, _)) = decoder.decode_element(element) {
                    take(&message);
                }
            }
        }
        None => {}
    }
}
