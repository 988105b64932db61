//! `sleep`: an answer that takes its time.

use std::time::Duration;

use rmcp::RoleServer;
use rmcp::handler::server::wrapper::Parameters;
use rmcp::schemars::{self, JsonSchema};
use rmcp::service::RequestContext;
use serde::Deserialize;
use tokio::time;

use super::{Route, harmless};

/// Longest sleep: an hour, longer than any client's patience. More is refused.
const MAX_MS: u64 = 3_600_000;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// How long to wait before answering, in milliseconds
    #[schemars(range(max = MAX_MS))]
    ms: u64,
}

pub(super) fn route() -> Route {
    let description = "Answers after the time given; ends at once when the call is cancelled";
    Route::new(harmless::<Arguments>("sleep", "Sleep", description), sleep)
}

async fn sleep(
    Parameters(Arguments { ms }): Parameters<Arguments>,
    context: RequestContext<RoleServer>,
) -> Result<String, String> {
    if ms > MAX_MS {
        return Err(format!("ms must be at most {MAX_MS}, not {ms}"));
    }
    tokio::select! {
        () = time::sleep(Duration::from_millis(ms)) => Ok(format!("slept {ms} ms")),
        () = context.ct.cancelled() => Err("cancelled".into()),
    }
}
