//! The server behind `wrap`.
//!
//! Answers each request at once. Some tool names have another effect: `die`, `half` (dies in the
//! middle of its answer), `deaf` (stops reading), `mute` (closes its standard output), `hang`,
//! `chatty` (writes requests without reading, and answers then), and `big` (an answer of a megabyte). With `--hostile`, every hundredth answer has a hostile line before it.

use std::io::{self, BufRead, BufWriter, Write};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// Lines that are no messages, with `{id}` for the id of a request in flight.
const HOSTILE: &[&str] = &[
    "a log line",
    "{\"level\":\"info\",\"msg\":\"hi\"}",
    "\u{1}\u{2}\u{7f}",
    r#"{"jsonrpc":"2.0","id":99999999,"result":{}}"#,
    r#"{"jsonrpc":"2.0","id":"{id}","result":{"forged":true}}"#,
    r#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"planted"}}"#,
    r#"{"jsonrpc":"2.0","id":6,"method":"sampling/createMessage","params":{}}"#,
    r#"{"jsonrpc":"2.0","method":"initialize"}"#,
    "Content-Length: 52",
    "",
];

/// Number of requests that `chatty` writes.
const REQUESTS: u32 = 60_000;

pub(crate) fn run(arguments: &[String]) -> ! {
    let is_hostile = arguments.iter().any(|it| it == "--hostile");
    if let Some(at) = arguments.iter().position(|it| it == "--code") {
        std::process::exit(arguments[at + 1].parse().unwrap());
    }
    let mut output = BufWriter::with_capacity(1 << 16, io::stdout().lock());
    let mut input = io::stdin().lock();
    let mut line = Vec::new();
    let mut count = 0_usize;
    loop {
        line.clear();
        if input.read_until(b'\n', &mut line).unwrap() == 0 {
            break;
        }
        let text = String::from_utf8_lossy(&line);
        let Some(id) = id_of(&text) else { continue };
        count += 1;
        if is_hostile && count.is_multiple_of(100) {
            let hostile = HOSTILE[count / 100 % HOSTILE.len()].replace("{id}", id);
            writeln!(output, "{hostile}").unwrap();
        }
        if text.contains(r#""method":"initialize""#) {
            writeln!(output, r#"{{"jsonrpc":"2.0","id":{id},"result":{{"protocolVersion":"2025-06-18","capabilities":{{"tools":{{}}}},"serverInfo":{{"name":"s","version":"1"}}}}}}"#).unwrap();
        } else {
            act(&text, id, &mut output);
        }
        if is_drained() {
            output.flush().unwrap();
        }
    }
    output.flush().unwrap();
    std::process::exit(0)
}

fn act(text: &str, id: &str, output: &mut impl Write) {
    let is = |tool: &str| text.contains(&format!(r#""name":"{tool}""#));
    if is("die") {
        std::process::exit(3);
    }
    if is("half") {
        write!(output, r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{{"type":"te"#)
            .unwrap();
        output.flush().unwrap();
        std::process::exit(4);
    }
    if is("hang") {
        return;
    }
    if is("deaf") {
        writeln!(output, r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#).unwrap();
        output.flush().unwrap();
        std::thread::sleep(Duration::from_secs(3600));
    }
    if is("chatty") {
        // Replies to these are more than the pipe and the proxy's buffer hold.
        for request in 0..REQUESTS {
            let line = format!(r#"{{"jsonrpc":"2.0","id":"r{request}","method":"roots/list"}}"#);
            writeln!(output, "{line}").unwrap();
        }
        // The replies that wait are no requests, after which the output would be flushed.
        writeln!(output, r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[]}}}}"#).unwrap();
        return output.flush().unwrap();
    }
    if is("mute") {
        output.flush().unwrap();
        let nothing = std::fs::File::create("/dev/null").unwrap();
        rustix::stdio::dup2_stdout(&nothing).unwrap();
        std::thread::sleep(Duration::from_secs(3600));
    }
    if is("big") {
        let text = "x".repeat(1_000_000);
        writeln!(output, r#"{{"jsonrpc":"2.0","id":{id},"result":{{"text":"{text}"}}}}"#).unwrap();
        return;
    }
    writeln!(output, r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[]}}}}"#).unwrap();
}

/// Returns the id of a request, as it is written.
fn id_of(line: &str) -> Option<&str> {
    let (_, rest) = line.split_once(r#""id":"#)?;
    let end = rest.find([',', '}'])?;
    line.contains(r#""method":"#).then_some(&rest[..end])
}

/// Returns true if no input is waiting, so that buffered answers should be written now.
fn is_drained() -> bool {
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    let stdin = io::stdin();
    let mut polled = [PollFd::new(&stdin, PollFlags::IN)];
    poll(&mut polled, Some(&at_once)).unwrap() == 0
}
