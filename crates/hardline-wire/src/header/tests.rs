//! Headers, made and compared.

use super::*;
use crate::json::{Checker, Value};
use crate::limits::Limits;
use crate::message::Message;

fn value(text: &str) -> Value<'_> {
    Checker::new(&Limits::default()).check(text.as_bytes()).unwrap().value
}

fn message(text: &str) -> Message<'_> {
    let checked = Checker::new(&Limits::default()).check(text.as_bytes()).unwrap();
    Message::read(&checked, &Limits::default()).unwrap()
}

#[test]
fn encodes_only_what_plain_text_cannot_carry() {
    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(encode_value(text), expected);
        assert_eq!(decode_value(NAME, expected.as_bytes()).unwrap(), text);
    }
    check("us-west1", "us-west1");
    check("", "");
    check("a b\tc ~", "a b\tc ~");
    check("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?=");
    check(" padded ", "=?base64?IHBhZGRlZCA=?=");
    check("\ttab", "=?base64?CXRhYg==?=");
    check("line1\nline2", "=?base64?bGluZTEKbGluZTI=?=");
    check("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=");
    check("=?base64?", "=?base64?");
    check("=?BASE64?QQ==?=", "=?BASE64?QQ==?=");
}

#[test]
fn decodes_strictly() {
    assert_eq!(decode_value("H", b"  x \t").unwrap(), "x");
    assert_eq!(decode_value("H", b"=?base64??=").unwrap(), "");
    for value in [&b"\xff"[..], "é".as_bytes(), b"a\nb", b"a\0b", b"\x7f"] {
        assert_eq!(decode_value("H", value), Err(HeaderError::InvalidCharacter("H".into())));
    }
    for value in [
        "=?base64?QQ=?=",
        "=?base64?QQ?=",
        "=?base64?Q Q==?=",
        "=?base64?_-8=?=",
        "=?base64?QR==?=",
        "=?base64?/w==?=",
    ] {
        let expected = Err(HeaderError::InvalidEncoding("H".into()));
        assert_eq!(decode_value("H", value.as_bytes()), expected, "{value}");
    }
}

const CALL: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"exécute","arguments":{},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#;

#[test]
fn makes_the_standard_headers() {
    #[track_caller]
    fn check(text: &str, expected: &[(&str, &str)]) {
        let headers = standard_headers(&message(text)).unwrap();
        let headers: Vec<_> = headers.iter().map(|(name, value)| (&**name, &**value)).collect();
        assert_eq!(headers, expected);
    }
    check(
        CALL,
        &[
            (PROTOCOL_VERSION, "2026-07-28"),
            (METHOD, "tools/call"),
            (NAME, "=?base64?ZXjDqWN1dGU=?="),
        ],
    );
    check(
        r#"{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"a:b","name":"x"}}"#,
        &[(METHOD, "resources/read"), (NAME, "a:b")],
    );
    check(
        r#"{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"taskId":"t"}}"#,
        &[(METHOD, "tasks/get"), (NAME, "t")],
    );
    check(
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"name":"x"}}"#,
        &[(METHOD, "tools/list")],
    );
    let bad = message(r#"{"jsonrpc":"2.0","id":1,"method":"a\nb"}"#);
    assert_eq!(standard_headers(&bad), Err(HeaderError::InvalidCharacter(METHOD.into())));
}

