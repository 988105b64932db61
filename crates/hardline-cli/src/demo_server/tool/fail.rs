//! `fail`: a result that says the tool did not succeed.

use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::{CallToolResult, ContentBlock};
use rmcp::schemars::{self, JsonSchema};
use serde::Deserialize;

use super::{Route, harmless};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// What the failure says
    message: String,
}

pub(super) fn route() -> Route {
    let description = "Fails: a result with isError that has the message as its text";
    Route::new(harmless::<Arguments>("fail", "Fail", description), fail)
}

fn fail(Parameters(Arguments { message }): Parameters<Arguments>) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(message)])
}
