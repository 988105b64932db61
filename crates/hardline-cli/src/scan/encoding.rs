//! Text encodings: UTF-8, or UTF-16 with a byte order mark, as on Windows.
//!
//! Everything is scanned as UTF-8. [`Encoding::measure`] returns the length of a part of that text
//! in the file, so that positions are those of the file in every encoding.

/// An encoding of text.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Encoding {
    Utf8,
    /// Little endian.
    Utf16Le,
    Utf16Be,
}

impl Encoding {
    /// Detects the encoding from the beginning of a file.
    pub(super) fn of(head: &[u8]) -> Self {
        match head {
            // UTF-32 has the same mark, but such files do not occur in practice.
            [0xff, 0xfe, ..] => Self::Utf16Le,
            [0xfe, 0xff, ..] => Self::Utf16Be,
            _ => Self::Utf8,
        }
    }

    /// Returns the length of a part of the text in the file, in bytes.
    pub(super) fn measure(self, text: &[u8]) -> u64 {
        if self == Self::Utf8 {
            return text.len() as u64;
        }
        // One unit per character, and a second one for characters of four bytes.
        let units = |byte: &u8| u64::from(byte & 0xc0 != 0x80) + u64::from(0xf0 <= *byte);
        2 * text.iter().map(units).sum::<u64>()
    }
}

/// Converts UTF-16 to UTF-8, in chunks.
#[derive(Debug, Default)]
pub(super) struct Utf16 {
    is_big_endian: bool,
    /// First byte of a unit.
    odd: Option<u8>,
    /// High surrogate of a pair.
    high: Option<u16>,
    /// Number of invalid bytes; each group became a replacement character.
    pub(super) replaced: u64,
}

impl Utf16 {
    pub(super) fn new(encoding: Encoding) -> Self {
        Self { is_big_endian: encoding == Encoding::Utf16Be, ..Self::default() }
    }

    /// Decodes `bytes` and appends the text to `out`.
    pub(super) fn push(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        for &byte in bytes {
            // A chunk can end in the middle of a unit.
            let Some(first) = self.odd.take() else {
                self.odd = Some(byte);
                continue;
            };
            let pair = [first, byte];
            let unit = if self.is_big_endian {
                u16::from_be_bytes(pair)
            } else {
                u16::from_le_bytes(pair)
            };
            self.unit(unit, out);
        }
    }

    /// Ends the text.
    pub(super) fn finish(&mut self, out: &mut Vec<u8>) {
        if self.high.take().is_some() {
            self.replace(2, out);
        }
        if self.odd.take().is_some() {
            self.replace(1, out);
        }
    }

    fn unit(&mut self, unit: u16, out: &mut Vec<u8>) {
        let high = self.high.take();
        let char = match (high, unit) {
            (Some(high), 0xdc00..0xe000) => char::decode_utf16([high, unit]).next(),
            (_, 0xd800..0xdc00) => {
                self.high = Some(unit);
                None
            }
            _ => char::decode_utf16([unit]).next(),
        };
        let is_pair = matches!((high, unit), (Some(_), 0xdc00..0xe000));
        // The high surrogate before this unit has no partner.
        if high.is_some() && !is_pair {
            self.replace(2, out);
        }
        match char {
            Some(Ok(char)) => out.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes()),
            Some(Err(_)) => self.replace(2, out),
            None => {}
        }
    }

    fn replace(&mut self, bytes: u64, out: &mut Vec<u8>) {
        self.replaced += bytes;
        out.extend_from_slice("\u{fffd}".as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(units: &[u16], expected: &str, replaced: u64) {
        for encoding in [Encoding::Utf16Le, Encoding::Utf16Be] {
            let bytes: Vec<u8> = units
                .iter()
                .flat_map(|unit| match encoding {
                    Encoding::Utf16Be => unit.to_be_bytes(),
                    _ => unit.to_le_bytes(),
                })
                .collect();
            for size in 1..=bytes.len() {
                let (mut decoder, mut out) = (Utf16::new(encoding), Vec::new());
                bytes.chunks(size).for_each(|chunk| decoder.push(chunk, &mut out));
                decoder.finish(&mut out);
                assert_eq!(std::str::from_utf8(&out), Ok(expected), "in chunks of {size}");
                assert_eq!(decoder.replaced, replaced);
                assert_eq!(encoding.measure(&out), bytes.len() as u64);
            }
        }
    }

    #[test]
    fn decodes_in_any_chunks_and_measures_what_it_decoded() {
        check(&[0xfeff, 0x41, 0xe9, 0x2028], "\u{feff}Aé\u{2028}", 0);
        check(&[0xd83d, 0xde00, 0x41], "😀A", 0);
        check(&[0x41, 0xdc00, 0x42, 0xd800], "A\u{fffd}B\u{fffd}", 4);
        check(&[0xd800, 0xd83d, 0xde00], "\u{fffd}😀", 2);
        check(&[0xd800, 0x41], "\u{fffd}A", 2);
    }
}
