//! Messages, batches and refusals, as a decoder returns them.

use hardline_wire::frame::{Decoder, Frame, Refusal};
use hardline_wire::limits::Limits;
use hardline_wire::message::Message;

fn decoder() -> Decoder {
    let limits = Limits::default().with_max_id_bytes(12).unwrap();
    Decoder::new(&limits.with_max_batch_elements(3).unwrap())
}

fn show(message: &Message<'_>) -> String {
    let id = message.id().map(|id| format!(" {id}")).unwrap_or_default();
    match message {
        Message::Request(it) => {
            format!("request{id} {} {:?}", it.method, it.params.map(|it| it.text()))
        }
        Message::Notification(it) => {
            format!("notification{id} {} {:?}", it.method, it.params.map(|it| it.text()))
        }
        Message::Response(it) => format!("response{id} {}", it.result.text()),
        Message::Error(it) => {
            format!("error{id} {} {} {:?}", it.code, it.message, it.data.map(|it| it.text()))
        }
    }
}

fn show_refusal(refusal: Refusal) -> String {
    format!("{} {refusal}", refusal.code())
}

#[track_caller]
fn check(frame: &str, expected: &str) {
    let mut decoder = decoder();
    let shown = match decoder.decode(frame.as_bytes()) {
        Ok(Frame::Message(message, value)) => {
            assert_eq!(value.text(), frame.trim());
            show(&message)
        }
        Ok(Frame::Batch(batch)) => {
            let elements = batch.elements().map(|it| match decoder.decode_element(it) {
                Ok((message, _)) => show(&message),
                Err(refusal) => show_refusal(refusal),
            });
            elements.collect::<Vec<_>>().join(" | ")
        }
        Err(refusal) => show_refusal(refusal),
    };
    assert_eq!(shown, expected, "{frame}");
}

