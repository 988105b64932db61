//! Checks that `hardline::client` works with a server.
//!
//! ```sh
//! cargo run -p hardline --features client --example check_server -- --url http://127.0.0.1:3001/mcp
//! cargo run -p hardline --features client --example check_server -- npx -y @modelcontextprotocol/server-everything
//! ```
//!
//! Prints a line for each check and exits with status 1 at the first failure. Features that a
//! server does not offer are not checked, unless `--all` requires them. `--expect 2025-11-25` sets
//! the protocol version that must be negotiated, and `--speak 2025-11-25` the version to ask for.
//! By default it is the newest that the server supports.
//!
//! Tools are recognized by name: those of the servers in `tests/peers` and of the reference server
//! `server-everything`.

mod check;
mod tool;

use std::env;
use std::error::Error;
use std::io::{Write, stdout};
use std::process::ExitCode;

use hardline::client::model::{ElicitRequestParams, ElicitResult, ElicitationAction};
use hardline::client::{Connection, ConnectionSettings, RpcError, Version, Versions};
use hardline::process::{Command, Environment, Stderr};
use serde_json::json;

const USAGE: &str =
    "check_server [--all] [--expect VERSION] [--speak VERSION] --url URL | COMMAND…";

/// The server to check, and the requirements.
#[derive(Debug, Default)]
struct Wanted {
    is_complete: bool,
    version: Option<Version>,
    speak: Option<Version>,
    url: Option<String>,
    command: Vec<String>,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let wanted = match parse(env::args().skip(1)) {
        Ok(wanted) => wanted,
        Err(error) => {
            let _ = writeln!(stdout(), "{error}\nusage: {USAGE}");
            return ExitCode::from(2);
        }
    };
    match run(&wanted).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(stdout(), "FAIL {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(wanted: &Wanted) -> Result<(), Box<dyn Error>> {
    let server = wanted.connect().await?;
    let outcome = Box::pin(check::all(&server, wanted)).await;
    // Closes the connection even if a check failed.
    server.close().await;
    Box::pin(check::closed(&server, wanted, outcome?)).await
}

impl Wanted {
    async fn connect(&self) -> Result<Connection, Box<dyn Error>> {
        let settings = ConnectionSettings::default()
            .with_info("hardline-check-server", env!("CARGO_PKG_VERSION"))
            .with_versions(self.speak.map_or(Versions::Any, Versions::Only))
            .on_elicitation(|question, _| async move { Ok(answer(&question)) })
            .on_sampling(|_, _| async { Err(RpcError::internal("there is no model here")) });
        if let Some(url) = &self.url {
            return Ok(Connection::connect(url, settings).await?);
        }
        let [program, arguments @ ..] = &*self.command else { return Err(USAGE.into()) };
        let command = Command::new(program, Environment::Base)
            .args(arguments)
            .stderr(Stderr::forward("server"));
        Ok(Connection::spawn(&command, settings).await?)
    }
}

/// Returns the same user answer to every question.
fn answer(_: &ElicitRequestParams) -> ElicitResult {
    let mut answer = ElicitResult::new(ElicitationAction::Accept);
    answer.content = Some(json!({ "name": "Ada" }));
    answer
}

fn parse(mut words: impl Iterator<Item = String>) -> Result<Wanted, Box<dyn Error>> {
    let mut wanted = Wanted::default();
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("{word} needs a value"));
        match word.as_str() {
            "--all" => wanted.is_complete = true,
            "--expect" => wanted.version = Some(value()?.parse()?),
            "--speak" => wanted.speak = Some(value()?.parse()?),
            "--url" => wanted.url = Some(value()?),
            "--" => wanted.command.extend(words.by_ref()),
            _ if word.starts_with("--") => return Err(format!("unknown option {word}").into()),
            _ => {
                wanted.command.push(word);
                wanted.command.extend(words.by_ref());
            }
        }
    }
    match (&wanted.url, wanted.command.is_empty()) {
        (None, true) | (Some(_), false) => Err("give either --url or a command".into()),
        _ => Ok(wanted),
    }
}
