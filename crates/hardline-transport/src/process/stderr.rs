//! A child's standard error: always read, forwarded if wanted, with its last lines stored.
//!
//! Invariants:
//! - The pipe is read until it ends, or until [`LINGER`] after the child ended: a full pipe never
//!   blocks a child.
//! - A line is cut at [`MAX_LINE_BYTES`]; the tail has at most [`MAX_TAIL_LINES`] and
//!   [`MAX_TAIL_BYTES`].
//! - Text that leaves this module is escaped.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hardline_wire::excerpt::Excerpt;
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;
use tokio::sync::watch;

use super::exit::Status;
use super::forward;
use crate::Secrets;

/// Destination of the lines on a child's standard error. In addition, the last lines are stored for
/// the [`Exit`](super::Exit).
#[derive(Clone)]
pub struct Stderr {
    mode: StderrMode,
    /// Values to hide in forwarded lines.
    secrets: Secrets,
}

#[derive(Clone)]
enum StderrMode {
    Tail,
    Forward { label: Arc<str> },
    Sink(Arc<dyn Fn(&str) + Send + Sync>),
}

/// The last lines, escaped.
#[derive(Debug, Default)]
pub(super) struct Tail {
    lines: VecDeque<String>,
    /// Bytes in `lines`.
    bytes: usize,
}

/// Length limit of a forwarded line.
const MAX_LINE_BYTES: usize = 8 << 10;
/// Limit on the lines of a tail.
const MAX_TAIL_LINES: usize = 32;
/// Limit on the bytes of a tail, after escaping.
const MAX_TAIL_BYTES: usize = 8 << 10;
/// Limit on the bytes of one line in a tail, before escaping. Escaping turns one byte into at most
/// six.
const MAX_TAIL_LINE_BYTES: usize = 1 << 10;
/// Length limit of a label.
const MAX_LABEL_BYTES: usize = 64;
/// Time limit for reading after the child ended, in case another process holds the pipe open.
const LINGER: Duration = Duration::from_secs(1);
const CHUNK_BYTES: usize = 16 << 10;

impl Stderr {
    /// Stores the last lines for the [`Exit`](super::Exit) and forwards none.
    pub fn tail_only() -> Self {
        Self::new(StderrMode::Tail)
    }

    /// Forwards lines to our own standard error as `[label] text`.
    ///
    /// A thread writes them and no caller waits for it. If our standard error is read too slowly,
    /// lines are dropped, and their number is written instead.
    pub fn forward(label: &str) -> Self {
        // The label may be a file name, so escape it like other foreign text.
        let label = Excerpt::new(label.as_bytes(), MAX_LABEL_BYTES).to_string();
        Self::new(StderrMode::Forward { label: label.into() })
    }

    /// Passes lines to `sink`, escaped. It is called on the runtime: it must neither block nor
    /// panic.
    pub fn sink(sink: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self::new(StderrMode::Sink(Arc::new(sink)))
    }

    /// Hides these values in forwarded lines. The stored lines keep them: code that shows an
    /// [`Exit`](super::Exit) must hide them there.
    #[must_use]
    pub fn without(mut self, secrets: &Secrets) -> Self {
        self.secrets = self.secrets.and(secrets);
        self
    }

    fn new(mode: StderrMode) -> Self {
        Self { mode, secrets: Secrets::default() }
    }
}

impl fmt::Debug for Stderr {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.mode {
            StderrMode::Tail => formatter.write_str("Tail"),
            StderrMode::Forward { label } => write!(formatter, "Forward({label})"),
            StderrMode::Sink(_) => formatter.write_str("Sink"),
        }
    }
}

