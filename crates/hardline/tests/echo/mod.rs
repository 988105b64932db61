//! The server that tests and benchmarks compare transports with.

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
    /// Gives the text back.
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

/// Serves over standard streams, on the transport of this name, until the session ends.
pub(crate) fn serve(transport: &str) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let service = match transport {
            "hardline" => Echo.serve(hardline::stdio()).await,
            "stdio" => Echo.serve(rmcp::transport::stdio()).await,
            _ => Echo.serve(rmcp::transport::stdio_pipes()).await,
        };
        service.unwrap().waiting().await.unwrap();
    });
}
