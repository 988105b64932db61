//! `hardline demo-server`: the built-in MCP server, for trials and tests.
//!
//! Speaks every protocol version that rmcp does. Standard output carries only the protocol.
//! [`tool`], [`resource`] and [`prompt`] have its features; [`server`] combines them. With
//! `--hostile`, it is another server, which attacks its client: [`hostile`].

pub(crate) mod hostile;

mod prompt;
mod resource;
mod server;
mod tool;

use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::builder::PossibleValuesParser;
use rmcp::ServiceExt;
use rmcp::model::ProtocolVersion;

use hostile::attack;
use server::DemoServer;

/// Value of `--hostile` for all attacks, each as a tool.
const ALL: &str = "all";

const EXIT_STATUS_AND_EXAMPLES: &str = "Exit status: 0 at the end of standard input, 2 if the session could not start.\n\n\
    Examples:\n  \
    echo '{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}' | hardline demo-server\n  \
    All requests but ping need an initialize first: docs/tools.md has a whole session.\n  \
    In a client's configuration:\n    \
    {\"mcpServers\": {\"demo\": {\"command\": \"hardline\", \"args\": [\"demo-server\"]}}}\n  \
    hardline demo-server --hostile split-request";

/// Run the built-in MCP server on standard input and output
///
/// A small server to try clients with and to test against. Its tools: echo (returns the text),
/// sleep (answers later), big (a text of any size), fail (a result that is an error), progress
/// (notifications, then a result) and env (the environment of the server, secrets included: do not
/// connect it to a model that you do not trust with them). It also has a resource, demo://greeting,
/// and a prompt, greet. It ends when its standard input closes.
///
/// With --hostile, it attacks its client: every attack is a tool, and a call triggers it. The
/// attacks do no real harm; --list-attacks describes them.
#[derive(Debug, clap::Args)]
#[command(
    after_help = format!(
        "Protocol versions: {}.\n\n{EXIT_STATUS_AND_EXAMPLES}",
        ProtocolVersion::KNOWN_VERSIONS.iter().map(ProtocolVersion::as_str).collect::<Vec<_>>().join(", ")
    )
)]
pub(crate) struct DemoServerArgs {
    /// Attack the client: every attack is a tool; with ATTACK, every call triggers that attack
    #[arg(long, value_name = "ATTACK", num_args = 0..=1, default_missing_value = ALL)]
    #[arg(value_parser = attack_names(), hide_possible_values = true)]
    hostile: Option<String>,

    /// List the attacks, with the rule that detects each, and exit
    #[arg(long)]
    list_attacks: bool,
}

pub(crate) fn run(args: &DemoServerArgs) -> Result<ExitCode> {
    if args.list_attacks {
        return hostile::list();
    }
    if io::stdin().is_terminal() {
        let hint = "an MCP server: waiting for JSON-RPC, one message per line, until Ctrl-D";
        let _ = writeln!(io::stderr(), "hardline: {hint}");
    }
    if let Some(name) = &args.hostile {
        return hostile::run(attack::find(name));
    }
    // One thread is enough for a server that mostly waits, and keeps memory small.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.context("cannot start the runtime")?;
    runtime.block_on(serve()).map(|()| ExitCode::SUCCESS)
}

fn attack_names() -> PossibleValuesParser {
    attack::all().chain(attack::alone()).map(|it| it.name).chain([ALL]).collect::<Vec<_>>().into()
}

async fn serve() -> Result<()> {
    let service = hardline::catch_panics(DemoServer::new());
    let session = service.serve(hardline::stdio()).await;
    let session = session.context("cannot start a session")?;
    session.waiting().await.map(drop).context("the session was aborted")
}
