//! A text that comes back is restored to the form that was sent, and nothing else changes.

use hardline_testkit::generate::Rng;
use hardline_testkit::work::{Case, Otherwise, assert_linear};

use super::token::{Token, tokens};
use super::*;
use crate::sanitize;
use crate::scan::{ScanSettings, Scanner};

const NOW: Duration = Duration::ZERO;

/// Edits a text as a guard does. Returns `None` if a guard would block it.
fn try_clean(text: &str) -> Option<String> {
    let mut scanner = Scanner::new(ScanSettings::default());
    let mut text = text.to_owned();
    for _ in 0..5 {
        let mut hits = scanner.scan(&text).hits;
        hits.retain(|it| it.severity >= crate::Severity::High);
        if hits.is_empty() {
            return Some(text);
        }
        text = sanitize::apply(&text, &sanitize::edits(&text, &hits));
    }
    None
}

fn clean(text: &str) -> String {
    try_clean(text).unwrap()
}

/// Remembers the edit of `text`. Returns the edited text.
fn send(undo: &mut Undo, text: &str) -> String {
    let edited = clean(text);
    assert_ne!(edited, text);
    undo.note(text, &edited, NOW);
    edited
}

fn put(text: &str, puts: &[Put]) -> String {
    let mut result = text.to_owned();
    for (range, original) in puts.iter().rev() {
        result.replace_range(range.clone(), &original.map(String::from).unwrap_or_default());
    }
    result
}

impl Undo {
    fn note(&mut self, original: &str, edited: &str, now: Duration) {
        self.remember(original, edited, now, &mut MAX_EDITS.clone());
    }

    /// Returns `text` as the server wrote it, if it contains a part of an edited text.
    fn undo_one(&self, text: &str) -> Option<String> {
        let puts = self.undo(&[text.to_owned()]).remove(0);
        (!puts.is_empty()).then(|| put(text, &puts))
    }

    /// Returns the arguments of a call as the server receives them.
    fn undo_all(&self, texts: &[&str]) -> Vec<String> {
        let texts: Vec<String> = texts.iter().map(|it| (*it).to_owned()).collect();
        let puts = self.undo(&texts);
        texts.iter().zip(puts).map(|(text, puts)| put(text, &puts)).collect()
    }
}

const FRAME: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

fn file() -> String {
    format!(
        "# Notes\n\nA first line.\nSee this\u{e0041}\u{e0042} line, and \x1b[31mred\x1b[0m words.\n{FRAME}\n\
         const NAME: &str = \"a\u{202e}b\";\nThe mark <U+202E> is written so.\nThe end.\n"
    )
}

#[test]
fn a_text_that_is_sent_back_is_the_original() {
    let mut undo = Undo::default();
    let edited = send(&mut undo, &file());
    assert!(edited.contains("this<U+E0041><U+E0042> line"), "{edited}");
    assert!(edited.contains("\nblocked by hardline: {"), "{edited}");
    assert_eq!(undo.undo_one(&edited).unwrap(), file());
}

#[test]
fn changes_of_the_client_stay() {
    let mut undo = Undo::default();
    let edited = send(&mut undo, &file());
    for (from, to) in [
        ("A first line.", "Another first line, and a second.\nAnd a third."),
        ("words.", "letters."),
        ("const NAME", "pub static OTHER"),
        ("See this", "Look at this"),
        ("The end.\n", ""),
    ] {
        let changed = edited.replace(from, to);
        assert_eq!(undo.undo_one(&changed).unwrap(), file().replace(from, to), "{from}");
    }
}

#[test]
fn a_part_of_a_line_is_found_again() {
    let mut undo = Undo::default();
    send(&mut undo, &file());
    for (part, expected) in [
        ("this<U+E0041><U+E0042> line", "this\u{e0041}\u{e0042} line"),
        ("s<U+E0041>", "s\u{e0041}"),
        ("<U+E0042> l", "\u{e0042} l"),
        ("<U+001B>[31mred", "\x1b[31mred"),
        ("<U+001B>", "\x1b"),
        ("\"a<U+202E>b\"", "\"a\u{202e}b\""),
        ("blocked by hardline: {\"json", "{\"json"),
    ] {
        assert_eq!(undo.undo_one(part).as_deref(), Some(expected), "{part}");
    }
}

