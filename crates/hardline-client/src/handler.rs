//! Handlers for requests from a server, and the context that each call of one gets.

use std::future::Future;
use std::sync::Arc;

use hardline_transport::client::BoxFuture;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use tokio::sync::watch;

use crate::RpcError;

/// Answers a request from the server with a result as JSON, or with an error.
pub(crate) type Handler = Arc<
    dyn Fn(Option<Box<RawValue>>, RequestContext) -> BoxFuture<'static, Result<String, RpcError>>
        + Send
        + Sync,
>;

/// The context of a request from a server: the server's name, and the end of its interest in the answer.
///
/// When the server cancels its request, or the connection is dropped, the client drops the future of the
/// handler. Work that the handler has moved elsewhere, such as a dialog in a thread of its own, goes on and
/// can watch [`is_cancelled`](Self::is_cancelled) or [`cancelled`](Self::cancelled).
#[derive(Clone, Debug)]
pub struct RequestContext {
    server: Option<Arc<str>>,
    is_cancelled: watch::Receiver<bool>,
}

/// Marks a request as cancelled, if it is dropped before the handler has finished.
#[derive(Debug)]
pub(crate) struct Canceller {
    is_cancelled: watch::Sender<bool>,
    is_finished: bool,
}

impl RequestContext {
    /// Creates the context of one request, and the means to cancel it.
    pub(crate) fn new(server: Option<Arc<str>>) -> (Self, Canceller) {
        let (sender, receiver) = watch::channel(false);
        let canceller = Canceller { is_cancelled: sender, is_finished: false };
        (Self { server, is_cancelled: receiver }, canceller)
    }

    /// Returns the name of the server that asks: the one in
    /// [`with_server_name`](crate::ConnectionSettings::with_server_name), which a [`Manager`](crate::Manager)
    /// sets for each of its servers. Not escaped.
    pub fn server(&self) -> Option<&str> {
        self.server.as_deref()
    }

    /// Returns true if no one waits for the answer any more.
    pub fn is_cancelled(&self) -> bool {
        *self.is_cancelled.borrow()
    }

    /// Resolves once the request is cancelled. Never resolves if it is answered first.
    pub async fn cancelled(&self) {
        let mut is_cancelled = self.is_cancelled.clone();
        if is_cancelled.wait_for(|it| *it).await.is_err() {
            // The request was answered, so it can no longer be cancelled.
            std::future::pending::<()>().await;
        }
    }
}

impl Canceller {
    /// Marks the request as answered.
    pub(crate) fn finish(mut self) {
        self.is_finished = true;
    }
}

impl Drop for Canceller {
    fn drop(&mut self) {
        if !self.is_finished {
            self.is_cancelled.send_replace(true);
        }
    }
}

/// Creates a handler that always returns `result`.
pub(crate) fn fixed(result: String) -> Handler {
    Arc::new(move |_, _| {
        let result = result.clone();
        Box::pin(async move { Ok(result) })
    })
}

/// Wraps a handler with typed parameters and results.
pub(crate) fn typed<P, R, F>(
    handler: impl Fn(P, RequestContext) -> F + Send + Sync + 'static,
) -> Handler
where
    P: DeserializeOwned,
    R: Serialize,
    F: Future<Output = Result<R, RpcError>> + Send + 'static,
{
    Arc::new(move |params, context| {
        // Absent parameters and an empty object mean the same to every method.
        let text = params.as_deref().map_or("{}", RawValue::get);
        match serde_json::from_str(text) {
            Ok(params) => {
                let answer = handler(params, context);
                Box::pin(async move {
                    let result = answer.await?;
                    serde_json::to_string(&result)
                        .map_err(|error| RpcError::internal(&error.to_string()))
                })
            }
            Err(error) => {
                // The parameters come from the server, so the mistake is the server's.
                let error = RpcError::invalid_params(&error.to_string());
                Box::pin(async move { Err(error) })
            }
        }
    })
}
