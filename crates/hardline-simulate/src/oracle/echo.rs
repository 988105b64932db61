//! Texts that a client reads from a server and sends back.

use std::ops::Range;

use super::messages_of;
use crate::plan::Part;
use crate::reader::Json;

/// Words that the relay puts before a planted message.
const WORDS: &str = "blocked by hardline: ";
/// Start of the marks that the relay puts in the place of characters.
const MARK: &str = "<U+";
/// Characters of a text around an edit by which it must be found among the client's own text. With fewer it
/// may be anything that the client wrote, and may stay.
const CLEAR: usize = 9;

/// The last text that the client read, and the texts that the server must get.
#[derive(Debug, Default)]
pub(super) struct Echoes {
    /// The client's last request, as a JSON id, and the text of its answer.
    asked: Option<String>,
    read: Option<String>,
    /// Marks and words that stood in a text that the client read, and were not put there by the relay. Where the
    /// client sends no whole text, the relay may take one for the other, and leave an edit.
    own: Vec<String>,
    /// Ids of calls, as JSON, and the text that each must carry.
    expected: Vec<(String, Vec<Piece>)>,
}

/// A piece of a text that the client sends.
#[derive(Clone, Debug, Eq, PartialEq)]
struct Piece {
    sent: String,
    /// The same as the server had written it.
    original: String,
    /// True if the server may also get it as it was sent.
    may_stay: bool,
}

impl Echoes {
    /// Takes a line that the client sends. The text that it reads next is the answer to that.
    pub(super) fn handle_client(&mut self, line: &[u8]) {
        let messages = messages_of(line).unwrap_or_default();
        let requests = messages.iter().filter(|it| it.get("method").is_some());
        if let Some(id) = requests.filter_map(|it| it.get("id")).next_back() {
            (self.asked, self.read) = (Some(id.to_string()), None);
        }
    }

    /// Takes a message that the client gets.
    pub(super) fn handle_to_client(&mut self, message: &Json<'_>) {
        let id = message.get("id").map(Json::to_string);
        if message.get("method").is_some() || id != self.asked {
            return;
        }
        let content = message.get("result").and_then(|result| result.get("content"));
        let text = match content {
            Some(Json::Array(items)) => items.first().and_then(|it| it.get("text")?.as_str()),
            _ => None,
        };
        self.read = text.map(str::to_owned);
    }

    /// Returns the text that the client sends back in the call `id`. The server must get the same part of
    /// `document`.
    pub(super) fn send(
        &mut self,
        id: &str,
        part: Part,
        has_returns: bool,
        document: &str,
    ) -> Option<String> {
        let read = self.read.clone()?;
        let edits = align(document, &read)?;
        self.own.extend(own_tokens(&read, &edits));
        let mut pieces = Vec::new();
        for segment in segments(&read, part)? {
            match segment {
                Segment::Own(text) => pieces.push(Piece::same(text)),
                Segment::Read(range, is_all) => self.cut(&read, range, is_all, &edits, &mut pieces),
            }
        }
        for piece in &mut pieces {
            // The relay finds a whole text even if it is short.
            piece.may_stay &= part != Part::All;
            if has_returns {
                piece.sent = piece.sent.replace('\n', "\r\n");
                piece.original = piece.original.replace('\n', "\r\n");
            }
        }
        let sent = pieces.iter().map(|it| it.sent.as_str()).collect();
        self.expected.push((id.to_owned(), pieces));
        Some(sent)
    }

    /// Adds the pieces of a part of the text. An edit must be undone if the relay has seen enough around it, or if
    /// the part is all that the client sends.
    fn cut(
        &self,
        read: &str,
        part: Range<usize>,
        is_all: bool,
        edits: &[Edit],
        pieces: &mut Vec<Piece>,
    ) {
        let text = |range: Range<usize>| read.get(range).unwrap_or_default();
        let length = text(part.clone()).chars().count();
        let mut at = part.start;
        for (range, original) in edits {
            if range.start < part.start || range.end > part.end {
                continue;
            }
            let sent = text(range.clone());
            let around = length - sent.chars().count();
            let is_alone = around == 0 && original.is_empty();
            let is_clear = around >= CLEAR || (is_all && !is_alone);
            let may_stay = !is_clear || self.own.iter().any(|own| own == sent);
            pieces.push(Piece::same(text(at..range.start)));
            let (sent, original) = (sent.to_owned(), original.clone());
            pieces.push(Piece { sent, original, may_stay });
            at = range.end;
        }
        pieces.push(Piece::same(text(at..part.end)));
    }

    /// Takes a message that the server gets. Returns what is wrong with it.
    pub(super) fn handle_to_server(&mut self, message: &Json<'_>) -> Option<String> {
        let id = message.get("id")?.to_string();
        let at = self.expected.iter().position(|(it, _)| *it == id)?;
        let (_, pieces) = self.expected.swap_remove(at);
        let text = message.get("params")?.get("arguments")?.get("text")?.as_str()?;
        let expected: String = pieces.iter().map(|it| it.original.as_str()).collect();
        let is_wrong = !has_pieces(text, &pieces);
        is_wrong.then(|| format!("{expected:?} was read, {text:?} is written back"))
    }
}

