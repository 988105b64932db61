//! The strict check: each fault with its reason and its byte.

use hardline_wire::json::{
    Checker, Kind, MAX_NUMBER_BYTES, Reason, Step, ends_in_string, lone_surrogates,
};
use hardline_wire::limits::Limits;

fn check(text: &[u8]) -> Result<Kind, (Reason, usize)> {
    let limits = Limits::default().with_max_depth(4).unwrap();
    let outcome = Checker::new(&limits).check(text);
    outcome.map(|it| it.value.kind()).map_err(|error| (error.reason, error.offset))
}

#[track_caller]
fn refuses(text: impl AsRef<[u8]>, reason: Reason, offset: usize) {
    let shown = String::from_utf8_lossy(text.as_ref()).into_owned();
    assert_eq!(check(text.as_ref()), Err((reason, offset)), "{shown}");
}

#[test]
fn accepts_every_kind_of_value() {
    for (text, kind) in [
        ("null", Kind::Null),
        (" true ", Kind::Bool),
        ("\tfalse\r\n", Kind::Bool),
        ("0", Kind::Number),
        ("-0.5e+10", Kind::Number),
        ("123456789012345678901234567890", Kind::Number),
        ("1E400", Kind::Number),
        (r#""""#, Kind::String),
        (r#""\"\\\/\b\f\n\r\t\u0000\uD83D\uDE00""#, Kind::String),
        ("\"\u{7f}\u{2028}\u{10ffff}\"", Kind::String),
        ("[]", Kind::Array),
        ("[ 1 , [ [ [ ] ] ] ]", Kind::Array),
        ("{}", Kind::Object),
        (r#"{ "a" : 1 , "b" : { "a" : 1 } , "" : 2 }"#, Kind::Object),
    ] {
        assert_eq!(check(text.as_bytes()), Ok(kind), "{text}");
    }
}

#[test]
fn tells_an_end_inside_a_string_from_other_ends() {
    for text in [
        "\"",
        "\"abc",
        "{\"a",
        "{\"a\":\"b",
        "\"\\",
        "\"\\u",
        "\"\\u12",
        "[\"\\ud83d\\u",
        "\"\\ud800",
    ] {
        refuses(text, Reason::EndedInString, text.len());
    }
    for text in [
        "",
        "  ",
        "[",
        "[1",
        "[1,",
        "{",
        "{\"a\"",
        "{\"a\":",
        "{\"a\":1",
        "{\"a\":1,",
        "-",
        "1.",
        "1e",
        "1e+",
        "t",
        "fals",
        "nul",
        "[tru",
    ] {
        refuses(text, Reason::Ended, text.len());
    }
}

#[test]
fn refuses_what_the_grammar_does_not_have() {
    refuses("x", Reason::ExpectedValue, 0);
    refuses("[1,]", Reason::ExpectedValue, 3);
    refuses("{\"a\":}", Reason::ExpectedValue, 5);
    refuses("[NaN]", Reason::ExpectedValue, 1);
    refuses("+1", Reason::ExpectedValue, 0);
    refuses(".5", Reason::ExpectedValue, 0);
    refuses("'a'", Reason::ExpectedValue, 0);
    refuses("\u{feff}1", Reason::ExpectedValue, 0);
    refuses("\u{a0}1", Reason::ExpectedValue, 0);
    refuses("\u{c}1", Reason::ExpectedValue, 0);
    refuses("{1:2}", Reason::ExpectedKey, 1);
    refuses("{\"a\":1,}", Reason::ExpectedKey, 7);
    refuses("{a:1}", Reason::ExpectedKey, 1);
    refuses("{\"a\" 1}", Reason::ExpectedColon, 5);
    refuses("{\"a\":1 \"b\":2}", Reason::ExpectedCommaOrBrace, 7);
    refuses("{\"a\":1]", Reason::ExpectedCommaOrBrace, 6);
    refuses("[1 2]", Reason::ExpectedCommaOrBracket, 3);
    refuses("[1}", Reason::ExpectedCommaOrBracket, 2);
    refuses("nulL", Reason::InvalidLiteral, 0);
    refuses("[truE]", Reason::InvalidLiteral, 1);
    for (text, offset) in [("01", 1), ("-01", 2), ("1.x", 2), ("1.e3", 2), ("1ex", 2), ("-x", 1)] {
        refuses(text, Reason::InvalidNumber, offset);
    }
    let long = "1".repeat(MAX_NUMBER_BYTES);
    assert!(Checker::new(&Limits::default()).check(long.as_bytes()).is_ok());
    refuses(format!("[{long}1]"), Reason::LongNumber, 1);
    refuses(format!("[0.{long}]"), Reason::LongNumber, 1);
    refuses("0x10", Reason::TrailingData, 1);
    refuses("1 2", Reason::TrailingData, 2);
    refuses("{}{}", Reason::TrailingData, 2);
    refuses("[]]", Reason::TrailingData, 2);
    refuses("1\0", Reason::TrailingData, 1);
}

#[test]
fn refuses_bad_escapes_and_control_characters_wherever_they_are() {
    for lead in [0, 1, 7, 8, 15, 16, 31, 32, 127, 128, 500] {
        let lead = "a".repeat(lead);
        for escape in ["\\x", "\\u12G4", "\\U0041", "\\'", "\\ud83d\\uzzzz"] {
            let at = 1 + lead.len() + if escape.len() == 12 { 6 } else { 0 };
            refuses(format!("\"{lead}{escape} more text behind it\""), Reason::InvalidEscape, at);
        }
        for control in ['\0', '\u{1}', '\t', '\n', '\r', '\u{1f}'] {
            let text = format!("\"{lead}{control}\"");
            refuses(text, Reason::ControlCharacter, 1 + lead.len());
        }
    }
}

#[test]
fn reports_invalid_utf8_unless_something_else_came_first() {
    refuses(b"\"a\xff\"", Reason::InvalidUtf8, 2);
    refuses(b"\xff", Reason::InvalidUtf8, 0);
    refuses(b"{}\xff", Reason::InvalidUtf8, 2);
    refuses(b"[\"\\ud800\", \xff]", Reason::InvalidUtf8, 11);
    refuses(b"[1 2, \"\xff\"]", Reason::ExpectedCommaOrBracket, 3);
    refuses(b"{\"a\":1,\"a\":2,\"\xff\":1}", Reason::DuplicateKey, 7);
    for bytes in [&b"\xc0\xaf"[..], b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe2\x82", b"\x80"] {
        refuses([b"\"", bytes, b"\""].concat(), Reason::InvalidUtf8, 1);
    }
}

#[test]
fn refuses_a_key_twice_at_every_depth_however_it_is_written() {
    refuses(r#"{"a":1,"a":1}"#, Reason::DuplicateKey, 7);
    refuses(r#"[{"b":{"a":1,"c":2,"a":1}}]"#, Reason::DuplicateKey, 19);
    refuses(r#"{"a":1,"\u0061":1}"#, Reason::DuplicateKey, 7);
    refuses(r#"{"\u0061\/":1,"a/":1}"#, Reason::DuplicateKey, 14);
    refuses(r#"{"\ud83d\ude00":1,"😀":1}"#, Reason::DuplicateKey, 18);
    refuses(r#"{"":1,"":1}"#, Reason::DuplicateKey, 6);
    refuses(r#"{"a":{"a":1},"a":1}"#, Reason::DuplicateKey, 13);
    for sound in [r#"{"a":{"a":{"a":1}}}"#, r#"[{"a":1},{"a":1}]"#, r#"{"a":1,"A":1,"a ":1}"#] {
        assert!(check(sound.as_bytes()).is_ok(), "{sound}");
    }
}

#[test]
fn finds_the_first_repeated_key_among_any_number() {
    for width in [2, 15, 16, 17, 31, 32, 33, 34, 100, 1000] {
        for (first, second) in [(0, width - 1), (width / 2, width - 1), (0, width / 2 + 1)] {
            if first == second || width <= second {
                continue;
            }
            let key = |index| match index {
                it if it == second => format!("\"key-{first}\""),
                it => format!("\"key-{it}\""),
            };
            let members: Vec<_> =
                (0..width).map(|index| format!("{}:{index}", key(index))).collect();
            let text = format!("{{{}}}", members.join(","));
            let offset = 1 + members[..second].iter().map(|it| it.len() + 1).sum::<usize>();
            refuses(text, Reason::DuplicateKey, offset);
        }
    }
}

#[test]
fn tells_a_lone_surrogate_that_can_be_mended_from_one_that_cannot() {
    for (text, offset) in [
        (r#""\ud800""#, 1),
        (r#"["ok","a\udfffb"]"#, 8),
        (r#""\ud800\ud800\udc00""#, 1),
        (r#""\ud83d\u0041""#, 1),
        (r#""\ud83d\n""#, 1),
    ] {
        refuses(text, Reason::LoneSurrogate, offset);
        let mut mended = text.as_bytes().to_vec();
        for at in lone_surrogates(text.as_bytes()) {
            mended[at..at + 6].copy_from_slice(b"\\uFFFD");
        }
        assert!(check(&mended).is_ok(), "{text}");
    }
    refuses(r#"{"\ud800":1}"#, Reason::LoneSurrogateInKey, 2);
    refuses(r#"{"a":"\ud800","\ud801":1}"#, Reason::LoneSurrogateInKey, 15);
    refuses(r#"{"\ud800":1,"\ud800":2}"#, Reason::DuplicateKey, 12);
    assert!(check(r#"{"\ud83d\ude00":1}"#.as_bytes()).is_ok());
    // Any other fault is reported first.
    refuses(r#"["\ud800",]"#, Reason::ExpectedValue, 10);
    refuses(r#"["\ud800","#, Reason::Ended, 10);
}

#[test]
fn finds_all_lone_surrogates() {
    let text = br#"["\ud800\ud800\udc00\\ud800","\u0041\udfff\n\ud801x"]"#;
    assert_eq!(lone_surrogates(text).collect::<Vec<_>>(), [2, 36, 44]);
}

#[test]
fn refuses_what_is_too_deep_or_too_long() {
    assert!(check(b"[[[[]]]]").is_ok());
    refuses("[[[[[]]]]]", Reason::TooDeep { limit: 4 }, 4);
    refuses(r#"{"a":[{"a":{"a":{}}}]}"#, Reason::TooDeep { limit: 4 }, 16);
    refuses("[".repeat(1_000_000), Reason::TooDeep { limit: 4 }, 4);
    let limits = Limits::default().with_max_frame_bytes(5).unwrap();
    let mut checker = Checker::new(&limits);
    assert!(checker.check(b"12345").is_ok());
    let error = checker.check(b"123456").unwrap_err();
    assert_eq!((error.reason, error.offset), (Reason::TooLong { limit: 5 }, 5));
}

#[test]
fn yields_the_spans_of_the_envelope() {
    let text = br#" {"x":{"id":9},"id" : 7 ,"\u006dethod":"a","params":[1, 2],"jsonrpc":"2.0"} "#;
    let checked = Checker::new(&Limits::default()).check(text).unwrap();
    let envelope = checked.envelope.unwrap();
    let span = |value: Option<hardline_wire::json::Value<'_>>| {
        value.map(|it| (it.offset(), it.text().to_owned()))
    };
    assert_eq!(span(envelope.id), Some((22, "7".into())));
    assert_eq!(span(envelope.method), Some((39, "\"a\"".into())));
    assert_eq!(span(envelope.params), Some((52, "[1, 2]".into())));
    assert_eq!(span(envelope.jsonrpc), Some((69, "\"2.0\"".into())));
    assert_eq!(span(envelope.result), None);
    assert_eq!((checked.value.offset(), checked.value.text().len()), (1, text.len() - 2));
    assert!(Checker::new(&Limits::default()).check(b"[{\"id\":1}]").unwrap().envelope.is_none());
}

#[test]
fn notices_keys_that_differ_from_the_envelope_in_case_alone() {
    let twin = |key: &str| {
        let text = format!("{{\"a\":1,\"{key}\":1}}");
        Checker::new(&Limits::default()).check(text.as_bytes()).unwrap().envelope.unwrap().twin_key
    };
    for key in [
        "Method",
        "METHOD",
        "methoD",
        "ID",
        "İd",
        "ıd",
        "reſult",
        "paramS",
        "JSONRPC",
        "jſonrpc",
        "Error",
        "\\u004dethod",
    ] {
        assert_eq!(twin(key), Some(7), "{key}");
    }
    for key in ["method", "methods", "m\u{e9}thod", "i", "identity", "", "id ", "ｉｄ", "result_"]
    {
        assert_eq!(twin(key), None, "{key}");
    }
}

#[test]
fn is_the_same_after_any_text() {
    let mut checker = Checker::new(&Limits::default());
    for broken in ["{\"a\":{\"b\":[", "[[[[", "{\"a\":1,\"a\":2}", "\"\\ud800\"", "\"\\ud8"] {
        assert!(checker.check(broken.as_bytes()).is_err());
        let envelope = checker.check(b"{\"a\":{\"a\":1},\"b\":2}").unwrap().envelope.unwrap();
        assert!(envelope.id.is_none());
    }
}

#[test]
fn tells_a_text_that_ends_in_a_string_whatever_else_is_wrong() {
    for torn in [
        &b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"text\":\"a\tb"[..],
        b"{\"text\":\"a\\xb",
        b"{\"text\":\"a\xe9b",
        b"{\"id\":1,\"id\":1,\"text\":\"b",
        b"{\"a\":NaN, \"text\":\"b\\\"",
        b"\"",
        b"\\\"",
        b"{\"text\":\"b\\",
    ] {
        assert!(ends_in_string(torn), "{}", String::from_utf8_lossy(torn));
    }
    for whole in [&b""[..], b"{}", b"\"a\"", b"\"a\\\"\"", b"\"\\\\\"", b"x\\", b"{\"a\":\"b\",,"] {
        assert!(!ends_in_string(whole), "{}", String::from_utf8_lossy(whole));
    }
}

#[test]
fn walks_over_everything_in_one_pass() {
    let text = br#" {"a" : [1, "x", {"b":null}], "c":{} , "d":"e:"} "#;
    let checked = Checker::new(&Limits::default()).check(text).unwrap();
    let steps: Vec<_> = checked
        .value
        .steps()
        .map(|step| match step {
            Step::Enter(kind, offset) => format!("{kind:?}@{offset}"),
            Step::Leave(end) => format!("end@{end}"),
            Step::Key(key) => format!("{}@{}:", key.text(), key.offset()),
            Step::Scalar(value) => format!("{}@{}", value.text(), value.offset()),
        })
        .collect();
    let expected = concat!(
        "Object@1 \"a\"@2: Array@8 1@9 \"x\"@12 Object@17 \"b\"@18: null@22 end@27 end@28 ",
        "\"c\"@30: Object@34 end@36 \"d\"@39: \"e:\"@43 end@48"
    );
    assert_eq!(steps.join(" "), expected);
}