/// A mark that the client or the server wrote itself does not count as an edit.
#[test]
fn nothing_else_is_undone() {
    let mut undo = Undo::default();
    let edited = send(&mut undo, &file());
    for text in [
        "The mark <U+202E> is written so.",
        "mark <U+202E> is",
        "The mark <U+001B> begins an escape sequence of terminals.",
        "assert_eq!(clean(text), \"x<U+E0041>y\");",
        "<U+200B>",
        "blocked by hardline: ",
        "It says \"blocked by hardline: something\" there.",
        "(removed by hardline)",
        "<U+12>",
        "<U+D800>",
        "<U+202e>",
    ] {
        assert_eq!(undo.undo_one(text), None, "{text}");
    }
    let other = Undo::default();
    assert_eq!(other.undo_one(&edited), None);
    // A mark that may be either stays unchanged.
    send(&mut undo, "let a = \"some words\u{202e} and more\"; // some words<U+202E> and more\n");
    assert_eq!(undo.undo_one("words<U+202E> and"), None);
}

#[test]
fn all_that_is_put_back_was_sent() {
    let mut undo = Undo::default();
    send(&mut undo, "first\u{e0041} second\u{e0042} third");
    // Other characters than those that were edited there.
    assert_eq!(undo.undo_one("first<U+E0042> second"), None);
    assert_eq!(undo.undo_one("<U+E0042><U+E0041>"), None);
    assert_eq!(undo.undo_one("fir<U+E0041>st"), None);
}

/// A mark is found even if all characters around it are marks too.
#[test]
fn marks_are_characters_around_a_mark() {
    let flags = "\u{1f3f4}\u{e0048}\u{e0049}\u{e0044}\u{e0044}\u{e0045}\u{e007f}\u{1f3f4}\u{e004e}\u{e007f}";
    let tags = "\u{e0048}\u{e0049}\u{e0044}\u{e0044}\u{e0045}\u{e004e}";
    let mut undo = Undo::default();
    let edited = send(&mut undo, &format!("{tags}\n{flags}\n{tags}\n漢字"));
    for (line, original) in edited.split('\n').zip([tags, flags, tags]) {
        assert_eq!(undo.undo_one(line).as_deref(), Some(original));
        // Also in a text of the client's own.
        let own = |it: &str| format!("x = \"{it}\"");
        assert_eq!(undo.undo_one(&own(line)), Some(own(original)));
    }
}

/// All whole marks in any part of a text are undone.
#[test]
fn any_part_of_a_text_is_undone() {
    let text = "one\u{e0041}two three\u{202e}\u{e0042}\nfour\x1b[0m five six \u{e0041}seven eight";
    let mut undo = Undo::default();
    let edited = send(&mut undo, text);
    let parts = align(text, &edited).unwrap();
    for start in 0..edited.len() {
        for end in start + 1..=edited.len() {
            let mut expected = String::new();
            let mut at = start;
            for part in parts.iter().filter(|it| it.edited.start >= start && it.edited.end <= end) {
                expected.push_str(edited.get(at..part.edited.start).unwrap());
                expected.push_str(text.get(part.original.clone()).unwrap());
                at = part.edited.end;
            }
            expected.push_str(edited.get(at..end).unwrap());
            let part = edited.get(start..end).unwrap();
            assert_eq!(
                undo.undo_one(part).unwrap_or_else(|| part.to_owned()),
                expected,
                "{part:?}"
            );
        }
    }
}

#[test]
fn several_parts_with_changes_between_are_undone() {
    let mut undo = Undo::default();
    send(&mut undo, &file());
    let part =
        "look: this<U+E0041><U+E0042> line (new) and <U+001B>[31mred, not <U+001B>[0m words.";
    let expected = "look: this\u{e0041}\u{e0042} line (new) and \x1b[31mred, not \x1b[0m words.";
    assert_eq!(undo.undo_one(part).as_deref(), Some(expected));
}

#[test]
fn line_ends_may_change() {
    for (sent, back) in [("\n", "\r\n"), ("\r\n", "\n")] {
        let text = ["a\u{e0041}", "\u{e0042}b", "", "\u{202e}", "c\u{e0041}", ""];
        let mut undo = Undo::default();
        let edited = send(&mut undo, &text.join(sent));
        let (edited, expected) = (edited.replace(sent, back), text.join(back));
        assert_eq!(undo.undo_one(&edited), Some(expected.clone()));
        // Changed, so that the hash of the whole text does not match.
        let own = |it: &str| format!("{it}and more");
        assert_eq!(undo.undo_one(&own(&edited)), Some(own(&expected)));
    }
}

