//! `hardline resources` and `hardline prompts`, with a server as a command and a server at a URL.

use std::os::unix::fs::PermissionsExt;

use hardline_testkit::http::Server;
use serde_json::Value;

use crate::call::{greet, run_in};
use crate::home::{HARDLINE, Home};

#[track_caller]
fn check(args: &[&str], expected: &str) {
    let args = [args, &["--", HARDLINE, "demo-server"]].concat();
    let (out, err) = run_in(&Home::new(), &args, 0);
    assert_eq!((out.as_str(), err.as_str()), (expected, ""), "{args:?}");
}

#[test]
fn resources_and_prompts_of_a_server_that_is_started() {
    check(
        &["resources"],
        "URI              NAME      TYPE        SIZE  DESCRIPTION\n\
         demo://greeting  greeting  text/plain  34 B  A line of text that never changes\n",
    );
    check(&["resources", "demo://greeting"], "Hello from Hardline's demo server.\n");
    check(&["resources", "demo://greeting", "-o", "-"], "Hello from Hardline's demo server.");
    check(
        &["prompts"],
        "PROMPT  ARGUMENTS  DESCRIPTION\n\
         greet   name*      Asks for a greeting for a person\n",
    );
    check(&["prompts", "greet", r#"{"name": "Ada"}"#], "user:\nWrite a short greeting for Ada.\n");
}

/// A server with a resource of each kind, a template, and a prompt with a picture.
fn server() -> Server {
    Server::start(async |it| {
        if greet(it).await {
            return;
        }
        match it.rpc_method().as_str() {
            "resources/list" => it.answer(r#"{"resources":[]}"#).await,
            "resources/templates/list" => {
                let template =
                    r#"{"resourceTemplates":[{"uriTemplate":"file:///{path}","name":"files"}]}"#;
                it.answer(template).await;
            }
            "resources/read" => {
                let contents = r#"{"contents":[{"uri":"a:\u001b","text":"a\u001b\u200bb\n"},
                    {"uri":"b:","mimeType":"application/pdf","blob":"JVBERg=="},{"uri":"c:"}]}"#;
                it.answer(contents).await;
            }
            "prompts/get" => {
                let messages = r#"{"messages":[{"role":"user\u001b","content":{"type":"text","text":"look"}},
                    {"role":"assistant","content":{"type":"image","mimeType":"image/png","data":"AAAA"}}]}"#;
                it.answer(messages).await;
            }
            _ => {
                let error = format!(
                    r#"{{"jsonrpc":"2.0","id":{},"error":{{"code":-32601,"message":"no"}}}}"#,
                    it.id()
                );
                it.json(&error).await;
            }
        }
    })
}

#[test]
fn whatever_is_read_is_shown_or_saved() {
    let (home, server) = (Home::new(), server());
    let url = server.url("/mcp");
    let run = |args: &[&str], code| run_in(&home, &[args, &["--url", &url]].concat(), code);

    let (out, _) = run(&["resources"], 0);
    let lines: Vec<&str> = out.lines().map(str::trim_end).collect();
    assert_eq!(lines, ["TEMPLATE        NAME   TYPE", "file:///{path}  files"]);
    let (out, _) = run(&["resources", "x:", "--save", "s"], 0);
    let expected = "a\\u{1b}\\u{200b}b\n[resource b:, application/pdf, 4 B: s/resource-1.pdf]\n\
        [a resource without content]\n";
    assert_eq!(out, expected);
    assert_eq!(home.read("s/resource-1.pdf"), "%PDF");

    let (out, err) = run(&["resources", "x:", "--output", "got"], 0);
    assert!(out.is_empty() && err.is_empty(), "{out}{err}");
    assert_eq!(home.read("got"), "a\u{1b}\u{200b}b\n%PDF");
    let mode = std::fs::metadata(home.path("got")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let (_, err) = run(&["resources", "x:", "--output", "got"], 2);
    assert!(err.contains("got already exists"), "{err}");
    let (_, err) = run(&["resources", "--output", "other"], 2);
    assert!(err.contains("give its URI"), "{err}");
    let (_, err) = run(&["resources", "x:", "--save", "s", "--format", "json"], 2);
    assert!(err.contains("--save and --format json cannot be used together"), "{err}");
    let before = server.requests().len();
    let (_, err) = run(&["resources", "x:", "--save", "got/here"], 2);
    assert!(err.contains("--save: cannot create got/here"), "{err}");
    assert_eq!(server.requests().len(), before);
    let (out, _) = run(&["resources", "x:", "--format", "json"], 0);
    let value: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(value["contents"][1]["blob"], "JVBERg==");

    let (out, _) = run(&["prompts"], 0);
    assert_eq!(out, "No prompts.\n");
    let (out, _) = run(&["prompts", "x", "--save", "s"], 0);
    let expected = "user\\u{1b}:\nlook\nassistant:\n[image, image/png, 3 B: s/prompt-1.png]\n";
    assert_eq!(out, expected);
}
