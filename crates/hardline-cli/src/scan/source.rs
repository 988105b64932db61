//! A file or standard input: opened, its beginning looked at, and read as UTF-8 in chunks.

use std::fs::{self, File};
use std::io::{self, ErrorKind, IsTerminal, Read, Write};
use std::path::Path;

use hardline_wire::excerpt::Excerpt;

use super::encoding::{Encoding, Utf16};

/// Bytes that tell what a file is.
const HEAD_BYTES: usize = 64 << 10;
const CHUNK_BYTES: usize = 256 << 10;
/// Bytes shown of a path.
const SHOWN_PATH: usize = 1000;

pub(super) struct Source {
    input: Box<dyn Read>,
    encoding: Encoding,
    decoder: Utf16,
    /// What was read last: the first `raw_length` bytes.
    raw: Vec<u8>,
    raw_length: usize,
    /// The decoded beginning, or the last chunk.
    text: Vec<u8>,
    /// Whether `text` is the beginning, and was not handed out.
    has_head: bool,
    has_ended: bool,
    /// Bytes of the file that were read and not yet asked about.
    read: u64,
}

/// A path as a person may see it.
pub(super) fn show(path: &Path) -> String {
    if is_standard_input(path) {
        return "<stdin>".to_owned();
    }
    Excerpt::new(path.as_os_str().as_encoded_bytes(), SHOWN_PATH).to_string()
}

pub(super) fn is_standard_input(path: &Path) -> bool {
    path == Path::new("-")
}

/// The length of a file that has one.
pub(super) fn length(path: &Path) -> Option<u64> {
    let data = fs::metadata(path).ok().filter(|_| !is_standard_input(path))?;
    data.is_file().then_some(data.len())
}

impl Source {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        if is_standard_input(path) {
            let stdin = io::stdin().lock();
            if stdin.is_terminal() {
                let _ = writeln!(io::stderr(), "hardline: reading from the terminal until Ctrl-D");
            }
            return Ok(Self::new(Box::new(stdin)));
        }
        let file = File::open(path)?;
        if file.metadata()?.is_dir() {
            let name = show(path);
            let hint = format!(
                "it is a directory; to scan all files in it: find {name} -type f -exec hardline scan {{}} +"
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

    /// Reads the beginning. Returns it as UTF-8, and whether it is all there is.
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

    /// Reads on, after which [`text`](Self::text) is what was read.
    pub(super) fn read_on(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.has_head) && !self.text.is_empty() {
            return Ok(());
        }
        self.text.clear();
        self.raw_length = 0;
        while self.text.is_empty() && !self.has_ended {
            let before = self.raw_length;
            self.read_raw(CHUNK_BYTES)?;
            self.decode(before);
        }
        Ok(())
    }

    /// What was read last, as UTF-8 unless the file is broken; nothing at the end.
    pub(super) fn text(&self) -> &[u8] {
        &self.text
    }

    /// The same as it stands in the file.
    pub(super) fn raw(&self) -> &[u8] {
        self.raw.get(..self.raw_length).unwrap_or_default()
    }

    pub(super) fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// Bytes of the file that were read since this was asked last.
    pub(super) fn take_read(&mut self) -> u64 {
        std::mem::take(&mut self.read)
    }

    /// Bytes that no character could be made of, in UTF-16.
    pub(super) fn replaced(&self) -> u64 {
        self.decoder.replaced
    }

    /// Reads once, as long as there are less than `most` bytes.
    fn read_raw(&mut self, most: usize) -> io::Result<()> {
        let room = self.raw.get_mut(self.raw_length..most).unwrap_or_default();
        let read = loop {
            match self.input.read(room) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                result => break result?,
            }
        };
        self.has_ended = read == 0;
        self.raw_length += read;
        self.read += read as u64;
        Ok(())
    }

    /// Decodes what was read, from `start` on.
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
