//! A minimal server: it returns the text, or the whole result, that a tool is called with.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::ExitCode;

use serde::Deserialize;
use serde_json::value::RawValue;

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    method: &'a str,
    #[serde(borrow)]
    params: Option<Params<'a>>,
}

#[derive(Deserialize)]
struct Params<'a> {
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Arguments<'a> {
    #[serde(borrow)]
    text: Option<&'a RawValue>,
}

const GREETING: &str = r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"plain","version":"1"}}"#;

/// Returns the answer to a message, if it needs one.
fn answer(text: &[u8], out: &mut Vec<u8>) -> bool {
    let message: Message<'_> = serde_json::from_slice(text).unwrap();
    let Some(id) = message.id else { return false };
    let (id, method) = (id.get(), message.method);
    let arguments = message.params.and_then(|it| it.arguments);
    match (method, arguments) {
        ("initialize", _) => write!(out, r#"{{"jsonrpc":"2.0","id":{id},"result":{GREETING}}}"#),
        ("tools/call", Some(arguments)) => {
            match serde_json::from_str::<Arguments<'_>>(arguments.get()).unwrap().text {
                Some(text) => write!(
                    out,
                    r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{{"type":"text","text":{}}}]}}}}"#,
                    text.get()
                ),
                None => write!(out, r#"{{"jsonrpc":"2.0","id":{id},"result":{}}}"#, arguments.get()),
            }
        }
        _ => write!(
            out,
            r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32601,"message":"method not found"}}}}"#
        ),
    }
    .unwrap();
    true
}

pub(crate) fn stdio() -> ExitCode {
    let mut input = BufReader::with_capacity(256 << 10, std::io::stdin().lock());
    let mut output = std::io::stdout().lock();
    let (mut line, mut out) = (Vec::new(), Vec::new());
    loop {
        line.clear();
        if input.read_until(b'\n', &mut line).unwrap_or(0) == 0 {
            return ExitCode::SUCCESS;
        }
        if answer(&line, &mut out) {
            out.push(b'\n');
        }
        // Messages that arrive together are answered with one write.
        if input.buffer().is_empty() && !out.is_empty() {
            if output.write_all(&out).and_then(|()| output.flush()).is_err() {
                return ExitCode::SUCCESS;
            }
            out.clear();
        }
    }
}

/// Listens on a free port, prints the port, and runs until its standard input ends.
pub(crate) fn http() -> ExitCode {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    println!("{}", listener.local_addr().unwrap().port());
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || serve(stream));
        }
    });
    let _ = std::io::stdin().read(&mut [0]);
    ExitCode::SUCCESS
}

fn serve(stream: TcpStream) {
    stream.set_nodelay(true).unwrap();
    let mut output = stream.try_clone().unwrap();
    let mut input = BufReader::with_capacity(256 << 10, stream);
    let (mut line, mut body, mut out) = (String::new(), Vec::new(), Vec::new());
    loop {
        let (mut length, mut is_first, mut is_post) = (0, true, true);
        loop {
            line.clear();
            if input.read_line(&mut line).unwrap_or(0) == 0 {
                return;
            }
            if std::mem::take(&mut is_first) {
                is_post = line.starts_with("POST ");
            } else if let Some((name, value)) = line.split_once(':')
                && name.eq_ignore_ascii_case("content-length")
            {
                length = value.trim().parse().unwrap();
            } else if line.trim().is_empty() {
                break;
            }
        }
        body.resize(length, 0);
        if input.read_exact(&mut body).is_err() {
            return;
        }
        out.clear();
        let mut text = Vec::new();
        let status = if !is_post {
            "405 Method Not Allowed"
        } else if answer(&body, &mut text) {
            "200 OK"
        } else {
            "202 Accepted"
        };
        let kind = if text.is_empty() { "" } else { "Content-Type: application/json\r\n" };
        write!(out, "HTTP/1.1 {status}\r\n{kind}Content-Length: {}\r\n\r\n", text.len()).unwrap();
        out.extend_from_slice(&text);
        if output.write_all(&out).is_err() {
            return;
        }
    }
}
