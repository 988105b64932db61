//! How a session with an rmcp server begins, and what becomes of one that does not.
//!
//! Until it is opened, rmcp's `serve()` takes requests only: a notification or response makes it fail,
//! and so does the end of the input, although a client that starts a server and closes it again does
//! nothing wrong. In that case the server is handed a request of our own making that opens a session,
//! and then sees its end like any other; the answer to it goes nowhere. It is one without `initialize`
//! and with a method that no server has, so that no code of the service runs except for its answer
//! "method not found". A server that does not speak the version without `initialize` gets that instead.

use rmcp::model::{
    ClientCapabilities, ClientJsonRpcMessage, ClientRequest, CustomRequest, ErrorCode, GetMeta,
    Implementation, InitializeRequest, InitializeRequestParams, JsonRpcMessage, NumberOrString,
    ProtocolVersion, RequestId,
};

/// The id and the method of our own request.
const OWN: &str = "hardline/closed";

/// How far the session is.
#[derive(Debug, Default)]
pub(crate) struct Opening {
    state: State,
    /// A request that opens nothing. If it is not refused all the same, the session needs no opening:
    /// `serve_directly` began it.
    plain: Option<RequestId>,
}

#[derive(Debug, Default)]
enum State {
    /// Nothing has opened it.
    #[default]
    Closed,
    /// A request opens it that does without `initialize`, if the server speaks its version.
    Tentative(RequestId),
    /// `initialize` opens it, and is not answered yet.
    Initializing(RequestId),
    Open,
    /// Nothing did before the input ended, so a request of ours does, for it to end.
    Ending(Opener),
}

/// What of our own making opens a session that is at its end.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Opener {
    Modern,
    /// The server does not speak the version of the first one.
    ModernRefused,
    Initialize,
}

impl Opening {
    pub(crate) fn is_open(&self) -> bool {
        matches!(self.state, State::Open | State::Tentative(_) | State::Initializing(_))
    }

    /// Notes a message that arrived. Returns whether rmcp can take it.
    pub(crate) fn admit(&mut self, message: &ClientJsonRpcMessage) -> bool {
        if self.is_open() {
            return true;
        }
        let request = match message {
            JsonRpcMessage::Request(request) => request,
            JsonRpcMessage::Notification(_) => return false,
            // It is for a request that the service made, so there is a session.
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {
                self.state = State::Open;
                return true;
            }
        };
        match &request.request {
            ClientRequest::InitializeRequest(_) => {
                self.state = State::Initializing(request.id.clone());
            }
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

    /// Notes a request or notification of the service, which it makes in a session only.
    pub(crate) fn note_sent(&mut self) {
        if matches!(self.state, State::Closed) {
            self.state = State::Open;
        }
    }

    /// Whether an answer should be waited for until it is written: before a session is open, rmcp may
    /// drop its transport right after it.
    pub(crate) fn is_unsure(&self) -> bool {
        !matches!(self.state, State::Open)
    }

    /// Notes an answer of the service. Returns whether it was for us.
    pub(crate) fn settles(&mut self, id: &RequestId, error: Option<ErrorCode>) -> bool {
        let is_refused = error == Some(ErrorCode::UNSUPPORTED_PROTOCOL_VERSION);
        match &self.state {
            State::Tentative(opener) if opener == id => {
                self.state = if is_refused { State::Closed } else { State::Open };
                false
            }
            State::Closed if error.is_none() && self.plain.as_ref() == Some(id) => {
                self.state = State::Open;
                false
            }
            State::Initializing(opener) if opener == id => {
                self.state = State::Open;
                false
            }
            State::Ending(opener) if *id == own_id() => {
                if is_refused && *opener == Opener::Modern {
                    self.state = State::Ending(Opener::ModernRefused);
                }
                true
            }
            _ => false,
        }
    }

    /// What a service is given at the end of a session that was never opened: something to open it.
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
