//! `echo`: returns the text unchanged.

use rmcp::handler::server::wrapper::Parameters;
use rmcp::schemars::{self, JsonSchema};
use serde::Deserialize;

use super::{Route, harmless};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// Text to return
    text: String,
}

pub(super) fn route() -> Route {
    Route::new(
        harmless::<Arguments>("echo", "Echo", "Returns the text it is given, unchanged"),
        echo,
    )
}

fn echo(Parameters(Arguments { text }): Parameters<Arguments>) -> String {
    text
}
