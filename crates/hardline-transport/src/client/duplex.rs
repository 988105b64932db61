//! Sessions over anything that carries whole messages: a WebSocket, a message queue, a channel.
//!
//! An implementation of [`MessageDuplex`] only sends, receives and closes. Ids, the assignment of
//! answers to requests, answers with a mistyped id, limits and the end of the session are those of
//! [`LineTransport`]: each message passes through it as one line.

use std::borrow::Cow;
use std::fmt;
use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;

use hardline_wire::json::Checker;
use hardline_wire::limits::Limits;
use hardline_wire::line::LineFramer;
use hardline_wire::single_line::single_line;
use memchr::memchr;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream, ReadBuf};
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::{BoxFuture, LineTransport};
use crate::EndpointSettings;

/// Capacity of the pipe to the session, in each direction. A sender waits while it is full.
const PIPE_BYTES: usize = 64 << 10;

/// Time for the last messages to leave once the session has ended, and for the duplex to close.
const CLOSE_TIME: Duration = Duration::from_secs(2);

/// Carries whole messages in both directions. Its methods run at the same time, but none of them
/// twice at once.
pub trait MessageDuplex: fmt::Debug + Send + Sync + 'static {
    /// Sends a message: JSON on one line.
    fn send(&self, message: String) -> BoxFuture<'_, io::Result<()>>;

    /// Receives the next message; `None` at the end.
    fn receive(&self) -> BoxFuture<'_, io::Result<Option<String>>>;

    /// Closes both directions. Called once, at the end of the session, even if the peer or an error
    /// has ended it.
    fn close(&self) -> BoxFuture<'_, io::Result<()>>;
}

impl LineTransport {
    /// Opens a session over a message duplex. Must be called inside a tokio runtime.
    ///
    /// ```
    /// use std::io;
    ///
    /// use hardline_transport::EndpointSettings;
    /// use hardline_transport::client::{
    ///     BoxFuture, LineTransport, MessageDuplex, OutgoingRequest, Transport,
    /// };
    /// use tokio::sync::{Mutex, mpsc};
    ///
    /// /// A pair of channels in place of a WebSocket.
    /// #[derive(Debug)]
    /// struct Channels {
    ///     sender: mpsc::Sender<String>,
    ///     receiver: Mutex<mpsc::Receiver<String>>,
    /// }
    ///
    /// impl MessageDuplex for Channels {
    ///     fn send(&self, message: String) -> BoxFuture<'_, io::Result<()>> {
    ///         Box::pin(async { self.sender.send(message).await.map_err(io::Error::other) })
    ///     }
    ///     fn receive(&self) -> BoxFuture<'_, io::Result<Option<String>>> {
    ///         Box::pin(async { Ok(self.receiver.lock().await.recv().await) })
    ///     }
    ///     fn close(&self) -> BoxFuture<'_, io::Result<()>> {
    ///         Box::pin(async { Ok(()) })
    ///     }
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let (sender, mut theirs) = mpsc::channel(1);
    /// let (answers, receiver) = mpsc::channel(1);
    /// let channels = Channels { sender, receiver: Mutex::new(receiver) };
    /// let server = LineTransport::over_messages(channels, EndpointSettings::default());
    ///
    /// let ping = OutgoingRequest::new(1, "ping", r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
    /// let (answer, ()) = tokio::join!(server.request(ping), async {
    ///     assert!(theirs.recv().await.unwrap().contains("ping"));
    ///     answers.send(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#.into()).await.unwrap();
    /// });
    /// assert!(answer?.text().contains("result"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn over_messages(duplex: impl MessageDuplex, settings: EndpointSettings) -> Self {
        let (ours, theirs) = tokio::io::duplex(PIPE_BYTES);
        let (input, output) = tokio::io::split(ours);
        // Dropping the session drops the sender, which ends the task.
        let (alive, ended) = oneshot::channel();
        tokio::spawn(carry(duplex, theirs, ended, settings.limits.clone()));
        Self::new(Input { input, _alive: alive }, output, settings)
    }
}

