//! Handles requests and notifications.

use std::borrow::Cow;
use std::hash::{DefaultHasher, Hasher};
use std::sync::LazyLock;
use std::time::Duration;

use hardline_wire::encode::code;
use hardline_wire::id::Id;
use hardline_wire::json::{Kind, Value};
use hardline_wire::message::{Notification, Request, cancelled_id};
use hardline_wire::method;
use memchr::memmem::Finder;

use super::check::{meant_method, objections};
use super::embedded::{Embedded, Receiver, look_inside};
use super::judge::{About, Judge};
use super::part::{Fault, objection_to_parts};
use super::table::{Ended, InFlight, RequestKind, Table};
use super::{
    Asked, CoalesceKey, Doubt, MAX_TOOL_BYTES, Reply, Session, SessionDecision, SessionVerdict,
};
use crate::finding::{Direction, Finding};
use crate::rule::{Action, Rule};

impl Session {
    pub(super) fn handle_request(
        &mut self,
        request: &Request<'_>,
        now: Duration,
        judge: &Judge<'_, impl Fn(Rule) -> Action>,
    ) -> SessionDecision {
        let id = request.id.clone().into_owned();
        let direction = judge.direction;
        let mut findings = Vec::new();
        let answer = |findings, rule, reason: &str| {
            let reply = Reply::new(request.id.clone().into_owned(), rule, reason);
            SessionDecision::new(findings, SessionVerdict::Answer(reply))
        };
        let is_from_client = direction == Direction::ClientToServer;
        let Parts { meta, name } = Parts::of(request.params, request.method == "tools/call");
        let stateless = if is_from_client { self.era.learn_inline(meta) } else { None };

        // Two requests with one id would make it unclear which one an answer belongs to.
        if self.requests(direction).contains(&id) {
            let rule = Rule::SessionDuplicateId;
            let reason = "a request with this id is still in flight";
            judge.find(&mut findings, rule, rule.severity(), About::Id(&id), reason);
            if judge.blocks(rule) {
                let reply = Reply::new(id, rule, format!("Invalid request: {reason}"));
                let reply = reply.with_code(code::INVALID_REQUEST);
                return SessionDecision::new(findings, SessionVerdict::Answer(reply));
            }
        }
        if let Some((rule, reason)) = self.object(&request.method, true, judge, &mut findings) {
            if !is_from_client && rule == Rule::SessionWrongDirection {
                // A server that sends a request back has nothing else to say about it.
                self.doubt(&id, Doubt::Lost, now);
            }
            return answer(findings, rule, reason);
        }
        if let Some((rule, reason)) = self.object_to_parts(request, judge, &mut findings) {
            return answer(findings, rule, reason);
        }
        if !is_from_client && !self.take_token(&request.method, now, judge, &mut findings) {
            self.flood.count_dropped();
            return answer(findings, Rule::SessionBurst, "too many requests at once");
        }
        // The table is the memory that one session may take, so this blocks under any policy.
        if self.requests(direction).is_full() {
            let (rule, reason) = (Rule::SessionBurst, "too many requests in flight");
            let about = About::Method(&request.method);
            judge.find(&mut findings, rule, rule.severity(), about, reason);
            return answer(findings, rule, reason);
        }
        let kind = RequestKind::of(&request.method);
        if is_from_client && kind == RequestKind::Initialize {
            self.era.begin(request.params);
        }
        let progress_token = self.progress_token(meta);
        let asked = Asked { since: now, ..asked(request, name) };
        let entry = InFlight { kind, progress_token, stateless, asked, ..InFlight::default() };
        self.requests(direction).insert(id, entry);
        SessionDecision::new(findings, SessionVerdict::Pass)
    }

    pub(super) fn handle_notification(
        &mut self,
        call: &Notification<'_>,
        now: Duration,
        judge: &Judge<'_, impl Fn(Rule) -> Action>,
    ) -> SessionDecision {
        let mut findings = Vec::new();
        if self.object(&call.method, false, judge, &mut findings).is_some() {
            return SessionDecision::new(findings, SessionVerdict::Drop);
        }
        match (&*call.method, judge.direction) {
            // Not rate-limited for a pending request: its receiver must learn of the cancellation,
            // and there is at most one for each request.
            ("notifications/cancelled", direction) => {
                if let Some(ended) = self.cancel(direction, call.params) {
                    let forget = self.flood.take_progress(ended.progress_token);
                    return SessionDecision {
                        forget,
                        ..SessionDecision::new(findings, SessionVerdict::Pass)
                    };
                }
                if direction == Direction::ServerToClient {
                    self.doubt_named(call.params, "requestId", now);
                }
            }
            // The same: the client waits for the one of each of its subscriptions.
            ("notifications/subscriptions/acknowledged", Direction::ServerToClient)
                if self.acknowledge(call.params) =>
            {
                return SessionDecision::new(findings, SessionVerdict::Pass);
            }
            ("notifications/progress", Direction::ServerToClient) => {
                self.trust(call, now);
            }
            ("notifications/initialized", Direction::ClientToServer) => self.era.client_is_ready(),
            (name, Direction::ServerToClient) if !method::is_known(name) => {
                self.doubt_named(call.params, "id", now);
            }
            _ => {}
        }
        let client =
            self.era.notified_client().filter(|_| judge.direction == Direction::ServerToClient);
        let version = self.era.version;
        let embedded = call
            .params
            .zip(client)
            .and_then(|(params, client)| look_inside(params, Receiver { client, version }));
        if let Some(embedded) = embedded {
            let Embedded { rule, reason, .. } = embedded;
            let about = About::Embedded(&embedded);
            judge.find(&mut findings, rule, rule.severity(), about, reason);
            if judge.blocks(rule) {
                return SessionDecision::new(findings, SessionVerdict::Drop);
            }
        }
        self.handle_unasked(Some(call), now, findings, judge)
    }