/// Reads `pipe` until no process can write to it any more. Dropping `_done` signals that all was
/// read.
pub(super) async fn drain(
    mut pipe: Receiver,
    stderr: Stderr,
    tail: Arc<Mutex<Tail>>,
    mut status: watch::Receiver<Option<Status>>,
    _done: watch::Sender<()>,
) {
    let mut cutter = Cutter::default();
    let mut chunk = vec![0; CHUNK_BYTES];
    let ended = async move {
        // An error means that the supervisor is gone, and so is the child.
        let _ = status.wait_for(Option::is_some).await;
        tokio::time::sleep(LINGER).await;
    };
    tokio::pin!(ended);
    loop {
        let length = tokio::select! {
            biased;
            // First, so that a descendant that keeps writing cannot extend the time.
            () = &mut ended => break,
            // A read error is treated as the end of the pipe.
            outcome = pipe.read(&mut chunk) => outcome.unwrap_or(0),
        };
        if length == 0 {
            break;
        }
        let mut input = chunk.get(..length).unwrap_or_default();
        while let Some(line) = cutter.next_line(&mut input) {
            take(line, &stderr, &tail);
        }
    }
    if let Some(line) = cutter.finish() {
        take(line, &stderr, &tail);
    }
    if let StderrMode::Forward { .. } = stderr.mode {
        // Before `_done` is dropped, because the caller may print the exit status next.
        let _ = tokio::time::timeout(LINGER, forward::flush()).await;
    }
}

/// Returns the current lines of `tail`.
pub(super) fn lines(tail: &Mutex<Tail>) -> Vec<String> {
    let tail = tail.lock().unwrap_or_else(PoisonError::into_inner);
    tail.lines.iter().cloned().collect()
}

fn take(line: Line<'_>, stderr: &Stderr, tail: &Mutex<Tail>) {
    let shown = || {
        let mut shown = line.show(MAX_LINE_BYTES);
        // In the escaped text, because that is what leaves this module.
        stderr.secrets.hide_in(&mut shown);
        shown
    };
    match &stderr.mode {
        StderrMode::Tail => {}
        StderrMode::Forward { label } => forward::foreign_line(format!("[{label}] {}", shown())),
        StderrMode::Sink(sink) => sink(&shown()),
    }
    // Blank lines would push useful ones out of the tail.
    if !line.bytes.trim_ascii().is_empty() {
        let line = line.show(MAX_TAIL_LINE_BYTES);
        tail.lock().unwrap_or_else(PoisonError::into_inner).push(line);
    }
}

impl Tail {
    fn push(&mut self, line: String) {
        self.bytes += line.len();
        self.lines.push_back(line);
        while self.lines.len() > MAX_TAIL_LINES || self.bytes > MAX_TAIL_BYTES {
            // The last lines explain an end best, so the oldest go first.
            let Some(oldest) = self.lines.pop_front() else { return };
            self.bytes -= oldest.len();
        }
    }
}

/// Splits a stream into lines of bounded length.
///
/// Not the protocol's framer, which searches an overlong message for ids and drops the rest.
#[derive(Debug, Default)]
struct Cutter {
    /// The line so far, at most [`MAX_LINE_BYTES`].
    partial: Vec<u8>,
    /// Number of bytes of the line beyond the limit.
    excess: u64,
    /// True if `partial` was returned, so that the next call must clear it.
    is_handed_out: bool,
}

#[derive(Clone, Copy, Debug)]
struct Line<'a> {
    bytes: &'a [u8],
    excess: u64,
}

impl Cutter {
    /// Takes one line off the front of `input`; `None` when it is used up.
    fn next_line(&mut self, input: &mut &[u8]) -> Option<Line<'_>> {
        self.drop_handed_out();
        let newline = input.iter().position(|&byte| byte == b'\n');
        let (head, rest) = input.split_at_checked(newline.unwrap_or(input.len()))?;
        *input = rest.get(1..).unwrap_or_default();

