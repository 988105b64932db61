//! A file or standard input: detects the encoding and reads it as UTF-8, in chunks.

use std::fs::{self, File};
use std::io::{self, ErrorKind, IsTerminal, Read, Write};
use std::path::Path;

use super::encoding::{Encoding, Utf16};
use crate::terminal::shown_path;

/// Bytes that are examined to detect the kind of a file.
const HEAD_BYTES: usize = 64 << 10;
const CHUNK_BYTES: usize = 256 << 10;

pub(super) struct Source {
    input: Box<dyn Read>,
    encoding: Encoding,
    decoder: Utf16,
    /// Bytes that were read last: the first `raw_length`.
    raw: Vec<u8>,
    raw_length: usize,
    /// Decoded beginning, or the last decoded chunk.
    text: Vec<u8>,
    /// True if `text` is the beginning and was not used yet.
    has_head: bool,
    has_ended: bool,
    /// Bytes read since the last call of `take_read`.
    read: u64,
}

/// Returns a path for people.
pub(super) fn show(path: &Path) -> String {
    if is_standard_input(path) {
        return "<stdin>".to_owned();
    }
    shown_path(path)
}

pub(super) fn is_standard_input(path: &Path) -> bool {
    path == Path::new("-")
}

/// Returns the length of a regular file.
pub(super) fn length(path: &Path) -> Option<u64> {
    let data = fs::metadata(path).ok().filter(|_| !is_standard_input(path))?;
    data.is_file().then_some(data.len())
}

impl Source {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        if is_standard_input(path) {
            let stdin = io::stdin().lock();
            // A command that waits in silence seems to hang.
            if stdin.is_terminal() {
                let _ = writeln!(io::stderr(), "hardline: reading from the terminal until Ctrl-D");
            }
            return Ok(Self::new(Box::new(stdin)));
        }
        let file = File::open(path)?;
        // Reading it would fail later with a message that does not help.
        if file.metadata()?.is_dir() {
            let name = show(path);
            let hint = format!(
                "it is a directory; to scan all its files: find {name} -type f -exec hardline scan {{}} +"
            );
            return Err(io::Error::new(ErrorKind::IsADirectory, hint));
        }
        Ok(Self::new(Box::new(file)))
    }

    fn new(input: Box<dyn Read>) -> Self {
        Self {
            input,
            encoding: Encoding::Utf8,
            decoder: Utf16::default(),
            raw: vec![0; CHUNK_BYTES],
            raw_length: 0,
            text: Vec::new(),
            has_head: false,
            has_ended: false,
            read: 0,
        }
    }

    /// Reads the beginning. Returns it as UTF-8, and true if it is the whole file.
    pub(super) fn head(&mut self) -> io::Result<(&[u8], bool)> {
        while self.raw_length < HEAD_BYTES && !self.has_ended {
            self.read_raw(HEAD_BYTES)?;
        }
        self.encoding = Encoding::of(self.raw());
        self.decoder = Utf16::new(self.encoding);
        self.has_head = true;
        self.decode(0);
        Ok((&self.text, self.has_ended))
    }

    /// Reads the next chunk; [`text`](Self::text) returns it.
    pub(super) fn read_on(&mut self) -> io::Result<()> {
        // The beginning was read to detect the kind; it is the first chunk.
        if std::mem::take(&mut self.has_head) && !self.text.is_empty() {
            return Ok(());
        }
        self.text.clear();
        self.raw_length = 0;
        // An empty text means the end, but half a character of UTF-16 decodes to nothing.
        while self.text.is_empty() && !self.has_ended {
            let before = self.raw_length;
            self.read_raw(CHUNK_BYTES)?;
            self.decode(before);
        }
        Ok(())
    }

    /// Returns the last chunk, as UTF-8 unless the file is broken; empty at the end.
    pub(super) fn text(&self) -> &[u8] {
        &self.text
    }

    /// Returns the last chunk as it is in the file.
    pub(super) fn raw(&self) -> &[u8] {
        self.raw.get(..self.raw_length).unwrap_or_default()
    }

    pub(super) fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// Returns the number of bytes read since the last call.
    pub(super) fn take_read(&mut self) -> u64 {
        std::mem::take(&mut self.read)
    }

    /// Returns the number of bytes that are not valid UTF-16.
    pub(super) fn replaced(&self) -> u64 {
        self.decoder.replaced
    }

    /// Reads once, up to `most` bytes in the buffer.
    fn read_raw(&mut self, most: usize) -> io::Result<()> {
        let room = self.raw.get_mut(self.raw_length..most).unwrap_or_default();
        let read = loop {
            match self.input.read(room) {
                // A signal such as SIGWINCH is no reason to stop.
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                result => break result?,
            }
        };
        self.has_ended = read == 0;
        self.raw_length += read;
        self.read += read as u64;
        Ok(())
    }

    /// Decodes the bytes that were read, from `start` on.
    fn decode(&mut self, start: usize) {
        let raw = self.raw.get(start..self.raw_length).unwrap_or_default();
        if self.encoding == Encoding::Utf8 {
            self.text.extend_from_slice(raw);
            return;
        }
        self.decoder.push(raw, &mut self.text);
        if self.has_ended {
            self.decoder.finish(&mut self.text);
        }
    }
}
