//! Decides whether base64 letters may encode a message, without decoding them.
//!
//! Hashes, keys, paths and images are long rows of base64 letters, and hardly any of them encodes
//! text. Each letter carries six bits, so what a letter says about the bytes that it is part of can be
//! read from 64 letters at once, for all four offsets at which the encoding may have begun.
//!
//! [`may_hide`] has no false negatives. Letters that it rules out decode, at no offset, to
//! - text, which may contain further encodings (see [`is_text`](super::text)),
//! - the name `jsonrpc`, or a name with escapes,
//! - a row of hidden characters.

use wide::u8x16;

use super::decode::base64::value;

/// Letters that are read at once.
const BLOCK: usize = 64;
/// Letters after a block that show how its last ones go on.
const AHEAD: usize = 16;
/// Letters at the start of a region that are decoded to see if it may be UTF-8: few at first, because
/// most regions are not.
const STARTS: [usize; 2] = [16, 64];

/// Returns true if base64 letters may encode a message or hidden text, or have the name `jsonrpc` in them
/// as they are. `letters` has nothing else.
pub(super) fn may_hide(letters: &[u8]) -> bool {
    let mut census = Census::new(letters.len());
    // The letter `/` has all bits set, so it pads the end with bytes that are no text.
    let mut values = [63; BLOCK + AHEAD];
    let mut padded;
    let mut at = 0;
    while let Some(rest) = letters.get(at..).filter(|rest| !rest.is_empty()) {
        let block = match rest.first_chunk::<{ BLOCK + AHEAD }>() {
            Some(whole) => whole,
            None => {
                padded = [b'/'; BLOCK + AHEAD];
                padded.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
                &padded
            }
        };
        for (to, from) in values.as_chunks_mut::<16>().0.iter_mut().zip(block.as_chunks::<16>().0) {
            *to = values_of(u8x16::new(*from)).to_array();
        }
        let candidates = census.look(block, &values, rest.len());
        if candidates != 0 && is_confirmed(letters, at, candidates) {
            return true;
        }
        at += BLOCK;
    }
    census.may_be_text() || (0..4).any(|offset| may_be_utf8(letters, offset))
}

/// Checks the letters of the block at `base` that are set in `candidates`, one by one.
#[cold]
fn is_confirmed(letters: &[u8], base: usize, mut candidates: u64) -> bool {
    while candidates != 0 {
        let at = base + candidates.trailing_zeros() as usize;
        candidates &= candidates - 1;
        let is_name = letters.get(at..at + 7).is_some_and(|it| it.eq_ignore_ascii_case(b"jsonrpc"));
        // The group before may have the start of a word or an escape.
        let decoded = decode_at(letters, at.checked_sub(4).unwrap_or(at));
        if is_name
            || decoded.windows(5).any(|it| it.eq_ignore_ascii_case(b"onrpc"))
            || decoded.windows(6).any(|it| begins_escape(it) || begins_tags(it))
        {
            return true;
        }
    }
    false
}

/// Counts the groups that are not ASCII, for each offset.
struct Census {
    odd: [usize; 4],
    /// Number of such groups above which a region is no text.
    most: usize,
}

impl Census {
    fn new(letters: usize) -> Self {
        // One byte in eight may be odd, and each odd group has at least one.
        Self { odd: [0; 4], most: letters / 4 * 3 / 8 + 1 }
    }

