//! A canonical form for every JSON value.
//!
//! RFC 8785 (JCS): members sorted by the UTF-16 code units of their keys, no whitespace, strings
//! with the shortest escapes in lower case and otherwise unchanged (no Unicode normalization),
//! numbers as ECMAScript writes them. It differs from JCS in one point: a number keeps its decimal
//! value and is not rounded to the nearest double. So `9007199254740993` stays unchanged (JCS:
//! `9007199254740992`), and `1e400` is a number: readers with more precision than a double see a
//! change there, so a pin must too. For numbers of up to fifteen digits within the range of doubles
//! the two agree. An exponent of more than fifteen digits is kept as written.
//!
//! Invariants:
//! - Values that differ only in the order of members, in whitespace, in escapes or in the notation
//!   of a number have the same canonical form. All others have different ones.
//! - No value is deeper than [`MAX_DEPTH`], so recursion is bounded by it.

use hardline_wire::json::{Kind, Step, Value};

/// Limit on the nesting of a definition; the outermost object counts as 1.
///
/// Bounds recursion here and in the code that reads the definition. The default limit of the wire
/// is the same. A deeper definition is refused.
pub(super) const MAX_DEPTH: usize = 128;

/// A JSON value in its canonical form.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Json {
    /// `null`, `true`, `false` or a number in canonical form.
    Word(String),
    String(String),
    Array(Vec<Json>),
    /// Sorted by the UTF-16 code units of the keys.
    Object(Vec<(String, Json)>),
}

impl Json {
    /// Converts a value. Returns `None` if it is deeper than [`MAX_DEPTH`].
    pub(super) fn new(value: Value<'_>) -> Option<Self> {
        // The open arrays and objects, outermost first, each with its own key.
        let mut open: Vec<(Option<String>, Self)> = Vec::new();
        let mut key = None;
        for step in value.steps() {
            let mut done = match step {
                Step::Key(name) => {
                    key = name.as_str().map(std::borrow::Cow::into_owned);
                    continue;
                }
                // Checked before recursion is possible: `write` recurses into the result.
                Step::Enter(_, _) if open.len() == MAX_DEPTH => return None,
                Step::Enter(Kind::Object, _) => {
                    open.push((key.take(), Self::Object(Vec::new())));
                    continue;
                }
                Step::Enter(_, _) => {
                    open.push((key.take(), Self::Array(Vec::new())));
                    continue;
                }
                Step::Scalar(scalar) => (key.take(), Self::scalar(scalar)),
                Step::Leave(_) => open.pop()?,
            };
            if let Self::Object(members) = &mut done.1 {
                // RFC 8785 sorts by UTF-16 code units, not by bytes.
                members
                    .sort_by(|(one, _), (other, _)| one.encode_utf16().cmp(other.encode_utf16()));
            }
            match open.last_mut() {
                None => return Some(done.1),
                Some((_, Self::Object(members))) => members.push((done.0?, done.1)),
                Some((_, Self::Array(elements))) => elements.push(done.1),
                Some((_, Self::Word(_) | Self::String(_))) => return None,
            }
        }
        None
    }

