//! Opening of a session with an rmcp server, and the end of one that was never opened.
//!
//! Until the session is open, rmcp's `serve()` takes requests only. A notification or a response
//! makes it fail, and so does the end of the input, although a client that starts a server and
//! closes it again does nothing wrong. In that case we hand the server a request of our own that
//! opens a session, and then the server sees a normal end; its answer to that request is discarded.
//! The request comes without `initialize` and has a method that no server knows, so that no code of
//! the service runs except the answer "method not found". A server that does not support the
//! version without `initialize` gets an `initialize` instead.

#![cfg_attr(
    not(feature = "rmcp-server"),
    allow(dead_code, reason = "some of it is for the other role")
)]

use rmcp::model::{
    ClientCapabilities, ClientJsonRpcMessage, ClientRequest, CustomRequest, ErrorCode, GetMeta,
    Implementation, InitializeRequest, InitializeRequestParams, JsonRpcMessage, NumberOrString,
    ProtocolVersion, RequestId,
};

/// Id and method of our own request.
const OWN: &str = "hardline/closed";

/// Tracks whether the session is open.
#[derive(Debug, Default)]
pub(crate) struct Opening {
    state: State,
    /// A request that does not open a session. If the service does not refuse it, the session needs
    /// no opening: `serve_directly` started it.
    plain: Option<RequestId>,
}

#[derive(Debug, Default)]
enum State {
    /// No request has opened the session.
    #[default]
    Closed,
    /// A request without `initialize` opens the session if the server supports its version.
    Tentative(RequestId),
    /// `initialize` was received and is not answered yet.
    Initializing(RequestId),
    Open,
    /// The input ended before the session was open, so our own request opens it.
    Ending(Opener),
}

/// Our own request that opens a session at its end.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Opener {
    Modern,
    /// The server does not support the version of `Modern`.
    ModernRefused,
    Initialize,
}

impl Opening {
    pub(crate) fn is_open(&self) -> bool {
        matches!(self.state, State::Open | State::Tentative(_) | State::Initializing(_))
    }

    /// Records an incoming message. Returns true if rmcp can take it.
    pub(crate) fn admit(&mut self, message: &ClientJsonRpcMessage) -> bool {
        if self.is_open() {
            return true;
        }
        let request = match message {
            JsonRpcMessage::Request(request) => request,
            JsonRpcMessage::Notification(_) => return false,
            // The service sent a request before, so there is a session.
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {
                self.state = State::Open;
                return true;
            }
        };
        match &request.request {
            ClientRequest::InitializeRequest(_) => {
                self.state = State::Initializing(request.id.clone());
            }
            // Both are allowed before a session is open, and neither opens it.
            ClientRequest::PingRequest(_) | ClientRequest::DiscoverRequest(_) => {}
            other => {
                let missing =
                    other.get_meta().missing_required_keys(&ProtocolVersion::V_2026_07_28);
                if missing.is_empty() {
                    self.state = State::Tentative(request.id.clone());
                } else {
                    self.plain = Some(request.id.clone());
                }
            }
        }
        true
    }

    /// Records a request or notification of the service. It sends them in an open session only.
    pub(crate) fn note_sent(&mut self) {
        if matches!(self.state, State::Closed) {
            self.state = State::Open;
        }
    }

    /// Returns true if the caller should wait until an answer is written: before the session is
    /// open, rmcp may drop its transport right after the answer.
    pub(crate) fn is_unsure(&self) -> bool {
        !matches!(self.state, State::Open)
    }

    /// Records an answer of the service. Returns true if it answers our own request.
    pub(crate) fn settle(&mut self, id: &RequestId, error: Option<ErrorCode>) -> bool {
        let is_refused = error == Some(ErrorCode::UNSUPPORTED_PROTOCOL_VERSION);
        match &self.state {
            State::Tentative(opener) if opener == id => {
                self.state = if is_refused { State::Closed } else { State::Open };
                false
            }
            // rmcp refuses such a request before a session is open, so a result proves that it is.
            State::Closed if error.is_none() && self.plain.as_ref() == Some(id) => {
                self.state = State::Open;
                false
            }
            State::Initializing(opener) if opener == id => {
                self.state = State::Open;
                false
            }
            State::Ending(opener) if *id == own_id() => {
                // An older server still supports `initialize`, which is tried next.
                if is_refused && *opener == Opener::Modern {
                    self.state = State::Ending(Opener::ModernRefused);
                }
                true
            }
            _ => false,
        }
    }

    /// Returns the request that opens a session at its end, if it was never opened.
    pub(crate) fn last_word(&mut self) -> Option<ClientJsonRpcMessage> {
        let (opener, request) = match self.state {
            State::Closed => (Opener::Modern, request_without_initialize()),
            State::Ending(Opener::ModernRefused) => (Opener::Initialize, initialize()),
            _ => return None,
        };
        self.state = State::Ending(opener);
        Some(JsonRpcMessage::request(request, own_id()))
    }
}

fn own_id() -> RequestId {
    NumberOrString::String(OWN.into())
}

fn request_without_initialize() -> ClientRequest {
    let mut request = ClientRequest::CustomRequest(CustomRequest::new(OWN, None));
    let meta = request.get_meta_mut();
    meta.set_protocol_version(ProtocolVersion::V_2026_07_28);
    meta.set_client_capabilities(ClientCapabilities::default());
    request
}

fn initialize() -> ClientRequest {
    let client = Implementation::new("hardline", env!("CARGO_PKG_VERSION"));
    let params = InitializeRequestParams::new(ClientCapabilities::default(), client);
    ClientRequest::InitializeRequest(InitializeRequest::new(params))
}
