//! Single characters, headers, JSON-RPC inside prose: the hits, and their sanitized forms.

use hardline_guard::sanitize;
use hardline_guard::scan::{ScanSettings, Scanner};

use super::{scan, show};

fn check(text: &str, expected: &[&str]) {
    assert_eq!(show(text), expected, "{text:?}");
}

fn check_clean(text: &str, expected: &str) {
    let hits = scan(text);
    assert_eq!(sanitize::apply(text, &sanitize::edits(text, &hits)), expected, "{text:?}");
}

#[test]
fn tells_control_characters_from_layout() {
    check("a\tb\r\nc\x0cd", &[]);
    check("a\0\x01b", &[r#"high content.control "\0\u{1}""#]);
    check("\x1b[31m!", &[r#"high content.control "\u{1b}""#]);
    check(
        "\u{9b}31m\x7f",
        &[r#"high content.control "\u{9b}""#, r#"high content.control "\u{7f}""#],
    );
    check(
        "a\u{2028}b\u{85}c\x0bd",
        &[
            r#"low content.line-separator "\u{2028}""#,
            r#"low content.line-separator "\u{85}""#,
            r#"low content.line-separator "\u{b}""#,
        ],
    );
}

#[test]
fn tells_hidden_characters_from_writing() {
    check("a\u{200b}b", &[]);
    check("a\u{200b}\u{200b}b", &[r#"high content.hidden "\u{200b}\u{200b}""#]);
    check("می\u{200c}خواهم", &[]);
    check("👩\u{200d}🚀 ❤\u{fe0f}\u{200d}🔥", &[]);
    check("x\u{fe0f}", &[r#"high content.hidden "\u{fe0f}""#]);
    check("x\u{202e}y", &[r#"high content.hidden "\u{202e}""#]);
    check("ש\u{2067}x\u{2069}", &[]);
    check("ש\u{2067}x", &[r#"high content.hidden "\u{2067}""#]);
}

#[test]
fn finds_headers_on_their_own_line() {
    check("Content-Length: 42\r\n\r\n", &[r#"low content.content-length "Content-Length: 42""#]);
    check("a\n content-length:7", &[r#"low content.content-length "content-length:7""#]);
    check("the Content-Length: 42 header\nContent-Length: n\nX-Content-Length: 3", &[]);
}

#[test]
fn reports_json_rpc_in_documentation_as_low() {
    let text = "See:\n{\n  \"jsonrpc\": \"2.0\",\n  \"id\": 1,\n  \"method\": \"ping\"\n}\n";
    let hits = scan(text);
    assert_eq!(hits.len(), 1, "{hits:?}");
    assert_eq!((hits[0].rule.name(), hits[0].severity.name()), ("content.jsonrpc", "low"));
    assert_eq!(hits[0].range, 5..text.len() - 1);
    let mut settings = ScanSettings::default();
    settings.allow_jsonrpc = true;
    assert_eq!(Scanner::new(settings).scan(text).hits, []);
}

#[test]
fn reports_what_mcp_could_not_carry_as_medium() {
    for text in [
        r#"{"jsonrpc":"2.0","id":1,"method":"eth_call","params":[]}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":"0x1"}"#,
        r#"{"jsonrpc":"1.0","id":1,"method":"tools/call"}"#,
        r#"{jsonrpc:"2.0",id:1,method:"tools/call"}"#,
    ] {
        check(text, &[&format!("medium content.frame {text:?}")]);
    }
}

#[test]
fn makes_what_it_finds_visible() {
    check_clean("a\0b\u{200b}\u{200b}c\u{e0041}", "a<U+0000>b<U+200B><U+200B>c<U+E0041>");
    check_clean("a\u{2028}b", "a<U+2028>b");
    let frame = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    check_clean(&format!("a\r \t{frame} \nb"), &format!("a\r \tblocked by hardline: {frame} \nb"));
    check_clean(
        r#"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}"#,
        r#"{blocked by hardline: \"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}"#,
    );
    check_clean(
        "%7B%22jsonrpc%22:%222.0%22,%22error%22:{}}",
        "%7Bblocked by hardline: %22jsonrpc%22:%222.0%22,%22error%22:{}}",
    );
}

/// An edit may uncover a message: a control character that tore it in two becomes a mark in a
/// string.
#[test]
fn cleans_what_an_edit_uncovers() {
    let text = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"a\":\"x\0y\"}}";
    let mut scanner = Scanner::new(ScanSettings::default());
    let cleaned = sanitize::clean(&mut scanner, text, |_| true).unwrap();
    assert!(cleaned.text.starts_with("blocked by hardline: {"), "{}", cleaned.text);
    assert!(cleaned.text.contains("x<U+0000>y"), "{}", cleaned.text);
}
