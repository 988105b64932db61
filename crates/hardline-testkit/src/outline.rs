//! Finds the strings of a JSON text with a lexer of a few lines that shares nothing with our
//! parser.
//!
//! Used to compare frames before and after an edit: the text between the strings, and the strings
//! that must not be edited, are compared byte for byte.

use std::ops::Range;

/// A string in a text.
#[derive(Clone, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "the test kit is not published")]
pub struct Piece {
    /// Byte range, including its quotes.
    pub range: Range<usize>,
    /// True for an object key.
    pub is_key: bool,
    /// Keys around it, outermost first; `[]` for an array.
    pub path: Vec<String>,
}

impl Piece {
    /// Returns true if the string must certainly not be edited.
    pub fn is_opaque(&self) -> bool {
        const NAMES: [&str; 14] = [
            "blob",
            "cursor",
            "id",
            "jsonrpc",
            "method",
            "mimeType",
            "name",
            "nextCursor",
            "progressToken",
            "requestId",
            "requestState",
            "taskId",
            "uri",
            "uriTemplate",
        ];
        let mut path = self.path.iter().rev().filter(|it| *it != "[]").map(|it| &**it);
        let (last, outer) = (path.next().unwrap_or_default(), path.next().unwrap_or_default());
        // Tool results may use any key names; the `name` of a resource is a text for people.
        let is_free = self.path.iter().any(|it| it == "structuredContent");
        let is_title = last == "name" && matches!(outer, "resources" | "resourceTemplates");
        let is_schema = |it: &String| it.ends_with("putSchema") || it == "requestedSchema";
        let mut in_schema = self.path.iter().skip_while(|it| !is_schema(it));
        let is_choice = in_schema.any(|it| matches!(&**it, "const" | "default" | "enum"));
        let is_exact = is_choice || self.path.iter().any(|it| it == "_meta");
        self.is_key || !is_free && (is_exact || !is_title && NAMES.contains(&last))
    }

    /// Returns true if people or models certainly read the string, so that it may be edited.
    pub fn is_text(&self) -> bool {
        const NAMES: [&str; 6] = ["text", "description", "message", "title", "reason", "body"];
        !self.is_opaque() && self.path.last().is_some_and(|it| NAMES.contains(&&**it))
    }
}

/// Returns the strings of a text that is JSON, except for lone surrogates. `None` if the lexer
/// fails.
pub fn pieces(text: &[u8]) -> Option<Vec<Piece>> {
    let (mut pieces, mut path) = (Vec::new(), Vec::new());
    // One entry per open bracket: for an object, true if a key comes next; `None` for an array.
    let mut open: Vec<Option<bool>> = Vec::new();
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        match byte {
            b'{' | b'[' => {
                open.push((byte == b'{').then_some(true));
                path.push(String::from("[]"));
            }
            b'}' | b']' => {
                open.pop()?;
                path.pop()?;
            }
            b',' => {
                if let Some(Some(is_key)) = open.last_mut() {
                    *is_key = true;
                }
            }
            b'"' => {
                let range = string(text, at)?;
                at = range.end - 1;
                let is_key = open.last() == Some(&Some(true));
                if is_key {
                    *open.last_mut()? = Some(false);
                    *path.last_mut()? = unescaped(text.get(range.clone())?);
                }
                pieces.push(Piece { range, is_key, path: path.clone() });
            }
            _ => {}
        }
        at += 1;
    }
    open.is_empty().then_some(pieces)
}

/// Returns the range of the string that starts at `start`.
fn string(text: &[u8], start: usize) -> Option<Range<usize>> {
    let mut at = start + 1;
    loop {
        match text.get(at)? {
            b'"' => return Some(start..at + 1),
            // The escaped byte may be a quote.
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

/// Returns the content of a string, with U+FFFD for half a surrogate pair.
pub fn unescaped(string: &[u8]) -> String {
    let text = String::from_utf8_lossy(string);
    let inside = text.strip_prefix('"').and_then(|it| it.strip_suffix('"'));
    let mut chars = inside.unwrap_or(&text).chars();
    let mut units = Vec::new();
    while let Some(char) = chars.next() {
        let char = match char {
            '\\' => match chars.next() {
                Some('n') => '\n',
                Some('r') => '\r',
                Some('t') => '\t',
                Some('b') => '\u{8}',
                Some('f') => '\u{c}',
                Some('u') => {
                    let digits: String = chars.by_ref().take(4).collect();
                    // Kept as UTF-16, so that two escapes can form one character.
                    units.extend(u16::from_str_radix(&digits, 16));
                    continue;
                }
                other => other.unwrap_or('\\'),
            },
            plain => plain,
        };
        units.extend_from_slice(char.encode_utf16(&mut [0; 2]));
    }
    String::from_utf16_lossy(&units)
}

/// Panics if `after` differs from `before` outside of strings that may be edited. Returns the
/// edited ones.
#[track_caller]
pub fn assert_edited_in_texts(before: &[u8], after: &[u8]) -> Vec<(Piece, String, String)> {
    let shown = || {
        format!("{}\n became\n{}", String::from_utf8_lossy(before), String::from_utf8_lossy(after))
    };
    let old = pieces(before).unwrap_or_else(|| panic!("edited what is no JSON: {}", shown()));
    let new = pieces(after).unwrap_or_else(|| panic!("edited into what is no JSON: {}", shown()));
    assert_eq!(old.len(), new.len(), "another number of strings: {}", shown());
    let mut edited = Vec::new();
    let (mut old_end, mut new_end) = (0, 0);
    for (one, other) in old.iter().zip(&new) {
        assert_eq!(
            before.get(old_end..one.range.start),
            after.get(new_end..other.range.start),
            "something between the strings: {}",
            shown()
        );
        assert_eq!((&one.path, one.is_key), (&other.path, other.is_key), "{}", shown());
        (old_end, new_end) = (one.range.end, other.range.end);
        let texts = (before.get(one.range.clone()), after.get(other.range.clone()));
        let (Some(old), Some(new)) = texts else { panic!("a piece is inside: {}", shown()) };
        if old != new {
            assert!(!one.is_opaque(), "{:?} must not be edited: {}", one.path, shown());
            edited.push((one.clone(), unescaped(old), unescaped(new)));
        }
    }
    assert_eq!(before.get(old_end..), after.get(new_end..), "after the last string: {}", shown());
    edited
}

/// Removes the marks of the sanitizer from a text, so that texts before and after an edit are
/// equal.
pub fn without_marks(text: &str) -> String {
    let mut result = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("<U+") {
        result.push_str(before);
        let mark = after.split_once('>').and_then(|(digits, after)| {
            let char = char::from_u32(u32::from_str_radix(digits, 16).ok()?)?;
            Some((char, after))
        });
        let (char, after) = mark.unwrap_or(('<', after));
        result.push(char);
        rest = after;
    }
    result.push_str(rest);
    // Removing one mark can create another from the text around it.
    while result.contains("blocked by hardline: ") {
        result = result.replace("blocked by hardline: ", "");
    }
    result
}
