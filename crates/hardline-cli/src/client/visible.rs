//! Makes text of servers safe for a terminal: characters that control it or are invisible are
//! escaped.
//!
//! Invariants:
//! - Line ends and tabs stay. All other control characters, and those that reorder text, become
//!   `\u{…}`.
//! - So does every invisible character, unless the characters around it need it: joiners in emoji
//!   and in scripts that use them, variation selectors after a base character, the tags of a flag.

use std::borrow::Cow;

use hardline_wire::excerpt::is_unsafe;

use crate::terminal::is_obeyed;

/// Base of flags that are spelled with tag characters, and the tag that ends them.
const FLAG: char = '\u{1f3f4}';
const TAGS_END: char = '\u{e007f}';
/// Limit on the tags of a flag.
const MAX_TAGS: usize = 6;

/// Escapes characters that control a terminal or are invisible.
pub(super) fn visible(text: &str) -> Cow<'_, str> {
    // Most texts need no copy.
    if !text.chars().any(|char| char != '\n' && char != '\t' && is_odd(char)) {
        return Cow::Borrowed(text);
    }
    // A carriage return before a newline is harmless, and common on Windows.
    let text = text.replace("\r\n", "\n");
    let chars: Vec<char> = text.chars().collect();
    let mut result = String::with_capacity(text.len() + 16);
    let mut tags = 0;
    for (index, &char) in chars.iter().enumerate() {
        let before = index.checked_sub(1).and_then(|it| chars.get(it)).copied();
        let after = chars.get(index + 1).copied();
        // Tags are invisible letters. Behind a flag they select a region, anywhere else they hide text.
        if char == FLAG {
            tags = flag_tags(chars.get(index + 1..).unwrap_or_default());
        }
        let is_kept = match char {
            '\n' | '\t' => true,
            '\u{e0000}'..='\u{e007f}' if tags > 0 => {
                tags -= 1;
                true
            }
            // A terminal acts on it, so no character beside it makes it harmless.
            _ if is_obeyed(char) => false,
            _ => !is_odd(char) || is_needed(char, before, after),
        };
        if is_kept {
            result.push(char);
        } else {
            result.push_str(&format!("\\u{{{:x}}}", u32::from(char)));
        }
    }
    Cow::Owned(result)
}

/// Returns true for characters that control a terminal or are invisible.
fn is_odd(char: char) -> bool {
    is_obeyed(char) || is_unsafe(char)
}

/// Returns true if the characters around an invisible character need it.
fn is_needed(char: char, before: Option<char>, after: Option<char>) -> bool {
    let either = |is: fn(char) -> bool| before.is_some_and(is) || after.is_some_and(is);
    let both = |is: fn(char) -> bool| before.is_some_and(is) && after.is_some_and(is);
    match char {
        // A joiner shapes letters of some scripts, and makes one emoji of several.
        '\u{200d}' => both(is_joined) || both(is_pictured),
        // Persian separates a suffix with it, and writes it at the end of a word.
        '\u{200c}' => {
            before.is_some_and(is_joined) && after.is_none_or(|it| is_joined(it) || it == ' ')
        }
        // Scripts without spaces mark with it where a line may end.
        '\u{200b}' => either(is_unspaced),
        // A keycap is a digit, a selector and U+20E3.
        '\u{fe0e}' | '\u{fe0f}' => {
            before.is_some_and(|it| is_pictured(it) && it != char)
                || before.is_some_and(|it| it.is_ascii_digit() || it == '#' || it == '*')
                    && after == Some('\u{20e3}')
        }
        // These select a variant of the sign before them.
        '\u{fe00}'..='\u{fe0d}' | '\u{e0100}'..='\u{e01ef}' => before.is_some_and(is_selected_from),
        // Mongolian letters have variants too.
        '\u{180b}'..='\u{180f}' => either(|it| matches!(it, '\u{1810}'..='\u{18aa}')),
        '\u{17b4}'..='\u{17b5}' => either(|it| matches!(it, '\u{1780}'..='\u{17b3}')),
        // Fillers stand for the missing part of a Korean syllable.
        '\u{115f}'..='\u{1160}' => {
            either(|it| matches!(it, '\u{1100}'..='\u{115e}' | '\u{1161}'..='\u{11ff}'))
        }
        // Between other patterns of Braille, the blank one is a space.
        '\u{2800}' => either(|it| matches!(it, '\u{2801}'..='\u{28ff}')),
        // These arrange hieroglyphs.
        '\u{13430}'..='\u{1343f}' => either(|it| matches!(it, '\u{13000}'..='\u{1342f}')),
        _ => false,
    }
}

