//! Headers: those made from a body agree with it, and values survive being encoded.

use hardline_wire::header::{
    self, ParamHeaders, decode_value, encode_value, standard_headers, verify_standard_headers,
};
use hardline_wire::json::Checker;
use hardline_wire::limits::Limits;
use hardline_wire::message::Message;

/// Uses `data` as a value, as a request, and as a tool's schema with the arguments of a call.
pub fn header(data: &[u8]) {
    if let Ok(text) = str::from_utf8(data) {
        let encoded = encode_value(text);
        assert!(encoded.bytes().all(|byte| matches!(byte, b'\t' | b' '..=b'~')));
        assert_eq!(encoded.trim_matches([' ', '\t']), encoded, "nothing at the ends gets lost");
        assert_eq!(decode_value("H", encoded.as_bytes()).as_deref(), Ok(text));
    }
    // Any bytes may arrive in a header: decoding must not panic.
    let _ = decode_value("H", data);

    let mut checker = Checker::new(&Limits::default());
    let Ok(checked) = checker.check(data) else { return };
    if let Ok(message) = Message::read(&checked, &Limits::default())
        && let Ok(headers) = standard_headers(&message)
    {
        let verdict = verify_standard_headers(&message, |name| find(&headers, name));
        let is_request = matches!(message, Message::Request(_));
        // A request without a version has no version header, which verification demands.
        let is_complete = !is_request || header::protocol_version(&message).is_some();
        assert_eq!(verdict.is_ok(), is_complete, "{verdict:?}");
    }
    let (Some(schema), arguments) = (checked.value.get("schema"), checked.value.get("arguments"))
    else {
        return;
    };
    let Ok(params) = ParamHeaders::from_schema(schema) else { return };
    let Ok(headers) = params.headers(arguments) else { return };
    assert_eq!(params.verify(arguments, |name| find(&headers, name)), Ok(()));
    if !headers.is_empty() {
        assert!(params.verify(arguments, |_| None).is_err(), "a missing header is noticed");
    }
}

fn find<'a>(headers: &'a [header::Header], name: &str) -> Option<&'a [u8]> {
    let found = headers.iter().find(|(it, _)| it.eq_ignore_ascii_case(name));
    found.map(|(_, value)| value.as_bytes())
}
