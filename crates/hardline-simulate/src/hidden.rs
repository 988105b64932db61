//! Text that people do not see: encoders that write it, and a decoder that reads it.
//!
//! A model reads every code point, a person only those that a font draws. The encoders write a secret
//! with code points that no font draws. The decoder reads the secret back, as a model could.

use hardline_testkit::generate::Rng;

use crate::reader::Json;

/// The hidden text.
pub const SECRET: &str = "HIDDEN";

/// Emoji that look the same with and without a selector.
const THUMBS: [char; 3] = ['👍', '🙏', '👏'];

/// Returns the secret in a form that people do not see.
pub fn hide(rng: &mut Rng) -> String {
    match rng.below(7) {
        0 => SECRET.chars().filter_map(tag).collect(),
        1 => in_flags(5),
        2 => in_flags(2),
        3 => after_each(&["字", "漢", "語"]),
        4 => after_each(&["😀"]),
        5 => in_styles(),
        _ => zero_width(),
    }
}

/// Writes the secret over many texts, one bit in each.
pub fn spread() -> Vec<String> {
    zero_width().chars().map(|bit| format!("ce{bit}ll")).collect()
}

/// Returns the way in which the strings and keys of a message hide the secret: one of them, or all
/// together.
pub fn find_hidden_in(message: &Json<'_>) -> Option<&'static str> {
    let mut texts = Vec::new();
    collect(message, &mut texts);
    texts.iter().find_map(|text| find_hidden(text)).or_else(|| find_hidden(&texts.concat()))
}

/// Collects the keys and strings of a value in their order.
fn collect<'a>(value: &'a Json<'_>, texts: &mut Vec<&'a str>) {
    match value {
        Json::String(text) => texts.push(text),
        Json::Array(elements) => elements.iter().for_each(|it| collect(it, texts)),
        Json::Object(members) => {
            for (key, value) in members {
                texts.push(key);
                collect(value, texts);
            }
        }
        Json::Null | Json::Bool(_) | Json::Number(_) => {}
    }
}

/// Returns the way in which `text` hides the secret, or controls a terminal.
pub fn find_hidden(text: &str) -> Option<&'static str> {
    // All ways to hide need code points beyond ASCII; an escape sequence does not.
    if text.is_ascii() {
        return text.contains('\u{1b}').then_some("a terminal escape");
    }
    let tags: String = text.chars().filter_map(untag).collect();
    let selectors: Vec<u8> = text.chars().filter_map(unselect).collect();
    let is_secret = |bytes: &[u8]| bytes.windows(SECRET.len()).any(|it| it == SECRET.as_bytes());
    if tags.contains(SECRET) {
        Some("tag characters")
    } else if is_secret(&selectors) {
        Some("variation selectors")
    } else if is_secret(&read_bits(text)) {
        Some("zero-width characters")
    } else if is_secret(&read_styles(text)) {
        Some("optional selectors")
    } else {
        text.contains('\u{1b}').then_some("a terminal escape")
    }
}

fn tag(char: char) -> Option<char> {
    char::from_u32(0xe_0000 + u32::from(char))
}

fn untag(char: char) -> Option<char> {
    let code = u32::from(char).checked_sub(0xe_0000)?;
    (0x20..0x7f).contains(&code).then(|| char::from_u32(code)).flatten()
}

/// Encodes the secret as tag characters, a few after each black flag, like regional flags.
fn in_flags(size: usize) -> String {
    let mut text = String::new();
    for (number, char) in SECRET.chars().enumerate() {
        // Each flag needs its own end tag to count as one emoji.
        if number % size == 0 {
            text.push_str(if number == 0 { "\u{1f3f4}" } else { "\u{e007f}\u{1f3f4}" });
        }
        text.extend(tag(char));
    }
    text.push('\u{e007f}');
    text
}

/// Encodes each byte of the secret as a variation selector after a visible character.
fn after_each(visible: &[&str]) -> String {
    let select = |byte: u8| {
        let code = u32::from(byte);
        char::from_u32(if code < 16 { 0xfe00 + code } else { 0xe_0100 + code - 16 })
    };
    let mut text = String::new();
    for (byte, visible) in SECRET.bytes().zip(visible.iter().cycle()) {
        text.push_str(visible);
        text.extend(select(byte));
    }
    text
}

fn unselect(char: char) -> Option<u8> {
    let code = u32::from(char);
    let byte = match code {
        0xfe00..=0xfe0f => code - 0xfe00,
        0xe_0100..=0xe_01ef => code - 0xe_0100 + 16,
        _ => return None,
    };
    u8::try_from(byte).ok()
}

/// Encodes each bit of the secret as one of two zero-width characters.
fn zero_width() -> String {
    let bits = SECRET.bytes().flat_map(|byte| (0..8).rev().map(move |bit| byte >> bit & 1));
    bits.map(|bit| if bit == 0 { '\u{200b}' } else { '\u{200c}' }).collect()
}

fn read_bits(text: &str) -> Vec<u8> {
    let bit = |char| match char {
        '\u{200b}' => Some(0),
        '\u{200c}' => Some(1),
        _ => None,
    };
    bytes_of(text.chars().filter_map(bit))
}

/// Encodes each bit of the secret as an emoji with or without the selector that it does not need.
fn in_styles() -> String {
    let bits = SECRET.bytes().flat_map(|byte| (0..8).rev().map(move |bit| byte >> bit & 1));
    let emoji = THUMBS.iter().cycle();
    bits.zip(emoji)
        .map(|(bit, it)| format!("{it}{}", if bit == 0 { "" } else { "\u{fe0f}" }))
        .collect()
}

fn read_styles(text: &str) -> Vec<u8> {
    let next = text.chars().skip(1).chain([' ']);
    let places = text.chars().zip(next).filter(|(it, _)| THUMBS.contains(it));
    bytes_of(places.map(|(_, next)| u8::from(next == '\u{fe0f}')))
}

fn bytes_of(bits: impl Iterator<Item = u8>) -> Vec<u8> {
    let bits: Vec<u8> = bits.collect();
    bits.chunks(8).map(|bits| bits.iter().fold(0, |byte, bit| byte << 1 | bit)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_over_many_texts_is_read_back() {
        let texts = spread();
        assert!(texts.iter().all(|text| find_hidden(text).is_none()));
        let member = |text: String| ("a".into(), Json::String(text.into()));
        let message = Json::Object(texts.into_iter().map(member).collect());
        assert_eq!(find_hidden_in(&message), Some("zero-width characters"));
    }

    #[test]
    fn every_way_to_hide_is_read_back() {
        let mut rng = Rng::new(1);
        let mut ways = std::collections::HashSet::new();
        for _ in 0..100 {
            let text = format!("some {} text", hide(&mut rng));
            assert!(!text.contains(SECRET));
            ways.insert(find_hidden(&text).expect("it is hidden"));
        }
        assert_eq!(ways.len(), 4);
        assert_eq!(find_hidden("\u{1b}[8mno"), Some("a terminal escape"));
        for honest in
            ["plain", "é 漢字 😀", "👩\u{200d}💻", "a\u{200b}b", "\u{1f3f4}\u{e0067}\u{e0062}"]
        {
            assert_eq!(find_hidden(honest), None, "{honest}");
        }
    }
}
