//! The tools of one session's server: reviews lists, and decides about calls.

use std::collections::{HashMap, HashSet};

use hardline_wire::excerpt::Excerpt;

use super::TOOL_DENIED;
use super::filter::{Denial, ToolFilter};
use super::keeper::{Page, PinKeeper};
use super::opening::remedy;
use super::review::{Listed, ToolHit};
use super::shadow;
use crate::pin::{Definition, Fingerprint, Lock};
use crate::rule::{Action, Rule};

/// Limit on the tools remembered as hidden, as read-only or as compared, and on the findings
/// remembered as reported.
///
/// Bounds the memory that a server can make the guard use. At the limit, a list with more hidden
/// tools is refused, further read-only tools do not count as read-only, and further findings are
/// reported again.
const MAX_NAMES: usize = 1 << 16;
/// Limit on the bytes of a name that are shown.
const NAME_BYTES: usize = 80;

/// Tracks which tools of a server its client may see and call.
#[derive(Debug, Default)]
pub(crate) struct Roster {
    filter: ToolFilter,
    pub(super) keeper: Option<Box<dyn PinKeeper>>,
    /// Set once the name of the client is known.
    pub(super) has_met_client: bool,
    hidden: HashMap<String, Hidden>,
    /// Names that the pages of the current list hid. A name hidden on one page stays hidden, even
    /// if another page has a visible tool of that name.
    held: HashSet<String>,
    /// Tools of this server that match their pins and may be called.
    compared: HashSet<String>,
    /// For each listed tool, true if its server annotates it as read-only. Filled only in read-only
    /// mode.
    readers: HashMap<String, bool>,
    /// Set while the server has no pins from earlier sessions and has not listed all of its tools
    /// yet.
    is_pinning: bool,
    /// Set once the first page of the pinned list has arrived.
    has_begun: bool,
    /// Hash of the cursor that the last page named as the next one.
    pub(crate) next_page: Option<u64>,
    /// Findings that were already reported. A client lists the tools again and again.
    told: HashSet<(Rule, String, Option<Fingerprint>)>,
}

/// The arguments of a review that every tool of a page needs.
struct Review<'a, F> {
    server: &'a str,
    keeper: &'a mut dyn PinKeeper,
    decide: &'a F,
    hits: &'a mut Vec<ToolHit>,
}

/// A tool that may not be called.
#[derive(Clone, Copy, Debug)]
struct Hidden {
    rule: Rule,
    /// Fingerprint at the time of hiding. The tool is approved once it is pinned with exactly this
    /// one.
    fingerprint: Option<Fingerprint>,
}

/// Rule and reason of a refused call.
#[derive(Debug)]
pub(crate) struct CallRefusal {
    pub(crate) rule: &'static str,
    pub(crate) reason: String,
}

/// Error returned when there are more hidden tools than the roster can remember.
#[derive(Debug)]
pub(crate) struct TooMany;

impl Roster {
    pub(crate) fn new(filter: ToolFilter) -> Self {
        Self { filter, ..Self::default() }
    }

    pub(crate) fn set_keeper(&mut self, keeper: Box<dyn PinKeeper>) {
        self.keeper = Some(keeper);
    }

    pub(crate) fn filter(&self) -> &ToolFilter {
        &self.filter
    }

    /// Resets the state for a new server process, whose tools are not known yet.
    pub(crate) fn restart(&mut self) {
        self.compared.clear();
        self.readers.clear();
        self.next_page = None;
    }

    /// Returns true if lists need no review by the roster.
    pub(crate) fn is_open(&self) -> bool {
        self.keeper.is_none() && self.filter.is_open()
    }

    /// Returns true if every call may reach the server, as long as no rule blocks changed tools.
    pub(crate) fn lets_all_pass(&self) -> bool {
        self.filter.is_open() && self.hidden.is_empty()
    }

    /// Returns true if tools are pinned.
    pub(crate) fn has_pins(&self) -> bool {
        self.keeper.is_some()
    }

    /// Returns the errors of the keeper since the last call.
    pub(crate) fn take_trouble(&mut self) -> Option<String> {
        self.keeper.as_mut()?.take_trouble()
    }

    /// Asks the keeper if a person approved this exact definition, including any planted text.
    pub(crate) fn check_approval(&mut self, server: &str, tool: &Definition) -> bool {
        let lock = self.keeper.as_mut().map(|keeper| keeper.lock());
        lock.is_some_and(|lock| is_pinned_as(&lock, server, tool.name(), tool.fingerprint()))
    }

