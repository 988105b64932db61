//! Checks that a side may send a message now: direction, lifecycle, capability.

use hardline_wire::method::{self, Method, MethodKind, Sender};
use hardline_wire::version::Version;

use super::era::{Era, Phase};
use crate::finding::{Direction, Severity};
use crate::fold::is_alike;
use crate::rule::Rule;

/// A reason against a message.
#[derive(Clone, Debug)]
pub(super) struct Objection {
    pub(super) rule: Rule,
    pub(super) severity: Severity,
    /// Set if the rule may block the message. Otherwise it is only reported.
    pub(super) can_block: bool,
    pub(super) reason: &'static str,
}

impl Objection {
    fn new(rule: Rule, reason: &'static str) -> Self {
        Self { rule, severity: rule.severity(), can_block: true, reason }
    }

    /// Creates an objection that is reported and blocks nothing.
    fn mild(rule: Rule, reason: &'static str) -> Self {
        Self { severity: Severity::Low, can_block: false, ..Self::new(rule, reason) }
    }
}

/// Returns the objections to a call, most severe first.
pub(super) fn objections(
    name: &str,
    is_request: bool,
    direction: Direction,
    era: &Era,
) -> impl Iterator<Item = Objection> {
    let found = Lookup::of(name, era.version, direction);
    let lifecycle = match direction {
        Direction::ServerToClient => from_server(name, is_request, era),
        Direction::ClientToServer => from_client(name, is_request, era),
    };
    let (objection, method) = match found {
        Lookup::Unknown => {
            let reason = "an unknown method";
            (Some(Objection::mild(Rule::SessionUnknownMethod, reason)), None)
        }
        Lookup::WrongDirection => {
            let reason = "a method that this side may not send";
            (Some(Objection::new(Rule::SessionWrongDirection, reason)), None)
        }
        Lookup::Known(method) => {
            let is_server = direction == Direction::ServerToClient;
            // Without an id the client has no way to refuse it.
            let lacks_id = is_server && !is_request && method.kind == MethodKind::Request;
            let reason = "a request without an id, which cannot be refused";
            let objection = || Objection::new(Rule::SessionWrongDirection, reason);
            (lacks_id.then(objection), Some(method))
        }
    };
    let capability = method.and_then(|it| capability(it, is_request, direction, era));
    [objection, lifecycle, capability].into_iter().flatten()
}

/// Returns the method of the table that some reader takes `name` for, or `name` itself.
pub(super) fn meant_method(name: &str) -> &str {
    let is_known = method::is_known(name);
    let alike = || method::all().map(|it| it.name).find(|it| is_alike(name, it));
    if is_known { name } else { alike().unwrap_or(name) }
}

/// Result of searching for a method.
enum Lookup {
    Unknown,
    WrongDirection,
    Known(&'static Method),
}

impl Lookup {
    /// Finds a method in the negotiated version, or else in any version: a method of another version
    /// needs its capability too.
    fn of(name: &str, version: Option<Version>, direction: Direction) -> Self {
        let may_send = |method: &Method| match method.sender {
            Sender::Both => true,
            Sender::Client => direction == Direction::ClientToServer,
            Sender::Server => direction == Direction::ServerToClient,
        };
        if let Some(method) = version.and_then(|version| method::find(name, version)) {
            return if may_send(method) { Self::Known(method) } else { Self::WrongDirection };
        }
        let is_message = |it: &&Method| it.kind != MethodKind::EmbeddedRequest;
        let mut named = method::named(name).filter(is_message).peekable();
        if named.peek().is_none() {
            return Self::Unknown;
        }
        named.find(|it| may_send(it)).map_or(Self::WrongDirection, Self::Known)
    }
}

/// Returns the objection to a message that the server may not send now, or not at all.
fn from_server(name: &str, is_request: bool, era: &Era) -> Option<Objection> {
    let rule = Rule::SessionLifecycle;
    if !is_request {
        let is_early = matches!(era.phase, Phase::Fresh | Phase::Opening);
        let is_allowed = matches!(
            name,
            "notifications/message" | "notifications/progress" | "notifications/cancelled"
        );
        let reason = "a notification before the session is open";
        return (is_early && !is_allowed).then(|| Objection::mild(rule, reason));
    }
    if era.is_stateless() {
        return Some(Objection::new(rule, "a server sends no requests in this version"));
    }
    // The specification allows a ping at any time.
    let is_early = !era.is_ready() && name != "ping";
    is_early.then(|| Objection::new(rule, "a request before the client is ready"))
}

/// Returns the objection to a message that the client sends too early or twice. The server can
/// refuse such a message, so it is only reported.
fn from_client(name: &str, is_request: bool, era: &Era) -> Option<Objection> {
    let rule = Rule::SessionLifecycle;
    match (name, era.phase) {
        ("initialize", Phase::Opening | Phase::Opened) => {
            Some(Objection::mild(rule, "the session is initialized again"))
        }
        ("initialize" | "ping" | "server/discover", _) => None,
        (_, Phase::Fresh) if is_request => {
            Some(Objection::mild(rule, "a request before the session is initialized"))
        }
        _ => None,
    }
}

/// Returns the objection to a method whose capability was not declared.
fn capability(
    method: &Method,
    is_request: bool,
    direction: Direction,
    era: &Era,
) -> Option<Objection> {
    let needed = method.capability?;
    if era.has(needed.owner, needed.path, direction) != Some(false) {
        return None;
    }
    let reason = "a method whose capability was not declared";
    let rule = Rule::SessionCapability;
    let is_blocked = is_request && direction == Direction::ServerToClient;
    Some(if is_blocked { Objection::new(rule, reason) } else { Objection::mild(rule, reason) })
}
