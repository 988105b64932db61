//! JSON-RPC messages as MCP uses them, read from a checked object without copying it.
//!
//! The rules: `jsonrpc` is `"2.0"`; an id is a string or an integer; a message has exactly one of
//! `method`, `result` and `error`; `params` is an object or an array; an error has a code and a
//! message; no key differs from a key of the envelope in case alone. Other members are allowed.
//! [`method`](crate::method) knows which methods exist and who may call them. The reader of a
//! result checks its content.

use std::borrow::Cow;

use thiserror::Error;

use crate::id::{Id, IdError};
use crate::json::{self, Checked, Envelope, Kind, Value};
use crate::limits::Limits;

/// One JSON-RPC message.
#[derive(Clone, Debug)]
#[expect(clippy::exhaustive_enums, reason = "JSON-RPC 2.0 has these four")]
pub enum Message<'a> {
    /// A call that needs an answer.
    Request(Request<'a>),
    /// A call that needs no answer.
    Notification(Notification<'a>),
    /// The answer to a request that succeeded.
    Response(Response<'a>),
    /// The answer to a request that failed.
    Error(ErrorResponse<'a>),
}

/// A call that needs an answer.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Request<'a> {
    /// Id that the answer will carry.
    pub id: Id<'a>,
    /// Name of the called method.
    pub method: Cow<'a, str>,
    /// An object or an array.
    pub params: Option<Value<'a>>,
}

/// A call that needs no answer.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Notification<'a> {
    /// Name of the called method.
    pub method: Cow<'a, str>,
    /// An object or an array.
    pub params: Option<Value<'a>>,
}

/// The answer to a request that succeeded.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Response<'a> {
    /// Id of the request.
    pub id: Id<'a>,
    /// Any value; MCP's results are objects.
    pub result: Value<'a>,
}

/// The answer to a request that failed.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ErrorResponse<'a> {
    /// Id of the request; `None` (null or left out) if the other side could not read it.
    pub id: Option<Id<'a>>,
    /// Error code.
    pub code: i64,
    /// Error message for people.
    pub message: Cow<'a, str>,
    /// Further information.
    pub data: Option<Value<'a>>,
}

/// Returns the id of the request that the parameters of `notifications/cancelled` name. `None`
/// without an id that a request of at most `max_id_bytes` could have: it cancels nothing.
pub fn cancelled_id<'a>(params: Option<Value<'a>>, max_id_bytes: usize) -> Option<Id<'a>> {
    Id::read(params?.get("requestId")?, max_id_bytes).ok()
}

impl<'a> Message<'a> {
    /// Reads a message. Its id may have at most `max_id_bytes` of `limits`.
    ///
    /// # Errors
    ///
    /// [`MessageError`], with the position of the fault in the checked text.
    pub fn read(checked: &Checked<'a>, limits: &Limits) -> Result<Self, MessageError> {
        let start = checked.value.offset();
        let Some(envelope) = &checked.envelope else {
            return Err(fault(MessageReason::NotAnObject, start));
        };
        // Refused first: parsers that ignore case would read a different message.
        if let Some(offset) = envelope.twin_key {
            return Err(fault(MessageReason::AmbiguousKey, offset));
        }
        match envelope.jsonrpc {
            None => return Err(fault(MessageReason::NoVersion, start)),
            Some(version) if version.as_str().as_deref() != Some("2.0") => {
                return Err(fault(MessageReason::WrongVersion, version.offset()));
            }
            Some(_) => {}
        }
        let id = |value: Value<'a>| {
            Id::read(value, limits.max_id_bytes())
                .map_err(|error| fault(error.into(), value.offset()))
        };
        match (envelope.method, envelope.result, envelope.error) {
            (Some(method), None, None) => {
                let (method, params) = read_call(method, envelope)?;
                Ok(match envelope.id {
                    Some(value) => Self::Request(Request { id: id(value)?, method, params }),
                    None => Self::Notification(Notification { method, params }),
                })
            }
            (None, Some(result), None) => match envelope.id {
                Some(value) => Ok(Self::Response(Response { id: id(value)?, result })),
                None => Err(fault(MessageReason::NoId, start)),
            },
            (None, None, Some(error)) => {
                // JSON-RPC writes null for an id that could not be read.
                let known = envelope.id.filter(|value| value.kind() != Kind::Null);
                let id = known.map(id).transpose()?;
                // A reader that ignores case would take another code, or other data.
                if error.members().any(|(key, _)| is_twin(&key)) {
                    return Err(fault(MessageReason::AmbiguousKey, error.offset()));
                }
                let error =
                    read_error(error, id).ok_or(fault(MessageReason::BadError, error.offset()))?;
                Ok(Self::Error(error))
            }
            (None, None, None) => Err(fault(MessageReason::NoKind, start)),
            // Two readers could take such a message for different things.
            (_, Some(extra), _) | (_, _, Some(extra)) => {
                Err(fault(MessageReason::TwoKinds, extra.offset()))
            }
        }
    }

    /// Returns the id, which a notification never has and an error response may lack.
    pub fn id(&self) -> Option<&Id<'a>> {
        match self {
            Self::Request(request) => Some(&request.id),
            Self::Notification(_) => None,
            Self::Response(response) => Some(&response.id),
            Self::Error(error) => error.id.as_ref(),
        }
    }

    /// Returns the parameters of a call.
    pub fn params(&self) -> Option<Value<'a>> {
        match self {
            Self::Request(request) => request.params,
            Self::Notification(notification) => notification.params,
            Self::Response(_) | Self::Error(_) => None,
        }
    }

    /// Returns the method of a call.
    pub fn method(&self) -> Option<&str> {
        match self {
            Self::Request(request) => Some(&request.method),
            Self::Notification(notification) => Some(&notification.method),
            Self::Response(_) | Self::Error(_) => None,
        }
    }
}

