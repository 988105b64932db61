//! Lists and calls of tools: what a client sees of a list, and which calls reach the server.

use hardline_wire::excerpt::Excerpt;
use hardline_wire::json::{Checker, Kind, Value};
use hardline_wire::message::{Message, Request};

use super::Guard;
use super::content::{self, Subject};
use super::inspect::Passing;
use super::sink::Sink;
use super::verdict::MAX_FOUND;
use super::work::Work;
use crate::finding::{Direction, Finding};
use crate::pin::Definition;
use crate::rule::{Action, Rule};
use crate::scan::is_plain;
use crate::session::{Asked, Reply};
use crate::tools::{Listed, Page, PinKeeper, TOOL_DENIED};

/// What is put around a tool to judge it on its own, at the place where tools are.
const BEFORE: &[u8] = br#"{"result":{"tools":["#;
const AFTER: &[u8] = b"]}}";
/// Where it then is.
const ALONE: &str = "$.result.tools[0]";
/// How much of a tool's name goes into a finding.
const EXCERPT_BYTES: usize = 80;

/// A list of tools in a message.
pub(super) struct List<'a> {
    result: Value<'a>,
    tools: Value<'a>,
}

impl<'a> List<'a> {
    /// The list in an answer to `asked`, if it has one.
    pub(super) fn of(message: &Message<'a>, asked: Option<&Asked>) -> Option<Self> {
        let Message::Response(response) = message else { return None };
        asked.filter(|asked| asked.method == Some("tools/list"))?;
        let tools = response.result.get("tools").filter(|it| it.kind() == Kind::Array)?;
        Some(Self { result: response.result, tools })
    }

    fn page(&self, asked: Option<&Asked>) -> Page {
        let next = self.result.get("nextCursor").is_some_and(|it| it.kind() != Kind::Null);
        Page { is_first: asked.is_none_or(|asked| !asked.has_cursor), is_last: !next }
    }
}

impl Guard {
    /// The same with pins: what the server lists is compared with them, and pinned if it is new.
    #[must_use]
    pub fn with_pins(mut self, keeper: Box<dyn PinKeeper>) -> Self {
        self.tools.set_keeper(keeper);
        self
    }

    /// Whether lists of tools are looked at for their own sake.
    pub(super) fn has_tool_rules(&self) -> bool {
        !self.tools.is_open()
    }

    /// Looks whether a call may reach the server. If not, its sender is told.
    pub(super) fn is_refused_call(&mut self, request: &Request<'_>, work: &mut Work<'_>) -> bool {
        if request.method != "tools/call" || self.tools.lets_all_pass() {
            return false;
        }
        let server = self.server.as_deref().unwrap_or_default();
        let name = request.params.and_then(|params| params.get("name")?.as_str());
        let refusal = match &name {
            // A server that is less exact with keys would call another tool.
            Some(_) if request.params.is_some_and(has_other_name) => {
                Some((TOOL_DENIED, "the call names its tool twice".to_owned()))
            }
            Some(name) => self.tools.refusal(server, name).map(|it| (it.rule, it.reason)),
            None => Some((TOOL_DENIED, "the call does not name its tool".to_owned())),
        };
        let Some((rule, reason)) = refusal else { return false };
        self.session.settle(Direction::ClientToServer, &request.id);
        let reply = Reply::new(request.id.clone().into_owned(), Rule::ToolChanged, reason);
        work.reply(Direction::ServerToClient, reply.with_rule(rule));
        work.denied = Some(name.unwrap_or_default().into_owned());
        true
    }

    /// Judges a list of tools, each on its own: one that must not go on is left out.
    pub(super) fn pass_list(
        &mut self,
        list: &List<'_>,
        asked: Option<&Asked>,
        subject: Subject<'_>,
        work: &mut Work<'_>,
    ) -> Result<Passing, Rule> {
        let elements: Vec<Value<'_>> = list.tools.elements().collect();
        let mut edited = Vec::with_capacity(elements.len());
        let mut tools = Vec::with_capacity(elements.len());
        for (index, element) in elements.iter().enumerate() {
            let mut tool = Listed::new(*element, self.tools.filter());
            edited.push(self.judge_tool(*element, index, subject.base, &mut tool, work));
            tools.push(tool);
        }
        self.review_tools(list, asked, subject, &mut tools, work)?;

        let range = list.tools.offset()..list.tools.offset() + list.tools.text().len();
        let start = subject.text.get(..range.start).unwrap_or_default();
        let end = subject.text.get(range.end..).unwrap_or_default();
        let rest = [start, b"[]", end].concat();
        let judged = self.judge_rest(&rest, subject.base, work)?;
        let is_whole = judged.is_none()
            && edited.iter().all(Option::is_none)
            && !tools.iter().any(Listed::is_gone);
        if is_whole {
            return Ok(Passing::AsIs);
        }
        let kept = elements.iter().zip(&edited).zip(&tools).filter(|(_, tool)| !tool.is_gone());
        let texts = kept.map(|((element, edited), _)| {
            edited.as_deref().unwrap_or_else(|| element.text().as_bytes())
        });
        let array = [b"[", &*texts.collect::<Vec<_>>().join(&b','), b"]"].concat();
        let written = self.put_tools(judged.as_deref().unwrap_or(&rest), &array);
        written.map(Passing::Edited).ok_or(Rule::FrameTooLarge)
    }

