//! `fail`: returns a result with `isError`.

use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::{CallToolResult, ContentBlock};
use rmcp::schemars::{self, JsonSchema};
use serde::Deserialize;

use super::{Route, harmless};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// Text of the error
    message: String,
}

pub(super) fn route() -> Route {
    let description = "Fails: returns a result with isError and the message as its text";
    Route::new(harmless::<Arguments>("fail", "Fail", description), fail)
}

fn fail(Parameters(Arguments { message }): Parameters<Arguments>) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(message)])
}