/// Only the whole text distinguishes the server's own marks from edits with the same surroundings.
#[test]
fn a_whole_text_is_undone_whatever_is_in_it() {
    for text in [
        "\u{202e}<U+202E>\u{202e}<U+202E>".repeat(50),
        "<U+202E>\n\u{202e}\n<U+202E>\n".to_owned(),
        format!("blocked by hardline: x\n{FRAME}\nblocked by hardline: {FRAME}"),
    ] {
        let mut undo = Undo::default();
        let edited = send(&mut undo, &text);
        assert_eq!(undo.undo_one(&edited).as_ref(), Some(&text));
        // Clients remove the white space at the end, or add some.
        for end in ["\n", "\r\n", "  \n\n"] {
            assert_eq!(undo.undo_one(&format!("{edited}{end}")), Some(format!("{text}{end}")));
        }
        // The text that was read last counts.
        undo.note(&edited, &edited, NOW);
        assert_eq!(undo.undo_one(&edited), None);
    }
}

/// A text with marks of its own that was never edited stays unchanged when it comes back.
#[test]
fn marks_in_texts_that_were_not_edited_stay() {
    let mut undo = Undo::default();
    send(&mut undo, "const MARK: char = '\u{202e}'; // it turns text round\n");
    let page = "The code has `const MARK: char = '<U+202E>'`, which stands for the character.\n";
    let part = "`const MARK: char = '<U+202E>'`, which";
    assert!(undo.undo_one(part).is_some());
    undo.note(page, page, NOW);
    assert_eq!(undo.undo_one(page), None);
    assert_eq!(undo.undo_one(part), None);
    assert_eq!(undo.undo_one("MARK: char = '<U+202E>'"), None);
    // With more of the surroundings of the edit, it is the edit.
    let part = "const MARK: char = '<U+202E>'; // it turns";
    assert_eq!(undo.undo_one(part).unwrap(), "const MARK: char = '\u{202e}'; // it turns");
}

#[test]
fn the_new_text_of_an_edit_has_the_marks_of_the_old() {
    let mut undo = Undo::default();
    send(&mut undo, "let mark = '\u{202e}'; let other = '\u{e0041}';");
    let old = "let mark = '<U+202E>';";
    for (new, expected) in [
        ("let mark = \"<U+202E>\";", "let mark = \"\u{202e}\";"),
        ("M('<U+202E>', '<U+202E>')", "M('\u{202e}', '\u{202e}')"),
        // No more of them can be known to come from it than there were.
        ("M[<U+202E>|<U+202E>]", "M[<U+202E>|<U+202E>]"),
        ("M[<U+E0041>]", "M[<U+E0041>]"),
    ] {
        assert_eq!(undo.undo_all(&[old, new]), ["let mark = '\u{202e}';", expected], "{new}");
    }
    // A comment in the same text is the client's own.
    let text = "let mark = '<U+202E>'; // <U+202E> turns text round";
    let expected = "let mark = '\u{202e}'; // <U+202E> turns text round";
    assert_eq!(undo.undo_all(&["path", text]), ["path", expected]);
}

#[test]
fn what_is_remembered_is_bounded() {
    let mut undo = Undo::default();
    for index in 0..3000 {
        let text =
            format!("first {index:08}\u{e0041}{index:08} second <U+E0041> third\n").repeat(4);
        undo.note(&text, &clean(&text), NOW);
    }
    for contexts in [&undo.edits, &undo.literals] {
        let [kept, places, seeds, _, bytes] = contexts.sizes();
        assert!(kept <= MAX_EDITS && bytes <= MAX_BYTES);
        assert!(places <= MAX_EDITS && seeds <= MAX_EDITS);
    }
    assert_eq!(undo.wholes.sizes()[0], whole::MAX_TEXTS);
    assert_eq!(undo.undo_one("first 00000001<U+E0041>00000001 second"), None);
    assert!(undo.undo_one("first 00002999<U+E0041>00002999 second").is_some());
    // A single text with more tokens than that still comes back whole.
    let text = "x\u{e0041}".repeat(MAX_EDITS + 10);
    let edited = "x<U+E0041>".repeat(MAX_EDITS + 10);
    undo.note(&text, &edited, NOW);
    assert_eq!(undo.undo_one(&edited), Some(text));
    let text = "\u{e0041}".repeat(whole::MAX_TOKENS + 1);
    undo.note(&text, &"<U+E0041>".repeat(whole::MAX_TOKENS + 1), NOW);
    assert_eq!(undo.wholes.sizes(), [0, 0]);
    // Everything is forgotten in the end.
    undo.note("a\u{e0041}", "a<U+E0041>", MAX_AGE + Duration::from_secs(1));
    assert_eq!(undo.wholes.sizes(), [1, 1]);
    assert_eq!(undo.edits.sizes()[..4], [1, 1, 0, 1]);
    assert_eq!(undo.literals.sizes(), [0; 5]);
}