    /// Returns the member `key`, if the value is an object that has it.
    pub(super) fn get(&self, key: &str) -> Option<&Self> {
        let Self::Object(members) = self else { return None };
        members.iter().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    /// Returns the string, if the value is one.
    pub(super) fn as_str(&self) -> Option<&str> {
        let Self::String(string) = self else { return None };
        Some(string)
    }

    /// Appends the canonical form.
    pub(super) fn write(&self, text: &mut String) {
        match self {
            Self::Word(word) => text.push_str(word),
            Self::String(string) => write_string(string, text),
            Self::Array(elements) => {
                text.push('[');
                for (index, element) in elements.iter().enumerate() {
                    text.push_str(if index == 0 { "" } else { "," });
                    element.write(text);
                }
                text.push(']');
            }
            Self::Object(members) => {
                text.push('{');
                for (index, (key, value)) in members.iter().enumerate() {
                    text.push_str(if index == 0 { "" } else { "," });
                    write_string(key, text);
                    text.push(':');
                    value.write(text);
                }
                text.push('}');
            }
        }
    }

    /// Returns the canonical form.
    pub(super) fn to_text(&self) -> String {
        let mut text = String::new();
        self.write(&mut text);
        text
    }

    fn scalar(value: Value<'_>) -> Self {
        match value.as_str() {
            Some(string) => Self::String(string.into_owned()),
            None if value.kind() == Kind::Number => Self::Word(number(value.text())),
            None => Self::Word(value.text().to_owned()),
        }
    }
}

/// Appends a string as RFC 8785 requires.
fn write_string(string: &str, text: &mut String) {
    text.push('"');
    for char in string.chars() {
        match char {
            '"' => text.push_str("\\\""),
            '\\' => text.push_str("\\\\"),
            '\u{8}' => text.push_str("\\b"),
            '\t' => text.push_str("\\t"),
            '\n' => text.push_str("\\n"),
            '\u{c}' => text.push_str("\\f"),
            '\r' => text.push_str("\\r"),
            '\0'..='\u{1f}' => text.push_str(&format!("\\u{:04x}", u32::from(char))),
            _ => text.push(char),
        }
    }
    text.push('"');
}

/// Returns a JSON number in ECMAScript notation, with arbitrary decimal precision.
fn number(written: &str) -> String {
    let (sign, unsigned) = match written.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", written),
    };
    let (mantissa, exponent) = unsigned.split_once(['e', 'E']).unwrap_or((unsigned, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all = format!("{whole}{fraction}");
    // `0.10` and `1e-1` must get the same digits.
    let significant = all.trim_start_matches('0');
    let digits = significant.trim_end_matches('0');
    // ECMAScript writes negative zero as `0`.
    if digits.is_empty() {
        return "0".to_owned();
    }
    let (Some(exponent), Ok(whole_len), Ok(zeros)) = (
        short_exponent(exponent),
        i64::try_from(whole.len()),
        i64::try_from(all.len() - significant.len()),
    ) else {
        return written.to_owned();
    };

    // The value is 0.DIGITS × 10^point.
    let point = whole_len - zeros + exponent;
    let Ok(count) = i64::try_from(digits.len()) else { return written.to_owned() };
    // ECMAScript switches to exponents at 1e21 and below 1e-6.
    let nothing = |many: i64| "0".repeat(usize::try_from(many).unwrap_or_default());
    let unsigned = if count <= point && point <= 21 {
        format!("{digits}{}", nothing(point - count))
    } else if point > 0 && point <= 21 {
        let (before, after) = digits.split_at(usize::try_from(point).unwrap_or_default());
        format!("{before}.{after}")
    } else if point > -6 && point <= 0 {
        format!("0.{}{digits}", nothing(-point))
    } else {
        let (first, rest) = digits.split_at(1);
        let dot = if rest.is_empty() { "" } else { "." };
        format!("{first}{dot}{rest}e{:+}", point - 1)
    };
    format!("{sign}{unsigned}")
}

/// Parses an exponent. Returns `None` if it has more than fifteen digits, so that later sums cannot
/// overflow.
fn short_exponent(written: &str) -> Option<i64> {
    let digits = written.trim_start_matches(['+', '-']).trim_start_matches('0');
    if digits.len() > 15 {
        return None;
    }
    let exponent: i64 = if digits.is_empty() { 0 } else { digits.parse().ok()? };
    Some(if written.starts_with('-') { -exponent } else { exponent })
}

#[cfg(test)]
mod tests {
    use hardline_wire::json::Checker;
    use hardline_wire::limits::Limits;

    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let mut checker = Checker::new(&Limits::default());
        let value = checker.check(text.as_bytes()).unwrap().value;
        assert_eq!(Json::new(value).unwrap().to_text(), expected);
    }

    #[test]
    fn writes_numbers_as_ecmascript_does() {
        // From RFC 8785, appendix B, and around the edges of the notations.
        for (written, expected) in [
            ("0", "0"),
            ("-0", "0"),
            ("-0.0e7", "0"),
            ("5e-324", "5e-324"),
            ("-5E-324", "-5e-324"),
            ("1.7976931348623157e308", "1.7976931348623157e+308"),
            ("9007199254740992", "9007199254740992"),
            ("295147905179352830000", "295147905179352830000"),
            ("9.999999999999997e22", "9.999999999999997e+22"),
            ("1e23", "1e+23"),
            ("1.0000000000000001e23", "1.0000000000000001e+23"),
            ("999999999999999700000", "999999999999999700000"),
            ("1e20", "100000000000000000000"),
            ("1e21", "1e+21"),
            ("123e19", "1.23e+21"),
            ("333333333.3333332", "333333333.3333332"),
            ("0.000001", "0.000001"),
            ("1E-7", "1e-7"),
            ("0.0000001230", "1.23e-7"),
            ("-0.0000033333333333333333", "-0.0000033333333333333333"),
            ("1424953923781206.2", "1424953923781206.2"),
            ("10.50e1", "105"),
            ("100", "100"),
            ("1.0", "1"),
            ("1e+0002", "100"),
        ] {
            check(written, expected);
        }
    }

    #[test]
    fn keeps_numbers_apart_that_doubles_do_not() {
        check("9007199254740993", "9007199254740993");
        check("1e400", "1e+400");
        check("1e99999999999999999999", "1e99999999999999999999");
        check("10e1234567890123456", "10e1234567890123456");
        check("10e123456789012345", "1e+123456789012346");
        check("1e000000000000000000001", "10");
    }

    #[test]
    fn sorts_keys_by_code_units_and_escapes_little() {
        // RFC 8785, section 3.2.3: a surrogate pair sorts before U+FB33.
        check(
            r#"{"\u20ac":"Euro Sign","\r":"CR","\ufb33":"Dalet","1":"One","\ud83d\ude00":"Grin",
                "\u0080":"Control","\u00f6":"o"}"#,
            "{\"\\r\":\"CR\",\"1\":\"One\",\"\u{80}\":\"Control\",\"\u{f6}\":\"o\",\
             \"\u{20ac}\":\"Euro Sign\",\"\u{1f600}\":\"Grin\",\"\u{fb33}\":\"Dalet\"}",
        );
        check(
            r#" [ "\u0061\/\"\\\b\f\n\r\t\u001F\u007f\u2028" , true,null , [],{ } ] "#,
            "[\"a/\\\"\\\\\\b\\f\\n\\r\\t\\u001f\u{7f}\u{2028}\",true,null,[],{}]",
        );
    }

    #[test]
    fn refuses_what_is_too_deep() {
        for (depth, is_fine) in [(MAX_DEPTH, true), (MAX_DEPTH + 1, false)] {
            let text = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
            let limits = Limits::default().with_max_depth(1000).unwrap();
            let mut checker = Checker::new(&limits);
            let value = checker.check(text.as_bytes()).unwrap().value;
            assert_eq!(Json::new(value).is_some(), is_fine);
        }
    }
}