#[test]
fn reads_each_kind_of_message() {
    check(r#"{"jsonrpc":"2.0","id":0,"method":"ping"}"#, "request 0 ping None");
    check(
        r#"{"method":"tools\/call","params":{"a":[1]},"id":"x","jsonrpc":"2\u002e0"}"#,
        r#"request "x" tools/call Some("{\"a\":[1]}")"#,
    );
    check(r#"{"jsonrpc":"2.0","method":"a","params":[]}"#, r#"notification a Some("[]")"#);
    check(r#"{"jsonrpc":"2.0","id":-5,"result":{}}"#, "response -5 {}");
    check(r#"{"jsonrpc":"2.0","id":"","result":null}"#, r#"response "" null"#);
    check(
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"a\nb","data":[1]}}"#,
        "error 1 -32603 a\nb Some(\"[1]\")",
    );
    check(r#"{"jsonrpc":"2.0","id":null,"error":{"code":0,"message":""}}"#, "error 0  None");
    check(r#"{"jsonrpc":"2.0","error":{"message":"m","code":7,"x":1}}"#, "error 7 m None");
}

#[test]
fn lets_unknown_members_pass() {
    check(
        r#"{"jsonrpc":"2.0","id":1,"method":"a","_meta":{"x":1},"params_":2}"#,
        "request 1 a None",
    );
    check(r#"{"jsonrpc":"2.0","id":1,"result":{},"params":7}"#, "response 1 {}");
}

#[test]
fn refuses_what_is_no_message() {
    check("1", "-32600 a message must be an object at byte 0");
    check(r#" "a""#, "-32600 a message must be an object at byte 1");
    check("{}", "-32600 no member \"jsonrpc\" at byte 0");
    check(r#"{"id":1,"method":"a"}"#, "-32600 no member \"jsonrpc\" at byte 0");
    for version in ["\"1.0\"", "2.0", "\"2.0 \"", "null"] {
        let frame = format!("{{\"jsonrpc\":{version},\"id\":1,\"method\":\"a\"}}");
        check(&frame, "-32600 \"jsonrpc\" is not \"2.0\" at byte 11");
    }
    check(
        r#"{"jsonrpc":"2.0"}"#,
        "-32600 neither \"method\" nor \"result\" nor \"error\" at byte 0",
    );
    check(
        r#"{"jsonrpc":"2.0","id":1}"#,
        "-32600 neither \"method\" nor \"result\" nor \"error\" at byte 0",
    );
    let two = "-32600 more than one of \"method\", \"result\" and \"error\" at byte";
    check(r#"{"jsonrpc":"2.0","id":1,"method":"a","result":{}}"#, &format!("{two} 46"));
    check(r#"{"jsonrpc":"2.0","id":1,"method":"a","error":{}}"#, &format!("{two} 45"));
    check(r#"{"jsonrpc":"2.0","id":1,"error":{},"result":{}}"#, &format!("{two} 44"));
    check(r#"{"jsonrpc":"2.0","result":{}}"#, "-32600 a result without \"id\" at byte 0");
    check(r#"{"jsonrpc":"2.0","id":1,"method":7}"#, "-32600 \"method\" is not a string at byte 33");
    for params in ["7", "\"a\"", "true"] {
        let frame = format!("{{\"jsonrpc\":\"2.0\",\"method\":\"a\",\"params\":{params}}}");
        check(&frame, "-32600 \"params\" is neither an object nor an array at byte 39");
    }
}

#[test]
fn refuses_bad_ids() {
    for (id, reason) in [
        ("null", "id is neither a string nor an integer"),
        ("true", "id is neither a string nor an integer"),
        ("[1]", "id is neither a string nor an integer"),
        ("1.5", "id is a number but not a plain integer"),
        ("1e3", "id is a number but not a plain integer"),
        ("-0", "id is a number but not a plain integer"),
        ("\"0123456789a\"", "id longer than 12 bytes"),
    ] {
        for rest in ["\"method\":\"a\"", "\"result\":{}"] {
            let frame = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},{rest}}}");
            check(&frame, &format!("-32600 {reason} at byte 22"));
        }
    }
    let far = r#"{"jsonrpc":"2.0","id":9223372036854775808,"method":"a"}"#;
    let refusal = Decoder::new(&Limits::default()).decode(far.as_bytes()).unwrap_err();
    assert_eq!(refusal.to_string(), "id is an integer outside 64 bits at byte 22");
}

#[test]
fn refuses_malformed_errors() {
    for error in [
        "7",
        "{}",
        r#"{"code":1}"#,
        r#"{"message":"a"}"#,
        r#"{"code":"1","message":"a"}"#,
        r#"{"code":1.5,"message":"a"}"#,
        r#"{"code":1,"message":2}"#,
    ] {
        let frame = format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{error}}}");
        check(
            &frame,
            "-32600 \"error\" is not an object with an integer \"code\" and a string \"message\" at byte 32",
        );
    }
}

#[test]
fn refuses_keys_that_some_parsers_take_for_the_envelopes() {
    for key in ["Method", "reſult", "ID", "\\u0049d"] {
        let frame = format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\",\"{key}\":2}}");
        check(&frame, "-32600 a key differs from an envelope key only in case at byte 37");
    }
}

#[test]
fn refuses_what_is_not_strict_json() {
    check("", "-32700 unexpected end of the text at byte 0");
    check(
        r#"{"jsonrpc":"2.0","id":1,"method":"a","method":"b"}"#,
        "-32700 duplicate key at byte 37",
    );
    check(
        r#"{"jsonrpc":"2.0","id":1,"method":"a"}{}"#,
        "-32700 trailing data after the value at byte 37",
    );
}

#[test]
fn judges_each_element_of_a_batch_on_its_own() {
    check(
        r#"[{"jsonrpc":"2.0","id":1,"method":"a"}, {"jsonrpc":"2.0","id":2,"method":b}, {"jsonrpc":"2.0","method":"c"}]"#,
        "request 1 a None | -32700 expected a value at byte 33 | notification c None",
    );
    check(
        r#"[{"a":1,"a":2},[],7]"#,
        "-32700 duplicate key at byte 7 | -32600 batch inside a batch at byte 0 | -32600 a message must be an object at byte 0",
    );
    check(
        "[,]",
        "-32700 unexpected end of the text at byte 0 | -32700 unexpected end of the text at byte 0",
    );
}

#[test]
fn refuses_empty_oversized_and_broken_batches() {
    check("[]", "-32600 empty batch at byte 0");
    check(" [ ]", "-32600 empty batch at byte 1");
    check("[1,2,3,4]", "-32600 batch of more than 3 elements at byte 0");
    check("[{}", "-32700 unexpected end of the text at byte 3");
    check("[{}] x", "-32700 trailing data after the value at byte 5");
    check("[INFO] starting", "-32700 expected a value at byte 1");
    check("[\"a]", "-32700 text ended inside a string at byte 4");
}

#[test]
fn counts_a_batch_as_one_level_of_nesting() {
    let limits = Limits::default().with_max_depth(3).unwrap();
    let mut decoder = Decoder::new(&limits);
    let frame = r#"{"jsonrpc":"2.0","id":1,"result":{"a":[]}}"#;
    assert!(decoder.decode(frame.as_bytes()).is_ok());
    let batch = format!("[{frame}]");
    let Ok(Frame::Batch(batch)) = decoder.decode(batch.as_bytes()) else { panic!("no batch") };
    let element = batch.elements().next().unwrap();
    let refusal = decoder.decode_element(element).unwrap_err();
    assert_eq!(refusal.to_string(), "nested deeper than 3 at byte 38");
}

#[test]
fn an_error_has_one_code_and_one_set_of_data() {
    for key in ["Code", "DATA", "d\\u0041ta", "me\u{17f}sage"] {
        let frame =
            format!(r#"{{"jsonrpc":"2.0","id":1,"error":{{"code":1,"message":"","{key}":2}}}}"#);
        check(&frame, "-32600 a key differs from an envelope key only in case at byte 32");
    }
    check(
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"","codes":2}}"#,
        "error 1 1  None",
    );
}