    /// Judges one tool's definition. Returns it sanitized, if it must be.
    fn judge_tool(
        &mut self,
        element: Value<'_>,
        index: usize,
        base: usize,
        tool: &mut Listed,
        work: &mut Work<'_>,
    ) -> Option<Vec<u8>> {
        let text = element.text().as_bytes();
        if tool.denial.is_some() || is_plain(text, 0) {
            return None;
        }
        let server = self.server.as_deref();
        let direction = Direction::ServerToClient;
        let mut actions = self.policy.actions(server, Some(&tool.name)).clone();
        let is_approved = |it: &Definition| self.tools.is_approved(server.unwrap_or_default(), it);
        if tool.definition.as_ref().is_ok_and(is_approved) {
            actions.soften(direction);
        }
        let alone = [BEFORE, text, AFTER].concat();
        let Ok(checked) = Checker::new(&self.limits).check(&alone) else {
            // A part of a checked message, nested as deep: it cannot be.
            tool.hidden = Some(Rule::FrameTooLarge);
            return None;
        };
        // Nothing shorter can stand before the first tool of a list.
        let base = (base + element.offset()).saturating_sub(BEFORE.len());
        let subject = Subject { value: checked.value, text: &alone, base, names: 0 };
        let mut sink = Sink::of_worst(MAX_FOUND);
        sink.looked = work.sink.looked;
        let verdict = self.strings.judge(subject, direction, &actions, &mut sink);
        work.sink.looked = sink.looked;
        work.sink.unlisted += sink.unlisted;
        if sink.action == Action::Close {
            work.close(sink.rule.unwrap_or(Rule::ToolPoison));
        }
        tool.is_poisoned = sink.found.iter().any(|it| it.finding.rule == Rule::ToolPoison);
        for found in sink.found {
            let (mut finding, action) = (found.finding, found.action);
            if let Some(rest) = finding.path.as_ref().and_then(|path| path.strip_prefix(ALONE)) {
                finding.path = Some(format!("$.result.tools[{index}]{rest}"));
            }
            work.sink.add(finding.rule, action, || finding);
        }
        match verdict {
            content::Verdict::Clean => None,
            content::Verdict::Blocked => {
                tool.hidden = Some(sink.rule.unwrap_or(Rule::ToolPoison));
                None
            }
            content::Verdict::Edited(edited) => {
                let inner = edited.get(BEFORE.len()..edited.len().saturating_sub(AFTER.len()));
                inner.map(<[u8]>::to_vec)
            }
        }
    }

    /// Compares a list with the pins.
    fn review_tools(
        &mut self,
        list: &List<'_>,
        asked: Option<&Asked>,
        subject: Subject<'_>,
        tools: &mut [Listed],
        work: &mut Work<'_>,
    ) -> Result<(), Rule> {
        let Self { policy, server, tools: roster, .. } = self;
        let (server, direction) = (server.as_deref(), Direction::ServerToClient);
        let decide = |rule, tool: &str| policy.actions(server, Some(tool)).action(rule, direction);
        let notices = roster.review(server.unwrap_or_default(), tools, list.page(asked), decide);
        work.trouble = roster.take_trouble();
        for notice in notices.map_err(|_| Rule::ToolNew)? {
            if notice.action == Action::Close {
                work.close(notice.rule);
            }
            let Some(element) = list.tools.elements().nth(notice.index) else { continue };
            let name = tools.get(notice.index).map_or("", |tool| &tool.name);
            work.sink.add(notice.rule, notice.action, || Finding {
                rule: notice.rule,
                severity: notice.rule.severity(),
                direction,
                path: Some(format!("$.result.tools[{}]", notice.index)),
                offset: subject.base + element.offset(),
                length: element.text().len(),
                excerpt: Excerpt::new(name.as_bytes(), EXCERPT_BYTES).to_string(),
                detail: notice.detail,
            });
        }
        Ok(())
    }

    /// Judges what else is in a message with a list.
    fn judge_rest(
        &mut self,
        rest: &[u8],
        base: usize,
        work: &mut Work<'_>,
    ) -> Result<Option<Vec<u8>>, Rule> {
        let checked = Checker::new(&self.limits).check(rest).map_err(|_| Rule::FrameTooLarge)?;
        let subject = Subject { value: checked.value, text: rest, base, names: 1 };
        let actions = self.policy.actions(self.server.as_deref(), None);
        match self.strings.judge(subject, Direction::ServerToClient, actions, &mut work.sink) {
            content::Verdict::Clean => Ok(None),
            content::Verdict::Edited(edited) => Ok(Some(edited)),
            content::Verdict::Blocked => Err(work.sink.rule.unwrap_or(Rule::ContentFrame)),
        }
    }

    /// Puts tools into a message whose list is empty, unless it is too long then.
    fn put_tools(&self, message: &[u8], array: &[u8]) -> Option<Vec<u8>> {
        let checked = Checker::new(&self.limits).check(message).ok()?;
        let place = checked.value.get("result")?.get("tools")?;
        let (start, end) = (place.offset(), place.offset() + place.text().len());
        let written = [message.get(..start)?, array, message.get(end..)?].concat();
        (written.len() <= self.limits.max_frame_bytes()).then_some(written)
    }
}

/// Whether an object has a key that some readers take for `name`.
fn has_other_name(params: Value<'_>) -> bool {
    let folds_to_name =
        |key: &str| key != "name" && key.chars().flat_map(char::to_lowercase).eq("name".chars());
    params.members().any(|(key, _)| folds_to_name(&key))
}
