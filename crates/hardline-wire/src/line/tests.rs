//! Line framing, over every chunking and every limit.

use super::*;

const LIMIT: usize = 12;

#[test]
fn a_line_can_be_cut_where_the_stream_stands() {
    let mut framer = LineFramer::new(&Limits::default());
    assert!(framer.next_line(&mut b"a\nbc".as_slice()).is_some());
    assert!(framer.next_line(&mut b"".as_slice()).is_none());
    assert!(framer.next_line(&mut b"bc".as_slice()).is_none());
    assert_eq!(framer.unfinished(), b"bc");
    let line = framer.cut().unwrap();
    assert_eq!((line.whole(), line.end, line.offset), (Some(b"bc".as_slice()), LineEnd::Lf, 2));
    assert_eq!(framer.unfinished(), b"");
    assert!(framer.cut().is_none());
    let line = framer.next_line(&mut b"\n".as_slice()).unwrap();
    assert_eq!((line.whole(), line.offset), (Some(b"".as_slice()), 4));
}

/// Frames `stream` in chunks of every size and expects the same lines each time, written as
/// `offset|content|end` with the marks and ends spelled out.
#[track_caller]
fn check(stream: &[u8], expected: &[&str]) {
    let limits = Limits::default().with_max_frame_bytes(LIMIT).unwrap();
    for size in 1..=stream.len().max(1) {
        let mut framer = LineFramer::new(&limits);
        let mut actual = Vec::new();
        for mut chunk in stream.chunks(size) {
            while let Some(line) = framer.next_line(&mut chunk) {
                actual.push(show(line));
            }
            let most = if framer.overlong.is_some() { OVERLONG_PREFIX + 3 } else { LIMIT + MARGIN };
            assert!(framer.partial.len() <= most);
            let text = if framer.is_handed_out { &[] } else { framer.partial.trim_ascii() };
            assert_eq!(framer.unfinished(), text, "in chunks of {size}");
        }
        actual.extend(framer.finish().map(show));
        assert_eq!(framer.finish(), None);
        assert_eq!(actual, expected, "in chunks of {size}");
    }
}