    /// Counts the groups that begin in a block. Returns those that may have a part of the name, an
    /// escape, or a tag character. `left` is the number of letters from the block on.
    #[inline]
    fn look(
        &mut self,
        block: &[u8; BLOCK + AHEAD],
        values: &[u8; BLOCK + AHEAD],
        left: usize,
    ) -> u64 {
        let (mut found, mut ascii) = (0, u8x16::ZERO);
        for at in (0..BLOCK).step_by(16) {
            let from = |array: &[u8; BLOCK + AHEAD], offset: usize| {
                let lanes = array.get(at + offset..).and_then(|it| it.first_chunk::<16>());
                u8x16::new(lanes.copied().unwrap_or([63; 16]))
            };
            let v = |offset: usize| from(values, offset);
            let (first, second, third) = (v(0), v(1), v(2));
            let part = |values: u8x16, mask: u8, value: u8| {
                (values & u8x16::splat(mask)).simd_eq(u8x16::splat(value))
            };
            // The top bit of each byte of a group.
            let groups = |first: u8x16, second: u8x16, third: u8x16| {
                let tops = (first & u8x16::splat(32))
                    | (second & u8x16::splat(8))
                    | (third & u8x16::splat(2));
                tops.simd_eq(u8x16::ZERO)
            };
            let group = groups(first, second, third);
            // `onr`, `nrp` and `rpc` in either case.
            let names = (part(second, !2, 0x34) & part(third, !0, 57))
                | (part(second, !2, 0x25) & part(third, !8, 1));
            // A backslash as the first, second or third byte of a group. An escape goes on with ASCII.
            let escapes = part(first, !0, 23) & part(second, 0x30, 0) & group;
            let others = (part(second, 15, 5) & part(third, 0x3c, 0x30))
                | (part(third, 3, 1) & part(v(3), !0, 28));
            let others = others & groups(v(4), v(5), v(6));
            // The bytes f3 a0 80 to bf.
            let tags = part(first, !0, 60) & part(second, !0, 58) & part(third, !0, 2);
            let letter = |offset: usize, letter: u8| {
                part(from(block, offset), !0x20, letter.to_ascii_uppercase())
            };
            let plain = letter(0, b'j') & letter(1, b's') & letter(2, b'o');
            let all = names | escapes | others | tags | plain;
            found |= u64::from(all.to_bitmask()) << at;
            // A lane that is set counts as 255, which is one less.
            ascii += group;
        }
        if self.may_be_text() {
            self.count(ascii, left);
        }
        found
    }

    /// Adds the groups of a block, of which `ascii` has the negative number for each letter modulo 16.
    fn count(&mut self, ascii: u8x16, left: usize) {
        if left < BLOCK {
            // The padding is no text, so it would count.
            let most = left.saturating_sub(3).div_ceil(4);
            let ascii = ascii.to_array().map(|lane| usize::from(0_u8.wrapping_sub(lane)));
            for (offset, odd) in self.odd.iter_mut().enumerate() {
                let count: usize = ascii.iter().skip(offset).step_by(4).sum();
                *odd += most.saturating_sub(count + 1);
            }
            return;
        }
        let ascii = ascii.to_array();
        for (offset, odd) in self.odd.iter_mut().enumerate() {
            let lanes = ascii.iter().skip(offset).step_by(4);
            let count: usize = lanes.map(|lane| usize::from(0_u8.wrapping_sub(*lane))).sum();
            *odd += BLOCK / 4 - count;
        }
    }

    /// Returns true if the letters so far leave it open that a region is text.
    fn may_be_text(&self) -> bool {
        self.odd.iter().any(|odd| *odd <= self.most)
    }
}

/// Returns the values of base64 letters.
#[inline]
fn values_of(letters: u8x16) -> u8x16 {
    let within = |first: u8, last: u8| {
        let turned = letters - u8x16::splat(first);
        (turned, turned.min(u8x16::splat(last - first)).simd_eq(turned))
    };
    let (upper, is_upper) = within(b'A', b'Z');
    let (lower, is_lower) = within(b'a', b'z');
    let (digit, is_digit) = within(b'0', b'9');
    let is_plus = letters.simd_eq(u8x16::splat(b'+')) | letters.simd_eq(u8x16::splat(b'-'));
    let known = is_upper | is_lower | is_digit | is_plus;
    (upper & is_upper)
        | ((lower + u8x16::splat(26)) & is_lower)
        | ((digit + u8x16::splat(52)) & is_digit)
        | (u8x16::splat(62) & is_plus)
        | (u8x16::splat(63) & !known)
}

/// Returns true if six bytes begin an escape of a letter.
fn begins_escape(bytes: &[u8]) -> bool {
    let are_hex = |digits: &[u8]| digits.iter().all(u8::is_ascii_hexdigit);
    match bytes {
        [b'\\', b'x', digits @ ..] => digits.get(..2).is_some_and(are_hex),
        [b'\\', b'u', b'{', digit, ..] => digit.is_ascii_hexdigit(),
        [b'\\', b'u' | b'U', digits @ ..] => are_hex(digits),
        _ => false,
    }
}

/// Returns true if six bytes begin a row of tag characters. One of the first three of a row begins with
/// a group.
fn begins_tags(bytes: &[u8]) -> bool {
    matches!(bytes, [0xf3, 0xa0, _, _, 0xf3, 0xa0])
}

/// Decodes five groups of four letters from `at` on.
fn decode_at(letters: &[u8], at: usize) -> [u8; 15] {
    let mut decoded = [0xff; 15];
    for (index, bytes) in decoded.as_chunks_mut::<3>().0.iter_mut().enumerate() {
        if let Some(group) = letters.get(at + 4 * index..).and_then(|it| it.first_chunk::<4>()) {
            *bytes = decode(*group);
        }
    }
    decoded
}

