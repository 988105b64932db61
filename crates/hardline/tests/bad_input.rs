//! Every kind of bad input, sent to one server on two transports: rmcp's own and Hardline's.
//!
//! The test starts itself as a server, once for each input and transport, and collects the answers
//! in a table. It fails if the table differs from `docs/bad-input.md`, or if Hardline left an id
//! unanswered. `HARDLINE_BLESS=1 cargo test -p hardline --test bad_input` writes the page.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    reason = "a test prints, starts processes and may panic"
)]

mod echo;

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use hardline_wire::limits::DEFAULT_FRAME_BYTES;
use serde_json::Value;

const HEADER: &str = "\
# Bad input, and what comes back

Written by a test (`crates/hardline/tests/bad_input.rs`), which gives each input to the same server on
rmcp 3.8's `stdio()` and on `hardline::stdio()`, in a session of its own, and closes its standard input.
What comes back is listed as `id: code`, or `id: result`.

| input | rmcp | Hardline |
|---|---|---|
";

/// Longest time that a server may take for one input.
const DEADLINE: Duration = Duration::from_secs(90);

/// Limit on the memory growth of a server that reads a line of 300 MB.
const MAX_GROWTH_KIB: u64 = 40 << 10;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    if let Some(at) = arguments.iter().position(|it| it == "--serve") {
        return echo::serve(&arguments[at + 1]);
    }
    if arguments.iter().any(|it| it == "--list") {
        println!("bad_input: test");
        return ExitCode::SUCCESS;
    }
    let rows = rows();
    let outcomes: Vec<_> = std::thread::scope(|scope| {
        let both = |row| {
            (
                scope.spawn(move || try_row(row, "stdio")),
                scope.spawn(move || try_row(row, "hardline")),
            )
        };
        let running: Vec<_> = rows.iter().map(both).collect();
        running
            .into_iter()
            .map(|(rmcp, ours)| (rmcp.join().unwrap(), ours.join().unwrap()))
            .collect()
    });
    let mut page = HEADER.to_owned();
    let mut failures = Vec::new();
    for (row, (rmcp, ours)) in rows.iter().zip(&outcomes) {
        writeln!(page, "| {} | {rmcp} | {ours} |", row.name).unwrap();
        if *ours != row.expected {
            failures.push(format!("{}: got {ours}, expected {}", row.name, row.expected));
        }
    }
    if cfg!(unix) {
        failures.extend(ends_when_told().err());
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/bad-input.md");
    if std::env::var_os("HARDLINE_BLESS").is_some() {
        fs::write(&path, &page).unwrap();
    } else if fs::read_to_string(&path).unwrap_or_default().replace("\r\n", "\n") != page {
        failures.push(format!("docs/bad-input.md is not what came out:\n{page}"));
    }
    for failure in &failures {
        println!("{failure}");
    }
    println!("bad_input: {} inputs, {} failures", rows.len(), failures.len());
    if failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Sends a signal to a server during a call that ignores cancellation. The call is answered with an
/// error, and the process dies of the signal although its service would continue.
fn ends_when_told() -> Result<(), String> {
    let mut server = start("hardline");
    let mut input = server.stdin.take().unwrap();
    let mut output = BufReader::new(server.stdout.take().unwrap());
    let call = request("7", "tools/call", r#"{"name":"sleep","arguments":{"ms":3600000}}"#);
    let ping = request("8", "ping", "{}");
    input.write_all(format!("{}{call}\n{ping}\n", initialize("2025-06-18")).as_bytes()).unwrap();
    let mut line = String::new();
    for _ in 0..2 {
        line.clear();
        output.read_line(&mut line).unwrap();
    }
    let _ = Command::new("kill").args(["-TERM", &server.id().to_string()]).status();
    line.clear();
    output.read_line(&mut line).unwrap();
    let status = server.wait().unwrap();
    if line.contains("\"id\":7") && line.contains("-32603") && status.code().is_none() {
        Ok(())
    } else {
        Err(format!("after SIGTERM: {line:?}, {status}"))
    }
}

/// One input, and the expected reaction of Hardline.
struct Row {
    name: &'static str,
    /// Version to negotiate. `None` for a session that is not opened.
    version: Option<&'static str>,
    input: Input,
    expected: &'static str,
}

enum Input {
    Bytes(Vec<u8>),
    /// A line of this many bytes that is not kept in memory, then a request with id 8.
    Endless(usize),
}

const V: Option<&str> = Some("2025-06-18");

fn row(name: &'static str, input: impl Into<Vec<u8>>, expected: &'static str) -> Row {
    Row { name, version: V, input: Input::Bytes(input.into()), expected }
}

fn request(id: &str, method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#)
}

fn rows() -> Vec<Row> {
    let ping = |id: &str| request(id, "ping", "{}");
    let sleep = |id: &str, ms: u32| {
        request(id, "tools/call", &format!(r#"{{"name":"sleep","arguments":{{"ms":{ms}}}}}"#))
    };
    let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
    let large = "x".repeat(DEFAULT_FRAME_BYTES + (1 << 20));
    let mut invalid = request("7", "ping", r#"{"a":"?"}"#).into_bytes();
    let at = invalid.iter().position(|byte| *byte == b'?').unwrap();
    invalid[at] = 0xff;
    invalid.push(b'\n');
    let both = format!("{}{}\n", ping("7"), ping("8"));
    let batch = format!(
        "[{},{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}},{{\"id\":8}},{}]\n",
        ping("7"),
        ping("9")
    );
    let old =
        |input: String, expected| Row { version: Some("2025-03-26"), ..row("", input, expected) };
    vec![
        row(
            "a request that is cut short, `{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\",`",
            "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\",\n",
            "`7`: -32700",
        ),
        row(
            "a missing quote after the id",
            "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":ping}\n",
            "`7`: -32700",
        ),
        row(
            "a bareword before the id",
            "{\"jsonrpc\":\"2.0\",\"params\":{\"a\":NaN},\"method\":\"ping\",\"id\":7}\n",
            "`7`: -32700",
        ),
        row(
            "single quotes before the id",
            "{\"jsonrpc\":\"2.0\",\"method\":\"ping\",\"params\":{'a':1},\"id\":7}\n",
            "`7`: -32700",
        ),
        row(
            "an `id` inside `params` alone, cut short",
            "{\"jsonrpc\":\"2.0\",\"method\":\"ping\",\"params\":{\"id\":7\n",
            "no id: -32700",
        ),
        row("text that is no JSON", "hello there\n", "no id: -32700"),
        row("no `jsonrpc`", "{\"id\":7,\"method\":\"ping\"}\n", "`7`: -32600"),
        row("`jsonrpc` 1.0", "{\"jsonrpc\":\"1.0\",\"id\":7,\"method\":\"ping\"}\n", "`7`: -32600"),
        row("neither method nor result", "{\"jsonrpc\":\"2.0\",\"id\":7}\n", "`7`: -32600"),
        row(
            "`method` that is a number",
            "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":3}\n",
            "`7`: -32600",
        ),
        row(
            "`params` that is a string",
            "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\",\"params\":\"x\"}\n",
            "`7`: -32600",
        ),
        row(
            "`params` that is an array",
            "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/list\",\"params\":[1]}\n",
            "`7`: -32602",
        ),
        row(
            "`tools/call` without a name",
            format!("{}\n", request("7", "tools/call", "{}")),
            "`7`: -32602",
        ),
        row(
            "`prompts/get` with a name that is a number",
            format!("{}\n", request("7", "prompts/get", r#"{"name":1}"#)),
            "`7`: -32602",
        ),
        row("an unknown method", format!("{}\n", request("7", "no/such", "{}")), "`7`: -32601"),
        row("a number as a line", "42\n", "no id: -32600"),
        row("id `null`", format!("{}\n", ping("null")), "no id: -32600"),
        row("id `1.5`", format!("{}\n", ping("1.5")), "no id: -32600"),
        row("id `1.0`", format!("{}\n", ping("1.0")), "no id: -32600"),
        row("id `{}`", format!("{}\n", ping("{}")), "no id: -32600"),
        row(
            "id `9223372036854775808`",
            format!("{}\n", ping("9223372036854775808")),
            "`9223372036854775808`: -32600",
        ),
        row("id `0`", format!("{}\n", ping("0")), "`0`: result"),
        row("id `\"\"`", format!("{}\n", ping("\"\"")), "`\"\"`: result"),
        row(
            "1 MiB over the limit on one line, the id first",
            format!("{}\n", request("7", "ping", &format!("{{\"a\":\"{large}\"}}"))),
            "`7`: -32600",
        ),
        row(
            "1 MiB over the limit on one line, the id last",
            format!(
                "{{\"jsonrpc\":\"2.0\",\"method\":\"ping\",\"params\":{{\"a\":\"{large}\"}},\"id\":7}}\n"
            ),
            "`7`: -32600",
        ),
        Row {
            input: Input::Endless(300_000_000),
            ..row(
                "300 MB without a line end, then a request with id 8",
                "",
                "`7`: -32600, `8`: result; grew by less than 40 MB",
            )
        },
        row(
            "200 levels deep",
            format!("{}\n", request("7", "ping", &format!("{{\"a\":{deep}}}"))),
            "`7`: -32700",
        ),
        row("two requests on a line", both, "`7`: -32700, `8`: -32700"),
        row(
            "a request and the start of another",
            format!("{} {{\"jsonrpc\":\n", ping("7")),
            "`7`: -32700",
        ),
        row("invalid UTF-8 in a string", invalid, "`7`: -32700"),
        row(
            "a lone surrogate, `\\ud800`",
            format!("{}\n", request("7", "ping", r#"{"a":"\ud800"}"#)),
            "`7`: -32700",
        ),
        row(
            "a control character in a string",
            format!("{}\n", request("7", "ping", "{\"a\":\"\u{1}\"}")),
            "`7`: -32700",
        ),
        row(
            "a duplicate key in `params`",
            format!("{}\n", request("7", "ping", r#"{"a":1,"a":2}"#)),
            "`7`: -32700",
        ),
        row(
            "`id` twice, the same",
            "{\"jsonrpc\":\"2.0\",\"id\":7,\"id\":7,\"method\":\"ping\"}\n",
            "`7`: -32700",
        ),
        row(
            "`id` twice, different",
            "{\"jsonrpc\":\"2.0\",\"id\":7,\"id\":8,\"method\":\"ping\"}\n",
            "no id: -32700",
        ),
        row(
            "`Method` beside `method`",
            "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\",\"Method\":\"x\"}\n",
            "`7`: -32600",
        ),
        row(
            "two requests in flight with one id",
            format!("{}\n{}\n", sleep("7", 300), ping("7")),
            "`7`: -32600, `7`: result",
        ),
        Row {
            name: "a batch where 2025-03-26 was negotiated",
            ..old(batch.clone(), "[`7`: result, `8`: -32600, `9`: result]")
        },
        row("a batch elsewhere", batch, "`7`: -32600, `8`: -32600, `9`: -32600"),
        Row { name: "an empty batch", ..old("[]\n".into(), "no id: -32600") },
        row("a malformed answer", "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}\n", "nothing"),
        row(
            "an answer without a request",
            "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}\n",
            "nothing",
        ),
        row("`\\r\\n` as the line end", format!("{}\r\n", ping("7")), "`7`: result"),
        row("a byte order mark", format!("\u{feff}{}\n", ping("7")), "`7`: result"),
        row("blank lines", format!("\n\r\n  \n{}\n", ping("7")), "`7`: result"),
        row(
            "20 000 lines that are no JSON, then a request",
            format!("{}{}\n", "noise\n".repeat(20_000), ping("7")),
            "no id: -32700 (at most 20 times), `7`: result",
        ),
        row(
            "20 000 lines cut short, each with an id",
            (0..20_000)
                .map(|id| format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\n"))
                .collect::<String>(),
            "-32700 for each of the 20 000 ids",
        ),
        row("a last line without its end", ping("7"), "`7`: result"),
        row(
            "standard input closed while a call takes 7 s",
            format!("{}\n", sleep("7", 7000)),
            "`7`: result",
        ),
        Row {
            version: None,
            ..row(
                "a notification before `initialize`, then `initialize`",
                format!(
                    "{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{{}}}}\n{}",
                    initialize("2025-06-18")
                ),
                "`\"init\"`: result",
            )
        },
        Row {
            version: None,
            ..row(
                "an answer before `initialize`, then `initialize`",
                format!(
                    "{{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{{}}}}\n{}",
                    initialize("2025-06-18")
                ),
                "`\"init\"`: result",
            )
        },
        Row { version: None, ..row("nothing at all", "", "nothing") },
    ]
}

fn initialize(version: &str) -> String {
    format!(
        "{}\n",
        request(
            "\"init\"",
            "initialize",
            &format!(
                r#"{{"protocolVersion":"{version}","capabilities":{{}},"clientInfo":{{"name":"t","version":"1"}}}}"#
            )
        )
    )
}

/// Sends the input to a server and describes the answers.
fn try_row(row: &Row, transport: &str) -> String {
    let mut server = start(transport);
    let (done, watch) = mpsc::channel::<()>();
    let mut output = server.stdout.take().unwrap();
    let mut input = server.stdin.take().unwrap();
    let pid = server.id();
    let printed = std::thread::scope(|scope| {
        scope.spawn(move || {
            if let Some(version) = row.version {
                let _ = input.write_all(initialize(version).as_bytes());
                let _ = input
                    .write_all(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n");
            }
            let _ = match &row.input {
                Input::Bytes(bytes) => input.write_all(bytes),
                Input::Endless(length) => endless(&mut input, *length),
            };
        });
        scope.spawn(move || {
            if watch.recv_timeout(DEADLINE).is_err_and(|it| it == mpsc::RecvTimeoutError::Timeout) {
                kill(pid);
            }
        });
        let mut printed = Vec::new();
        let mut growth = None;
        read_all(&mut output, &mut printed, || growth = growth.max(peak_kib(pid)));
        drop(done);
        (printed, growth)
    });
    let status = wait(&mut server);
    let (printed, peak) = printed;
    let mut outcome = describe(&printed, row.version.is_some());
    if let Input::Endless(_) = row.input {
        let base = 12 << 10;
        let is_small = peak.is_none_or(|peak| peak < base + MAX_GROWTH_KIB);
        outcome.push_str(if is_small {
            "; grew by less than 40 MB"
        } else {
            "; grew by more than 40 MB"
        });
    }
    if status != Some(0) {
        let status = status.map_or_else(|| "a signal".to_owned(), |code| code.to_string());
        write!(outcome, "; exit status {status}").unwrap();
    }
    outcome
}

fn start(transport: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--serve", transport])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

fn endless(input: &mut impl Write, length: usize) -> std::io::Result<()> {
    input.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\",\"params\":{\"a\":\"")?;
    let chunk = vec![b'x'; 1 << 20];
    for start in (0..length).step_by(chunk.len()) {
        input.write_all(&chunk[..chunk.len().min(length - start)])?;
    }
    input.write_all(b"\"}}\n")?;
    input.write_all(request("8", "ping", "{}").as_bytes())?;
    input.write_all(b"\n")
}

fn read_all(output: &mut impl Read, printed: &mut Vec<u8>, mut at_each: impl FnMut()) {
    let mut chunk = vec![0; 1 << 16];
    while let Ok(length @ 1..) = output.read(&mut chunk) {
        at_each();
        printed.extend_from_slice(&chunk[..length]);
    }
}

/// Returns the peak memory of a process, on systems that report it.
fn peak_kib(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

fn kill(pid: u32) {
    let _ = Command::new("kill").args(["-9", &pid.to_string()]).status();
}

fn wait(server: &mut Child) -> Option<i32> {
    server.wait().unwrap().code()
}

/// Describes the answers in order, without the answer to the test's own `initialize`.
fn describe(printed: &[u8], has_opened: bool) -> String {
    let lines = printed.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let mut answers: Vec<String> = lines
        .map(|line| match serde_json::from_slice(line) {
            Ok(Value::Array(all)) => {
                let mut all: Vec<_> = all.iter().map(answer).collect();
                // The order within a batch has no meaning.
                all.sort();
                format!("[{}]", all.join(", "))
            }
            Ok(one) => answer(&one),
            Err(_) => "something that is no JSON".to_owned(),
        })
        .filter(|answer| !has_opened || answer != "`\"init\"`: result")
        .collect();
    let parse_errors = answers.iter().filter(|it| it.ends_with(": -32700")).count();
    let anonymous = answers.iter().filter(|it| it.starts_with("no id: -32700")).count();
    if parse_errors == 20_000 && anonymous == 0 {
        return "-32700 for each of the 20 000 ids".into();
    }
    if 1 < anonymous {
        let times = if anonymous <= 20 { "at most 20 times" } else { "thousands of times" };
        answers.retain(|it| !it.starts_with("no id: -32700"));
        answers.insert(0, format!("no id: -32700 ({times})"));
    }
    if answers.is_empty() { "nothing".into() } else { answers.join(", ") }
}

fn answer(message: &Value) -> String {
    let id = match message.get("id") {
        None | Some(Value::Null) => "no id".to_owned(),
        Some(id) => format!("`{id}`"),
    };
    match message.get("error") {
        Some(error) => format!("{id}: {}", error["code"]),
        None => format!("{id}: result"),
    }
}
