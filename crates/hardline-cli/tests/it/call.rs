//! `hardline call` and `hardline tools`, with a server as a command and a server at a URL.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use hardline_testkit::http::{Exchange, Server};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::home::{HARDLINE, Home};
use crate::is_ignored;
use crate::session::ended_within;

const DEMO: [&str; 3] = ["--", HARDLINE, "demo-server"];

/// Returns a command that runs in the given home.
fn hardline(home: &Home, args: &[&str]) -> Command {
    let mut command = home.command(args);
    command.stdin(Stdio::null()).current_dir(home.path(""));
    command
}

#[track_caller]
fn run(args: &[&str], code: i32) -> (String, String) {
    run_in(&Home::new(), args, code)
}

#[track_caller]
pub(crate) fn run_in(home: &Home, args: &[&str], code: i32) -> (String, String) {
    let output = hardline(home, args).output().unwrap();
    assert_eq!(output.status.code(), Some(code), "{args:?}: {output:?}");
    texts(&output)
}

pub(crate) fn texts(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (text(&output.stdout), text(&output.stderr))
}

fn with_demo<'a>(args: &[&'a str]) -> Vec<&'a str> {
    args.iter().copied().chain(DEMO).collect()
}

/// Answers the opening of a session. Returns false for other requests, which are left to the test.
pub(crate) async fn greet(it: &mut Exchange) -> bool {
    match (it.request.method.as_str(), it.rpc_method().as_str()) {
        ("GET" | "DELETE", _) => it.status(405).await,
        (_, "server/discover") => it.status(400).await,
        (_, "initialize") => {
            it.answer(r#"{"protocolVersion":"2025-06-18","capabilities":{}}"#).await;
        }
        (_, method) if method.starts_with("notifications/") => it.status(202).await,
        _ => return false,
    }
    true
}

#[test]
fn a_tool_of_a_server_that_is_started() {
    let (out, err) = run(&with_demo(&["call", "echo", r#"{"text": "hello"}"#]), 0);
    assert_eq!((out.as_str(), err.as_str()), ("hello\n", ""));
    let (out, _) = run(&with_demo(&["call", "echo", r#"{"text":"a"}"#, "--format", "json"]), 0);
    let result: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(result["content"], json!([{ "type": "text", "text": "a" }]));
    let (out, err) = run(&with_demo(&["call", "progress", r#"{"steps": 3, "ms": 1}"#]), 0);
    assert!(!out.is_empty() && err.is_empty(), "{out:?} {err:?}");
}

#[test]
fn what_a_server_wrote_is_escaped_unless_it_is_wanted_raw() {
    let hidden = r#"{"text": "pass\u200bword \udb40\udc41 \ud83d\udc69\u200d\ud83d\udcbb"}"#;
    let (out, _) = run(&with_demo(&["call", "echo", hidden]), 0);
    assert_eq!(out, "pass\\u{200b}word \\u{e0041} 👩\u{200d}💻\n");
    let text = r#"{"text": "\u001b[31mred\r\nline\ttab\u202e"}"#;
    let (out, _) = run(&with_demo(&["call", "echo", text]), 0);
    assert_eq!(out, "\\u{1b}[31mred\nline\ttab\\u{202e}\n");
    let (out, _) = run(&with_demo(&["call", "echo", text, "--raw"]), 0);
    assert_eq!(out, "\u{1b}[31mred\r\nline\ttab\u{202e}");
    let (out, _) = run(&with_demo(&["call", "echo", text, "--format", "json"]), 0);
    assert!(!out.contains(['\u{1b}', '\u{202e}']), "{out}");
    let result: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(result["content"][0]["text"], "\u{1b}[31mred\r\nline\ttab\u{202e}");
}

#[test]
fn failures_have_their_status_and_their_words() {
    let check = |args: &[&str], code: i32, words: &str| {
        let (_, err) = run(args, code);
        assert!(err.contains(words), "{args:?}: {err}");
        assert_eq!(err.lines().count(), 1, "{err}");
    };
    let demo = |args: &[&'static str]| with_demo(args);
    check(
        &demo(&["call", "fail", r#"{"message":"no"}"#]),
        1,
        "`hardline tools fail -- …` shows its arguments",
    );
    check(&demo(&["call", "nothing"]), 1, "the server answered with error -32602");
    check(
        &demo(&["call", "sleep", r#"{"ms":60000}"#, "--timeout", "200ms"]),
        1,
        "no answer to tools/call within 0.2 s",
    );
    check(&["call", "x", "--", "/no/such/server"], 1, "/no/such/server");
    check(&["tools", "--", "sh", "-c", "echo why >&2; exit 9"], 1, "exited with code 9");
    check(&["tools", "--url", "http://127.0.0.1:1/mcp"], 1, "is the server running?");
    check(&["call", "x"], 2, "a server address with --url URL, or a server command after --");
    check(&demo(&["call", "a", "b", "{}"]), 2, "a server from --url or -- has no name");
    check(&demo(&["tools", "a", "b"]), 2, "a server from --url or -- has no name");
    check(&demo(&["call", "ecko"]), 1, "the server has no tool ecko; did you mean echo?");
    check(&demo(&["tools", "ecko"]), 1, "the server has no tool ecko; did you mean echo?");
    check(&demo(&["call", "x", "{"]), 2, "the arguments are not JSON");
    check(&demo(&["call", "x", "[1]"]), 2, "the arguments are not a JSON object");
    check(&demo(&["call", "x", r#"{"a":1,"a":2}"#]), 2, "duplicate key at byte 7");
    check(&demo(&["call", "x", "@/no/such/file"]), 2, "/no/such/file");
    check(&["tools", "--url", "example.com"], 2, "it must begin with http://");
    check(
        &["tools", "--url", "http://u:secret@127.0.0.1/"],
        2,
        "send an Authorization header instead",
    );
    let url = ["tools", "--url", "http://127.0.0.1:1/"];
    check(&[&url[..], &["--header", "nothing"]].concat(), 2, "write it as 'Name: value'");
    check(&[&url[..], &["--header", "a b: secret"]].concat(), 2, "is not the name of a header");
    check(&[&url[..], &["--header", "A: $HARDLINE_NO_SUCH"]].concat(), 2, "HARDLINE_NO_SUCH");
    check(&[&url[..], &["--header", "A: 1", "--header", "a: 2"]].concat(), 2, "was given twice");
    check(&["tools", "--header", "A: 1", "--", "x"], 2, "needs a server at a --url");
    let (_, err) =
        run(&["tools", "--url", "http://127.0.0.1:1/?key=secret", "--header", "K: secret"], 1);
    assert!(!err.contains("secret"), "{err}");
}

#[test]
fn arguments_come_from_files_and_standard_input_too() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("arguments.json");
    std::fs::write(&file, "\u{feff}{\r\n  \"text\": \"from a file\"\r\n}\r\n").unwrap();
    let at = format!("@{}", file.display());
    assert_eq!(run(&with_demo(&["call", "echo", &at]), 0).0, "from a file\n");
    let home = Home::new();
    let mut child = hardline(&home, &with_demo(&["call", "echo", "-"]))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(br#"{"text": "from a pipe"}"#).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(texts(&output).0, "from a pipe\n");
}

#[test]
fn tools_are_listed_for_people_and_for_programs() {
    let (out, err) = run(&with_demo(&["tools"]), 0);
    assert!(err.is_empty(), "{err}");
    let head = out.lines().next().unwrap();
    assert_eq!(head.split_whitespace().collect::<Vec<_>>(), ["TOOL", "ARGUMENTS", "DESCRIPTION"]);
    assert!(out.lines().any(|line| line.starts_with("echo ") && line.contains("text*")), "{out}");
    assert!(!out.contains('\u{1b}'));
    let (out, _) = run(&with_demo(&["tools", "--format", "json"]), 0);
    let tools: Value = serde_json::from_str(&out).unwrap();
    assert!(tools["tools"].as_array().unwrap().iter().any(|it| it["name"] == "echo"));
}

#[test]
fn a_server_at_a_url_with_headers() {
    let server = Server::start(async |it| {
        if greet(it).await {
            return;
        }
        let big = "12345678901234567890";
        it.answer(&format!(
            r#"{{"content":[{{"type":"image","mimeType":"image/png","data":"AAAA"}},{{"type":"new","x":{big}}}]}}"#
        ))
        .await;
    });
    let url = server.url("/mcp");
    let home = Home::new();
    let args = ["call", "x", "--url", &url, "--header", "X-Key: Bearer ${SECRET_KEY}"];
    let output = hardline(&home, &args)
        .args(["--header", "X-Other:  b ", "--save", "pictures"])
        .env("SECRET_KEY", "s3cr3t")
        .output()
        .unwrap();
    let saved = "[image, image/png, 3 B: pictures/x-1.png]\n[content of type new]\n";
    assert_eq!(texts(&output).0, saved, "{output:?}");
    assert_eq!(std::fs::read(home.path("pictures/x-1.png")).unwrap(), [0, 0, 0]);
    let requests = server.requests();
    assert!(requests.iter().all(|it| it.header("x-key") == Some("Bearer s3cr3t")));
    assert!(requests.iter().all(|it| it.header("x-other") == Some("b")));
    let (out, _) = run(&["call", "x", "--url", &url, "--format", "json"], 0);
    assert!(out.contains(r#""x":12345678901234567890"#), "{out}");
}

#[test]
fn what_cannot_be_shown_is_saved_beside_what_is_there() {
    let server = Server::start(async |it| {
        if !greet(it).await {
            it.answer(
                r#"{"content":[{"type":"audio","mimeType":"audio/wav","data":"AAEC"},
                {"type":"resource","resource":{"uri":"x:\u001b","mimeType":"../../x","blob":"AAE="}},
                {"type":"image","mimeType":"image/png","data":"!"},
                {"type":"resource","resource":{"uri":"y:","text":"seen"}},
                {"type":"resource_link","name":"n","uri":"z:"}]}"#,
            )
            .await;
        }
    });
    let (home, url) = (Home::new(), server.url("/mcp"));
    home.write("s/a_b-1.wav", "mine");
    let args = ["call", "a/b", "--url", &url, "--save", "s"];
    let (out, err) = run_in(&home, &args, 1);
    assert!(err.contains("1 of 3 parts of the result could not be saved"), "{err}");
    let lines: Vec<&str> = out.lines().collect();
    let expected = [
        "[audio, audio/wav, 3 B: s/a_b-2.wav]",
        "[resource x:\\u{1b}, ../../x, 2 B: s/a_b-3.bin]",
        "[image, image/png: not saved, it is not base64]",
        "seen",
        "[link to n: z:]",
    ];
    assert_eq!(lines, expected);
    assert_eq!(home.read("s/a_b-1.wav"), "mine");
    assert_eq!(home.read("s/a_b-2.wav").as_bytes(), [0, 1, 2]);
    // Without `--save`, files go to the directory for temporary files.
    let mut command = hardline(&home, &["call", "a/b", "--url", &url]);
    let (out, _) = texts(&command.env("TMPDIR", home.path("tmp")).output().unwrap());
    let expected = format!("[audio, audio/wav, 3 B: {}]", home.text("tmp/hardline-a_b-1.wav"));
    assert_eq!(out.lines().next(), Some(expected.as_str()));
}

#[test]
fn what_servers_log_is_shown_to_who_wants_it() {
    let server = Server::start(async |it| {
        if !greet(it).await {
            it.open_stream().await;
            let log = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"warning","logger":"db","data":"slow \u001b"}}"#;
            it.event(log).await;
            let result = it.result(r#"{"content":[{"type":"text","text":"done"}]}"#);
            it.event(&result).await;
            it.end_stream().await;
        }
    });
    let url = server.url("/mcp");
    let (out, err) = run(&["call", "x", "--url", &url], 0);
    assert_eq!((out.as_str(), err.as_str()), ("done\n", ""));
    let (out, err) = run(&["call", "x", "--url", &url, "--verbose"], 0);
    assert_eq!(out, "done\n");
    assert_eq!(err, "hardline: [server db] warning: slow \\u{1b}\n");
}

#[test]
fn a_server_that_wants_a_login_opens_nothing_and_says_what_to_do() {
    let server = Server::start(async |it| it.status(401).await);
    let url = server.url("/mcp?key=secret");
    let (out, err) = run(&["tools", "--url", &url], 1);
    assert!(out.is_empty() && err.contains("`hardline login` with the same --url"), "{err}");
    assert!(!err.contains("secret"), "{err}");
    let (_, err) = run(&["tools", "--url", &url, "--header", "Authorization: Bearer x"], 1);
    assert!(err.contains("401") && err.contains("check the header Authorization"), "{err}");
    let home = Home::new();
    let config = json!({"mcpServers": {"far": {"url": url}}}).to_string();
    home.write("config/hardline/mcp.json", &config);
    for args in [&["tools", "far"][..], &["tools"], &["call", "far", "x"], &["prompts"]] {
        let (_, err) = run_in(&home, args, 1);
        assert!(err.contains("`hardline login far`") && !err.contains("secret"), "{args:?}: {err}");
    }
    let (_, err) = run_in(&home, &["login", "zzz"], 2);
    assert!(err.contains("there is no server zzz. Known servers: far"), "{err}");
    let (_, err) = run_in(&home, &["logout", "far"], 0);
    assert!(err.contains("there was no login to far"), "{err}");
}

#[test]
fn noise_of_the_server_is_told_and_harms_nobody() {
    let script = format!("echo 'starting \x1b[2J'; exec {HARDLINE} demo-server");
    let (out, err) = run(&["call", "echo", r#"{"text":"a"}"#, "--", "sh", "-c", &script], 0);
    assert_eq!(out, "a\n");
    assert!(err.contains("starting") && !err.contains('\u{1b}'), "{err}");
}

#[test]
fn much_noise_is_counted() {
    let script = format!("seq 1000; exec {HARDLINE} demo-server");
    let (out, err) = run(&["call", "echo", r#"{"text":"a"}"#, "--", "sh", "-c", &script], 0);
    assert_eq!(out, "a\n");
    assert_eq!(err.lines().count(), 6, "{err}");
    assert!(err.contains("ignored from the server: at least "), "{err}");
}

#[test]
fn a_result_that_cannot_be_written_is_a_failure() {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let home = Home::new();
    let args = with_demo(&["call", "echo", r#"{"text":"a"}"#]);
    let output = hardline(&home, &args).stdout(full).output();
    let output = output.unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(texts(&output).1.contains("cannot write the result"), "{output:?}");
}

/// Starts a slow call, and waits until the server works on it.
fn start_slow_call(home: &Home, server: &Server) -> Child {
    let url = server.url("/mcp");
    start_slow(&mut hardline(home, &["call", "slow", "--url", &url]), home, server)
}

/// Like [`start_slow_call`], with the given command.
fn start_slow(command: &mut Command, home: &Home, server: &Server) -> Child {
    for (key, value) in home.command(&[]).get_envs() {
        command.env(key, value.unwrap_or_default());
    }
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let begun = std::time::Instant::now();
    while !server.requests().iter().any(|it| it.rpc_method() == "tools/call") {
        assert!(begun.elapsed() < Duration::from_secs(30), "no call came");
        std::thread::sleep(Duration::from_millis(5));
    }
    child
}

#[test]
fn a_signal_cancels_the_call_at_the_server() {
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 129)] {
        // A test run under `nohup` ignores these signals.
        if is_ignored(signal.as_raw()) {
            continue;
        }
        let server = Server::start(async |it| {
            if !greet(it).await {
                it.open_stream().await;
                it.wait_for_close().await;
            }
        });
        let home = Home::new();
        let mut child = start_slow_call(&home, &server);
        rustix::process::kill_process(rustix::process::Pid::from_child(&child), signal).unwrap();
        let status = ended_within(&mut child, Duration::from_secs(30));
        assert_eq!(status.code(), Some(code));
        let requests = server.requests();
        let call = requests.iter().find(|it| it.rpc_method() == "tools/call").unwrap();
        let cancelled = requests.iter().find(|it| it.rpc_method() == "notifications/cancelled");
        let params = cancelled.expect("the call is cancelled").member("params").unwrap();
        assert_eq!(Some(&params["requestId"]), call.member("id").as_ref());
    }
}

#[test]
fn a_signal_that_was_ignored_from_the_start_stays_ignored() {
    let server = Server::start(async |it| {
        if !greet(it).await {
            it.open_stream().await;
            it.wait_for_close().await;
        }
    });
    let home = Home::new();
    let mut command = Command::new("sh");
    command.args(["-c", "trap '' HUP; exec \"$0\" call slow --url \"$1\"", HARDLINE]);
    command.arg(server.url("/mcp"));
    let mut child = start_slow(&mut command, &home, &server);
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, Signal::HUP).unwrap();
    rustix::process::kill_process(pid, Signal::TERM).unwrap();
    assert_eq!(ended_within(&mut child, Duration::from_secs(30)).code(), Some(143));
}

#[test]
fn a_server_that_was_started_is_gone_after_a_signal() {
    let script = format!("echo $$ >&2; exec {HARDLINE} demo-server");
    let args = ["call", "sleep", r#"{"ms":60000}"#, "--verbose", "--", "sh", "-c", &script];
    let home = Home::new();
    let mut child = hardline(&home, &args);
    let mut child = child.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    stderr.read_line(&mut line).unwrap();
    let pid = line.trim().rsplit(' ').next().unwrap().to_owned();
    rustix::process::kill_process(rustix::process::Pid::from_child(&child), Signal::TERM).unwrap();
    assert_eq!(ended_within(&mut child, Duration::from_secs(30)).code(), Some(143));
    // At the latest, the keeper ends the server.
    let begun = std::time::Instant::now();
    while std::path::Path::new(&format!("/proc/{pid}")).exists() {
        assert!(begun.elapsed() < Duration::from_secs(30), "the server lives on");
        std::thread::sleep(Duration::from_millis(5));
    }
    let mut rest = String::new();
    let _ = stderr.read_to_string(&mut rest);
}
