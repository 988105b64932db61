//! Event streams, over every chunking.

use super::*;

const LIMIT: usize = 40;

/// Decodes `stream` in chunks of every size and expects `name|data|id` each time, or the length of
/// an overlong event.
#[track_caller]
fn check(stream: &[u8], expected: &[&str]) -> SseDecoder {
    let limits = Limits::default().with_max_event_bytes(LIMIT).unwrap();
    let mut last = None;
    for size in 1..=stream.len() {
        let mut decoder = SseDecoder::new(&limits);
        let mut actual = Vec::new();
        for mut chunk in stream.chunks(size) {
            loop {
                match decoder.next_event(&mut chunk) {
                    Ok(Some(SseEvent { name, data, last_event_id })) => {
                        let data = String::from_utf8_lossy(data);
                        actual.push(format!("{name}|{data}|{last_event_id}"));
                    }
                    Ok(None) => break,
                    Err(error) => actual.push(error.length.to_string()),
                }
            }
            assert!(chunk.is_empty());
            let Pending { data, name, overlong, .. } = &decoder.pending;
            let kept = decoder.line.len() + data.len() + name.len();
            let most = if overlong.is_some() { SHORT_LINE + 1 } else { LIMIT };
            assert!(kept <= most, "{kept} bytes kept");
        }
        assert_eq!(actual, expected, "in chunks of {size}");
        last = Some(decoder);
    }
    last.unwrap()
}

#[test]
fn reads_fields_whatever_ends_their_lines() {
    check(b"data: a\n\n", &["message|a|"]);
    check(b"data: a\r\n\r\ndata: b\r\rdata: c\n\n", &["message|a|", "message|b|", "message|c|"]);
    check(b"event: e\rid: 1\r\ndata:x\n\r", &["e|x|1"]);
    check(b"data:  two\n\n", &["message| two|"]);
    check(b"data\n\n", &["message||"]);
}

#[test]
fn joins_the_lines_of_an_event() {
    check(b"data: a\ndata: b\ndata:\ndata\n\n", &["message|a\nb\n\n|"]);
    check(b"data:\n\n", &["message||"]);
}

#[test]
fn strips_one_byte_order_mark_from_the_stream() {
    check(
        b"\xef\xbb\xbfdata: a\n\n\xef\xbb\xbfdata: b\n\ndata: c\n\n",
        &["message|a|", "message|c|"],
    );
    check(b"\xef\xbb\xbf\n\ndata: a\n\n", &["message|a|"]);
}

#[test]
fn skips_comments_and_unknown_fields() {
    check(b": hello\n:\n\ndata: a\n:x\nfoo: bar\nDATA: no\n data: no\n\n", &["message|a|"]);
    assert!(!check(b":\n\n:\n\n", &[]).is_inside_event());
}

#[test]
fn hands_out_no_event_without_data_but_keeps_its_id() {
    let decoder = check(b"id: 7\nevent: x\n\ndata: a\n\n", &["message|a|7"]);
    assert_eq!(decoder.last_event_id(), "7");
    let decoder = check(b"id: 7\ndata: a\n\nid: 8\n", &["message|a|7"]);
    assert_eq!(decoder.last_event_id(), "7");
    assert!(decoder.is_inside_event());
    check(b"id: 7\ndata:\n\nid\ndata: b\n\n", &["message||7", "message|b|"]);
}

#[test]
fn ignores_an_id_with_a_nul_and_a_retry_that_is_no_number() {
    check(b"id: 1\ndata: a\n\nid: 2\x003\ndata: b\n\n", &["message|a|1", "message|b|1"]);
    let retry = |stream: &[u8]| check(stream, &[]).retry_ms();
    assert_eq!(retry(b"retry: 1500\n"), Some(1500));
    assert_eq!(retry(b"retry: 1500\nretry: x\nretry: +1\nretry:\nretry: -1\n"), Some(1500));
    assert_eq!(retry(b"retry: 99999999999999999999\n"), None);
    let huge = format!("data: {}\nretry: {}5\n", "x".repeat(200), "0".repeat(5000));
    for size in [1, 7, huge.len()] {
        let mut decoder = SseDecoder::new(&Limits::default().with_max_event_bytes(100).unwrap());
        for mut chunk in huge.as_bytes().chunks(size) {
            assert_eq!(decoder.next_event(&mut chunk), Ok(None));
        }
        assert_eq!(decoder.retry_ms(), None);
    }
}

#[test]
fn reports_an_overlong_event_once_and_resumes_after_it() {
    let long = "x".repeat(60);
    check(format!("data: {long}\n\ndata: ok\n\n").as_bytes(), &["66", "message|ok|"]);
    check(format!("data: {long}\ndata: {long}\n\n").as_bytes(), &["132"]);
    check(format!(": {long}\n\ndata: ok\n\n").as_bytes(), &["62", "message|ok|"]);
    check(format!("event: {long}\n\n").as_bytes(), &["67"]);
    let most = "x".repeat(34);
    check(format!("data: {most}\n\n").as_bytes(), &[&format!("message|{most}|")]);
    check(format!("data: {most}x\n\n").as_bytes(), &["41"]);
    check("data: 1234567890\n".repeat(4).as_bytes(), &[]);
}

