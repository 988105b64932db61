//! `env`: returns the environment of the server, to see what a client passes on.

use std::collections::BTreeMap;
use std::env;

use rmcp::handler::server::wrapper::Parameters;
use rmcp::schemars::{self, JsonSchema};
use serde::Deserialize;

use super::{Route, harmless};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {}

pub(super) fn route() -> Route {
    let description = "Returns the server's environment variables, names and values, as JSON text";
    Route::new(harmless::<Arguments>("env", "Environment", description), env)
}

fn env(_: Parameters<Arguments>) -> Result<String, String> {
    let variables: BTreeMap<_, _> = env::vars_os()
        .map(|(name, value)| {
            (name.to_string_lossy().into_owned(), value.to_string_lossy().into_owned())
        })
        .collect();
    serde_json::to_string(&variables).map_err(|error| error.to_string())
}
