//! Texts that come back are those that were sent, and nothing else is touched.

use hardline_testkit::generate::Rng;
use hardline_testkit::work::{Case, Otherwise, assert_linear};

use super::*;
use crate::sanitize;
use crate::scan::{Scanner, Settings};

const NOW: Duration = Duration::ZERO;

fn clean(text: &str) -> String {
    let mut scanner = Scanner::new(Settings::default());
    sanitize::clean(&mut scanner, text, |it| it.severity >= crate::Severity::High).unwrap().text
}

/// Remembers how `text` is edited. Returns it edited.
fn send(undo: &mut Undo, text: &str) -> String {
    let edited = clean(text);
    assert_ne!(edited, text);
    undo.remember(text, &edited, NOW);
    edited
}

impl Undo {
    /// Returns `text` as the server wrote it, if it has something of what was edited.
    fn undo(&self, text: &str) -> Option<String> {
        let edits = self.undone(text, &mut Call::default());
        let mut result = text.to_owned();
        for (token, original) in edits.iter().rev() {
            result.replace_range(token.clone(), original);
        }
        (!edits.is_empty()).then_some(result)
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
    assert_eq!(undo.undo(&edited).unwrap(), file());
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
        assert_eq!(undo.undo(&changed).unwrap(), file().replace(from, to), "{from}");
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
        assert_eq!(undo.undo(part).as_deref(), Some(expected), "{part}");
    }
}

/// A mark that the client or the server wrote itself is not taken for an edit.
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
        assert_eq!(undo.undo(text), None, "{text}");
    }
    let other = Undo::default();
    assert_eq!(other.undo(&edited), None);
    // Where a mark may be either, it is left as it is.
    send(&mut undo, "let a = \"some words\u{202e} and more\"; // some words<U+202E> and more\n");
    assert_eq!(undo.undo("words<U+202E> and"), None);
}

#[test]
fn all_that_is_put_back_was_sent() {
    let mut undo = Undo::default();
    send(&mut undo, "first\u{e0041} second\u{e0042} third");
    // Other characters than those that were edited there.
    assert_eq!(undo.undo("first<U+E0042> second"), None);
    assert_eq!(undo.undo("<U+E0042><U+E0041>"), None);
    assert_eq!(undo.undo("fir<U+E0041>st"), None);
}

#[test]
fn what_is_remembered_is_bounded() {
    let mut undo = Undo::default();
    for index in 0..3000 {
        let text = format!("first {index:08}\u{e0041}{index:08} second\n").repeat(4);
        undo.remember(&text, &clean(&text), NOW);
    }
    assert!(undo.kept.len() <= MAX_EDITS && undo.bytes <= MAX_BYTES);
    assert!(undo.places.len() <= MAX_EDITS && undo.originals.len() <= 4 * MAX_EDITS);
    assert_eq!(undo.undo("first 00000001<U+E0041>00000001 second"), None);
    assert!(undo.undo("first 00002999<U+E0041>00002999 second").is_some());
    let long = format!("x\u{e0041}{}", "y".repeat(100));
    for index in 0..100 {
        undo.remember(&long, &clean(&long), Duration::from_secs(index));
    }
    undo.remember("a\u{e0041}", "a<U+E0041>", MAX_AGE + Duration::from_secs(200));
    assert_eq!(undo.kept.len(), 1);
    assert_eq!((undo.places.len(), undo.originals.len()), (1, 1));
    assert!(undo.bytes < 100);
}

/// Reading, changing something elsewhere, writing back: the server gets its text with that change alone.
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
        "(removed by hardline)",
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
        let edited = clean(&original);
        if edited == original {
            continue;
        }
        edited_texts += 1;
        let mut undo = Undo::default();
        undo.remember(&original, &edited, NOW);
        // All of it, and with something put before and after.
        let back = undo.undo(&edited).unwrap_or_else(|| edited.clone());
        whole += usize::from(back == original);
        assert_eq!(clean(&back), edited, "seed {seed}: {original:?}");
        // In any part of it that comes back, no character is put where it was not sent.
        let at = edited.floor_char_boundary(rng.below(edited.len()));
        let end = edited.ceil_char_boundary(at + rng.below(edited.len() - at + 1));
        let is_cut =
            |it: &Token| [at, end].iter().any(|cut| it.range.start < *cut && *cut < it.range.end);
        if tokens(&edited).iter().any(is_cut) {
            continue;
        }
        let parts = align(&original, &edited).unwrap();
        for (range, text) in undo.undone(edited.get(at..end).unwrap(), &mut Call::default()) {
            let range = at + range.start..at + range.end;
            let part = parts.iter().find(|it| it.edited == range);
            let part = part.unwrap_or_else(|| panic!("seed {seed}: {range:?} of {original:?}"));
            assert_eq!(original.get(part.original.clone()), Some(text), "seed {seed}");
        }
    }
    assert!(edited_texts > 10_000, "{edited_texts}");
    println!("{whole} of {edited_texts} texts are the original again");
    assert!(whole * 100 >= edited_texts * 99, "{whole} of {edited_texts}");
}

/// Remembers how a text was edited, and undoes that in the text and in its lines.
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
    undo.remember(&original, &edited, NOW);
    let mut call = Call::default();
    undo.undone(&edited, &mut call);
    for line in edited.split('\n') {
        undo.undone(line, &mut call);
        undo.undone_alike(line, &call);
    }
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
        "(removed by hardline)",
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