/// Input of the session, which signals its end to the task that fills it.
struct Input<R> {
    input: R,
    /// Dropped with the session.
    _alive: oneshot::Sender<()>,
}

impl<R: AsyncRead + Unpin> AsyncRead for Input<R> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().input).poll_read(context, buffer)
    }
}

/// Carries messages between the duplex and the session, until one of them ends.
async fn carry(
    duplex: impl MessageDuplex,
    session: DuplexStream,
    ended: oneshot::Receiver<()>,
    limits: Limits,
) {
    let (input, output) = tokio::io::split(session);
    let mut outgoing = pin!(send_all(&duplex, input, &limits));
    let is_sent = tokio::select! {
        () = &mut outgoing => true,
        () = async {
            // The end of the input ends the session, which may still have messages to send.
            receive_all(&duplex, output, &limits).await;
            std::future::pending::<()>().await;
        } => false,
        _ = ended => false,
    };
    if !is_sent {
        // A peer that takes no more messages must not keep the task alive.
        let _ = timeout(CLOSE_TIME, outgoing).await;
    }
    if let Ok(Err(error)) = timeout(CLOSE_TIME, duplex.close()).await {
        tracing::debug!(target: "hardline::transport", %error, "cannot close the message duplex");
    }
}

/// Sends the lines of the session as messages.
async fn send_all(duplex: &impl MessageDuplex, mut input: impl AsyncRead + Unpin, limits: &Limits) {
    let mut framer = LineFramer::new(limits);
    let mut chunk = vec![0; PIPE_BYTES];
    while let Ok(length @ 1..) = input.read(&mut chunk).await {
        let mut rest = chunk.get(..length).unwrap_or_default();
        while let Some(line) = framer.next_line(&mut rest) {
            // The session sends no line over its limit.
            let Some(message) = line.whole() else { continue };
            let message = String::from_utf8_lossy(message).into_owned();
            if let Err(error) = duplex.send(message).await {
                tracing::debug!(target: "hardline::transport", %error, "cannot send a message");
                return;
            }
        }
    }
}

/// Passes received messages to the session as lines.
async fn receive_all(
    duplex: &impl MessageDuplex,
    mut output: impl AsyncWrite + Unpin,
    limits: &Limits,
) {
    let mut checker = Checker::new(limits);
    loop {
        let message = match duplex.receive().await {
            Ok(Some(message)) => message,
            Ok(None) => break,
            Err(error) => {
                tracing::debug!(target: "hardline::transport", %error, "cannot receive a message");
                break;
            }
        };
        let mut line = to_line(message.as_bytes(), &mut checker).into_owned();
        line.push(b'\n');
        // The session no longer reads.
        if output.write_all(&line).await.is_err() {
            return;
        }
    }
    // Fails if the session is gone, which then needs no end.
    let _ = output.shutdown().await;
}

