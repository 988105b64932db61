//! `progress`: sends notifications before its result.

use std::time::Duration;

use rmcp::RoleServer;
use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::ProgressNotificationParam;
use rmcp::schemars::{self, JsonSchema};
use rmcp::service::RequestContext;
use serde::Deserialize;
use tokio::time;

use super::{Route, harmless};

/// Limit on steps: as many as a burst test needs. More are refused.
const MAX_STEPS: u32 = 100_000;
/// Limit on the duration of a step: one minute. More is refused.
const MAX_MS: u64 = 60_000;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// Number of steps, each with one notification
    #[schemars(range(max = MAX_STEPS))]
    steps: u32,
    /// Duration of each step after its report, in milliseconds
    #[serde(default)]
    #[schemars(range(max = MAX_MS))]
    ms: u64,
}

pub(super) fn route() -> Route {
    let description = "Takes steps, reports each as progress if the request has a progress token, \
            and then answers";
    Route::new(harmless::<Arguments>("progress", "Progress", description), progress)
}

async fn progress(
    Parameters(Arguments { steps, ms }): Parameters<Arguments>,
    context: RequestContext<RoleServer>,
) -> Result<String, String> {
    if steps > MAX_STEPS {
        return Err(format!("steps must be at most {MAX_STEPS}, not {steps}"));
    }
    if ms > MAX_MS {
        return Err(format!("ms must be at most {MAX_MS}, not {ms}"));
    }
    let walk = async {
        for step in 1..=steps {
            report(&context, step, steps).await?;
            // Also after the last step: the TypeScript SDKs lose a report that arrives with the
            // result.
            time::sleep(Duration::from_millis(ms)).await;
        }
        Ok(format!("took {steps} steps"))
    };
    tokio::select! {
        result = walk => result,
        () = context.ct.cancelled() => Err("cancelled".into()),
    }
}

/// Sends a notification and waits until it is written: the result must not overtake it.
async fn report(context: &RequestContext<RoleServer>, step: u32, of: u32) -> Result<(), String> {
    let Some(token) = context.meta.get_progress_token() else {
        return Ok(());
    };
    let progress = ProgressNotificationParam::new(token, step.into()).with_total(of.into());
    context.peer.notify_progress(progress).await.map_err(|error| error.to_string())
}
