//! From the connection to its end, whatever the user does meanwhile.

use std::future::Future;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, Result};
use hardline_client::{Connection, Error};
use hardline_wire::encode::code;

use super::progress::Line;
use super::target::{Target, TargetArgs};
use crate::terminal::complain;

/// How many of the things that a server sends and nobody can use are named.
const MAX_TOLD: usize = 5;

/// Connects, does the work, and ends the session.
///
/// A server's failure is told, and 1. A signal cancels the request at the server, and is what this
/// ends with.
pub(super) fn run<F>(
    args: &TargetArgs,
    target: Target,
    work: impl FnOnce(Connection, Line) -> F,
) -> Result<ExitCode>
where
    F: Future<Output = Result<Result<ExitCode, Error>>>,
{
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.context("cannot start the runtime")?;
    let line = Line::new(!args.verbose);
    let ignored = Arc::new(AtomicUsize::new(0));
    let settings = {
        let (line, ignored) = (line.clone(), Arc::clone(&ignored));
        args.settings().on_trouble(move |trouble| {
            if ignored.fetch_add(1, Ordering::Relaxed) < MAX_TOLD {
                line.clear();
                complain(&format!("ignored from the server: {trouble}"));
            }
        })
    };
    let outcome = runtime.block_on(async {
        let mut signals = Signals::new()?;
        let opening = target.connect(settings);
        let connection = tokio::select! {
            opened = opening => match opened {
                Ok(connection) => connection,
                Err(error) => return Ok(fail(&error, args)),
            },
            code = signals.heard() => return Ok(code),
        };
        let outcome = tokio::select! {
            biased;
            code = signals.heard() => Ok(Ok(code)),
            outcome = work(connection.clone(), line.clone()) => outcome,
        };
        line.clear();
        // The request that was given up is cancelled at the server before this is done.
        tokio::select! {
            () = connection.close() => {}
            _ = signals.heard() => {}
        }
        Ok(outcome?.unwrap_or_else(|error| fail(&error, args)))
    });
    if let Some(more @ 1..) = ignored.load(Ordering::Relaxed).checked_sub(MAX_TOLD) {
        complain(&format!("ignored from the server: at least {more} more of these"));
    }
    #[cfg(unix)]
    runtime.block_on(async {
        let flushed = hardline_transport::process::flush_stderr();
        let _ = tokio::time::timeout(std::time::Duration::from_secs(1), flushed).await;
    });
    runtime.shutdown_background();
    outcome
}

/// Tells what went wrong, and what helps.
fn fail(error: &Error, args: &TargetArgs) -> ExitCode {
    let hint = match error {
        Error::Timeout { .. } if args.verbose => "; --timeout gives it more time",
        Error::Timeout { .. } => {
            "; --timeout gives it more time, --verbose shows what the server says"
        }
        Error::Rpc(error)
            if matches!(error.code, code::INVALID_PARAMS | code::METHOD_NOT_FOUND) =>
        {
            "; `hardline tools` lists its tools and their arguments"
        }
        _ => "",
    };
    complain(&format!("{error}{hint}"));
    ExitCode::from(1)
}

/// The signals that people end programs with.
struct Signals {
    #[cfg(unix)]
    interrupt: tokio::signal::unix::Signal,
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn new() -> Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};

        let listen = |kind| signal(kind).context("cannot listen to signals");
        let interrupt = listen(SignalKind::interrupt())?;
        Ok(Self { interrupt, terminate: listen(SignalKind::terminate())? })
    }

    async fn heard(&mut self) -> ExitCode {
        tokio::select! {
            _ = self.interrupt.recv() => ExitCode::from(130),
            _ = self.terminate.recv() => ExitCode::from(143),
        }
    }
}

#[cfg(not(unix))]
impl Signals {
    fn new() -> Result<Self> {
        Ok(Self {})
    }

    async fn heard(&mut self) -> ExitCode {
        match tokio::signal::ctrl_c().await {
            Ok(()) => ExitCode::from(130),
            Err(_) => std::future::pending().await,
        }
    }
}