#[test]
fn gives_memory_back_after_a_large_event() {
    let mut decoder = SseDecoder::new(&Limits::default());
    for field in ["event", "data", "id", "foo"] {
        let stream = format!("{field}: {}\ndata: x\n\n:\n\n", "x".repeat(1 << 20));
        for mut chunk in stream.as_bytes().chunks(1000) {
            while let Ok(Some(event)) = decoder.next_event(&mut chunk) {
                assert!(event.name.len() <= SHORT_LINE);
            }
        }
        let SseDecoder { line, pending, last_event_id, .. } = &decoder;
        let kept = line.capacity() + pending.data.capacity() + pending.name.capacity();
        assert!(kept + last_event_id.capacity() <= 2 * KEPT_BYTES, "{kept} after {field}");
    }
}

#[test]
fn takes_the_id_of_an_overlong_event() {
    let long = "x".repeat(60);
    check(format!("data: {long}\nid: 9\n\ndata: ok\n\n").as_bytes(), &["71", "message|ok|9"]);
    check(format!("id: 9\ndata: {long}\n\ndata: ok\n\n").as_bytes(), &["71", "message|ok|9"]);
    let huge = "9".repeat(SHORT_LINE);
    let limits = Limits::default().with_max_event_bytes(LIMIT).unwrap();
    let mut decoder = SseDecoder::new(&limits);
    let stream = format!("data: {long}\nid: {huge}\n\n");
    assert!(decoder.next_event(&mut stream.as_bytes()).is_err());
    assert_eq!(decoder.last_event_id(), "");
}

#[test]
fn recovers_the_ids_of_an_overlong_event() {
    #[track_caller]
    fn check(stream: &str, expected: &[&str]) {
        let limits = Limits::default().with_max_event_bytes(LIMIT).unwrap();
        for size in 1..=stream.len() {
            let mut decoder = SseDecoder::new(&limits);
            let mut ids = Vec::new();
            for mut chunk in stream.as_bytes().chunks(size) {
                while let Err(error) = decoder.next_event(&mut chunk) {
                    ids.extend(error.recovered.into_iter().filter_map(|it| it.id));
                }
            }
            let ids: Vec<_> = ids.iter().map(ToString::to_string).collect();
            assert_eq!(ids, expected, "in chunks of {size}");
        }
    }
    let long = "x".repeat(60);
    check(&format!("data: {{\"result\":\"{long}\",\"id\":5}}\n\n"), &["5"]);
    check(&format!("id: 1\ndata:{{\"id\":6,\ndata: \"a\":\"{long}\"\ndata: }}\n\n"), &["6"]);
    check(&format!("event: {{\"id\":7,\"a\":\"{long}\"}}\n\n"), &[]);
    check(&format!(": {long}\ndata: {{\"id\":8}}\n\n"), &["8"]);
    // Lines of data are joined by a newline, which is part of no id.
    check(&format!("data:{{\"id\":1\ndata:2,\"a\":\"{long}\"}}\n\n"), &[]);
    check(&format!("data: {{\"id\":\"a\ndata: b\",\"a\":\"{long}\"}}\n\n"), &[]);
}

#[test]
fn lets_no_number_of_keep_alives_add_up() {
    let stream = [": keep-alive\n".repeat(20), "data: a\n\n".into()].concat();
    check(stream.as_bytes(), &["message|a|"]);
}

#[test]
fn reads_what_it_writes() {
    #[track_caller]
    fn check(event: &OutgoingEvent<'_>, data: &str) {
        let text = encode_event(event).unwrap();
        let mut decoder = SseDecoder::new(&Limits::default());
        let read = decoder.next_event(&mut text.as_bytes()).unwrap().unwrap();
        assert_eq!(read.name, event.name.unwrap_or("message"));
        assert_eq!(read.data, data.as_bytes());
        assert_eq!(read.last_event_id, event.id.unwrap_or_default());
        assert_eq!(decoder.retry_ms(), event.retry_ms);
    }
    check(&OutgoingEvent { data: "a", ..Default::default() }, "a");
    check(&OutgoingEvent { data: "", id: Some("x:1"), ..Default::default() }, "");
    let event = OutgoingEvent {
        name: Some("e"),
        data: " a\r\n\nb\rdata: c\n",
        id: Some(" 1"),
        retry_ms: Some(10),
    };
    check(&event, " a\n\nb\ndata: c\n");
}

#[test]
fn refuses_to_write_what_would_be_read_differently() {
    let encode = |name, id| encode_event(&OutgoingEvent { name, id, ..Default::default() });
    assert_eq!(encode(Some("a\nb"), None), Err(EncodeError::Name));
    assert_eq!(encode(None, Some("a\rb")), Err(EncodeError::Id));
    assert_eq!(encode(None, Some("a\0b")), Err(EncodeError::Id));
}