#[test]
fn compares_the_standard_headers_with_the_body() {
    let check = |headers: &[(&str, &'static str)]| {
        verify_standard_headers(&message(CALL), |name| {
            headers.iter().find(|(it, _)| *it == name).map(|(_, value)| value.as_bytes())
        })
    };
    let name = "=?base64?ZXjDqWN1dGU=?=";
    assert_eq!(
        check(&[(PROTOCOL_VERSION, "2026-07-28"), (METHOD, " tools/call"), (NAME, name)]),
        Ok(())
    );
    assert_eq!(
        check(&[(METHOD, "tools/call"), (NAME, name)]),
        Err(HeaderError::Missing(PROTOCOL_VERSION.into()))
    );
    assert_eq!(
        check(&[(PROTOCOL_VERSION, "2025-11-25"), (METHOD, "tools/call"), (NAME, name)]),
        Err(HeaderError::Mismatch(PROTOCOL_VERSION.into()))
    );
    assert_eq!(
        check(&[(PROTOCOL_VERSION, "2026-07-28"), (METHOD, "Tools/call"), (NAME, name)]),
        Err(HeaderError::Mismatch(METHOD.into()))
    );
    assert_eq!(
        check(&[(PROTOCOL_VERSION, "2026-07-28"), (METHOD, "tools/call")]),
        Err(HeaderError::Missing(NAME.into()))
    );
    assert_eq!(
        check(&[(PROTOCOL_VERSION, "2026-07-28"), (METHOD, "tools/call"), (NAME, "execute")]),
        Err(HeaderError::Mismatch(NAME.into()))
    );
}

#[test]
fn tells_what_a_body_lacks() {
    let check = |text: &str, headers: &[(&str, &'static str)]| {
        verify_standard_headers(&message(text), |name| {
            headers.iter().find(|(it, _)| *it == name).map(|(_, value)| value.as_bytes())
        })
    };
    let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    let error = check(list, &[(METHOD, "tools/list")]).unwrap_err();
    assert_eq!((error.code(), error), (-32602, HeaderError::NoVersion));
    let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}"#;
    let nameless =
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{{meta}}}}}"#);
    let standard = [(PROTOCOL_VERSION, "2026-07-28"), (METHOD, "tools/call")];
    assert_eq!(check(&nameless, &standard), Ok(()));
    let error = check(&nameless, &[&standard[..], &[(NAME, "x")]].concat()).unwrap_err();
    assert_eq!((error.code(), error), (-32020, HeaderError::Unexpected(NAME.into())));
    let note = r#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#;
    assert_eq!(check(note, &[]), Ok(()));
    assert_eq!(check(note, &[(METHOD, "x")]), Err(HeaderError::Mismatch(METHOD.into())));
}

#[test]
fn finds_annotated_parameters_through_properties_alone() {
    let schema = value(
        r#"{"type":"object","properties":{
            "region":{"type":"string","x-mcp-header":"Region"},
            "x-mcp-header":{"type":"string"},
            "deep":{"type":"object","default":{"x-mcp-header":1},"properties":{"n":{"type":["integer","null"],"x-mcp-header":"N"}}}}}"#,
    );
    let headers = ParamHeaders::from_schema(schema).unwrap();
    let found: Vec<_> = headers.iter().map(|it| (it.header.clone(), it.path.join("."))).collect();
    assert_eq!(
        found,
        [("Mcp-Param-N".into(), "deep.n".into()), ("Mcp-Param-Region".into(), "region".into())]
    );
}

