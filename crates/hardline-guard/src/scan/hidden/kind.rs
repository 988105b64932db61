//! Kinds of characters that leave no trace on a page.

/// Kind of a character that a page does not show.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Kind {
    /// Tag characters, and the unassigned ones around them: ASCII that no font draws.
    Tag,
    /// Embeddings, overrides, isolates and their ends.
    Bidi,
    /// The zero-width space.
    Break,
    /// The zero-width joiner and non-joiner.
    Joiner,
    /// Directional marks.
    Direction,
    Selector,
    SoftHyphen,
    /// Forbids a line break: the word joiner, and a byte order mark inside a text.
    Glue,
    /// Invisible mathematical operators.
    Operator,
    /// The combining grapheme joiner.
    GraphemeJoiner,
    /// Fillers of old Hangul syllables.
    Filler,
    /// Part of a notation, next to a character of the range.
    Within(char, char),
    /// Same as `Within`, and it changes the look of the notation.
    Layout(char, char),
    Mongolian,
    /// Needed by no text.
    Never,
    /// Blank, but as wide as other characters: unusual spaces.
    Blank,
    /// A line end for some readers, and nothing for others.
    Separator,
    /// Noncharacters, and the object replacement character.
    Void,
}

/// Returns true if the character leaves no trace on a page, or one that people cannot read.
pub(crate) fn is_invisible(char: char) -> bool {
    kind(char).is_some() || is_private(char)
}

/// Returns true if the font alone decides what the character looks like.
pub(super) fn is_private(char: char) -> bool {
    matches!(char, '\u{e000}'..='\u{f8ff}' | '\u{f0000}'..='\u{ffffd}' | '\u{100000}'..='\u{10fffd}')
}

pub(super) fn kind(char: char) -> Option<Kind> {
    Some(match char {
        '\x0b' | '\u{85}' | '\u{2028}' | '\u{2029}' => Kind::Separator,
        '\0'..='\u{ac}' => return None,
        '\u{ad}' => Kind::SoftHyphen,
        '\u{34f}' => Kind::GraphemeJoiner,
        '\u{61c}' | '\u{200e}' | '\u{200f}' => Kind::Direction,
        '\u{115f}' | '\u{1160}' => Kind::Filler,
        '\u{1680}' | '\u{2000}'..='\u{200a}' => Kind::Blank,
        '\u{17b4}' | '\u{17b5}' => Kind::Within('\u{1780}', '\u{17ff}'),
        '\u{180b}'..='\u{180f}' => Kind::Mongolian,
        '\u{200b}' => Kind::Break,
        '\u{200c}' | '\u{200d}' => Kind::Joiner,
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => Kind::Bidi,
        '\u{202f}' | '\u{205f}' | '\u{2800}' => Kind::Blank,
        '\u{2060}' | '\u{feff}' => Kind::Glue,
        '\u{2061}'..='\u{2064}' => Kind::Operator,
        '\u{2065}' | '\u{206a}'..='\u{206f}' | '\u{3164}' | '\u{ffa0}' => Kind::Never,
        '\u{2d7f}' => Kind::Within('\u{2d30}', '\u{2d70}'),
        '\u{fdd0}'..='\u{fdef}' | '\u{fffc}' => Kind::Void,
        '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}' => Kind::Selector,
        '\u{fff0}'..='\u{fffb}' => Kind::Never,
        '\u{1107f}' => Kind::Within('\u{11000}', '\u{11075}'),
        '\u{13430}'..='\u{1343f}' | '\u{13441}'..='\u{13442}' => {
            Kind::Layout('\u{13000}', '\u{13455}')
        }
        '\u{16fe4}' => Kind::Within('\u{18b00}', '\u{18cff}'),
        '\u{1bca0}'..='\u{1bca3}' => Kind::Within('\u{1bc00}', '\u{1bc9f}'),
        '\u{1d159}' | '\u{1d173}'..='\u{1d17a}' => Kind::Within('\u{1d100}', '\u{1d1ff}'),
        '\u{e0000}'..='\u{e0fff}' => Kind::Tag,
        // The last two code points of every plane are noncharacters.
        _ if u32::from(char) & 0xfffe == 0xfffe => Kind::Void,
        _ => return None,
    })
}

/// Returns true if characters of this kind have no width, so that one forms a run with others.
pub(super) fn has_no_width(kind: Kind) -> bool {
    !matches!(kind, Kind::Blank | Kind::Separator | Kind::Void)
}