    /// Returns the reason for which a tool may not be called, if any. `decide` returns the actions
    /// of the policy.
    pub(crate) fn refusal(
        &mut self,
        server: &str,
        tool: &str,
        decide: impl Fn(Rule) -> Action,
    ) -> Option<CallRefusal> {
        let only_reads = self.readers.get(tool).copied();
        if let Some(denial) = self.filter.denial(tool, only_reads.unwrap_or_default()) {
            let reason = match denial {
                Denial::NotReadOnly if only_reads.is_none() => {
                    "only tools that their server lists as read-only are allowed here, and this one \
                     was not listed in this session: list the tools first"
                }
                denial => denial.reason(),
            };
            return Some(CallRefusal { rule: TOOL_DENIED, reason: reason.to_owned() });
        }
        let is_blocked = || decide(Rule::ToolNew) >= Action::Block;
        if tool.len() > Definition::MAX_NAME_BYTES && self.has_pins() && is_blocked() {
            let reason = "this tool is hidden: its name is too long to be pinned".to_owned();
            return Some(CallRefusal { rule: Rule::ToolNew.name(), reason });
        }
        let Some(Hidden { rule, fingerprint }) = self.hidden.get(tool).copied() else {
            return self.refusal_of_unlisted(server, tool, decide);
        };
        // A person may have approved the tool since it was hidden.
        let keeper = self.keeper.as_mut();
        let (lock, approval) = keeper.map(|it| (it.lock(), it.approval(server))).unzip();
        if let (Some(lock), Some(fingerprint)) = (lock, fingerprint)
            && is_pinned_as(&lock, server, tool, fingerprint)
        {
            self.hidden.remove(tool);
            self.compared.insert(tool.to_owned());
            return None;
        }
        let why = match rule {
            Rule::ToolChanged => "it differs from its pin",
            Rule::ToolNew => "it was not there when the server was pinned",
            Rule::ToolShadow => "it has the name of another tool, or one that looks like it",
            rule => rule.title(),
        };
        let mut reason = format!("this tool is hidden: {why}");
        if let Some(approval) = approval {
            let shows = "`hardline pin diff` shows it, and a person can let it through with";
            reason.push_str(&format!("; {shows} `{approval}`"));
        }
        Some(CallRefusal { rule: rule.name(), reason })
    }

    /// Returns the refusal for a tool that is not hidden, but was not listed in this session
    /// either.
    fn refusal_of_unlisted(
        &mut self,
        server: &str,
        tool: &str,
        decide: impl Fn(Rule) -> Action,
    ) -> Option<CallRefusal> {
        if self.compared.contains(tool) {
            return None;
        }
        let blocks = |rule| decide(rule) >= Action::Block;
        if !blocks(Rule::ToolChanged) && !blocks(Rule::ToolNew) {
            return None;
        }
        let lock = self.keeper.as_mut()?.lock();
        // A server without pins has nothing to compare with.
        if !lock.has_list(server) {
            return None;
        }
        if blocks(Rule::ToolChanged) {
            let reason = "this tool was not listed in this session, so that it cannot be compared \
                          with what was pinned: list the tools first";
            return Some(CallRefusal { rule: Rule::ToolChanged.name(), reason: reason.to_owned() });
        }
        lock.tool(server, tool).is_none().then(|| CallRefusal {
            rule: Rule::ToolNew.name(),
            reason: "this tool was not listed in this session, and is not pinned: list the tools \
                     first"
                .to_owned(),
        })
    }

    /// Reviews a page of a tool list: pins it if the server has no pins, compares it, and remembers
    /// which tools may be called. Returns the findings, and hides the tools for which `decide`
    /// returns `block`.
    pub(crate) fn review(
        &mut self,
        server: &str,
        tools: &mut [Listed],
        page: Page,
        decide: impl Fn(Rule, &str) -> Action,
    ) -> Result<Vec<ToolHit>, TooMany> {
        let mut hits = Vec::new();
        // Taken out, because `compare` needs the keeper and `self` at once.
        if let Some(mut keeper) = self.keeper.take() {
            self.compare(server, tools, page, &decide, &mut *keeper, &mut hits);
            self.keeper = Some(keeper);
        }
        if page.is_first {
            // A new list decides again which names are hidden.
            self.held.clear();
        }
        for tool in tools.iter().filter(|tool| !tool.is_copy) {
            self.remember(tool)?;
        }
        Ok(hits)
    }

