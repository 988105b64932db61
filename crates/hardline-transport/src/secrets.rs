//! Known secret values, and their redaction in text. The proxy's `redact` finds unknown secrets by
//! their keys and shapes.
//!
//! Invariants:
//! - A value is found in any letter case, and as it appears in JSON, in URLs and in single lines.
//! - A value that is too short to be a secret is never hidden: it would match in any text.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use hardline_wire::excerpt::REDACTED;
use percent_encoding::{AsciiSet, CONTROLS, NON_ALPHANUMERIC, utf8_percent_encode};

/// Length of the shortest value that is hidden, in characters.
const MIN_CHARS: usize = 6;
/// Bytes that are encoded in a component of a URL.
const COMPONENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
/// Bytes that are encoded in a query.
const QUERY: &AsciiSet = &CONTROLS.add(b' ').add(b'"').add(b'#').add(b'<').add(b'>').add(b'\'');
/// Bytes that are encoded in a path.
const PATH: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'<')
    .add(b'>')
    .add(b'?')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'}');
/// Marks the end of a shortened text.
const CUT: &str = "\u{2026}";

/// Values that must not be shown: tokens, keys, passwords. Clones share them; Debug shows none.
#[derive(Clone, Default)]
pub struct Secrets(Arc<[Box<str>]>);

impl Secrets {
    /// Collects values. For `Bearer x` and similar schemes, `x` alone is hidden too; for a value
    /// with several lines, each line is. Values of less than 6 characters are ignored.
    pub fn new(values: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
        let mut forms = Vec::new();
        for value in values {
            add_forms(value.as_ref(), &mut forms);
        }
        forms.sort_unstable();
        forms.dedup();
        Self(forms.into())
    }

    /// Returns the union of both sets.
    #[must_use]
    pub fn and(&self, others: &Self) -> Self {
        if others.0.is_empty() {
            return self.clone();
        }
        let mut forms: Vec<_> = self.0.iter().chain(&*others.0).cloned().collect();
        forms.sort_unstable();
        forms.dedup();
        Self(forms.into())
    }

    /// Returns true if there are no values to hide.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the text with `[redacted]` in place of every value. Where the text was cut off in the
    /// middle of a value, the remaining part is hidden too.
    pub fn hide<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if self.is_empty() {
            return Cow::Borrowed(text);
        }
        // ASCII lower case keeps every byte offset, so matches apply to `text` as well.
        let lower = text.to_ascii_lowercase();
        let mut found: Vec<(usize, usize)> = Vec::new();
        for form in &*self.0 {
            found.extend(lower.match_indices(&**form).map(|(at, it)| (at, at + it.len())));
            for (cut, _) in lower.match_indices(CUT) {
                found.extend(cut_off(&lower, cut, form).map(|start| (start, cut)));
            }
        }
        if found.is_empty() {
            return Cow::Borrowed(text);
        }
        found.sort_unstable();
        let mut hidden = String::with_capacity(text.len());
        let mut shown_to = 0;
        for (start, end) in found {
            // A match that overlaps the previous one is covered by the same replacement.
            if shown_to <= start {
                hidden.push_str(text.get(shown_to..start).unwrap_or_default());
                hidden.push_str(REDACTED);
            }
            shown_to = shown_to.max(end);
        }
        hidden.push_str(text.get(shown_to..).unwrap_or_default());
        Cow::Owned(hidden)
    }

    /// Hides the values in place.
    pub fn hide_in(&self, text: &mut String) {
        if let Cow::Owned(hidden) = self.hide(text) {
            *text = hidden;
        }
    }

    /// Hides the values in bytes that may not be UTF-8.
    #[cfg(feature = "http")]
    pub(crate) fn hide_in_bytes(&self, bytes: Vec<u8>) -> Vec<u8> {
        if self.is_empty() {
            return bytes;
        }
        match self.hide(&String::from_utf8_lossy(&bytes)) {
            Cow::Owned(hidden) => hidden.into_bytes(),
            Cow::Borrowed(_) => bytes,
        }
    }
}

/// Returns the start of a prefix of `form` that ends at `cut`. Prefixes short enough to match by
/// chance do not count.
fn cut_off(text: &str, cut: usize, form: &str) -> Option<usize> {
    let before = text.get(..cut)?;
    // From the longest prefix to the shortest, so that none of it stays visible.
    let ends = form.char_indices().map(|(at, _)| at).rev();
    let mut beginnings =
        ends.take_while(|end| *end > MIN_CHARS / 2).filter_map(|end| form.get(..end));
    beginnings.find(|it| before.ends_with(it)).map(|it| cut - it.len())
}

/// Adds the forms in which a value may appear in a text.
fn add_forms(value: &str, forms: &mut Vec<Box<str>>) {
    let value = value.trim();
    let mut add = |form: &str| {
        if form.chars().count() >= MIN_CHARS {
            forms.push(form.to_ascii_lowercase().into());
        }
    };
    let credentials = ["bearer ", "basic ", "dpop ", "token "].iter().find_map(|scheme| {
        let start = value.get(..scheme.len())?;
        start.eq_ignore_ascii_case(scheme).then(|| value.get(scheme.len()..))?
    });
    let lines = value.lines().filter(|_| value.contains('\n'));
    for part in [value].into_iter().chain(credentials).chain(lines) {
        let part = part.trim();
        if part.chars().count() < MIN_CHARS {
            continue;
        }
        add(part);
        // As the value appears inside a JSON string.
        let mut json = String::new();
        hardline_wire::encode::push_json_string(&mut json, part);
        add(json.trim_matches('"'));
        // The usual sets of percent-encoding: for a component, a path and a query.
        for set in [COMPONENT, PATH, QUERY] {
            add(&utf8_percent_encode(part, set).to_string());
        }
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(REDACTED)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(values: &[&str], text: &str, expected: &str) {
        assert_eq!(Secrets::new(values).hide(text), expected);
    }

    #[test]
    fn values_are_found_in_whatever_form_they_stand() {
        check(&["SEKRIT-1"], "a SEKRIT-1 b sekrit-1", "a [redacted] b [redacted]");
        check(&["Bearer abcdef"], "it is abcdef, Bearer abcdef", "it is [redacted], [redacted]");
        check(&["a b/c?d&"], "/x/a%20b/c%3Fd& a%20b%2fc%3fd%26", "/x/[redacted] [redacted]");
        check(&["say \"hi\"\\"], r#"{"m": "say \"hi\"\\"}"#, r#"{"m": "[redacted]"}"#);
        check(&["first line\nsecond line"], "it says: second line", "it says: [redacted]");
        check(&["abcdef", "abcdefgh", "ghijkl"], "xabcdefghijkly", "x[redacted]y");
    }

    #[test]
    fn what_is_left_of_a_shortened_value_is_hidden_too() {
        check(
            &["SEKRIT-123"],
            "it said: SEKRIT… 9 bytes more",
            "it said: [redacted]… 9 bytes more",
        );
        check(&["SEKRIT-123"], "it said: SE… 9 bytes more", "it said: SE… 9 bytes more");
    }

    #[test]
    fn nothing_else_is_touched() {
        check(&["", "true", "Bearer x"], "true: bearers Bearer x", "true: bearers [redacted]");
        check(&["1", "héllo", "true"], "1 héllo true", "1 héllo true");
        assert!(matches!(Secrets::new(["SEKRIT"]).hide("SEKRI"), Cow::Borrowed("SEKRI")));
        assert_eq!(format!("{:?}", Secrets::new(["SEKRIT"])), "[redacted]");
    }
}