/// Returns true if the script of a character joins letters, so that joiners are legitimate.
fn is_joined(char: char) -> bool {
    matches!(
        char,
        '\u{620}'..='\u{6d3}' | '\u{6fa}'..='\u{85f}' | '\u{8a0}'..='\u{dff}' | '\u{f00}'..='\u{109f}'
            | '\u{1780}'..='\u{17b3}' | '\u{17b6}'..='\u{17d3}' | '\u{1820}'..='\u{18aa}' | '\u{1a20}'..='\u{1cff}'
            | '\u{a840}'..='\u{a877}' | '\u{a8e0}'..='\u{abff}' | '\u{fb50}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}'
            | '\u{10a00}'..='\u{11fff}'
    )
}

/// Returns true if a script has no spaces between words, so that U+200B marks possible line breaks.
fn is_unspaced(char: char) -> bool {
    matches!(
        char,
        '\u{e01}'..='\u{eff}' | '\u{f00}'..='\u{109f}' | '\u{1780}'..='\u{17b3}' | '\u{17b6}'..='\u{17ff}'
            | '\u{1950}'..='\u{19df}' | '\u{1a20}'..='\u{1aad}' | '\u{aa80}'..='\u{aadf}'
    )
}

/// Returns true for an emoji, or a part of one.
fn is_pictured(char: char) -> bool {
    matches!(
        char,
        '©' | '®' | '\u{203c}' | '\u{2049}' | '\u{2122}' | '\u{2139}' | '\u{2190}'..='\u{21ff}'
            | '\u{2300}'..='\u{23ff}' | '\u{24c2}' | '\u{25a0}'..='\u{27bf}' | '\u{2934}'..='\u{2935}'
            | '\u{2b00}'..='\u{2bff}' | '\u{3030}' | '\u{303d}' | '\u{3297}' | '\u{3299}' | '\u{fe0f}'
            | '\u{1f000}'..='\u{1faff}'
    )
}

/// Returns true if a character has variants that a selector can choose.
fn is_selected_from(char: char) -> bool {
    matches!(
        char,
        '\u{1000}'..='\u{109f}' | '\u{2200}'..='\u{22ff}' | '\u{2a00}'..='\u{2aff}' | '\u{3400}'..='\u{9fff}'
            | '\u{a840}'..='\u{a877}' | '\u{f900}'..='\u{faff}' | '\u{13000}'..='\u{1342f}'
            | '\u{20000}'..='\u{323af}'
    )
}

/// Returns the number of tag characters after a flag that spell another flag.
fn flag_tags(rest: &[char]) -> usize {
    let is_tag =
        |char: &char| matches!(char, '\u{e0030}'..='\u{e0039}' | '\u{e0061}'..='\u{e007a}');
    let tags = rest.iter().take(MAX_TAGS + 1).take_while(|it| is_tag(it)).count();
    // A region has three letters at least. A longer run than allowed spells something else.
    let is_flag = (3..=MAX_TAGS).contains(&tags) && rest.get(tags) == Some(&TAGS_END);
    if is_flag { tags + 1 } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(visible(text), expected);
    }

    #[test]
    fn what_a_terminal_obeys_or_hides_is_written_out() {
        check("\u{1b}[31mred\r\nline\ttab\u{202e}", "\\u{1b}[31mred\nline\ttab\\u{202e}");
        check("pass\u{200b}word", "pass\\u{200b}word");
        check("a\u{200d}b\u{200c}c\u{2060}\u{ad}", "a\\u{200d}b\\u{200c}c\\u{2060}\\u{ad}");
        check("hi\u{e0068}\u{e0069}", "hi\\u{e0068}\\u{e0069}");
        check("a\u{fe0f}\u{e0101}", "a\\u{fe0f}\\u{e0101}");
        check("😀\u{fe0f}\u{fe0f}\u{fe01}", "😀\u{fe0f}\\u{fe0f}\\u{fe01}");
        check("\u{feff}x\u{3164}\u{2800}", "\\u{feff}x\\u{3164}\\u{2800}");
    }

    #[test]
    fn honest_writing_stays() {
        for text in [
            "plain\n\ttext",
            "👩\u{200d}💻 👩🏽\u{200d}🚀 ❤\u{fe0f}\u{200d}🔥 1\u{fe0f}\u{20e3} ©\u{fe0f}",
            "🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}",
            "می\u{200c}خواهم",
            "क\u{94d}\u{200d}ष",
            "ภาษา\u{200b}ไทย",
            "葛\u{e0100} 日本語 한국어 עברית العربية",
        ] {
            check(text, text);
        }
    }

    #[test]
    fn a_flag_hides_no_more_than_a_flag() {
        let long: String = "🏴"
            .chars()
            .chain("ignore all".chars().map(|it| char::from_u32(0xe0000 + u32::from(it)).unwrap()))
            .collect();
        assert!(visible(&long).contains("\\u{e0069}"), "{}", visible(&long));
        check("🏴\u{e0067}\u{e0062}\u{e0065}", "🏴\\u{e0067}\\u{e0062}\\u{e0065}");
    }
}
