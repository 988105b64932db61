//! Error answers for handlers that panic.

use std::borrow::Cow;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;

use rmcp::model::{ErrorData, ProtocolVersion};
use rmcp::service::{NotificationContext, RequestContext, Service, ServiceRole};

/// A service that answers even if a handler panics: see [`catch_panics`].
#[derive(Clone, Debug)]
pub struct CatchPanics<S>(S);

/// Makes a service answer a request whose handler panics.
///
/// rmcp runs each handler in its own task. If that task panics, the request is never answered: the
/// caller waits, and the request counts as in flight until it is cancelled or the session ends.
/// With this wrapper, the caller gets an error at once. The panic message goes to the panic hook,
/// not to the caller.
///
/// ```no_run
/// # use rmcp::{ServerHandler, ServiceExt};
/// # struct Service;
/// # impl ServerHandler for Service {}
/// # async fn serve() -> Result<(), Box<dyn std::error::Error>> {
/// let service = hardline_transport::catch_panics(Service);
/// service.serve(hardline_transport::stdio()).await?.waiting().await?;
/// # Ok(())
/// # }
/// ```
///
/// It has no effect in a program that is built with `panic = "abort"`.
pub fn catch_panics<S>(service: S) -> CatchPanics<S> {
    CatchPanics(service)
}

impl<S> CatchPanics<S> {
    /// Returns the wrapped service.
    pub fn get_ref(&self) -> &S {
        &self.0
    }
}

impl<R: ServiceRole, S: Service<R>> Service<R> for CatchPanics<S> {
    async fn handle_request(
        &self,
        request: R::PeerReq,
        context: RequestContext<R>,
    ) -> Result<R::Resp, ErrorData> {
        let handler = caught(|| self.0.handle_request(request, context));
        handler.await.unwrap_or_else(|Panicked| {
            Err(ErrorData::internal_error("the handler of this request failed: it panicked", None))
        })
    }

    async fn handle_notification(
        &self,
        notification: R::PeerNot,
        context: NotificationContext<R>,
    ) -> Result<(), ErrorData> {
        let handler = caught(|| self.0.handle_notification(notification, context));
        // A notification has no answer, so the panic hook is the only report.
        handler.await.unwrap_or(Ok(()))
    }

    fn get_info(&self) -> R::Info {
        self.0.get_info()
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        self.0.supported_protocol_versions()
    }
}

#[derive(Debug)]
struct Panicked;

/// Runs a handler until it ends or panics. Unwind safety: the handler is dropped after a panic, and
/// the service is shared by many handlers, so they would see state left half done without this
/// wrapper too.
async fn caught<F: Future>(start: impl FnOnce() -> F) -> Result<F::Output, Panicked> {
    let handler = catch_unwind(AssertUnwindSafe(start)).map_err(|_| Panicked)?;
    let mut handler = pin!(handler);
    poll_fn(|context| match catch_unwind(AssertUnwindSafe(|| handler.as_mut().poll(context))) {
        Ok(Poll::Ready(output)) => Poll::Ready(Ok(output)),
        Ok(Poll::Pending) => Poll::Pending,
        Err(_) => Poll::Ready(Err(Panicked)),
    })
    .await
}