/// Returns a message without line ends.
fn to_line<'a>(message: &'a [u8], checker: &mut Checker) -> Cow<'a, [u8]> {
    if memchr(b'\n', message).is_none() {
        return Cow::Borrowed(message);
    }
    // A newline inside of a message stands between tokens, where a space means the same.
    if checker.check(message).is_ok() {
        return single_line(message);
    }
    // A broken message must stay one broken line: its second half could be a message of its own.
    Cow::Owned(message.iter().map(|&byte| if byte == b'\n' { 0 } else { byte }).collect())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use tokio::sync::{Mutex, mpsc};

    use super::*;
    use crate::client::{OutgoingRequest, Transport, TransportError, TransportEvent};

    #[derive(Debug)]
    struct Channels {
        sender: mpsc::Sender<String>,
        receiver: Mutex<mpsc::Receiver<String>>,
        is_closed: Arc<AtomicBool>,
        is_stuck: bool,
    }

    impl MessageDuplex for Channels {
        fn send(&self, message: String) -> BoxFuture<'_, io::Result<()>> {
            Box::pin(async {
                if self.is_stuck {
                    std::future::pending::<()>().await;
                }
                self.sender.send(message).await.map_err(io::Error::other)
            })
        }

        fn receive(&self) -> BoxFuture<'_, io::Result<Option<String>>> {
            Box::pin(async { Ok(self.receiver.lock().await.recv().await) })
        }

        fn close(&self) -> BoxFuture<'_, io::Result<()>> {
            self.is_closed.store(true, Ordering::Release);
            Box::pin(async { Ok(()) })
        }
    }

    /// The other end of a transport.
    struct Peer {
        received: mpsc::Receiver<String>,
        sender: mpsc::Sender<String>,
        is_closed: Arc<AtomicBool>,
    }

    fn pair(is_stuck: bool) -> (LineTransport, Peer) {
        let (sender, received) = mpsc::channel(1);
        let (theirs, receiver) = mpsc::channel(1);
        let is_closed = Arc::new(AtomicBool::new(false));
        let receiver = Mutex::new(receiver);
        let channels = Channels { sender, receiver, is_closed: Arc::clone(&is_closed), is_stuck };
        let transport = LineTransport::over_messages(channels, EndpointSettings::default());
        (transport, Peer { received, sender: theirs, is_closed })
    }

    fn ping(id: i64) -> OutgoingRequest {
        let text = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
        OutgoingRequest::new(id, "ping", text)
    }

    #[tokio::test(start_paused = true)]
    async fn answers_find_their_requests_in_any_order() {
        let (transport, mut peer) = pair(false);
        let serve = async {
            assert!(!peer.received.recv().await.unwrap().contains('\n'));
            peer.received.recv().await.unwrap();
            for text in [
                "{\n\"jsonrpc\":\"2.0\",\r\n\"id\":2,\"result\":{}}",
                r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
            ] {
                peer.sender.send(text.to_owned()).await.unwrap();
            }
        };
        let (first, second, ()) =
            tokio::join!(transport.request(ping(1)), transport.request(ping(2)), serve);
        assert!(first.unwrap().text().contains(r#""id":1"#));
        assert!(second.unwrap().text().contains(r#""id":2"#));
        transport.close().await;
        tokio::time::sleep(CLOSE_TIME).await;
        assert!(peer.is_closed.load(Ordering::Acquire));
    }

    #[tokio::test(start_paused = true)]
    async fn a_mistyped_answer_fails_its_request_after_a_short_wait() {
        let (transport, mut peer) = pair(false);
        let serve = async {
            peer.received.recv().await.unwrap();
            let mistyped = r#"{"jsonrpc":"2.0","id":"1","result":{}}"#;
            peer.sender.send(mistyped.to_owned()).await.unwrap();
        };
        let (answer, ()) = tokio::join!(transport.request(ping(1)), serve);
        assert!(matches!(answer, Err(TransportError::Mistyped(_))), "{answer:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_broken_message_cannot_hide_another_one() {
        let (transport, peer) = pair(false);
        let mut events = transport.take_events().unwrap();
        let hidden = "noise\n{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}";
        peer.sender.send(hidden.to_owned()).await.unwrap();
        assert!(matches!(events.recv().await, Some(TransportEvent::Error { .. })));
        drop(peer.sender);
        assert!(matches!(events.recv().await, Some(TransportEvent::Closed(_))));
    }

    #[tokio::test(start_paused = true)]
    async fn requests_fail_when_the_peer_ends() {
        let (transport, Peer { mut received, sender, .. }) = pair(false);
        let end = async move {
            received.recv().await.unwrap();
            drop(sender);
        };
        let (answer, ()) = tokio::join!(transport.request(ping(1)), end);
        assert!(matches!(answer, Err(TransportError::Closed(_))), "{answer:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_peer_that_takes_no_messages_does_not_keep_the_duplex_open() {
        let (transport, peer) = pair(true);
        let answer = timeout(Duration::from_secs(1), transport.request(ping(1))).await;
        assert!(answer.is_err());
        drop(transport);
        tokio::time::sleep(Duration::from_secs(30)).await;
        assert!(peer.is_closed.load(Ordering::Acquire));
    }
}