    /// Makes the request of the client doubtful that a member of a notification names: its answer may never
    /// come in another form.
    fn doubt_named(&mut self, params: Option<Value<'_>>, member: &str, now: Duration) {
        let id = params.and_then(|params| params.get(member));
        if let Some(Ok(id)) = id.map(|it| Id::read(it, self.limits.max_id_bytes())) {
            self.doubt(&id.into_owned(), Doubt::Lost, now);
        }
    }

    /// Extends the deadline of a doubtful request, because the server reports progress on it.
    pub(crate) fn trust(&mut self, call: &Notification<'_>, now: Duration) {
        let token = call.params.and_then(|params| params.get("progressToken"));
        if let Some(Ok(token)) = token.map(|it| Id::read(it, self.limits.max_id_bytes())) {
            self.client.trust(&token.into_owned(), now);
        }
    }

    /// Passes a message that the server sends on its own, up to the rate limit.
    pub(super) fn handle_unasked(
        &mut self,
        call: Option<&Notification<'_>>,
        now: Duration,
        mut findings: Vec<Finding>,
        judge: &Judge<'_, impl Fn(Rule) -> Action>,
    ) -> SessionDecision {
        if judge.direction == Direction::ClientToServer {
            return SessionDecision::new(findings, SessionVerdict::Pass);
        }
        let max_id_bytes = self.limits.max_id_bytes();
        // Of progress and list changes only the newest counts, so those are kept instead of dropped.
        let key = call.and_then(|it| CoalesceKey::of(&it.method, it.params, max_id_bytes));
        let method = call.map_or("an error without an id", |it| &*it.method);
        if self.take_token(method, now, judge, &mut findings) {
            let forget = key.filter(|key| self.flood.forget(key));
            return SessionDecision {
                forget,
                ..SessionDecision::new(findings, SessionVerdict::Pass)
            };
        }
        let verdict = match key.filter(|key| self.flood.keep(key)) {
            Some(key) => SessionVerdict::Coalesce(key),
            None => {
                self.flood.count_dropped();
                SessionVerdict::Drop
            }
        };
        SessionDecision { is_flood: true, ..SessionDecision::new(findings, verdict) }
    }

    /// Reports the objections to a call. Returns the rule that blocks it, if one does.
    fn object(
        &self,
        method: &str,
        is_request: bool,
        judge: &Judge<'_, impl Fn(Rule) -> Action>,
        findings: &mut Vec<Finding>,
    ) -> Option<(Rule, &'static str)> {
        let meant = match judge.direction {
            Direction::ServerToClient => meant_method(method),
            Direction::ClientToServer => method,
        };
        for objection in objections(meant, is_request, judge.direction, &self.era) {
            let (rule, reason) = (objection.rule, objection.reason);
            judge.find(findings, rule, objection.severity, About::Method(method), reason);
            if objection.can_block && judge.blocks(rule) {
                return Some((rule, reason));
            }
        }
        None
    }

    /// Reports a part of a server's request that the client did not agree to. Returns the rule and the
    /// reason if the policy blocks it.
    fn object_to_parts(
        &self,
        request: &Request<'_>,
        judge: &Judge<'_, impl Fn(Rule) -> Action>,
        findings: &mut Vec<Finding>,
    ) -> Option<Fault> {
        let client = self.era.client().filter(|_| judge.direction == Direction::ServerToClient)?;
        let version = self.era.version;
        let method = meant_method(&request.method);
        let (rule, reason) = objection_to_parts(method, request.params, client, version)?;
        judge.find(findings, rule, rule.severity(), About::Method(&request.method), reason);
        judge.blocks(rule).then_some((rule, reason))
    }

    /// Takes a token for a message of the server. Returns false if the limit is exceeded and
    /// enforced, and reports an exceeded limit now and then.
    fn take_token(
        &mut self,
        method: &str,
        now: Duration,
        judge: &Judge<'_, impl Fn(Rule) -> Action>,
        findings: &mut Vec<Finding>,
    ) -> bool {
        if (judge.decide)(Rule::SessionBurst) == Action::Allow || self.flood.take(now) {
            return true;
        }
        if let Some(detail) = self.flood.report(now) {
            let rule = Rule::SessionBurst;
            judge.find(findings, rule, rule.severity(), About::Method(method), &detail);
        }
        !self.flood.is_enforced()
    }

