//! Everything that a server wrote, with the time of each read.

use std::time::Duration;

use memchr::{memchr_iter, memmem};

/// The bytes of a server, or of several one after another.
#[derive(Debug, Default)]
pub(super) struct Transcript {
    bytes: Vec<u8>,
    reads: Vec<Read>,
}

#[derive(Clone, Copy, Debug)]
struct Read {
    output: u32,
    /// End of its bytes.
    end: usize,
    at: Duration,
}

/// One line of the server.
#[derive(Clone, Copy, Debug)]
pub(super) struct ServerLine<'a> {
    pub(super) text: &'a [u8],
    /// The place of its first byte.
    pub(super) start: usize,
    /// The output that its last byte belongs to.
    pub(super) output: u32,
    /// The time at which its first byte was read that is not blank.
    pub(super) begun: Duration,
    /// The time at which its end was read, or its last byte if it has no end.
    pub(super) at: Duration,
}

impl Transcript {
    pub(super) fn add(&mut self, output: u32, bytes: &[u8], at: Duration) {
        self.bytes.extend_from_slice(bytes);
        self.reads.push(Read { output, end: self.bytes.len(), at });
    }

    /// Ends the line that the server that ended has left unfinished.
    pub(super) fn end_line(&mut self) {
        if let Some(read) = self.reads.last_mut().filter(|_| !self.bytes.ends_with(b"\n")) {
            self.bytes.push(b'\n');
            read.end += 1;
        }
    }

    /// Returns all lines, and the numbers of those that have `mark` on them.
    pub(super) fn lines_with(&self, mark: &str) -> (Vec<ServerLine<'_>>, Vec<usize>) {
        let (mut lines, mut marked) = (Vec::new(), Vec::new());
        let mut start = 0;
        for end in memchr_iter(b'\n', &self.bytes).chain([self.bytes.len()]) {
            let text = self.bytes.get(start..end).unwrap_or_default();
            let read = self.read_of(end.min(self.bytes.len().saturating_sub(1)));
            if memmem::find(text, mark.as_bytes()).is_some() {
                marked.push(lines.len());
            }
            let (output, at) = read.map_or_else(Default::default, |it| (it.output, it.at));
            let blanks = text.len() - text.trim_ascii_start().len();
            let begun = self.read_of(start + blanks).map_or(at, |it| it.at);
            lines.push(ServerLine { text, start, output, begun, at });
            start = end + 1;
        }
        (lines, marked)
    }

    /// Splits lines where the relay may have ended them: behind a whole message, as `is_whole` tells, after
    /// which the server was quiet for `quiet`.
    pub(super) fn split<'a>(
        &self,
        lines: &[ServerLine<'a>],
        quiet: Duration,
        is_whole: impl Fn(&[u8]) -> bool,
    ) -> Vec<ServerLine<'a>> {
        let mut parts = Vec::new();
        for &line in lines {
            let mut rest = line;
            for (read, next) in self.reads.iter().zip(self.reads.iter().skip(1)) {
                let Some(length) = read.end.checked_sub(rest.start) else { continue };
                let Some((part, text)) = rest.text.split_at_checked(length) else { break };
                // Blanks do not make the line longer.
                let last = (rest.start + part.trim_ascii_end().len()).saturating_sub(1);
                let ended = self.read_of(last).map_or(read.at, |it| it.at) + quiet;
                if ended <= next.at && is_whole(part) {
                    parts.push(ServerLine { text: part, output: read.output, at: ended, ..rest });
                    rest = ServerLine { text, start: read.end, begun: next.at, ..rest };
                }
            }
            parts.push(rest);
        }
        parts
    }

    /// Returns the part of a line that was read before a point in time.
    pub(super) fn part_before<'a>(&self, line: &ServerLine<'a>, time: Duration) -> &'a [u8] {
        let reads = self.reads.iter().take_while(|it| it.at < time);
        let end = reads.last().map_or(0, |it| it.end).saturating_sub(line.start);
        line.text.get(..end).unwrap_or(line.text)
    }

    /// Returns the longest time without bytes between two points in time.
    pub(super) fn longest_gap(&self, from: Duration, to: Duration) -> Duration {
        let times = self.reads.iter().map(|it| it.at).filter(|at| (from..=to).contains(at));
        let mut last = from;
        let gaps = times.chain([to]).map(|at| at.saturating_sub(std::mem::replace(&mut last, at)));
        gaps.max().unwrap_or_default()
    }

    /// Returns the read that brought the byte at `offset`.
    fn read_of(&self, offset: usize) -> Option<Read> {
        let index = self.reads.partition_point(|it| it.end <= offset);
        self.reads.get(index).copied()
    }
}