/// Method and parameters of a call.
type Call<'a> = (Cow<'a, str>, Option<Value<'a>>);

fn read_call<'a>(method: Value<'a>, envelope: &Envelope<'a>) -> Result<Call<'a>, MessageError> {
    let Some(name) = method.as_str() else {
        return Err(fault(MessageReason::BadMethod, method.offset()));
    };
    match envelope.params {
        // JSON-RPC does not allow null here, but rmcp and others write it.
        Some(params) if params.kind() == Kind::Null => Ok((name, None)),
        Some(params) if !matches!(params.kind(), Kind::Object | Kind::Array) => {
            Err(fault(MessageReason::BadParams, params.offset()))
        }
        params => Ok((name, params)),
    }
}

/// Returns true if some reader takes a key for one that JSON-RPC defines for errors.
fn is_twin(key: &str) -> bool {
    const NAMES: [&str; 3] = ["code", "message", "data"];
    let folds = |name: &str| key != name && json::equals_ignoring_case(key, name);
    NAMES.into_iter().any(folds)
}

/// Largest error code that all readers take for the same number. Some refuse others.
const MAX_CODE: u64 = (1 << 53) - 1;

fn read_error<'a>(error: Value<'a>, id: Option<Id<'a>>) -> Option<ErrorResponse<'a>> {
    let (mut code, mut message, mut data) = (None, None, None);
    for (key, value) in error.members() {
        match &*key {
            "code" => code = Some(value),
            "message" => message = Some(value),
            "data" => data = Some(value),
            _ => {}
        }
    }
    // Beyond 2^53, readers in JavaScript see another code.
    let code = code?.as_i64().filter(|code| code.unsigned_abs() <= MAX_CODE)?;
    Some(ErrorResponse { id, code, message: message?.as_str()?, data })
}

fn fault(reason: MessageReason, offset: usize) -> MessageError {
    MessageError { reason, offset }
}

/// A JSON value that is not a message. The sender is always the cause.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
#[error("{reason} at byte {offset}")]
#[non_exhaustive]
pub struct MessageError {
    /// The reason.
    pub reason: MessageReason,
    /// Position of the fault, in bytes from the start of the checked text.
    pub offset: usize,
}

/// Reason why a JSON value is not a message.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
#[non_exhaustive]
pub enum MessageReason {
    /// The value is not an object.
    #[error("a message must be an object")]
    NotAnObject,
    /// A key equals one of the envelope's, or of the error's in it, if case is ignored.
    #[error("a key differs from an envelope key only in case")]
    AmbiguousKey,
    /// There is no member `jsonrpc`.
    #[error("no member \"jsonrpc\"")]
    NoVersion,
    /// `jsonrpc` is not `"2.0"`.
    #[error("\"jsonrpc\" is not \"2.0\"")]
    WrongVersion,
    /// The id is invalid.
    #[error(transparent)]
    BadId(#[from] IdError),
    /// A result has no id.
    #[error("a result without \"id\"")]
    NoId,
    /// There is no `method`, no `result` and no `error`.
    #[error("neither \"method\" nor \"result\" nor \"error\"")]
    NoKind,
    /// There is more than one of `method`, `result` and `error`.
    #[error("more than one of \"method\", \"result\" and \"error\"")]
    TwoKinds,
    /// `method` is not a string.
    #[error("\"method\" is not a string")]
    BadMethod,
    /// `params` is neither an object nor an array.
    #[error("\"params\" is neither an object nor an array")]
    BadParams,
    /// `error` is not an object with an integer `code` and a string `message`.
    #[error("\"error\" is not an object with an integer \"code\" and a string \"message\"")]
    BadError,
}