    /// Ends a request that its sender cancelled, and returns it. `None` if no such request is pending.
    fn cancel(&mut self, sender: Direction, params: Option<Value<'_>>) -> Option<InFlight> {
        let id = cancelled_id(params, self.limits.max_id_bytes())?.into_owned();
        let is_of_kind = |table: &Table, kind| table.get(&id).is_some_and(|it| it.kind == kind);
        let is_subscription = is_of_kind(&self.client, RequestKind::Subscription);
        let request = match sender {
            // A server ends a subscription of the client in this way.
            Direction::ServerToClient if is_subscription => Direction::ClientToServer,
            direction => direction,
        };
        let table = self.requests(request);
        // The protocol forbids to cancel it, so its answer must still match.
        if is_of_kind(table, RequestKind::Initialize) {
            return None;
        }
        table.end(&id, Ended::Cancelled)
    }

    /// Marks a subscription of the client as acknowledged. Returns false for a second time, and if no
    /// such subscription is open.
    fn acknowledge(&mut self, params: Option<Value<'_>>) -> bool {
        let id = params.and_then(|params| params.get("_meta"));
        let id = id.and_then(|meta| meta.get("io.modelcontextprotocol/subscriptionId"));
        let id = id.map(|id| Id::read(id, self.limits.max_id_bytes()));
        matches!(id, Some(Ok(id)) if self.client.acknowledge(&id.clone().into_owned()))
    }

    fn progress_token(&self, meta: Option<Value<'_>>) -> Option<Id<'static>> {
        let token = meta?.get("progressToken")?;
        Id::read(token, self.limits.max_id_bytes()).ok().map(Id::into_owned)
    }
}

/// Finds the start of a key such as `_meta` or `__proto__`.
static SPECIAL_KEY: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("\"_"));
/// Finds an escape, with which a key may be written.
static ESCAPE: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("\\u"));

/// Key that JavaScript takes for the prototype of an object, if a program copies members one by one.
pub(crate) const PROTOTYPE_KEY: &str = "__proto__";

/// Returns true if an object with this text may have metadata, or a member that some clients take for its
/// prototype. Reading the members of a long object costs more than looking for such a key, escaped or not.
pub(crate) fn may_have_special_key(text: &[u8]) -> bool {
    SPECIAL_KEY.find(text).is_some() || has_unicode_escape(text)
}

/// Returns true if a text has an escape, with which any character may be written.
pub(super) fn has_unicode_escape(text: &[u8]) -> bool {
    ESCAPE.find(text).is_some()
}

/// The members of a request's parameters that matter, found in one pass.
#[derive(Default)]
struct Parts<'a> {
    meta: Option<Value<'a>>,
    name: Option<Value<'a>>,
}

impl<'a> Parts<'a> {
    /// Finds the members. Parameters may be large, so it searches only for members that can exist.
    fn of(params: Option<Value<'a>>, wants_name: bool) -> Self {
        let mut parts = Self::default();
        let Some(params) = params else { return parts };
        let mut wants_meta = may_have_special_key(params.text().as_bytes());
        let mut wants_name = wants_name;
        let mut members = params.members();
        while (wants_meta || wants_name)
            && let Some((key, value)) = members.next()
        {
            match &*key {
                "_meta" => (parts.meta, wants_meta) = (Some(value), false),
                "name" => (parts.name, wants_name) = (Some(value), false),
                _ => {}
            }
        }
        parts
    }
}

fn asked(request: &Request<'_>, name: Option<Value<'_>>) -> Asked {
    let method = &*request.method;
    // A static name costs no memory per request, and a peer cannot fill logs with invented ones.
    let known = method::named(method).next().map(|it| it.name);
    let is_short = |name: &Value<'_>| name.text().len() <= MAX_TOOL_BYTES;
    let tool = name.filter(|it| method == "tools/call" && is_short(it));
    let cursor = request.params.filter(|_| method == "tools/list");
    let cursor = cursor.and_then(|params| params.get("cursor")).and_then(page_mark);
    let tool = tool.and_then(|it| it.as_str()).map(Cow::into_owned);
    let has_cursor = cursor.is_some();
    Asked { method: known, tool, has_cursor, cursor, since: Duration::ZERO }
}

/// Returns the hash of a cursor, which identifies a page.
pub(crate) fn page_mark(cursor: Value<'_>) -> Option<u64> {
    if cursor.kind() == Kind::Null {
        return None;
    }
    let mut hasher = DefaultHasher::new();
    match cursor.as_str() {
        Some(text) => hasher.write(text.as_bytes()),
        None => hasher.write(cursor.text().as_bytes()),
    }
    Some(hasher.finish())
}
