//! Inspects lists and calls of tools: hides tools from lists, and refuses calls of hidden tools.

use std::sync::Arc;

use hardline_wire::excerpt::Excerpt;
use hardline_wire::json::{Checker, Kind, Value};
use hardline_wire::message::Message;

use super::Guard;
use super::content::{ContentVerdict, Subject};
use super::findings::{Findings, Found};
use super::inspect::MessageVerdict;
use super::inspection::MAX_FOUND;
use super::work::Work;
use crate::finding::{Direction, Finding};
use crate::fold::has_twin;
use crate::pin::Definition;
use crate::rule::{Action, Rule};
use crate::scan::is_plain;
use crate::session::{Asked, Reply, page_mark};
use crate::tools::{INSTRUCTIONS, Listed, Page, PinKeeper, TOOL_DENIED};

/// Text around a tool that is judged alone, so that it has the same path as in a list.
const BEFORE: &[u8] = br#"{"result":{"tools":["#;
const AFTER: &[u8] = b"]}}";
/// Path of the tool in that text.
const ALONE: &str = "$.result.tools[0]";
/// Limit on the bytes of a tool's name in a finding.
pub(super) const EXCERPT_BYTES: usize = 80;

/// A list of tools in a message.
pub(super) struct List<'a> {
    result: Value<'a>,
    tools: Value<'a>,
}

impl<'a> List<'a> {
    /// Returns the list in an answer to `asked`, if it has one.
    pub(super) fn of(message: &Message<'a>, asked: Option<&Asked>) -> Option<Self> {
        let result = result_of(message, asked)?;
        let tools = result.get("tools").filter(|it| it.kind() == Kind::Array)?;
        Some(Self { result, tools })
    }

    /// Returns true if some readers would take another member of the answer for the list.
    pub(super) fn has_twin(message: &Message<'_>, asked: Option<&Asked>) -> bool {
        result_of(message, asked).is_some_and(|result| has_twin(result, "tools"))
    }

    /// Returns the position of this page. `next` is the page that the previous one named; it becomes
    /// the one that this page names.
    fn page(&self, asked: Option<&Asked>, next: &mut Option<u64>) -> Page {
        let named = self.result.get("nextCursor").and_then(page_mark);
        let expected = std::mem::replace(next, named);
        let cursor = asked.and_then(|asked| asked.cursor);
        Page {
            is_first: cursor.is_none(),
            is_next: cursor.is_some() && cursor == expected,
            is_last: named.is_none(),
        }
    }
}

pub(super) fn result_of<'a>(message: &Message<'a>, asked: Option<&Asked>) -> Option<Value<'a>> {
    let Message::Response(response) = message else { return None };
    asked.filter(|asked| asked.method == Some("tools/list"))?;
    Some(response.result)
}

impl Guard {
    /// Adds pins: the guard compares the tools that the server lists with them, and pins new ones.
    #[must_use]
    pub fn with_pins(mut self, keeper: Box<dyn PinKeeper>) -> Self {
        self.tools.set_keeper(keeper);
        self
    }

    /// Refuses a call of a hidden or denied tool, and replies to its sender. Returns true if it did.
    /// A notification counts too, because some servers run the tool nevertheless.
    pub(super) fn refuse_call(&mut self, message: &Message<'_>, work: &mut Work<'_>) -> bool {
        let (id, method, params) = match message {
            Message::Request(request) => (Some(&request.id), &request.method, request.params),
            Message::Notification(call) => (None, &call.method, call.params),
            Message::Response(_) | Message::Error(_) => return false,
        };
        if method != "tools/call" {
            return false;
        }
        // Reading the name is a search, so it is left until pins or filters need the name.
        let may_refuse = self.tools.has_pins() && self.refuses_by_pin;
        if !may_refuse && self.tools.lets_all_pass() {
            return false;
        }
        let name = params.and_then(|params| params.get("name")?.as_str());
        let policy = Arc::clone(&self.policy);
        let actions = policy.actions(name.as_deref());
        let decide = |rule| actions.action(rule, Direction::ServerToClient);
        let is_strict = decide(Rule::ToolChanged).max(decide(Rule::ToolNew)) >= Action::Block;
        if !(may_refuse && is_strict) && self.tools.lets_all_pass() {
            return false;
        }
        let refusal = match &name {
            // A server that ignores the case of keys would call another tool.
            Some(_) if params.is_some_and(|params| has_twin(params, "name")) => {
                Some((TOOL_DENIED, "the call names its tool twice".to_owned()))
            }
            Some(name) => {
                let server = self.server.as_deref().unwrap_or_default();
                let refusal = self.tools.refusal(server, name, decide);
                refusal.map(|it| (it.rule, it.reason))
            }
            None => Some((TOOL_DENIED, "the call does not name its tool".to_owned())),
        };
        let Some((rule, reason)) = refusal else { return false };
        if let Some(id) = id {
            // The server never sees the call, so no answer of it may count.
            self.session.settle(Direction::ClientToServer, id);
            let reply = Reply::new(id.clone().into_owned(), Rule::ToolChanged, reason);
            work.reply(Direction::ServerToClient, reply.with_rule(rule));
        }
        work.inspection.denied = Some(name.unwrap_or_default().into_owned());
        true
    }