        // Cannot underflow: `partial` never exceeds the limit.
        let room = MAX_LINE_BYTES - self.partial.len();
        let (kept, excess) = head.split_at_checked(room).unwrap_or((head, &[]));
        self.partial.extend_from_slice(kept);
        self.excess += excess.len() as u64;
        newline.map(|_| self.hand_out())
    }

    /// Ends the stream. Returns the last line if it had no newline.
    fn finish(&mut self) -> Option<Line<'_>> {
        self.drop_handed_out();
        (!self.partial.is_empty()).then(|| self.hand_out())
    }

    fn hand_out(&mut self) -> Line<'_> {
        self.is_handed_out = true;
        // Some programs end their lines with CRLF.
        let bytes = self.partial.strip_suffix(b"\r").unwrap_or(&self.partial);
        Line { bytes, excess: self.excess }
    }

    fn drop_handed_out(&mut self) {
        if self.is_handed_out {
            self.is_handed_out = false;
            self.excess = 0;
            self.partial.clear();
        }
    }
}

impl Line<'_> {
    fn show(self, max_bytes: usize) -> String {
        let excerpt = Excerpt::new(self.bytes, max_bytes);
        match self.excess {
            0 => excerpt.to_string(),
            excess => {
                let length = excess.saturating_add(self.bytes.len() as u64);
                format!("{excerpt} (a line of {length} bytes)")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(stream: &[u8], expected: &[&str]) {
        for size in (1..=stream.len().min(100)).chain([stream.len().max(1)]) {
            let mut cutter = Cutter::default();
            let mut actual = Vec::new();
            for mut chunk in stream.chunks(size) {
                while let Some(line) = cutter.next_line(&mut chunk) {
                    actual.push(line.show(16));
                }
                assert!(cutter.partial.len() <= MAX_LINE_BYTES);
            }
            actual.extend(cutter.finish().map(|line| line.show(16)));
            assert_eq!(actual, expected, "in chunks of {size}");
        }
    }

    #[test]
    fn cuts_lines_and_escapes_them() {
        check(b"", &[]);
        check(b"a\nb\r\n\nc", &["a", "b", "", "c"]);
        check(b"\x1b[2Jx\n\xff", &["\\u{1b}[2Jx", "\\xff"]);
        check(b"\r", &[""]);
    }

    #[test]
    fn passes_lines_on_without_secrets() {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let stderr = Stderr::sink({
            let seen = Arc::clone(&seen);
            move |line| seen.lock().unwrap().push(line.to_owned())
        });
        let stderr =
            stderr.without(&Secrets::new(["s3cr3t-1"])).without(&Secrets::new(["s3cr3t-2"]));
        let line = Line { bytes: b"a s3cr3t-1 b S3CR3T-2\x1b", excess: 0 };
        take(line, &stderr, &Mutex::default());
        assert_eq!(*seen.lock().unwrap(), ["a [redacted] b [redacted]\\u{1b}"]);
    }

    #[test]
    fn bounds_a_line() {
        let long = [&[b'x'; MAX_LINE_BYTES + 5][..], b"\nok"].concat();
        check(&long, &["xxxxxxxxxxxxxxxx… 8176 bytes more (a line of 8197 bytes)", "ok"]);
        let exact = [b'x'; MAX_LINE_BYTES];
        check(&exact, &["xxxxxxxxxxxxxxxx… 8176 bytes more"]);
    }

    #[test]
    fn bounds_a_tail() {
        let mut tail = Tail::default();
        for number in 0..100 {
            tail.push(number.to_string());
        }
        assert_eq!(tail.lines.len(), MAX_TAIL_LINES);
        assert_eq!(tail.lines.back().unwrap(), "99");
        let worst = Line { bytes: &[0x1b; MAX_LINE_BYTES], excess: u64::MAX };
        for _ in 0..3 {
            tail.push(worst.show(MAX_TAIL_LINE_BYTES));
            assert!(tail.bytes <= MAX_TAIL_BYTES && !tail.lines.is_empty());
            assert_eq!(tail.bytes, tail.lines.iter().map(String::len).sum::<usize>());
        }
    }
}
