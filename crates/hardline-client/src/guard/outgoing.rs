//! Messages on their way to the server: proof that the guard inspected each text.
//!
//! Invariant: [`Inner`] sends an [`InspectedText`] and nothing else, and only output of the guard becomes one.

use std::borrow::Cow;
use std::sync::Arc;

use hardline_guard::Inspected;
use hardline_transport::Secrets;
use hardline_transport::client::{
    Answer, BoxFuture, Id, MessageText, OneWayMessage, OutgoingRequest, Transport, TransportError,
    TransportEvents, TransportKind, Version,
};

/// Text that the guard inspected or wrote. Only [`Inner`] can take the text out.
#[derive(Debug)]
pub(super) struct InspectedText(MessageText);

impl InspectedText {
    /// Stores a frame of the guard. Shares `original` if the frame has the same bytes. Returns `None` if the
    /// frame is not UTF-8.
    pub(super) fn new(
        frame: Inspected<Cow<'_, [u8]>>,
        original: Option<&MessageText>,
    ) -> Option<Self> {
        match original {
            // Compared by content, so that the proof does not rest on what the caller says.
            Some(original) if frame.get().as_ref() == original.as_bytes() => {
                Some(Self(original.clone()))
            }
            _ => String::from_utf8(frame.into_inner().into_owned()).ok().map(|it| Self(it.into())),
        }
    }
}

/// The transport behind the guard.
#[derive(Clone, Debug)]
pub(super) struct Inner(Arc<dyn Transport>);

impl Inner {
    pub(super) fn new(transport: Arc<dyn Transport>) -> Self {
        Self(transport)
    }

    /// Sends a request with an inspected text in place of its own.
    pub(super) fn request(
        &self,
        mut request: OutgoingRequest,
        text: InspectedText,
    ) -> BoxFuture<'_, Result<Answer, TransportError>> {
        request.text = text.0;
        self.0.request(request)
    }

    /// Sends a one-way message with an inspected text in place of its own.
    pub(super) fn notify(
        &self,
        mut message: OneWayMessage,
        text: InspectedText,
    ) -> BoxFuture<'_, Result<(), TransportError>> {
        message.text = text.0;
        self.0.notify(message)
    }

    /// Answers a request of the server.
    pub(super) fn answer(
        &self,
        id: Id<'static>,
        text: InspectedText,
    ) -> BoxFuture<'_, Result<(), TransportError>> {
        self.0.notify(OneWayMessage::answer(id, text.0))
    }

    pub(super) fn agree(&self, version: Version) -> BoxFuture<'_, ()> {
        self.0.agree(version)
    }

    pub(super) fn forget_session(&self) {
        self.0.forget_session();
    }

    pub(super) fn close(&self) -> BoxFuture<'_, ()> {
        self.0.close()
    }

    pub(super) fn is_connected(&self) -> bool {
        self.0.is_connected()
    }

    pub(super) fn take_events(&self) -> Option<TransportEvents> {
        self.0.take_events()
    }

    pub(super) fn kind(&self) -> TransportKind {
        self.0.kind()
    }

    pub(super) fn secrets(&self) -> Secrets {
        self.0.secrets()
    }
}
