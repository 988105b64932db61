//! JSON texts of all kinds from a seed. The same seed gives the same text.

use std::collections::VecDeque;

/// A small pseudo-random number generator (splitmix64).
#[derive(Clone, Debug)]
pub struct Rng {
    state: u64,
    /// Bytes that decide the first choices, before the pseudo-random numbers.
    script: Option<VecDeque<u8>>,
}

impl Rng {
    /// Starts from `seed`.
    pub fn new(seed: u64) -> Self {
        Self { state: seed, script: None }
    }

    /// Makes the first choices from `bytes`, one byte each. Changing a byte changes one choice,
    /// which is what a fuzzer needs to make progress.
    pub fn scripted(bytes: &[u8]) -> Self {
        Self { state: bytes.len() as u64, script: Some(bytes.iter().copied().collect()) }
    }

    /// Returns a number below `bound`, which must not be zero.
    pub fn below(&mut self, bound: usize) -> usize {
        if let Some(byte) = self.next_byte() {
            // One byte cannot choose among more than 256.
            let more = if bound > 256 { self.next_byte() } else { None };
            return usize::from(u16::from_le_bytes([byte, more.unwrap_or(0)])) % bound;
        }
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        usize::try_from(mixed % bound as u64).expect("it is below a usize")
    }

    /// Returns up to `most` bytes of the script as they are.
    pub fn bytes(&mut self, most: usize) -> Vec<u8> {
        let count = self.below(most + 1);
        (0..count).map_while(|_| self.next_byte()).collect()
    }

    /// Returns true if there was a script and it is used up. A generator should then finish its
    /// text.
    pub fn is_spent(&self) -> bool {
        self.script.as_ref().is_some_and(VecDeque::is_empty)
    }

    fn next_byte(&mut self) -> Option<u8> {
        self.script.as_mut()?.pop_front()
    }

    /// Returns true once in `n` times.
    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    /// Returns one of `choices`.
    pub fn pick<'a, T: ?Sized>(&mut self, choices: &[&'a T]) -> &'a T {
        choices.get(self.below(choices.len())).expect("it is below the length")
    }
}

