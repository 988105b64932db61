//! Short streams, split in every possible way.

use hardline_testkit::fuzz;

/// Calls `body` with each chunking of `stream`: 2^(n-1) for n bytes.
fn each_chunking(stream: &[u8], mut body: impl FnMut(&[&[u8]])) {
    let cuts = stream.len().saturating_sub(1);
    for chosen in 0_u32..1 << cuts {
        let mut chunks = Vec::new();
        let mut start = 0;
        for cut in (1..=cuts).filter(|cut| chosen >> (cut - 1) & 1 == 1) {
            chunks.push(&stream[start..cut]);
            start = cut;
        }
        chunks.push(&stream[start..]);
        body(&chunks);
    }
}

#[test]
fn lines_are_the_same_in_every_chunking() {
    for stream in [
        &b"a\nbc\r\n\r\n\nd"[..],
        b"\xef\xbb\xbfa\r\n\xef\xbb\xbf\n",
        b"\xef\xbb\xbf\xef\xbb\xbf\r\r\n",
        b"abcdef\r\nghij",
        b"abcdefghijkl\r",
        b"\n\n\r\n\r\r\n\n\r",
        b"\xef\xbb\n\xef\n\xbb\xbf\nab",
    ] {
        for limit in [1, 2, 3, 4, 5, 20] {
            each_chunking(stream, |chunks| fuzz::line_in_chunks(chunks, limit));
        }
    }
}

#[test]
fn events_are_the_same_in_every_chunking() {
    for stream in [
        &b"data:a\r\n\r\n"[..],
        b"data:a\r\rdata\n\n",
        b"\xef\xbb\xbfdata:a\n\n",
        b"id:1\ndata\n\n\n",
        b":c\r\ndata:b\r\n\r",
        b"id\r\n\n\rdata\r\r",
        b"retry:12\r\n",
    ] {
        for limit in [1, 4, 6, 10, 40] {
            each_chunking(stream, |chunks| fuzz::sse_in_chunks(chunks, limit));
        }
    }
}

#[test]
fn recovered_ids_are_the_same_in_every_chunking() {
    for line in [
        &br#"{"id":12}{"id""#[..],
        br#"{"id":"\"a"},}"#,
        br#"{"a":[},"id":1"#,
        br#"[{"id":1},2,{"#,
        br#"x{"id":"\\","#,
    ] {
        each_chunking(line, fuzz::recover_in_chunks);
    }
}
