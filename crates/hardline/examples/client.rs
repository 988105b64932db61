//! A client that starts a server, lists its tools and calls one.
//!
//! ```sh
//! cargo build -p hardline --examples --all-features
//! cargo run -q -p hardline --all-features --example client                       # the example `server`
//! cargo run -q -p hardline --all-features --example client -- npx -y some-server # any other
//! ```

use std::env;
use std::error::Error;
use std::io::{Write, stdout};

use hardline::process::{Command, Environment, Stderr};
use rmcp::ServiceExt;
use rmcp::model::CallToolRequestParams;
use serde_json::json;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args_os().skip(1);
    let program = match arguments.next() {
        Some(program) => program,
        None => env::current_exe()?.with_file_name("server").into(),
    };
    // The server gets a few of our variables (`PATH`, `HOME` …) and those set here. Its standard
    // error is forwarded to ours, with its name in front.
    let command = Command::new(program, Environment::Base)
        .args(arguments)
        .env("GREETING", "hello")
        .stderr(Stderr::forward("server"));

    // Lines that the server prints between its messages do not end the session.
    let client = ().serve(hardline::spawn(&command)?).await?;
    let tools = client.list_all_tools().await?;
    for tool in &tools {
        writeln!(stdout(), "{}: {}", tool.name, tool.description.as_deref().unwrap_or_default())?;
    }
    if tools.iter().any(|tool| tool.name == "greet") {
        let arguments = json!({ "name": "world" }).as_object().cloned().unwrap_or_default();
        let call = CallToolRequestParams::new("greet").with_arguments(arguments);
        // If the server dies now, the error contains its exit status and its last lines of output.
        writeln!(stdout(), "{:?}", client.call_tool(call).await?.content)?;
    }
    // Closes the server's standard input, waits, and kills every process that is left.
    client.cancel().await?;
    Ok(())
}
