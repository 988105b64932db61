//! A client can start the installed entry from the written file.

use std::time::Duration;

use rmcp::ServiceExt;
use rmcp::model::CallToolRequestParams;
use rmcp::transport::TokioChildProcess;
use serde_json::{Value, json};
use tokio::process::Command;
use tokio::time;

use super::{HARDLINE, Home, read};

const DEADLINE: Duration = Duration::from_secs(60);

#[tokio::test]
async fn a_client_starts_what_was_written() {
    for args in [json!(["demo-server"]), json!(["demo-server", "--"])] {
        let home = Home::new();
        let entry = json!({"command": HARDLINE, "args": args, "env": {"ANSWER": "forty-two"}});
        let config = json!({"mcpServers": {"the demo": entry}});
        let path = home.write("mcp.json", serde_json::to_vec_pretty(&config).unwrap());
        home.expect(0, &["install", "--config", "mcp.json", "--profile", "strict"]);

        let config: Value = serde_json::from_str(&read(&path)).unwrap();
        let entry = &config["mcpServers"]["the demo"];
        let args: Vec<_> =
            entry["args"].as_array().unwrap().iter().map(|it| it.as_str().unwrap()).collect();
        assert_eq!(args[..5], ["wrap", "--name", "the demo", "--profile", "strict"]);
        let mut command = Command::from(home.command(&args));
        for (name, value) in entry["env"].as_object().unwrap() {
            command.env(name, value.as_str().unwrap());
        }
        assert_eq!(entry["command"], HARDLINE);
        time::timeout(DEADLINE, use_it(command.kill_on_drop(true))).await.unwrap();
    }
}

async fn use_it(command: &mut Command) {
    let command = std::mem::replace(command, Command::new("nothing"));
    let session = ().serve(TokioChildProcess::new(command).unwrap()).await.unwrap();
    let call = |tool: &'static str, arguments: Value| {
        let arguments = arguments.as_object().unwrap().clone();
        session.call_tool(CallToolRequestParams::new(tool).with_arguments(arguments))
    };
    let echo = call("echo", json!({"text": "hello through the guard"})).await.unwrap();
    assert_eq!(echo.content[0].as_text().unwrap().text, "hello through the guard");
    let env = call("env", json!({})).await.unwrap();
    assert!(env.content[0].as_text().unwrap().text.contains("forty-two"), "{env:?}");
    session.cancel().await.unwrap();
}
