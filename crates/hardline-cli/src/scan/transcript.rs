//! A transcript, frame by frame.

use std::io;

use hardline_guard::{Direction, Guard};
use hardline_wire::limits::Limits;
use hardline_wire::line::{Content, Line, LineFramer};

use super::{Located, Seen, Source};

const CHUNK_BYTES: usize = 256 << 10;

/// Scans a source. The outer error is that of whoever takes the findings, the inner one the source's.
///
/// A transcript does not say who wrote a line, so each is judged as the server's.
pub(super) fn scan(
    guard: &mut Guard,
    source: &mut Source,
    seen: &mut Seen,
    report: &mut dyn FnMut(Located) -> io::Result<()>,
) -> io::Result<io::Result<()>> {
    let mut framer = LineFramer::new(&Limits::default());
    let mut chunk = vec![0; CHUNK_BYTES];
    let mut number = 0;
    loop {
        let read = match source.read(&mut chunk) {
            Ok(read) => read,
            Err(error) => return Ok(Err(error)),
        };
        let mut rest = chunk.get(..read).unwrap_or_default();
        while let Some(line) = framer.next_line(&mut rest) {
            number += 1;
            judge(&line, number, guard, source.name(), seen, report)?;
        }
        if read == 0 {
            if let Some(line) = framer.finish() {
                judge(&line, number + 1, guard, source.name(), seen, report)?;
            }
            return Ok(Ok(()));
        }
    }
}

fn judge(
    line: &Line<'_>,
    number: u64,
    guard: &mut Guard,
    file: &str,
    seen: &mut Seen,
    report: &mut dyn FnMut(Located) -> io::Result<()>,
) -> io::Result<()> {
    if line.is_blank() {
        return Ok(());
    }
    seen.frames += 1;
    match line.content {
        Content::Whole(text) => seen.bytes += text.len() as u64,
        Content::Overlong(overlong) => seen.skipped += overlong.length,
    }
    for finding in guard.check_line(Direction::ServerToClient, line).findings {
        let offset = line.offset + finding.offset as u64;
        report(Located { file: file.to_owned(), line: number, offset, finding })?;
    }
    Ok(())
}