    /// Returns the actions of the policy for a tool of the server.
    fn decide_for(&self, tool: Option<&str>) -> impl Fn(Rule) -> Action {
        let actions = self.policy.actions(tool);
        |rule| actions.action(rule, Direction::ServerToClient)
    }

    /// Returns true if tools are hidden, by a filter or because of their pins. Then no line that the
    /// guard cannot read may pass.
    pub(super) fn has_tool_filter(&self) -> bool {
        let decide = self.decide_for(None);
        let mut rules = [Rule::ToolChanged, Rule::ToolNew, Rule::ToolShadow].into_iter();
        let hides = self.tools.has_pins() && rules.any(|rule| decide(rule) >= Action::Block);
        hides || !self.tools.filter().is_open()
    }

    /// Returns true if tools are pinned, or if a filter hides some of them.
    pub fn judges_tools(&self) -> bool {
        !self.tools.is_open()
    }

    /// Judges a list of tools one by one, and removes those that must not reach the client.
    pub(super) fn pass_list(
        &mut self,
        list: &List<'_>,
        asked: Option<&Asked>,
        subject: Subject<'_>,
        work: &mut Work<'_>,
    ) -> Result<MessageVerdict, Rule> {
        let elements: Vec<Value<'_>> = list.tools.elements().collect();
        let mut edited = Vec::with_capacity(elements.len());
        let mut tools = Vec::with_capacity(elements.len());
        for (index, element) in elements.iter().enumerate() {
            let mut tool = Listed::new(*element, self.tools.filter());
            edited.push(self.judge_tool(*element, index, subject.base, &mut tool, work));
            tools.push(tool);
        }
        let page = list.page(asked, &mut self.tools.next_page);
        self.review_tools(page, &elements, subject.base, &mut tools, work)?;

        let range = list.tools.offset()..list.tools.offset() + list.tools.text().len();
        let start = subject.text.get(..range.start).unwrap_or_default();
        let end = subject.text.get(range.end..).unwrap_or_default();
        // The tools are judged already, each with the settings of its name.
        let rest = [start, b"[]", end].concat();
        let judged = self.judge_rest(&rest, subject.base, work)?;
        let is_whole = judged.is_none()
            && edited.iter().all(Option::is_none)
            && !tools.iter().any(Listed::is_gone);
        if is_whole {
            return Ok(MessageVerdict::Unchanged);
        }
        let kept = elements.iter().zip(&edited).zip(&tools).filter(|(_, tool)| !tool.is_gone());
        let texts = kept.map(|((element, edited), _)| {
            edited.as_deref().unwrap_or_else(|| element.text().as_bytes())
        });
        let array = [b"[", &*texts.collect::<Vec<_>>().join(&b','), b"]"].concat();
        let written = self.put_tools(judged.as_deref().unwrap_or(&rest), &array);
        written.map(MessageVerdict::Edited).ok_or(Rule::FrameTooLarge)
    }

    /// Judges the definition of one tool. Returns the sanitized text if it was edited.
    fn judge_tool(
        &mut self,
        element: Value<'_>,
        index: usize,
        base: usize,
        tool: &mut Listed,
        work: &mut Work<'_>,
    ) -> Option<Vec<u8>> {
        let text = element.text().as_bytes();
        let direction = Direction::ServerToClient;
        if self.judges_tools() && has_twin(element, "name") {
            self.judge_twin(element, index, base, tool, work);
        }
        if is_plain(text, 0) {
            return None;
        }
        let server = self.server.as_deref().unwrap_or_default();
        let mut actions = self.policy.actions(Some(&tool.name)).clone();
        let is_approved = |it: &Definition| self.tools.check_approval(server, it);
        if tool.definition.as_ref().is_ok_and(is_approved) {
            actions.soften(direction);
        }
        let alone = [BEFORE, text, AFTER].concat();
        let Ok(checked) = Checker::new(&self.limits).check(&alone) else {
            // A part of a checked message at the same depth passes the check too; if not, fail closed.
            tool.hidden = Some(Rule::FrameTooLarge);
            return None;
        };
        // Nothing shorter can stand before the first tool of a list, so this cannot underflow.
        let base = (base + element.offset()).saturating_sub(BEFORE.len());
        let subject = Subject { value: checked.value, text: &alone, base, names: 0 };
        let mut findings = Findings::of_worst(MAX_FOUND);
        (findings.looked, findings.hidden, findings.now) =
            (work.findings.looked, work.findings.hidden, work.findings.now);
        let verdict = self.strings.judge(subject, direction, &actions, &mut findings);
        (work.findings.looked, work.findings.hidden) = (findings.looked, findings.hidden);
        tool.is_poisoned |= findings.found.iter().any(|it| it.finding.rule == Rule::ToolPoison);
        if tool.denial.is_some() {
            // The client never sees it, so its findings are not listed; a poisoned one is not pinned.
            return None;
        }
        work.findings.unlisted += findings.unlisted;
        if findings.action == Action::Close {
            work.close(findings.rule.unwrap_or(Rule::ToolPoison));
        }
        add_at(index, findings.found, work);
        match verdict {
            ContentVerdict::Unchanged => None,
            ContentVerdict::Blocked => {
                tool.hidden = Some(findings.rule.unwrap_or(Rule::ToolPoison));
                None
            }
            ContentVerdict::Edited(edited) => {
                let inner = edited.get(BEFORE.len()..edited.len().saturating_sub(AFTER.len()));
                inner.map(<[u8]>::to_vec)
            }
        }
    }

