//! A file or standard input, with its beginning looked at before it is read.

use std::fs::File;
use std::io::{self, ErrorKind, IsTerminal, Read, Write};
use std::path::Path;

use anyhow::{Context, Result};
use hardline_wire::excerpt::Excerpt;
use hardline_wire::json::Checker;
use hardline_wire::limits::Limits;

/// Bytes that tell what a file is.
const HEAD_BYTES: usize = 64 << 10;
/// Bytes shown of a path.
const SHOWN_PATH: usize = 1000;

pub(super) struct Source {
    name: String,
    input: Box<dyn Read>,
    /// What was read ahead, and is read first.
    head: Vec<u8>,
    taken: usize,
}

/// A path as a person may see it.
pub(super) fn show(path: &Path) -> String {
    Excerpt::new(path.as_os_str().as_encoded_bytes(), SHOWN_PATH).to_string()
}

impl Source {
    pub(super) fn open(path: &Path) -> Result<Self> {
        if path != Path::new("-") {
            let name = show(path);
            let file = File::open(path).with_context(|| format!("cannot read {name}"))?;
            return Ok(Self::new(name, Box::new(file)));
        }
        let stdin = io::stdin().lock();
        if stdin.is_terminal() {
            let _ = writeln!(io::stderr(), "hardline: reading from the terminal until Ctrl-D");
        }
        Ok(Self::new("standard input".into(), Box::new(stdin)))
    }

    fn new(name: String, input: Box<dyn Read>) -> Self {
        Self { name, input, head: Vec::new(), taken: 0 }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Whether every whole line of the beginning that is not blank is a JSON object with `jsonrpc`.
    pub(super) fn looks_like_transcript(&mut self) -> io::Result<bool> {
        let mut chunk = vec![0; HEAD_BYTES];
        let is_whole = loop {
            let room = chunk.get_mut(self.head.len()..).unwrap_or_default();
            if room.is_empty() {
                break false;
            }
            match self.input.read(room) {
                Ok(0) => break true,
                Ok(read) => {
                    let new = room.get(..read).unwrap_or_default().to_vec();
                    self.head.extend_from_slice(&new);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        };
        let mut lines: Vec<_> = self.head.split(|byte| *byte == b'\n').collect();
        if !is_whole && 1 < lines.len() {
            lines.pop();
        }
        let mut checker = Checker::new(&Limits::default());
        let mut seen = 0;
        for line in lines.iter().map(|line| line.trim_ascii()).filter(|line| !line.is_empty()) {
            let is_message = match checker.check(line) {
                Ok(checked) => checked.value.get("jsonrpc").is_some(),
                // One long message of which only the beginning was seen.
                Err(_) => !is_whole && lines.len() == 1 && line.starts_with(b"{\"jsonrpc\""),
            };
            if !is_message {
                return Ok(false);
            }
            seen += 1;
        }
        Ok(0 < seen)
    }

    /// Reads more; 0 at the end.
    pub(super) fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let ahead = self.head.get(self.taken..).unwrap_or_default();
        if !ahead.is_empty() {
            let length = ahead.len().min(buffer.len());
            let (from, to) = (ahead.get(..length), buffer.get_mut(..length));
            if let (Some(from), Some(to)) = (from, to) {
                to.copy_from_slice(from);
            }
            self.taken += length;
            return Ok(length);
        }
        self.head = Vec::new();
        self.taken = 0;
        loop {
            match self.input.read(buffer) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                result => return result,
            }
        }
    }
}
