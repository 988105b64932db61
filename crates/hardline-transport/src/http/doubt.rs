//! Waiting for an answer after one with a mistyped id has come.

use std::pin::pin;

use hardline_wire::id::Id;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::client::TransportError;
use crate::mistyped;

/// Tells whoever waits for the answer to a request that one with a mistyped id has come.
#[derive(Debug)]
pub(super) struct Doubt(watch::Sender<Option<Told>>);

/// For whoever waits.
#[derive(Debug)]
pub(super) struct Doubted(watch::Receiver<Option<Told>>);

#[derive(Clone, Debug)]
struct Told {
    until: Instant,
    reason: String,
}

/// A doubt about one request, and its other end.
pub(super) fn channel() -> (Doubt, Doubted) {
    let (sender, receiver) = watch::channel(None);
    (Doubt(sender), Doubted(receiver))
}

impl Doubt {
    /// An answer has come whose id was `written` in another type. Only the first counts.
    pub(super) fn raise(&self, request: i64, written: &str) {
        self.0.send_if_modified(|told| {
            if told.is_some() {
                return false;
            }
            let reason = mistyped::reason(&Id::from_integer(request), written);
            *told = Some(Told { until: Instant::now() + mistyped::MAX_WAIT, reason });
            true
        });
    }
}

impl Doubted {
    /// Waits for an outcome, but not for long once there is a doubt. May be dropped and called again.
    pub(super) async fn limit<T>(
        &mut self,
        outcome: impl Future<Output = Result<T, TransportError>>,
    ) -> Result<T, TransportError> {
        let mut outcome = pin!(outcome);
        let told = async {
            // Without anybody who could tell of one there is none.
            match self.0.wait_for(Option::is_some).await.map(|it| it.clone()) {
                Ok(Some(told)) => told,
                _ => std::future::pending().await,
            }
        };
        let told = tokio::select! {
            biased;
            outcome = &mut outcome => return outcome,
            told = told => told,
        };
        let late = |_| Err(TransportError::Answer(told.reason));
        tokio::time::timeout_at(told.until, outcome).await.unwrap_or_else(late)
    }
}