    /// Reports a tool that some readers know by another name. It is never pinned.
    fn judge_twin(
        &self,
        element: Value<'_>,
        index: usize,
        base: usize,
        tool: &mut Listed,
        work: &mut Work<'_>,
    ) {
        let rule = Rule::FrameAmbiguousKey;
        let action = self.decide_for(None)(rule);
        tool.is_poisoned = true;
        if action >= Action::Block {
            tool.hidden = Some(rule);
        }
        if action == Action::Close {
            work.close(rule);
        }
        let name = Excerpt::new(tool.name.as_bytes(), EXCERPT_BYTES).to_string();
        work.findings.add(rule, action, || Finding {
            path: Some(format!("$.result.tools[{index}]")),
            offset: base + element.offset(),
            length: element.text().len(),
            ..Finding::new(
                rule,
                Direction::ServerToClient,
                name,
                "some readers take a second member of this tool for `name`",
            )
        });
    }

    /// Compares a list with the pins.
    fn review_tools(
        &mut self,
        page: Page,
        elements: &[Value<'_>],
        base: usize,
        tools: &mut [Listed],
        work: &mut Work<'_>,
    ) -> Result<(), Rule> {
        let Self { policy, server, tools: roster, .. } = self;
        let server = server.as_deref().unwrap_or_default();
        let direction = Direction::ServerToClient;
        let decide = |rule, tool: &str| {
            // The instructions have a name in policies, but belong to no tool.
            let tool = Some(tool).filter(|tool| *tool != INSTRUCTIONS);
            policy.actions(tool).action(rule, direction)
        };
        let hits = roster.review(server, tools, page, decide);
        work.inspection.trouble = roster.take_trouble();
        for hit in hits.map_err(|_| Rule::ToolNew)? {
            if hit.action == Action::Close {
                work.close(hit.rule);
            }
            let Some(element) = elements.get(hit.index) else { continue };
            let name = tools.get(hit.index).map_or("", |tool| &tool.name);
            work.findings.add(hit.rule, hit.action, || Finding {
                rule: hit.rule,
                severity: hit.rule.severity(),
                direction,
                path: Some(format!("$.result.tools[{}]", hit.index)),
                offset: base + element.offset(),
                length: element.text().len(),
                excerpt: Excerpt::new(name.as_bytes(), EXCERPT_BYTES).to_string(),
                detail: hit.detail,
            });
        }
        Ok(())
    }

    /// Judges the rest of a message with a list.
    pub(super) fn judge_rest(
        &mut self,
        rest: &[u8],
        base: usize,
        work: &mut Work<'_>,
    ) -> Result<Option<Vec<u8>>, Rule> {
        let checked = Checker::new(&self.limits).check(rest).map_err(|_| Rule::FrameTooLarge)?;
        let subject = Subject { value: checked.value, text: rest, base, names: 1 };
        let actions = self.policy.actions(None);
        match self.strings.judge(subject, Direction::ServerToClient, actions, &mut work.findings) {
            ContentVerdict::Unchanged => Ok(None),
            ContentVerdict::Edited(edited) => Ok(Some(edited)),
            ContentVerdict::Blocked => Err(work.findings.rule.unwrap_or(Rule::ContentFrame)),
        }
    }

    /// Inserts tools into a message with an empty list. Returns `None` if the result is too long.
    fn put_tools(&self, message: &[u8], array: &[u8]) -> Option<Vec<u8>> {
        let checked = Checker::new(&self.limits).check(message).ok()?;
        let place = checked.value.get("result")?.get("tools")?;
        let (start, end) = (place.offset(), place.offset() + place.text().len());
        let written = [message.get(..start)?, array, message.get(end..)?].concat();
        (written.len() <= self.limits.max_frame_bytes()).then_some(written)
    }
}

/// Adds findings about a tool that was judged alone, with its path in the list.
fn add_at(index: usize, found: Vec<Found>, work: &mut Work<'_>) {
    for Found { mut finding, action } in found {
        if let Some(rest) = finding.path.as_ref().and_then(|path| path.strip_prefix(ALONE)) {
            finding.path = Some(format!("$.result.tools[{index}]{rest}"));
        }
        work.findings.add(finding.rule, action, || finding);
    }
}
