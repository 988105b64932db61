//! An MCP server over standard input and output.
//!
//! The only change to an rmcp server is `hardline::serve_stdio` in place of rmcp's `serve(stdio())`.
//!
//! ```sh
//! echo '{"jsonrpc":"2.0","id":1,"method":"ping"}' | cargo run -q -p hardline --example server
//! # An incomplete line gets an answer too:
//! echo '{"jsonrpc":"2.0","id":2,"method":' | cargo run -q -p hardline --example server
//! ```

use std::error::Error;

use rmcp::handler::server::wrapper::Parameters;
use rmcp::schemars::JsonSchema;
use rmcp::{ServerHandler, tool, tool_handler, tool_router};
use serde::Deserialize;

#[derive(Debug)]
struct Greeter;

/// Parameters of `greet`.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
struct Greet {
    /// Name of the person to greet.
    name: String,
}

#[tool_router]
impl Greeter {
    /// Greets a person.
    #[tool]
    async fn greet(&self, Parameters(Greet { name }): Parameters<Greet>) -> String {
        format!("Hello, {name}!")
    }
}

#[tool_handler]
impl ServerHandler for Greeter {}

// One thread is enough for a server that mostly waits.
#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    // Returns when standard input has ended and every request is answered.
    hardline::serve_stdio(Greeter).await?;
    Ok(())
}