fn show(line: Line<'_>) -> String {
    let mark = if line.has_bom { "BOM " } else { "" };
    let content = match line.content {
        Content::Whole(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Content::Overlong(Overlong { prefix, length, recovered, .. }) => {
            let ids: Vec<_> = recovered.iter().map(|it| format!("{:?}", it.id)).collect();
            let prefix = String::from_utf8_lossy(prefix);
            format!("{length}: {prefix} {}", ids.join(" "))
        }
    };
    format!("{}|{mark}{content}|{:?}", line.offset, line.end)
}

#[test]
fn splits_lines_and_tells_their_ends() {
    check(b"", &[]);
    check(b"a\nbc\r\n\n\r\nd", &["0|a|Lf", "2|bc|CrLf", "6||Lf", "7||CrLf", "9|d|Eof"]);
    check(b"a\rb\n\r\r\n", &["0|a\rb|Lf", "4|\r|CrLf"]);
    check(b" \t a \r b  \n  ", &["0| \t a \r b  |Lf", "11|  |Eof"]);
    check(b"a\r", &["0|a\r|Eof"]);
}

#[test]
fn strips_a_byte_order_mark_from_any_line() {
    check(
        b"\xef\xbb\xbfa\n\xef\xbb\xbf\r\nb\xef\xbb\xbf\n\xef\xbb\xbfc",
        &["3|BOM a|Lf", "8|BOM |CrLf", "10|b\u{feff}|Lf", "18|BOM c|Eof"],
    );
    check(b"\xef\xbb\n", &["0|\u{fffd}|Lf"]);
}

#[test]
fn accepts_a_line_of_exactly_the_limit() {
    check(b"123456789012\n123456789012\r\n", &["0|123456789012|Lf", "13|123456789012|CrLf"]);
    check(b"\xef\xbb\xbf123456789012\r\n", &["3|BOM 123456789012|CrLf"]);
    check(b"123456789012", &["0|123456789012|Eof"]);
}

#[test]
fn reports_an_overlong_line_once_and_resumes_after_it() {
    check(b"1234567890123\nok\n", &["0|13: 1234567890123 |Lf", "14|ok|Lf"]);
    check(b"1234567890123\r\nok", &["0|13: 1234567890123 |CrLf", "15|ok|Eof"]);
    check(b"123456789012\r", &["0|13: 123456789012\r |Eof"]);
    check(b"12345678901234567890\n\n", &["0|20: 12345678901234567890 |Lf", "21||Lf"]);
    check(b"\xef\xbb\xbf1234567890123\n", &["3|BOM 13: 1234567890123 |Lf"]);
    check(b"1234567890123", &["0|13: 1234567890123 |Eof"]);
}

#[test]
fn recovers_the_ids_of_an_overlong_line_wherever_they_are() {
    check(b"{\"id\":1,\"a\":2}\n", &["0|14: {\"id\":1,\"a\":2} Some(Id(1))|Lf"]);
    check(
        b"\xef\xbb\xbf{\"params\":{\"a\":1},\"id\":\"z\"}\r\nx",
        &["3|BOM 27: {\"params\":{\"a\":1},\"id\":\"z\"} Some(Id(\"z\"))|CrLf", "32|x|Eof"],
    );
    check(b"{\"a\":1,\"id\":12", &["0|14: {\"a\":1,\"id\":12 None|Eof"]);
    check(b"{\"a\":1,\"id\":12\n", &["0|14: {\"a\":1,\"id\":12 Some(Id(12))|Lf"]);
}

#[test]
fn gives_memory_back_after_a_large_line() {
    let mut framer = LineFramer::new(&Limits::default());
    let large = vec![b'x'; 1 << 20];
    for mut chunk in large.chunks(1000) {
        assert_eq!(framer.next_line(&mut chunk), None);
    }
    assert!(large.len() <= framer.partial.capacity());
    assert!(framer.next_line(&mut &b"\n"[..]).is_some());
    assert_eq!(framer.next_line(&mut &b""[..]), None);
    assert!(framer.partial.capacity() <= KEPT_LARGE_BYTES);
    for _ in 0..MAX_IDLE_LINES {
        assert!(framer.next_line(&mut &b"small\n"[..]).is_some());
    }
    assert_eq!(framer.next_line(&mut &b""[..]), None);
    assert!(framer.partial.capacity() <= KEPT_BYTES);
}

#[test]
fn gives_memory_back_at_once_after_a_very_large_line() {
    let mut framer = LineFramer::new(&Limits::default());
    let large = vec![b'x'; 8 << 20];
    for mut chunk in large.chunks(1 << 16) {
        assert_eq!(framer.next_line(&mut chunk), None);
    }
    assert!(framer.next_line(&mut &b"\n"[..]).is_some());
    assert_eq!(framer.next_line(&mut &b""[..]), None);
    assert!(framer.partial.capacity() <= KEPT_LARGE_BYTES);
}

#[test]
fn never_allocates_more_than_the_limit() {
    let limits = Limits::default().with_max_frame_bytes(1_000_000).unwrap();
    let mut framer = LineFramer::new(&limits);
    for _ in 0..3000 {
        assert_eq!(framer.next_line(&mut &[b'x'; 1000][..]), None);
        assert!(framer.partial.capacity() <= 1_000_000 + MARGIN);
        if framer.overlong.is_some() {
            assert_eq!(framer.partial.len(), OVERLONG_PREFIX + BOM.len());
        }
    }
    let line = framer.next_line(&mut &b"\n"[..]).unwrap();
    let Content::Overlong(overlong) = line.content else { panic!("{line:?}") };
    assert_eq!(overlong.length, 3_000_000);
    assert_eq!(overlong.prefix.len(), OVERLONG_PREFIX);
}

#[test]
fn knows_blank_lines() {
    let blank = |mut stream: &[u8]| {
        LineFramer::new(&Limits::default()).next_line(&mut stream).unwrap().is_blank()
    };
    assert!(blank(b"\n") && blank(b" \t \r\n") && blank(b"\xef\xbb\xbf\n"));
    let spaces = [b' '; 100];
    let limits = Limits::default().with_max_frame_bytes(10).unwrap();
    let mut framer = LineFramer::new(&limits);
    assert_eq!(framer.next_line(&mut &spaces[..]), None);
    assert!(framer.next_line(&mut &b"\n"[..]).unwrap().is_blank());
    assert!(framer.next_line(&mut &[&spaces[..], b"\n"].concat()[..]).unwrap().is_blank());
    assert!(!framer.next_line(&mut &[&spaces[..], b"x\n"].concat()[..]).unwrap().is_blank());
    assert!(!blank(b"x\n") && !blank(b"\0\n") && !blank(b"\x0c\n"));
}