impl Piece {
    fn same(text: &str) -> Self {
        Self { sent: text.to_owned(), original: text.to_owned(), may_stay: false }
    }
}

/// Returns whether a text is made of these pieces, each in a form that it may have.
fn has_pieces(text: &str, pieces: &[Piece]) -> bool {
    let Some((piece, rest)) = pieces.split_first() else { return text.is_empty() };
    let is = |form: &str| text.strip_prefix(form).is_some_and(|text| has_pieces(text, rest));
    is(&piece.original) || (piece.may_stay && is(&piece.sent))
}

/// A part of what the client sends.
enum Segment<'a> {
    /// Its own text.
    Own(&'a str),
    /// A range of what it read, and true if it sends nothing else.
    Read(Range<usize>, bool),
}

/// Returns what the client sends when it sends a part of what it read.
fn segments(read: &str, part: Part) -> Option<Vec<Segment<'static>>> {
    let line = |number: usize| {
        let mut lines = read.split('\n');
        let start: usize = { &mut lines }.take(number).map(|it| it.len() + 1).sum();
        Some(start..start + lines.next()?.len())
    };
    Some(match part {
        Part::All => vec![Segment::Read(0..read.len(), true)],
        Part::Line(number) => vec![Segment::Read(line(number)?, true)],
        Part::Within(number) => {
            vec![
                Segment::Own("It says: ("),
                Segment::Read(line(number)?, false),
                Segment::Own(") in there."),
            ]
        }
        Part::Changed(number) => {
            let changed = line(number)?;
            vec![
                Segment::Read(0..changed.start, false),
                Segment::Own("// another line"),
                Segment::Read(changed.end..read.len(), false),
            ]
        }
        Part::Cut(start, end) => {
            let start = read.floor_char_boundary(start);
            let end = read.floor_char_boundary(end).max(start);
            vec![Segment::Read(start..end, true)]
        }
    })
}

/// Place of an edit of the relay, and the original text there.
type Edit = (Range<usize>, String);

/// Finds the edits that made `read` of `document`. Returns `None` if it was not made of that.
fn align(document: &str, read: &str) -> Option<Vec<Edit>> {
    let (mut edits, mut at, mut rest) = (Vec::new(), 0, document);
    while let Some(text) = read.get(at..).filter(|it| !it.is_empty()) {
        let first = rest.chars().next();
        if let Some(char) = first.filter(|it| text.starts_with(*it)) {
            // Words may have been put before something that begins as they do.
            if text.starts_with(WORDS) && !rest.starts_with(WORDS) {
                edits.push((at..at + WORDS.len(), String::new()));
                at += WORDS.len();
                continue;
            }
            rest = rest.get(char.len_utf8()..)?;
            at += char.len_utf8();
        } else if text.starts_with(WORDS) {
            edits.push((at..at + WORDS.len(), String::new()));
            at += WORDS.len();
        } else {
            let char = first?;
            let mark = format!("<U+{:04X}>", u32::from(char));
            text.starts_with(&mark).then_some(())?;
            edits.push((at..at + mark.len(), char.to_string()));
            rest = rest.get(char.len_utf8()..)?;
            at += mark.len();
        }
    }
    rest.is_empty().then_some(edits)
}

/// Returns the marks and words in a text that are no edits.
fn own_tokens(read: &str, edits: &[Edit]) -> Vec<String> {
    let marks = read.match_indices(MARK).filter_map(|(at, _)| {
        let length = read.get(at..)?.find('>')? + 1;
        Some((at, read.get(at..at + length)?))
    });
    let tokens = marks.chain(read.match_indices(WORDS));
    let own = tokens.filter(|(at, _)| !edits.iter().any(|(range, _)| range.start == *at));
    own.map(|(_, token)| token.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edited_text_is_aligned() {
        for (document, read, edits) in [
            ("a\u{200b}b", "a<U+200B>b", vec![(1..9, "\u{200b}")]),
            ("a<U+200B>b", "a<U+200B>b", vec![]),
            ("{}", "blocked by hardline: {}", vec![(0..21, "")]),
            ("blocked{}", "blocked by hardline: blocked{}", vec![(0..21, "")]),
            ("blocked by hardline: x", "blocked by hardline: x", vec![]),
        ] {
            let edits: Vec<_> = edits.into_iter().map(|(at, it)| (at, it.to_owned())).collect();
            assert_eq!(align(document, read), Some(edits), "{read}");
        }
        assert_eq!(align("a", "b"), None);
        assert_eq!(align("a", "ab"), None);
        assert_eq!(align("ab", "a"), None);
    }

    #[test]
    fn an_edit_may_stay_only_where_nothing_tells_it_from_the_clients_text() {
        let edit =
            |may_stay| Piece { sent: "<U+200B>".into(), original: "\u{200b}".into(), may_stay };
        let pieces = |may_stay| [Piece::same("a"), edit(may_stay), Piece::same("b")];
        assert!(has_pieces("a\u{200b}b", &pieces(false)));
        assert!(!has_pieces("a<U+200B>b", &pieces(false)));
        assert!(has_pieces("a<U+200B>b", &pieces(true)));
        assert!(!has_pieces("ab", &pieces(true)));
        assert!(!has_pieces("a\u{200b}bc", &pieces(true)));
    }
}
