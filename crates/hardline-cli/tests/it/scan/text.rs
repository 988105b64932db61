//! Texts.

use super::{MESSAGE, PLANTED, file, found_at, json, text};

#[test]
fn finds_a_message_planted_in_a_text() {
    let (report, code) = json(&[], PLANTED.as_bytes());
    assert_eq!(code, Some(1));
    let finding = &report["findings"][0];
    assert_eq!(finding["rule"], "content.frame");
    assert_eq!(finding["severity"], "critical");
    assert_eq!((&finding["line"], &finding["column"]), (&2.into(), &1.into()));
    assert_eq!((&finding["offset"], &finding["length"]), (&16.into(), &MESSAGE.len().into()));
    assert_eq!((&finding["path"], &finding["file"]), (&().into(), &"-".into()));
    assert_eq!(report["scanned"]["bytes"], PLANTED.len());
}

#[test]
fn a_clean_result_says_what_was_scanned_and_what_was_not() {
    let clean = text(&[], b"nothing here\n");
    assert_eq!(clean, "0 findings\nscanned: 1 text, 13 bytes\nnot scanned: nothing\n");
    let odd = text(&["-"], b"nothing here\n\xff\n");
    let expected = "0 findings\nscanned: 1 text, 15 bytes\n\
                    not scanned: 1 byte that is not text (scanned as a question mark)\n";
    assert_eq!(odd, expected);
    assert_eq!(text(&[], b""), "0 findings\nscanned: 1 text, 0 bytes\nnot scanned: nothing\n");
}

/// Windows of a text end at about every 4 MiB.
#[test]
fn finds_what_stands_where_windows_end() {
    let filler = "Some words and more of them, é.\n".repeat(450_000);
    let mut text = String::new();
    let mut expected = Vec::new();
    for around in [4 << 20, 8 << 20, 12 << 20] {
        for distance in (0..600).step_by(6) {
            let at = around - 300_000 + distance * 1000;
            let missing = filler.floor_char_boundary(at - text.len());
            let lines = filler[..missing].rfind('\n').map_or(0, |newline| newline + 1);
            text.push_str(&filler[..lines]);
            expected.push(text.len());
            text.push_str(MESSAGE);
            text.push('\n');
        }
    }
    text.push_str(&filler);
    let (report, _) = json(&[], text.as_bytes());
    let findings = report["findings"].as_array().unwrap();
    let offsets: Vec<_> = findings.iter().map(|it| it["offset"].as_u64().unwrap()).collect();
    assert_eq!(offsets, expected.iter().map(|it| *it as u64).collect::<Vec<_>>());
    for (finding, at) in findings.iter().zip(expected) {
        assert_eq!(finding["rule"], "content.frame");
        let line = 1 + text[..at].bytes().filter(|byte| *byte == b'\n').count();
        assert_eq!(finding["line"], line);
    }
    assert_eq!(report["scanned"]["bytes"], text.len());
}

#[test]
fn a_line_of_many_megabytes_is_judged_in_pieces_and_that_is_said() {
    let words = "words and words ".repeat(1 << 20);
    let input = format!("{words}\u{202e}{words}{MESSAGE}{words}\n{PLANTED}");
    let found = found_at(&[], input.as_bytes());
    let expected = [
        ("content.hidden".to_owned(), 1, "\u{202e}".to_owned()),
        ("content.jsonrpc".to_owned(), 1, MESSAGE.to_owned()),
        ("content.frame".to_owned(), 3, MESSAGE.to_owned()),
    ];
    assert_eq!(found, expected);
    let (report, _) = json(&[], input.as_bytes());
    assert_eq!(report["notScanned"]["cutLines"], 1);
    // The column counts characters from the start of the line, not of the piece.
    assert_eq!(report["findings"][1]["column"], 2 * words.len() + 2);
    assert!(text(&[], input.as_bytes()).contains("not scanned: 1 very long line as a whole"));
    // A line that is no longer than a frame is judged as a whole.
    let line = format!("{}{}", " ".repeat(15 << 20), MESSAGE);
    assert_eq!(
        found_at(&[], line.as_bytes()),
        [("content.frame".to_owned(), 1, MESSAGE.to_owned())]
    );
}

#[test]
fn a_message_in_a_string_of_a_long_document_is_found() {
    let line = "  {\"role\": \"user\", \"content\": \"nothing to see here\"},\n".repeat(200_000);
    let string = serde_json::to_string(MESSAGE).unwrap();
    let document = format!("[\n{line}  {{\"content\": {string}}},\n{line}  {{}}\n]\n");
    let found = found_at(&[], document.as_bytes());
    let inside = string.trim_matches('"').to_owned();
    assert_eq!(found, [("content.encoded-frame".to_owned(), 200_002, inside)]);
}

#[test]
fn line_ends_of_windows_are_line_ends() {
    let input = PLANTED.replace('\n', "\r\n");
    let found = found_at(&[], input.as_bytes());
    assert_eq!(found, [("content.frame".to_owned(), 2, MESSAGE.to_owned())]);
}

#[test]
fn places_in_utf_16_are_those_of_the_file() {
    let page = format!("\u{feff}É😀\r\n{MESSAGE}\r\nend\u{202e}\r\n");
    let units = || page.encode_utf16();
    let little: Vec<u8> = units().flat_map(u16::to_le_bytes).collect();
    let big: Vec<u8> = units().flat_map(u16::to_be_bytes).collect();
    for (input, decode) in
        [(little, u16::from_le_bytes as fn([u8; 2]) -> u16), (big, u16::from_be_bytes)]
    {
        let found = super::found(&[], &input);
        let read = |bytes: &[u8]| {
            let units: Vec<u16> = bytes.as_chunks().0.iter().map(|pair| decode(*pair)).collect();
            String::from_utf16(&units).unwrap()
        };
        let found: Vec<_> = found.iter().map(|it| (&*it.0, it.1, read(&it.3))).collect();
        let expected = [
            ("content.frame", 2, MESSAGE.to_owned()),
            ("content.hidden", 3, "\u{202e}".to_owned()),
        ];
        assert_eq!(found, expected);
        let (report, _) = json(&[], &input);
        assert_eq!(report["scanned"]["bytes"], input.len());
        assert_eq!(report["findings"][1]["column"], 4);
    }
}

#[test]
fn who_does_not_believe_a_byte_order_mark_is_thought_of() {
    let input = [b"\xff\xfe\n", PLANTED.as_bytes()].concat();
    let found = super::found(&[], &input);
    let planted = ("content.frame".to_owned(), 3, None, MESSAGE.as_bytes().to_vec());
    assert!(found.contains(&planted), "{found:?}");
    assert_eq!(json(&[], &input).1, Some(1));
}

#[test]
fn a_binary_file_does_not_flood_the_screen() {
    let directory = tempfile::tempdir().unwrap();
    let bytes: Vec<u8> = (0..200_u8).flat_map(|it| [0x89, b'a', 0, it % 7 + 65]).collect();
    let path = file(directory.path(), "picture.png", &bytes);
    let shown = text(&[&path], b"");
    assert_eq!(shown.matches("content.control: ").count(), 3, "{shown}");
    assert!(
        shown.contains("197 more of content.control in this binary file; --as text lists them")
    );
    assert!(
        shown.contains("200 findings: 200 high\nscanned: 1 binary file, 800 bytes\n"),
        "{shown}"
    );
    let (report, code) = json(&[&path], b"");
    assert_eq!((report["findings"].as_array().unwrap().len(), code), (200, Some(1)));
    let shown = text(&["--as", "text", &path], b"");
    assert_eq!(shown.matches("content.control: ").count(), 200);
}
