//! A text, in windows that end at a line's end.

use std::io;

use hardline_guard::Guard;

use super::{Located, Seen, Source};

/// The most that is judged at once.
const WINDOW_BYTES: usize = 8 << 20;
const CHUNK_BYTES: usize = 256 << 10;

/// Scans a source. The outer error is that of whoever takes the findings, the inner one the source's.
pub(super) fn scan(
    guard: &mut Guard,
    source: &mut Source,
    seen: &mut Seen,
    report: &mut dyn FnMut(Located) -> io::Result<()>,
) -> io::Result<io::Result<()>> {
    let mut window = Window { offset: 0, line: 1, bytes: Vec::new() };
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        let read = match source.read(&mut chunk) {
            Ok(read) => read,
            Err(error) => return Ok(Err(error)),
        };
        window.bytes.extend_from_slice(chunk.get(..read).unwrap_or_default());
        if read == 0 {
            let rest = std::mem::take(&mut window.bytes);
            window.judge(rest, guard, source.name(), seen, report)?;
            return Ok(Ok(()));
        }
        if WINDOW_BYTES <= window.bytes.len() {
            // A line longer than a window is cut: nobody takes that for a message.
            let end = memchr(&window.bytes).unwrap_or(window.bytes.len());
            let rest = window.bytes.split_off(end);
            let whole = std::mem::replace(&mut window.bytes, rest);
            window.judge(whole, guard, source.name(), seen, report)?;
        }
    }
}

/// What was read and not yet judged.
struct Window {
    offset: u64,
    line: u64,
    bytes: Vec<u8>,
}

impl Window {
    fn judge(
        &mut self,
        bytes: Vec<u8>,
        guard: &mut Guard,
        file: &str,
        seen: &mut Seen,
        report: &mut dyn FnMut(Located) -> io::Result<()>,
    ) -> io::Result<()> {
        let length = bytes.len();
        let text = as_text(bytes, &mut seen.not_utf8);
        let judged = guard.scan_text(&text);
        seen.bytes += judged.scanned as u64;
        seen.skipped += (length - judged.scanned.min(length)) as u64;
        let (mut at, mut line) = (0, self.line);
        for finding in judged.findings {
            let before = text.as_bytes().get(at..finding.offset).unwrap_or_default();
            line += count_lines(before);
            at = at.max(finding.offset);
            let offset = self.offset + finding.offset as u64;
            report(Located { file: file.to_owned(), line, offset, finding })?;
        }
        self.line += count_lines(text.as_bytes());
        self.offset += length as u64;
        Ok(())
    }
}

/// The bytes as text of the same length: what is no UTF-8 becomes question marks.
fn as_text(bytes: Vec<u8>, replaced: &mut u64) -> String {
    let mut bytes = match String::from_utf8(bytes) {
        Ok(text) => return text,
        Err(error) => error.into_bytes(),
    };
    let mut bad = Vec::new();
    let mut start = 0;
    for chunk in bytes.utf8_chunks() {
        start += chunk.valid().len();
        let end = start + chunk.invalid().len();
        bad.push(start..end);
        start = end;
    }
    for range in bad {
        *replaced += range.len() as u64;
        bytes.get_mut(range).unwrap_or_default().fill(b'?');
    }
    String::from_utf8(bytes).unwrap_or_default()
}

/// The position after the last line end.
fn memchr(bytes: &[u8]) -> Option<usize> {
    bytes.iter().rposition(|byte| *byte == b'\n').map(|at| at + 1)
}

fn count_lines(bytes: &[u8]) -> u64 {
    bytes.iter().filter(|byte| **byte == b'\n').count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_text_keeps_its_length() {
        for bytes in [&b"plain"[..], b"\xff", b"a\xc3", b"\xe2\x80b\xf0\x9f\x98\x80\xff\xfe"] {
            let text = as_text(bytes.to_vec(), &mut 0);
            assert_eq!(text.len(), bytes.len());
        }
        assert_eq!(as_text(b"a\xffb".to_vec(), &mut 0), "a?b");
    }
}
