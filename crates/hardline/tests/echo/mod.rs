//! The server with which tests and benchmarks compare transports.

use std::process::ExitCode;
use std::time::Duration;

use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::{CallToolResult, ContentBlock};
use rmcp::{ServerHandler, ServiceExt, tool, tool_handler, tool_router};

#[derive(Clone, Debug)]
struct Echo;

#[derive(Debug, serde::Deserialize, rmcp::schemars::JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
struct EchoArguments {
    text: String,
}

#[derive(Debug, serde::Deserialize, rmcp::schemars::JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
struct SleepArguments {
    ms: u64,
}

#[tool_router]
impl Echo {
    /// Returns the text.
    #[tool]
    async fn echo(&self, Parameters(arguments): Parameters<EchoArguments>) -> CallToolResult {
        CallToolResult::success(vec![ContentBlock::text(arguments.text)])
    }

    /// Waits.
    #[tool]
    async fn sleep(&self, Parameters(arguments): Parameters<SleepArguments>) -> CallToolResult {
        tokio::time::sleep(Duration::from_millis(arguments.ms)).await;
        CallToolResult::success(vec![ContentBlock::text("done")])
    }
}

#[tool_handler]
impl ServerHandler for Echo {}

/// Serves over standard streams on the named transport until the session ends. An rmcp error exits
/// with status 1, as in most servers.
pub(crate) fn serve(transport: &str) -> ExitCode {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let service = match transport {
            "hardline" => Echo.serve(hardline::stdio()).await,
            "stdio" => Echo.serve(rmcp::transport::stdio()).await,
            _ => Echo.serve(rmcp::transport::stdio_pipes()).await,
        };
        match service {
            Ok(session) => session.waiting().await.map_or(ExitCode::FAILURE, |_| ExitCode::SUCCESS),
            Err(_) => ExitCode::FAILURE,
        }
    })
}