/// Returns a JSON-RPC message, or an object that is nearly one.
pub fn message(rng: &mut Rng) -> String {
    let mut text = String::from("{");
    let mut members = vec![r#""jsonrpc":"2.0""#.to_owned()];
    if !rng.one_in(4) {
        let id = rng.pick(&[
            "0",
            "1",
            "-7",
            "\"\"",
            "\"a\"",
            "\"\\u0061\"",
            "9223372036854775807",
            "null",
            "1.5",
            "9223372036854775808",
        ]);
        members.push(format!(
            "{}:{id}",
            rng.pick(&["\"id\"", "\"id\"", "\"id\"", "\"\\u0069d\"", "\"ID\""])
        ));
    }
    if !rng.one_in(3) {
        members.push(format!(
            "\"method\":{}",
            rng.pick(&["\"ping\"", "\"tools\\/call\"", "\"\"", "7"])
        ));
    }
    for key in ["\"params\"", "\"result\"", "\"error\"", "\"extra\"", "\"reſult\""] {
        if rng.one_in(4) {
            members.push(format!("{key}:{}", value(rng, 3)));
        }
    }
    if rng.one_in(6) {
        members.push(r#""error":{"code":-32603,"message":"no"}"#.into());
    }
    if rng.one_in(8) {
        // A duplicate member, which the strict checker must refuse.
        let twice = members.get(rng.below(members.len())).cloned();
        members.extend(twice);
    }
    while !members.is_empty() {
        let member = members.swap_remove(rng.below(members.len()));
        text.push_str(&member);
        if !members.is_empty() {
            text.push(',');
        }
    }
    text.push('}');
    text
}

/// Returns any JSON value, with the keys and escapes that parsers disagree about.
pub fn value(rng: &mut Rng, depth: usize) -> String {
    // At the bottom only scalars, so that the text is finite.
    let kind = if depth == 0 { rng.below(4) } else { rng.below(8) };
    match kind {
        0 => rng.pick(&["true", "false", "null"]).to_owned(),
        1 => number(rng),
        2 | 3 => string(rng),
        4 | 5 => {
            let elements: Vec<_> = (0..rng.below(5)).map(|_| value(rng, depth - 1)).collect();
            let comma = rng.pick(&[",", ",", " ,\t", "\n,\r"]);
            format!("[{}{}]", whitespace(rng), elements.join(comma))
        }
        _ => {
            // The checker uses a table for objects of more than 32 keys, so both cases are needed.
            let width = if rng.one_in(40) { 30 + rng.below(30) } else { rng.below(6) };
            let wide = width > 6;
            let members: Vec<_> = (0..width)
                .map(|index| {
                    let key =
                        if wide && !rng.one_in(60) { format!("\"k{index}\"") } else { key(rng) };
                    format!("{key}{}:{}", whitespace(rng), value(rng, depth - 1))
                })
                .collect();
            format!("{{{}{}}}", whitespace(rng), members.join(","))
        }
    }
}

/// Changes a few bytes of `text`: replaces, removes, inserts or swaps them, or truncates the text.
pub fn mutate(rng: &mut Rng, text: &mut Vec<u8>) {
    const INTERESTING: &[u8] =
        b"\"\\{}[]:,.-+eEu0129 tfn/\n\r\t\0\x1f\x7f\x80\xbf\xc3\xe2\xed\xef\xf0\xff";
    for _ in 0..=rng.below(3) {
        if text.is_empty() {
            return;
        }
        let at = rng.below(text.len());
        let byte = INTERESTING.get(rng.below(INTERESTING.len())).copied().unwrap_or(b'"');
        match rng.below(5) {
            0 => text.insert(at, byte),
            1 => drop(text.remove(at)),
            2 => text.truncate(at),
            3 => {
                let from = rng.below(text.len());
                text.swap(at, from);
            }
            _ => text.splice(at..=at, [byte]).for_each(drop),
        }
    }
}

/// Splits `bytes` into chunks of random sizes.
pub fn chunks<'a>(rng: &mut Rng, mut bytes: &'a [u8]) -> Vec<&'a [u8]> {
    let mut chunks = Vec::new();
    while !bytes.is_empty() {
        // Small chunks cut inside tokens and characters, large ones between them.
        let most = if rng.one_in(2) { 3 } else { bytes.len() };
        let (chunk, rest) = bytes.split_at(1 + rng.below(most.min(bytes.len())));
        chunks.push(chunk);
        bytes = rest;
    }
    chunks
}

fn whitespace(rng: &mut Rng) -> &'static str {
    if rng.one_in(4) { rng.pick(&[" ", "\t", "  ", "\r\n"]) } else { "" }
}

fn number(rng: &mut Rng) -> String {
    let whole = rng.pick(&["0", "1", "-1", "42", "-0", "18446744073709551616"]);
    let fraction = rng.pick(&["", "", "", ".5", ".0"]);
    let exponent = rng.pick(&["", "", "", "e3", "E-2", "e+0"]);
    format!("{whole}{fraction}{exponent}")
}

fn key(rng: &mut Rng) -> String {
    let plain = [
        "\"a\"",
        "\"b\"",
        "\"id\"",
        "\"name\"",
        "\"\"",
        "\"longer-than-eight\"",
        "\"longer-than-sixteen-bytes\"",
    ];
    if rng.one_in(3) { string(rng) } else { rng.pick(&plain).to_owned() }
}

fn string(rng: &mut Rng) -> String {
    const PARTS: [&str; 24] = [
        "a",
        "b",
        "text ",
        "é",
        "€",
        "😀",
        "\\n",
        "\\\"",
        "\\\\",
        "\\/",
        "\\u0061",
        "\\u00E9",
        "\\ud83d\\ude00",
        "\\u2028",
        "{\\\"id\\\":1}",
        "}",
        "]",
        ":",
        ",",
        "a fairly long piece of text without escapes",
        "another one",
        "\\t",
        "/",
        "\u{2028}",
    ];
    const LONE: [&str; 4] = ["\\ud800", "\\udc00", "\\ud83d\\u0041", "\\uD83D\\uD83D\\uDE00"];
    let mut text = String::from("\"");
    for _ in 0..rng.below(5) {
        // Rare, because a lone surrogate makes the whole text invalid.
        let part = if rng.one_in(60) { rng.pick(&LONE) } else { rng.pick(&PARTS) };
        text.push_str(part);
    }
    text.push('"');
    text
}
