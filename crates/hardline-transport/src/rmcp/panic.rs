//! Handlers that panic, answered.

use std::borrow::Cow;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;

use rmcp::model::{ErrorData, ProtocolVersion};
use rmcp::service::{NotificationContext, RequestContext, Service, ServiceRole};

/// A service whose handlers may panic: see [`catch_panics`].
#[derive(Clone, Debug)]
pub struct CatchPanics<S>(S);

/// Makes a service answer a request whose handler panics.
///
/// rmcp runs each handler in a task of its own. If that panics, nobody answers: the caller waits, and its
/// request counts among those in flight until it is cancelled or the session ends. With this, the caller
/// gets an error at once. What the panic said goes where panics go, and not to the caller.
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
/// It can do nothing in a program that is built with `panic = "abort"`.
pub fn catch_panics<S>(service: S) -> CatchPanics<S> {
    CatchPanics(service)
}

impl<S> CatchPanics<S> {
    /// The service itself.
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

/// Runs a handler to its end, or to its panic. The handler is dropped then, and a service is used by many
/// handlers at once: what one leaves half done the others would see without this, too.
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
