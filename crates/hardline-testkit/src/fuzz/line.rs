//! Framing: any chunking gives the same lines as splitting the whole stream at `\n`.

use hardline_wire::id::Id;
use hardline_wire::limits::Limits;
use hardline_wire::line::{Content, Line, LineEnd, LineFramer, OVERLONG_PREFIX};
use hardline_wire::recover::{Ending, recover};

use super::split_seed;
use crate::generate::chunks;

/// Properties of a line.
#[derive(Debug, Eq, PartialEq)]
struct Seen {
    offset: u64,
    has_bom: bool,
    end: LineEnd,
    length: u64,
    /// Content, or the beginning of an overlong line.
    bytes: Vec<u8>,
    is_blank: bool,
    /// Ids found on an overlong line; `None` for a line that fits.
    ids: Option<Vec<Id<'static>>>,
}

/// Frames `data` in chunks and compares with the lines of the whole.
pub fn line(data: &[u8]) {
    let (mut rng, stream) = split_seed(data);
    let limit = 1 + rng.below(64);
    line_in_chunks(&chunks(&mut rng, stream), limit);
}

/// Does the same with chunks and a length limit that the caller chooses.
pub fn line_in_chunks(chunks: &[&[u8]], limit: usize) {
    let limits = Limits::default().with_max_frame_bytes(limit).expect("it is in range");
    let mut framer = LineFramer::new(&limits);
    let mut actual = Vec::new();
    for mut chunk in chunks.iter().copied() {
        while let Some(line) = framer.next_line(&mut chunk) {
            actual.push(see(&line));
        }
        // Bytes left over would be lost, because the caller drops the chunk.
        assert!(chunk.is_empty(), "the framer takes all of a chunk");
    }
    actual.extend(framer.finish().as_ref().map(see));
    assert_eq!(framer.finish(), None, "a stream ends once");
    assert_eq!(actual, expected(&chunks.concat(), limit), "in chunks {chunks:?}");
}

fn see(line: &Line<'_>) -> Seen {
    let (length, bytes, ids) = match line.content {
        Content::Whole(bytes) => (bytes.len() as u64, bytes, None),
        Content::Overlong(overlong) => {
            let ids = overlong.recovered.iter().filter_map(|it| it.id.clone()).collect();
            (overlong.length, overlong.prefix, Some(ids))
        }
    };
    let Line { offset, has_bom, end, .. } = *line;
    Seen { offset, has_bom, end, length, bytes: bytes.to_vec(), is_blank: line.is_blank(), ids }
}

/// Returns the expected lines, computed in the simplest way.
fn expected(stream: &[u8], limit: usize) -> Vec<Seen> {
    let mut lines = Vec::new();
    let mut offset = 0;
    for raw in stream.split_inclusive(|&byte| byte == b'\n') {
        let start = offset;
        offset += raw.len() as u64;
        let (mut bytes, mut end) = (raw, LineEnd::Eof);
        if let Some(ended) = raw.strip_suffix(b"\n") {
            (bytes, end) = (ended, LineEnd::Lf);
        }
        // Every line may begin with a byte order mark, not only the first.
        let unmarked = bytes.strip_prefix(b"\xef\xbb\xbf");
        let has_bom = unmarked.is_some();
        bytes = unmarked.unwrap_or(bytes);
        // A CR counts as part of the line end only before an LF.
        if let (LineEnd::Lf, Some(stripped)) = (end, bytes.strip_suffix(b"\r")) {
            (bytes, end) = (stripped, LineEnd::CrLf);
        }
        let is_overlong = limit < bytes.len();
        let kept = if is_overlong { bytes.len().min(OVERLONG_PREFIX) } else { bytes.len() };
        let ending = if end == LineEnd::Eof { Ending::Cut } else { Ending::Whole };
        let limits = Limits::default();
        let ids = recover(bytes, ending, &limits).filter_map(|it| it.id);
        lines.push(Seen {
            offset: start + if has_bom { 3 } else { 0 },
            has_bom,
            end,
            length: bytes.len() as u64,
            bytes: bytes.get(..kept).unwrap_or_default().to_vec(),
            is_blank: bytes.iter().all(|byte| b" \t\r".contains(byte)),
            ids: is_overlong.then(|| ids.take(limits.max_batch_elements()).collect()),
        });
    }
    lines
}