/// After reading, a change elsewhere and writing back, the server receives its text with that
/// change alone.
#[test]
fn any_text_survives_the_round_trip() {
    const PIECES: &[&str] = &[
        "word ",
        "a ",
        "é ",
        "日本 ",
        "\n",
        "\n\n",
        "\t",
        "<U+200B>",
        "<U+",
        "blocked by hardline: ",
        "\u{e0041}",
        "\u{e0041}\u{e0042}",
        "\u{202e}",
        "\x1b[0m",
        "\0",
        "\u{3164}",
        "\u{200b}\u{200c}\u{200b}\u{200c}\u{200b}\u{200c}",
        FRAME,
        "\"",
        "\\",
        "{",
        "}",
        "%7B%22jsonrpc%22:%222.0%22,%22error%22:{}}",
        "some longer words without anything in them ",
    ];
    let (mut edited_texts, mut whole) = (0, 0);
    for seed in 0..20_000 {
        let mut rng = Rng::new(seed);
        let mut piece = || (*rng.pick(PIECES)).to_owned();
        let parts: Vec<String> = (0..20).map(|_| piece()).collect();
        let original = parts.concat();
        let Some(edited) = try_clean(&original).filter(|it| *it != original) else { continue };
        edited_texts += 1;
        let mut undo = Undo::default();
        undo.note(&original, &edited, NOW);
        assert_eq!(undo.undo_one(&edited).as_ref(), Some(&original), "seed {seed}");
        // Found by the text around each token, where possible.
        let more = format!("{edited} and more");
        let back = undo.undo_one(&more).unwrap_or_else(|| more.clone());
        whole += usize::from(back == format!("{original} and more"));
        // In any part that comes back, no character is put where it was not sent.
        let at = edited.floor_char_boundary(rng.below(edited.len()));
        let end = edited.ceil_char_boundary(at + rng.below(edited.len() - at + 1));
        let is_cut =
            |it: &Token| [at, end].iter().any(|cut| it.range.start < *cut && *cut < it.range.end);
        if tokens(&edited).iter().any(is_cut) {
            continue;
        }
        let parts = align(&original, &edited).unwrap();
        for (range, char) in undo.undo(&[edited.get(at..end).unwrap().to_owned()]).remove(0) {
            let range = at + range.start..at + range.end;
            let part = parts.iter().find(|it| it.edited == range);
            let part = part.unwrap_or_else(|| panic!("seed {seed}: {range:?} of {original:?}"));
            let text = char.map(String::from).unwrap_or_default();
            assert_eq!(original.get(part.original.clone()), Some(&*text), "seed {seed}");
        }
    }
    assert!(edited_texts > 10_000, "{edited_texts}");
    println!("{whole} of {edited_texts} texts are the original again");
    assert!(whole * 100 >= edited_texts * 99, "{whole} of {edited_texts}");
}

/// Remembers the edit of a text, and undoes it in the text and in its lines.
fn round_trip(original: &[u8]) {
    let original = str::from_utf8(original).unwrap();
    let mut edited = String::new();
    for char in original.chars() {
        match char {
            '\u{e0041}' => edited.push_str("<U+E0041>"),
            '\x1b' => edited.push_str("<U+001B>"),
            '\u{1}' => edited.push_str("blocked by hardline: "),
            _ => edited.push(char),
        }
    }
    let original = original.replace('\u{1}', "");
    let mut undo = Undo::default();
    undo.note(&original, &edited, NOW);
    let whole = undo.undo_one(&edited).unwrap_or_else(|| edited.clone());
    assert_eq!(whole, original);
    undo.undo_one(&format!("{edited} and more"));
    undo.undo_all(&edited.split('\n').collect::<Vec<_>>());
}

#[test]
fn doubling_a_text_at_most_triples_the_work_of_undoing() {
    const UNITS: &[&str] = &[
        "\u{e0041}",
        "a\u{e0041}",
        "a\u{e0041}\n",
        "\u{e0041}\n",
        "words and words\u{e0041} and words\n",
        "\x1b[31mred\x1b[0m\n",
        "\u{1}{\"jsonrpc\"}\n",
        "\u{1}",
        "\u{1}blocked by ",
        "<U+E0041>",
        "<U+E0041>\u{e0041}",
        "<U+",
        "b",
    ];
    let cases = || {
        UNITS.iter().map(|unit| {
            let make = |len: usize| unit.repeat(len.div_ceil(unit.len())).into_bytes();
            Case::new(format!("{unit:?}"), round_trip, 2000, make)
        })
    };
    let test = "undo::tests::doubling_a_text_at_most_triples_the_work_of_undoing";
    assert_linear(test, Otherwise::Nothing, cases);
}
