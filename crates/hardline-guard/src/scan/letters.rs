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

use fearless_simd::prelude::*;
use fearless_simd::{mask8x64, u8x64};

use super::decode::base64::value;

/// Letters that are read at once.
const BLOCK: usize = 64;
/// Letters after a block that show how its last ones go on.
const AHEAD: usize = 16;
/// Letters at the start of a region that are decoded to see if it may be UTF-8: few at first, because
/// most regions are not.
const STARTS: [usize; 3] = [8, 16, 64];

/// Returns true if base64 letters may encode a message or hidden text, or have the name `jsonrpc` in them
/// as they are. `letters` has nothing else.
#[inline(never)]
pub(super) fn may_hide<S: Simd>(simd: S, letters: &[u8]) -> bool {
    simd.vectorize(
        #[inline(always)]
        || may_hide_with(simd, letters),
    )
}

#[inline(always)]
fn may_hide_with<S: Simd>(simd: S, letters: &[u8]) -> bool {
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
        // Two loads that overlap read the letters of the block and those ahead.
        for at in [0, AHEAD] {
            let from = block.get(at..).and_then(|it| it.first_chunk::<BLOCK>());
            if let (Some(from), Some(to)) = (from, values.get_mut(at..at + BLOCK)) {
                values_of(simd, u8x64::simd_from(simd, *from)).store_slice(to);
            }
        }
        let candidates = census.look(simd, block, &values, rest.len());
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
    #[inline(always)]
    fn look<S: Simd>(
        &mut self,
        simd: S,
        block: &[u8; BLOCK + AHEAD],
        values: &[u8; BLOCK + AHEAD],
        left: usize,
    ) -> u64 {
        let from = |array: &[u8; BLOCK + AHEAD], offset: usize| {
            let lanes = array.get(offset..).and_then(|it| it.first_chunk::<BLOCK>());
            u8x64::simd_from(simd, lanes.copied().unwrap_or([63; BLOCK]))
        };
        let v = |offset: usize| from(values, offset);
        let (first, second, third) = (v(0), v(1), v(2));
        let part = |values: u8x64<S>, mask: u8, value: u8| (values & mask).simd_eq(value);
        // The top bit of each byte of a group.
        let groups = |first: u8x64<S>, second: u8x64<S>, third: u8x64<S>| -> mask8x64<S> {
            ((first & 32) | (second & 8) | (third & 2)).simd_eq(0)
        };
        let group = groups(first, second, third);
        let fourth = v(3);
        // `onr`, `nrp` and `rpc` in either case.
        let onr = part(second, !2, 0x34) & third.simd_eq(57) & part(fourth, !0x20, 0x12);
        let nrp = part(second, !2, 0x25) & third.simd_eq(9) & part(fourth, !0x20, 0x10);
        let rpc = part(second, !2, 0x25) & third.simd_eq(1) & part(fourth, !0x20, 3);
        let names = onr | nrp | rpc;
        // A backslash as the first, second or third byte of a group, with the `u`, `x` or `U` after it.
        let escapes = first.simd_eq(23) & part(second, !2, 5) & group;
        let is_code = |letter: u8x64<S>, u: u8, x: u8, upper: u8| {
            letter.simd_eq(u) | letter.simd_eq(x) | letter.simd_eq(upper)
        };
        let others =
            (part(second, 15, 5) & third.simd_eq(0x31) & is_code(fourth, 0x35, 0x38, 0x15))
                | (part(third, 3, 1) & fourth.simd_eq(28) & is_code(v(4), 0x1d, 0x1e, 0x15));
        // The bytes f3 a0 80 to bf.
        let tags = first.simd_eq(60) & second.simd_eq(58) & third.simd_eq(2);
        let letter = |offset: usize, letter: u8| {
            part(from(block, offset), !0x20, letter.to_ascii_uppercase())
        };
        let plain = letter(0, b'j') & letter(1, b's') & letter(2, b'o');
        if self.may_be_text() {
            self.count(group.to_bitmask(), left);
        }
        (names | escapes | others | tags | plain).to_bitmask()
    }

    /// Counts the groups of a block that are not ASCII, given a bit for each letter with which one that is
    /// begins.
    #[inline(always)]
    fn count(&mut self, ascii: u64, left: usize) {
        const FOURTHS: u64 = 0x1111_1111_1111_1111;
        // The padding is no text, so it would count.
        let is_whole = left >= BLOCK;
        let most = if is_whole { BLOCK / 4 } else { left.saturating_sub(3).div_ceil(4) };
        for (offset, odd) in self.odd.iter_mut().enumerate() {
            let count = (ascii & FOURTHS << offset).count_ones() as usize;
            *odd += most.saturating_sub(count + usize::from(!is_whole));
        }
    }

    /// Returns true if the letters so far leave it open that a region is text.
    fn may_be_text(&self) -> bool {
        self.odd.iter().any(|odd| *odd <= self.most)
    }
}

/// Returns the values of base64 letters.
#[inline(always)]
fn values_of<S: Simd>(simd: S, letters: u8x64<S>) -> u8x64<S> {
    let (upper, lower, digit) = (letters - b'A', letters - b'a', letters - b'0');
    let is_plus = letters.simd_eq(b'+') | letters.simd_eq(b'-');
    let signs = is_plus.select(u8x64::simd_from(simd, 62), u8x64::simd_from(simd, 63));
    let digits = digit.simd_le(9).select(digit + 52, signs);
    let lowers = lower.simd_le(25).select(lower + 26, digits);
    upper.simd_le(25).select(upper, lowers)
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

/// Returns true if UTF-8 may begin with these bytes.
fn may_begin_utf8(bytes: [u8; 3]) -> bool {
    let goes_on = |byte: u8| byte & 0xc0 == 0x80;
    match bytes {
        [..0x80, ..0x80, last] => !goes_on(last),
        [..0x80, 0xc2..=0xff, last] => goes_on(last),
        [0xc2..0xe0, second, last] => goes_on(second) && !goes_on(last),
        [0xe0..=0xff, second, last] => goes_on(second) && goes_on(last),
        _ => false,
    }
}

/// Returns true if a region may be UTF-8 from an offset on, as far as its start shows.
fn may_be_utf8(letters: &[u8], offset: usize) -> bool {
    let letters = letters.get(offset..).unwrap_or_default();
    // Nearly all regions end here.
    if letters.first_chunk().is_some_and(|group| !may_begin_utf8(decode(*group))) {
        return false;
    }
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

    use fearless_simd::{Level, dispatch};

    use super::may_begin_utf8;
    use crate::scan::{ScanSettings, Scanner};

    fn may_hide(letters: &[u8]) -> bool {
        dispatch!(Level::new(), simd => super::may_hide(simd, letters))
    }

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
    fn utf_8_may_begin_as_it_does() {
        for code in (0..=u32::MAX >> 8).step_by(3) {
            let [_, bytes @ ..] = code.to_be_bytes();
            let begins = match str::from_utf8(&bytes) {
                Ok(_) => true,
                Err(error) => error.error_len().is_none(),
            };
            assert!(!begins || may_begin_utf8(bytes), "{bytes:x?}");
        }
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