#[test]
fn refuses_annotations_that_break_the_rules() {
    #[track_caller]
    fn check(schema: &str, expected: AnnotationError) {
        assert_eq!(ParamHeaders::from_schema(value(schema)), Err(expected), "{schema}");
    }
    for name in [r#""""#, r#""a b""#, r#""a:b""#, r#""a\r\nb""#, r#""é""#, "1", "null"] {
        let schema =
            format!(r#"{{"properties":{{"a":{{"type":"string","x-mcp-header":{name}}}}}}}"#);
        check(&schema, AnnotationError::BadName);
    }
    for kind in [r#""number""#, r#""object""#, r#"["string","integer"]"#, r#"["null"]"#, "[]", "7"]
    {
        let schema = format!(r#"{{"properties":{{"a":{{"type":{kind},"x-mcp-header":"A"}}}}}}"#);
        check(&schema, AnnotationError::BadType);
    }
    check(r#"{"properties":{"a":{"x-mcp-header":"A"}}}"#, AnnotationError::BadType);
    check(
        r#"{"properties":{"a":{"type":"string","x-mcp-header":"Ab"},"b":{"type":"string","x-mcp-header":"aB"}}}"#,
        AnnotationError::Duplicate,
    );
    for schema in [
        r#"{"type":"string","x-mcp-header":"A"}"#,
        r#"{"items":{"type":"string","x-mcp-header":"A"}}"#,
        r#"{"properties":{"a":{"items":{"properties":{"b":{"type":"string","x-mcp-header":"A"}}}}}}"#,
        r#"{"anyOf":[{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}]}"#,
        r#"{"$defs":{"x-mcp-header":{"type":"string","x-mcp-header":"A"}}}"#,
        r#"{"if":{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}}"#,
    ] {
        check(schema, AnnotationError::Unreachable);
    }
}

const SCHEMA: &str = r#"{"properties":{"s":{"type":"string","x-mcp-header":"S"},"o":{"properties":{"i":{"type":"integer","x-mcp-header":"I"},"b":{"type":"boolean","x-mcp-header":"B"}}}}}"#;

#[test]
fn makes_headers_from_arguments() {
    let params = ParamHeaders::from_schema(value(SCHEMA)).unwrap();
    let check = |arguments: &str, expected: &[(&str, &str)]| {
        let headers = params.headers(Some(value(arguments))).unwrap();
        let headers: Vec<_> = headers.iter().map(|(name, value)| (&**name, &**value)).collect();
        assert_eq!(headers, expected, "{arguments}");
    };
    check(
        r#"{"s":"é","o":{"i":-7,"b":true}}"#,
        &[("Mcp-Param-B", "true"), ("Mcp-Param-I", "-7"), ("Mcp-Param-S", "=?base64?w6k=?=")],
    );
    check(r#"{"s":null,"o":{}}"#, &[]);
    check(r#"{"o":{"i":4.2e1}}"#, &[("Mcp-Param-I", "42")]);
    assert_eq!(params.headers(None), Ok(vec![]));
    check(r#"{"a":[{"s":"x"}],"o":[{"i":1}]}"#, &[]);
    for arguments in [
        r#"{"s":[]}"#,
        r#"{"o":{"i":1.5}}"#,
        r#"{"o":{"i":9007199254740992}}"#,
        r#"{"o":{"i":1e300}}"#,
    ] {
        assert!(
            matches!(params.headers(Some(value(arguments))), Err(HeaderError::Unsupported(_))),
            "{arguments}"
        );
    }
}

#[test]
fn compares_headers_with_arguments() {
    let params = ParamHeaders::from_schema(value(SCHEMA)).unwrap();
    let check = |arguments: &str, headers: &[(&str, &'static str)]| {
        params.verify(Some(value(arguments)), |name| {
            headers.iter().find(|(it, _)| *it == name).map(|(_, value)| value.as_bytes())
        })
    };
    assert_eq!(check("{}", &[]), Ok(()));
    assert_eq!(check(r#"{"s":null}"#, &[]), Ok(()));
    assert_eq!(check(r#"{"s":"é"}"#, &[("Mcp-Param-S", "=?base64?w6k=?=")]), Ok(()));
    assert_eq!(check(r#"{"o":{"i":42}}"#, &[("Mcp-Param-I", "42.0")]), Ok(()));
    assert_eq!(check(r#"{"o":{"b":false}}"#, &[("Mcp-Param-B", "false")]), Ok(()));
    let mismatch = |name: &str| Err(HeaderError::Mismatch(name.into()));
    assert_eq!(check(r#"{"o":{"b":false}}"#, &[("Mcp-Param-B", "False")]), mismatch("Mcp-Param-B"));
    for header in ["43", "0x2a", "+42", "42.", "inf", ""] {
        assert_eq!(check(r#"{"o":{"i":42}}"#, &[("Mcp-Param-I", header)]), mismatch("Mcp-Param-I"));
    }
    for (text, integer) in [
        ("42.0", Some(42)),
        ("4.2e1", Some(42)),
        ("-0", Some(0)),
        ("0e999", Some(0)),
        ("1E+2", Some(100)),
        ("1200e-2", Some(12)),
        ("9007199254740991", Some(9_007_199_254_740_991)),
        ("9007199254740992", None),
        ("4503599627370497.5", None),
        ("1e400", None),
        ("1e99999999999999999999", None),
        ("125e-1", None),
    ] {
        let arguments = format!(r#"{{"o":{{"i":{text}}}}}"#);
        let headers = params.headers(Some(value(&arguments)));
        let expected = integer.map(|it: i64| vec![("Mcp-Param-I".into(), it.to_string())]);
        assert_eq!(headers.ok(), expected, "{text}");
    }
    let unsafe_integer = r#"{"o":{"i":9007199254740993}}"#;
    assert_eq!(
        check(unsafe_integer, &[("Mcp-Param-I", "9007199254740992")]),
        mismatch("Mcp-Param-I")
    );
    assert_eq!(check(r#"{"s":"x"}"#, &[]), Err(HeaderError::Missing("Mcp-Param-S".into())));
    assert_eq!(
        check("{}", &[("Mcp-Param-S", "x")]),
        Err(HeaderError::Unexpected("Mcp-Param-S".into()))
    );
}
