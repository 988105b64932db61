//! Serves a service to the end of its session, in one call.

use rmcp::ServiceExt;
use rmcp::service::{QuitReason, RoleServer, ServerInitializeError, Service};

use super::panic::catch_panics;
use crate::{Endpoint, EndpointSettings};

/// Serves `service` over standard input and output until the session ends.
///
/// This is all that a server's `main` needs. A handler that panics answers its request with an
/// error; see [`catch_panics`]. SIGTERM and SIGINT end the session after a short grace period; see
/// [`EndpointSettings::with_signal_grace`].
///
/// ```no_run
/// # use rmcp::ServerHandler;
/// # struct Greeter;
/// # impl ServerHandler for Greeter {}
/// #[tokio::main(flavor = "current_thread")]
/// async fn main() -> Result<(), hardline_transport::ServeError> {
///     hardline_transport::serve_stdio(Greeter).await?;
///     Ok(())
/// }
/// ```
///
/// # Errors
///
/// [`ServeError`], if rmcp refuses to open the session or its task fails. The end of the input is
/// no error, even before the client has opened the session.
///
/// # Panics
///
/// If called outside of a tokio runtime with I/O and time enabled.
pub async fn serve_stdio<S: Service<RoleServer>>(service: S) -> Result<QuitReason, ServeError> {
    serve_stdio_with(service, EndpointSettings::default()).await
}

/// Serves `service` over standard input and output with the given settings: see [`serve_stdio`].
///
/// # Errors
///
/// The same as [`serve_stdio`].
///
/// # Panics
///
/// If called outside of a tokio runtime with I/O and time enabled.
pub async fn serve_stdio_with<S: Service<RoleServer>>(
    service: S,
    settings: EndpointSettings,
) -> Result<QuitReason, ServeError> {
    serve(service, crate::stdio_with(settings)).await
}

/// Serves `service` over any endpoint, such as a socket, until the session ends: see
/// [`serve_stdio`].
///
/// # Errors
///
/// The same as [`serve_stdio`].
pub async fn serve<S: Service<RoleServer>>(
    service: S,
    endpoint: Endpoint,
) -> Result<QuitReason, ServeError> {
    let service = catch_panics(service);
    let session = ServiceExt::<RoleServer>::serve(service, endpoint).await.map_err(Box::new)?;
    Ok(session.waiting().await?)
}

/// Error returned when a session cannot be served to its end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// rmcp did not open the session.
    #[error("the session cannot be opened")]
    Open(#[from] Box<ServerInitializeError>),
    /// The task of the session panicked or was aborted.
    #[error("the session failed")]
    Task(#[from] tokio::task::JoinError),
}
