//! Runs a session, from the first start of its server to its end.

use std::cell::RefCell;
use std::io::{self, IsTerminal};
use std::pin::pin;
use std::time::Duration;

use hardline_guard::policy::Policy;
use hardline_proxy::launch::known;
use hardline_proxy::relay::RelaySettings;
use hardline_proxy::wrap::{SessionOutcome, WrapError};
use hardline_transport::process::write_stderr;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};

use super::launcher::{ServerLauncher, StartChecks};
use super::observer::{SharedObserver, WrapObserver};
use super::server_start::{Identity, ServerStart};
use super::{WrapArgs, report};

/// Time that a finished session waits for the comparison of its executable.
const LAST_LOOK: Duration = Duration::from_secs(2);

/// Runs the session. Returns `None` if the policy forbids the server's start.
pub(super) async fn session(
    args: &WrapArgs,
    name: &str,
    policy: &Policy,
    settings: RelaySettings,
    server: &ServerStart,
    observer: &RefCell<WrapObserver>,
) -> Result<Option<SessionOutcome>, WrapError> {
    let begun = Instant::now();
    let compares = !args.no_pins && !args.danger_no_guard;
    let file = args.state().filter(|_| compares).map(|state| state.join(known::FILE_NAME));
    let checks = StartChecks::new(name, policy, observer, file, compares);
    let comparison = match checks.check_first(server) {
        Ok(comparison) => comparison,
        Err(refusal) => {
            let (rule, detail, advice) = (refusal.rule, &refusal.detail, refusal.advice(name));
            let what = format!("{name} was not started because of {rule}: {detail}");
            report::write(format!("hardline: {what}\n{advice}"));
            return Ok(None);
        }
    };
    if io::stdin().is_terminal() {
        let hint = "an MCP proxy: waiting for JSON-RPC, one message per line, until Ctrl-D";
        write_stderr(format!("hardline: {hint}"));
    }
    let first = Some(server.command.clone());
    let mut launcher = ServerLauncher { command: &args.command, checks: &checks, first };
    let mut shared = SharedObserver(observer);
    // Pinned here, because its future is too large to be moved.
    let run = pin!(hardline_proxy::wrap::run(settings, &mut launcher, &mut shared));
    run_beside(run, take_comparison(&checks, comparison, begun)).await.map(Some)
}

/// Reports the executable of the first start once it was compared.
async fn take_comparison(
    checks: &StartChecks<'_>,
    comparison: Option<JoinHandle<Identity>>,
    begun: Instant,
) {
    if let Some(comparison) = comparison
        && let Ok(identity) = comparison.await
    {
        // The server runs already, and the policy does not block a changed executable.
        let _ = checks.take_identity(Duration::ZERO, begun.elapsed(), &identity);
    }
}

/// Runs the session and the comparison side by side. Ends with the session.
async fn run_beside<T>(run: impl Future<Output = T>, comparison: impl Future<Output = ()>) -> T {
    let mut run = pin!(run);
    let mut comparison = pin!(comparison);
    tokio::select! {
        // The end of the session is checked first, so that it is not delayed by the comparison.
        biased;
        outcome = &mut run => {
            // The audit log still needs the hash of the executable.
            let _ = timeout(LAST_LOOK, comparison).await;
            outcome
        }
        () = &mut comparison => run.await,
    }
}