    fn compare(
        &mut self,
        server: &str,
        tools: &mut [Listed],
        page: Page,
        decide: &impl Fn(Rule, &str) -> Action,
        keeper: &mut dyn PinKeeper,
        hits: &mut Vec<ToolHit>,
    ) {
        let mut lock = keeper.lock();
        // A list without an end must not pin forever, so a second first page ends the pinning. A
        // page that does not follow the previous one ends it too.
        self.is_pinning &= if page.is_first { !self.has_begun } else { page.is_next };
        self.is_pinning |= !lock.has_list(server);
        self.has_begun |= self.is_pinning;
        let mut review = Review { server, keeper, decide, hits };
        let shadows = shadow::find(&lock, &mut *review.keeper, server, tools);
        let shadowing: HashSet<usize> = shadows.iter().map(|(index, _)| *index).collect();
        for (index, detail) in shadows {
            let Some(tool) = tools.get_mut(index) else { continue };
            self.add_hit(tool, index, Rule::ToolShadow, detail, &mut review);
        }
        for index in shadow::copies(tools) {
            let Some(tool) = tools.get_mut(index) else { continue };
            tool.is_copy = true;
            let name = Excerpt::new(tool.name.as_bytes(), NAME_BYTES);
            let detail = format!("tool `{name}` is listed twice");
            self.add_hit(tool, index, Rule::ToolShadow, detail, &mut review);
        }
        let own = tools.iter().filter_map(|tool| tool.definition.as_ref().ok());
        let all: Vec<Definition> = own.cloned().collect();
        // Pins before comparing, so that the tools of a first list are not reported as new.
        if self.is_pinning {
            let is_new = |tool: &&Listed| {
                let is_fit = !tool.is_poisoned && tool.hidden.is_none();
                is_fit && lock.tool(server, &tool.name).is_none()
            };
            let new = tools.iter().filter(is_new).filter_map(|it| it.definition.as_ref().ok());
            let new: Vec<Definition> = new.cloned().collect();
            review.keeper.pin(server, &new);
            lock = review.keeper.lock();
            self.is_pinning = !page.is_last;
        }
        review.keeper.list(server, &all, page);
        for (index, tool) in tools.iter_mut().enumerate() {
            // The other finding already says more than that the tool is new.
            let is_told = tool.is_poisoned || shadowing.contains(&index);
            let found = difference(&lock, &*review.keeper, server, tool);
            let Some((rule, detail)) = found else { continue };
            if rule == Rule::ToolChanged || !is_told {
                self.add_hit(tool, index, rule, detail, &mut review);
            }
        }
    }

    fn add_hit(
        &mut self,
        tool: &mut Listed,
        index: usize,
        rule: Rule,
        mut detail: String,
        review: &mut Review<'_, impl Fn(Rule, &str) -> Action>,
    ) {
        let action = (review.decide)(rule, &tool.name);
        if action >= Action::Block {
            tool.hidden.get_or_insert(rule);
        }
        // A denied tool is invisible to the client anyway. A pinned one, however, was visible
        // before and has changed since.
        if tool.denial.is_some() && rule != Rule::ToolChanged {
            return;
        }
        if action >= Action::Block {
            detail.push_str(&remedy(review.keeper, review.server, "hidden"));
        }
        let fingerprint = tool.definition.as_ref().ok().map(Definition::fingerprint);
        if self.take_news(rule, &tool.name, fingerprint) && action != Action::Allow {
            review.hits.push(ToolHit { index, rule, action, detail });
        }
    }

    /// Returns true if a finding was not reported yet, and marks it as reported.
    pub(super) fn take_news(
        &mut self,
        rule: Rule,
        name: &str,
        fingerprint: Option<Fingerprint>,
    ) -> bool {
        let has_room = self.told.len() < MAX_NAMES;
        // A prefix is enough to recognize a name that is too long to be pinned.
        let name = name.get(..name.floor_char_boundary(Definition::MAX_NAME_BYTES));
        !has_room || self.told.insert((rule, name.unwrap_or_default().to_owned(), fingerprint))
    }

    fn remember(&mut self, tool: &Listed) -> Result<(), TooMany> {
        // The length alone refuses a name that cannot be pinned, so it need not be remembered.
        if tool.name.len() > Definition::MAX_NAME_BYTES {
            return Ok(());
        }
        let has_room = self.readers.len() < MAX_NAMES || self.readers.contains_key(&tool.name);
        if self.filter.is_read_only() && has_room {
            self.readers.insert(tool.name.clone(), tool.only_reads);
        }
        let Some(rule) = tool.hidden else {
            if self.held.contains(&tool.name) {
                return Ok(());
            }
            self.hidden.remove(&tool.name);
            if self.has_pins() && self.compared.len() < MAX_NAMES {
                self.compared.insert(tool.name.clone());
            }
            return Ok(());
        };
        self.compared.remove(&tool.name);
        // Fails closed: a hidden tool that is not remembered could be called.
        if self.hidden.len() >= MAX_NAMES && !self.hidden.contains_key(&tool.name) {
            return Err(TooMany);
        }
        let fingerprint = tool.definition.as_ref().ok().map(Definition::fingerprint);
        self.held.insert(tool.name.clone());
        self.hidden.insert(tool.name.clone(), Hidden { rule, fingerprint });
        Ok(())
    }
}

fn is_pinned_as(lock: &Lock, server: &str, tool: &str, fingerprint: Fingerprint) -> bool {
    lock.tool(server, tool).is_some_and(|pinned| pinned.fingerprint() == fingerprint)
}

/// Returns the difference between a tool and its pin, if any.
fn difference(
    lock: &Lock,
    keeper: &dyn PinKeeper,
    server: &str,
    tool: &Listed,
) -> Option<(Rule, String)> {
    match &tool.definition {
        Ok(definition) => {
            let difference = lock.compare_tool(server, definition)?;
            Some((difference.rule()?, difference.summary(&keeper.comparison(server))))
        }
        // A tool that cannot be pinned may be a different one the next time.
        Err(error) => match lock.tool(server, &tool.name) {
            Some(_) => Some((Rule::ToolChanged, format!("it cannot be compared: {error}"))),
            None => Some((Rule::ToolNew, format!("it cannot be pinned: {error}"))),
        },
    }
}