fn decode(group: [u8; 4]) -> [u8; 3] {
    let [one, two, three, four] = group.map(value);
    [one << 2 | two >> 4, two << 4 | three >> 2, three << 6 | four]
}

/// Returns true if a region may be UTF-8 from an offset on, as far as its start shows.
fn may_be_utf8(letters: &[u8], offset: usize) -> bool {
    let letters = letters.get(offset..).unwrap_or_default();
    STARTS.into_iter().all(|start| {
        let (groups, _) = letters.get(..start).unwrap_or(letters).as_chunks::<4>();
        let mut bytes = [[0; 3]; 16];
        bytes.iter_mut().zip(groups).for_each(|(bytes, group)| *bytes = decode(*group));
        let decoded = bytes.get(..groups.len()).unwrap_or_default().as_flattened();
        match str::from_utf8(decoded) {
            Ok(_) => true,
            // A character that the end cuts.
            Err(error) => error.error_len().is_none(),
        }
    })
}

#[cfg(test)]
mod tests {
    use hardline_testkit::generate::Rng;

    use super::*;
    use crate::scan::{ScanSettings, Scanner};

    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

    fn byte(number: usize) -> u8 {
        u8::try_from(number).unwrap()
    }

    fn encode(bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        for chunk in bytes.chunks(3) {
            let mut group = [0; 3];
            group[..chunk.len()].copy_from_slice(chunk);
            let [a, b, c] = group;
            let values = [a >> 2, (a & 3) << 4 | b >> 4, (b & 15) << 2 | c >> 6, c & 63];
            out.extend(values.iter().take(chunk.len() + 1).map(|it| LETTERS[usize::from(*it)]));
        }
        out
    }

    /// Random bytes with a message in them at any place are never ruled out.
    #[test]
    fn letters_that_are_ruled_out_have_no_hits() {
        let mut scanner = Scanner::new(ScanSettings::default());
        let messages: [&[u8]; 8] = [
            br#"{"jsonrpc":"2.0","method":"ping"}"#,
            "{\"j\u{17f}onrpc\":\"2.0\",\"method\":\"ping\"}".as_bytes(),
            br#"{"\u006a\u0073\u006f\u006e\u0072\u0070\u0063":"2.0","method":"ping"}"#,
            br#"{"jsonrp\u0063":"2.0","method":"ping"}"#,
            br#"{'JSONRPC':"2.0","method":"ping"}"#,
            "{jſonrp\\x63:'2.0','method':'ping'}".as_bytes(),
            "\u{e0041}\u{e0041}\u{e0041}\u{e0041}\u{e0041}\u{e0041}\u{e0041}\u{e0041}".as_bytes(),
            b"%7B%22%6asonrpc%22:%222.0%22,%22method%22:%22ping%22}",
        ];
        let (mut ruled_out, mut hits) = (0, 0);
        for seed in 0..30_000 {
            let mut random = Rng::new(seed);
            let mut bytes: Vec<u8> =
                (0..random.below(200)).map(|_| byte(random.below(256))).collect();
            if random.one_in(2) {
                bytes.push(b'\n');
                bytes.extend_from_slice(random.pick(&messages));
                bytes.push(b'\n');
                bytes.extend((0..random.below(100)).map(|_| byte(random.below(256))));
            }
            let mut letters = vec![b'A'; random.below(4)];
            letters.extend(encode(&bytes));
            if letters.len() < 46 {
                continue;
            }
            let text = String::from_utf8(letters.clone()).unwrap();
            let has_hits = !scanner.scan(&text).hits.is_empty();
            let may_hide = may_hide(&letters);
            assert!(may_hide || !has_hits, "seed {seed}: {text}");
            ruled_out += u32::from(!may_hide);
            hits += u32::from(has_hits);
        }
        assert!(ruled_out > 10_000 && hits > 8_000, "{ruled_out} {hits}");
    }

    #[test]
    fn hashes_images_and_paths_are_ruled_out() {
        let mut random = Rng::new(7);
        for _ in 0..1000 {
            let hex: Vec<u8> = (0..64).map(|_| b"0123456789abcdef"[random.below(16)]).collect();
            assert!(!may_hide(&hex), "{}", hex.escape_ascii());
        }
        let image: Vec<u8> = (0..100_000).map(|_| LETTERS[random.below(64)]).collect();
        assert!(!may_hide(&image));
        assert!(!may_hide(b"/usr/local/lib/python3/dist-packages/setuptools/command/build_ext"));
    }
}
