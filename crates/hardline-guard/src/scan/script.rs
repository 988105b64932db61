//! What scripts need: the ranges of Unicode in which an invisible character is part of writing.

/// Whether the character belongs to a script that writes with joiners, or without spaces.
pub(super) fn needs_joiners(char: char) -> bool {
    matches!(char,
        // Arabic, Syriac, Thaana, N'Ko, Samaritan, Mandaic.
        '\u{600}'..='\u{8ff}'
        // From Devanagari to Sinhala, Thai, Lao, Tibetan and Myanmar.
        | '\u{900}'..='\u{109f}'
        // Tagalog to Buhid, Khmer, Mongolian.
        | '\u{1700}'..='\u{18af}'
        // Limbu to Balinese, Sundanese, Batak, Lepcha, Vedic signs.
        | '\u{1900}'..='\u{1c4f}' | '\u{1cd0}'..='\u{1cff}'
        // Syloti Nagri to Meetei Mayek.
        | '\u{a800}'..='\u{abff}'
        | '\u{fb50}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}'
        | '\u{10a00}'..='\u{10a5f}' | '\u{10ac0}'..='\u{10aff}' | '\u{10d00}'..='\u{10d3f}'
        | '\u{10f30}'..='\u{10fdf}' | '\u{11000}'..='\u{11fff}'
        | '\u{1e900}'..='\u{1e95f}' | '\u{1ee00}'..='\u{1eeff}')
}

/// Whether the character is written from right to left.
pub(super) fn is_right_to_left(char: char) -> bool {
    matches!(char,
        '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}'
        | '\u{10800}'..='\u{10fff}' | '\u{1e800}'..='\u{1efff}')
        && char != '\u{61c}'
}

pub(super) fn is_mongolian(char: char) -> bool {
    matches!(char, '\u{1800}'..='\u{180a}' | '\u{1810}'..='\u{18af}' | '\u{11660}'..='\u{1166c}')
}

/// Whether pictures and symbols like this one take part in emoji sequences.
pub(super) fn is_pictographic(char: char) -> bool {
    matches!(char,
        '©' | '®' | '\u{203c}' | '\u{2049}' | '\u{20e3}' | '\u{2122}' | '\u{2139}'
        | '\u{2190}'..='\u{21ff}' | '\u{2300}'..='\u{23ff}' | '\u{24c2}'
        | '\u{25a0}'..='\u{27bf}' | '\u{2900}'..='\u{297f}' | '\u{2b00}'..='\u{2bff}'
        | '\u{3030}' | '\u{303d}' | '\u{3297}' | '\u{3299}' | '\u{1f000}'..='\u{1faff}')
}

/// Whether the variation selector chooses a form of `base` that exists.
pub(super) fn has_variant(base: char, selector: char) -> bool {
    match selector {
        '\u{fe0e}' | '\u{fe0f}' => {
            is_pictographic(base) || matches!(base, '0'..='9' | '#' | '*' | '\u{2460}'..='\u{24ff}')
        }
        '\u{fe00}'..='\u{fe02}' => {
            is_han(base)
                || matches!(base,
                    '0' | '\u{1000}'..='\u{109f}' | '\u{2190}'..='\u{2bff}'
                    | '\u{3001}'..='\u{3002}' | '\u{a840}'..='\u{a87f}' | '\u{aa60}'..='\u{aa7f}'
                    | '\u{ff01}'..='\u{ff1f}' | '\u{10ac0}'..='\u{10aff}'
                    | '\u{13000}'..='\u{13fff}')
        }
        '\u{fe03}'..='\u{fe0d}' => matches!(base, '\u{13000}'..='\u{13fff}'),
        _ => is_han(base),
    }
}

fn is_han(char: char) -> bool {
    matches!(char,
        '\u{3005}'..='\u{3007}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}
