//! Typical frames of servers, of any size and always the same.

use std::fmt::Write;

/// Returns a tool result that is mostly text, `len` bytes long or a little more: prose and code as
/// in files, with escapes for newlines, quotes and tabs, and some text beyond ASCII.
pub fn text_frame(len: usize) -> String {
    const LINES: [&str; 8] = [
        r"The connection pool keeps idle sockets for thirty seconds before it closes them.\n",
        r"fn accept(&mut self) -> io::Result<Stream> {\n\tlet (socket, peer) = self.inner.accept()?;\n",
        r"Configuration is read once at start; a changed file takes effect after a restart.\n",
        r#"\tif name == \"default\" { return Ok(self.fallback.clone()); }\n"#,
        r"Größere Änderungen werden in der Übersicht am Anfang des Dokuments erklärt — siehe dort.\n",
        r"2026-03-14T09:26:53Z INFO worker-7 finished batch 1182 in 318 ms, 0 errors, 64 retries left\n",
        r"Each request is answered exactly once, in any order that the work completes in, or fails with a reason.\n\n",
        r"See also: limits, timeouts, retry policy, circuit breaker, graceful shutdown, audit log.\n",
    ];
    result_of(&LINES, len)
}

/// Returns a tool result that is only prose: long lines, few escapes, all ASCII.
pub fn english_frame(len: usize) -> String {
    const LINES: [&str; 4] = [
        r"The harbour was quiet that morning, and the boats lay still on water that hardly moved. ",
        r"No one had told the keeper that the light would be needed again before the week was out.\n\n",
        r#"\"We ought to have asked,\" she said, \"what the charts were for, and who had drawn them.\" "#,
        r"He counted the steps on the way up, as he always did, and there were ninety-nine of them. ",
    ];
    result_of(&LINES, len)
}

/// Returns a tool result whose text is JSON again, so that there is an escape every few bytes.
pub fn quoted_frame(len: usize) -> String {
    const LINES: [&str; 3] = [
        r#"{\"name\":\"alpha\",\"size\":1024,\"tags\":[\"a\",\"b\"]},"#,
        r#"{\"name\":\"a longer name\",\"size\":7,\"path\":\"C:\\\\work\\\\notes.txt\"},\n"#,
        r#"{\"message\":\"opened the file and read it to its end\",\"ok\":true},"#,
    ];
    result_of(&LINES, len)
}

/// Returns a tool result whose text consists of `lines`, which are already escaped.
fn result_of(lines: &[&str], len: usize) -> String {
    let envelope = |text: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":42,"result":{{"content":[{{"type":"text","text":"{text}"}}],"isError":false}}}}"#
        )
    };
    // The envelope counts, so that frames of different kinds have comparable sizes.
    let room = len.saturating_sub(envelope("").len());
    let mut text = String::new();
    for line in lines.iter().cycle() {
        if room <= text.len() + line.len() {
            break;
        }
        text.push_str(line);
    }
    while text.len() < room {
        text.push('.');
    }
    envelope(&text)
}

/// Returns a tool result that is mostly structure: many small keys, numbers and short strings.
pub fn dense_frame(len: usize) -> String {
    let mut frame =
        String::from(r#"{"jsonrpc":"2.0","id":42,"result":{"structuredContent":{"rows":["#);
    const END: &str = r#"]},"content":[],"isError":false}}"#;
    let mut row = 0_u32;
    loop {
        let comma = if row == 0 { "" } else { "," };
        write!(
            frame,
            r#"{comma}{{"id":{row},"x":{}.{},"y":-{},"ok":{},"tag":"t{}","parent":null,"span":[{},{}]}}"#,
            row % 977,
            row % 10,
            row % 313,
            row.is_multiple_of(3),
            row % 7,
            row,
            row + 12
        )
        .expect("writing to a string does not fail");
        row += 1;
        if len <= frame.len() + END.len() {
            frame.push_str(END);
            return frame;
        }
    }
}

/// Returns a tool result with one object of very many keys.
pub fn wide_frame(len: usize) -> String {
    let mut frame = String::from(r#"{"jsonrpc":"2.0","id":42,"result":{"structuredContent":{"#);
    let mut row = 0_u32;
    while frame.len() < len {
        let comma = if row == 0 { "" } else { "," };
        write!(frame, r#"{comma}"item-{row}":{row}"#).expect("writing to a string does not fail");
        row += 1;
    }
    frame.push_str("}}}");
    frame
}
