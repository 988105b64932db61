//! `sleep`: answers after a delay.

use std::time::Duration;

use rmcp::RoleServer;
use rmcp::handler::server::wrapper::Parameters;
use rmcp::schemars::{self, JsonSchema};
use rmcp::service::RequestContext;
use serde::Deserialize;
use tokio::time;

use super::{Route, harmless};

/// Limit on the delay: one hour, longer than the timeout of any client. More is refused.
const MAX_MS: u64 = 3_600_000;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// Delay before the answer, in milliseconds
    #[schemars(range(max = MAX_MS))]
    ms: u64,
}

pub(super) fn route() -> Route {
    let description = "Answers after the given time; ends at once when the call is cancelled";
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
