//! The tools of all servers as one list.
//!
//! Invariants:
//! - The order is that of the servers in the configuration, and of names within one: it does not depend on
//!   who answered first.
//! - No two tools have one name, and a name is the same for as long as its server and tool are.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use hardline_guard::pin;
use rmcp::model::{Tool, ToolAnnotations};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::name;

pub use hardline_guard::pin::Shadow;

/// How many attempts there are at a name that nobody has.
const MAX_NAMINGS: u32 = 16;
/// How many pairs of tools that can be taken for each other are told.
const MAX_SHADOWS: usize = 1000;

/// The tools of all servers, as they were at one time.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    tools: Vec<CatalogTool>,
    /// Where in the list a name is.
    names: HashMap<Arc<str>, usize>,
    shadows: Vec<Shadow>,
}

/// A tool in the list of all.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CatalogTool {
    /// What it is called among all: `server__tool`, as a rule.
    pub name: Arc<str>,
    /// The server that has it.
    pub server: Arc<str>,
    /// Whether the server still stands by it.
    pub freshness: Freshness,
    /// What the server says of it.
    pub listed: Arc<ListedTool>,
}

/// A tool as its server lists it. Whatever the server says is unescaped: not fit for a terminal.
pub struct ListedTool {
    name: String,
    json: Box<RawValue>,
    tool: Option<Tool>,
}

/// How current a list of tools is.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
#[non_exhaustive]
pub enum Freshness {
    /// The server lists it in the session that is open.
    Current,
    /// The server listed it before it went away.
    Stale,
    /// The server listed it to an earlier run, and has not been asked yet.
    Cached,
}

/// The tools of one server.
#[derive(Clone, Copy, Debug)]
pub(super) struct List<'a> {
    pub(super) server: &'a Arc<str>,
    /// A text that only servers share which are one program under two names.
    pub(super) program: Option<&'a str>,
    pub(super) freshness: Freshness,
    pub(super) tools: &'a [Arc<ListedTool>],
}

impl Catalog {
    /// All tools.
    pub fn tools(&self) -> &[CatalogTool] {
        &self.tools
    }

    /// The tool with this name in the list.
    pub fn find(&self, name: &str) -> Option<&CatalogTool> {
        self.tools.get(*self.names.get(name)?)
    }

    /// The tool of this server that the server calls so.
    pub fn find_of(&self, server: &str, tool: &str) -> Option<&CatalogTool> {
        self.tools.iter().find(|it| &*it.server == server && it.listed.name == tool)
    }

    /// Tools that can be taken for those of another server, because they are called the same or look alike, or
    /// for others of their own server, because they look alike: the rule `tool.shadow`. Servers with one
    /// configuration under two names are one program, and no finding.
    pub fn shadows(&self) -> &[Shadow] {
        &self.shadows
    }

    /// Joins the lists of servers, in their order.
    pub(super) fn join<'a>(lists: impl IntoIterator<Item = List<'a>>) -> Self {
        let mut catalog = Self::default();
        let mut seen = pin::Catalog::new();
        // The first server of each configuration stands for all of them.
        let mut programs: HashMap<&str, &str> = HashMap::new();
        for List { server, program, freshness, tools } in lists {
            let owner = program.map_or(&**server, |it| *programs.entry(it).or_insert(server));
            let mut twins = pin::Twins::new();
            let mut list: Vec<_> = tools.iter().collect();
            list.sort_by(|one, other| one.name.cmp(&other.name));
            // A server that lists a name twice is asked for one of them by it, whichever that is.
            list.dedup_by(|one, other| one.name == other.name);
            for listed in list {
                let twin = twins.insert(server, &listed.name);
                let mut shadow = seen.insert(owner, &listed.name).or(twin);
                if let Some(shadow) = &mut shadow {
                    shadow.server = server.to_string();
                }
                if catalog.shadows.len() < MAX_SHADOWS {
                    catalog.shadows.extend(shadow);
                }
                catalog.push(server, freshness, listed);
            }
        }
        catalog
    }

    fn push(&mut self, server: &Arc<str>, freshness: Freshness, listed: &Arc<ListedTool>) {
        let plain = name::qualified(server, &listed.name);
        let others = (1..MAX_NAMINGS).map(|attempt| name::hashed(server, &listed.name, attempt));
        // Only who wants to can hit upon the name of another, and does not get it.
        let free =
            [plain].into_iter().chain(others).find(|it| !self.names.contains_key(it.as_str()));
        let Some(name) = free else { return };
        let name: Arc<str> = name.into();
        self.names.insert(Arc::clone(&name), self.tools.len());
        let (server, listed) = (Arc::clone(server), Arc::clone(listed));
        self.tools.push(CatalogTool { name, server, freshness, listed });
    }
}

impl ListedTool {
    /// Reads a tool. `None` if it has no name.
    pub(super) fn new(json: Box<RawValue>) -> Option<Self> {
        #[derive(Deserialize)]
        struct Named {
            name: String,
        }

        let Named { name } = serde_json::from_str(json.get()).ok()?;
        let tool = serde_json::from_str(json.get()).ok();
        Some(Self { name, json, tool })
    }

    /// What the server calls it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// All that the server says of it, as it came.
    pub fn json(&self) -> &str {
        self.json.get()
    }

    pub(super) fn raw(&self) -> &RawValue {
        &self.json
    }

    /// The same as rmcp's type, if it fits.
    pub fn tool(&self) -> Option<&Tool> {
        self.tool.as_ref()
    }

    /// Whether it may be called again when nobody knows whether it ran: the server says that it changes
    /// nothing, or nothing more the second time.
    pub fn is_repeatable(&self) -> bool {
        let annotations: Option<&ToolAnnotations> =
            self.tool.as_ref().and_then(|it| it.annotations.as_ref());
        annotations
            .is_some_and(|it| it.read_only_hint == Some(true) || it.idempotent_hint == Some(true))
    }
}

impl fmt::Debug for ListedTool {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("ListedTool").field(&self.name).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tools(names: &[&str]) -> Vec<Arc<ListedTool>> {
        let tool = |name: &&str| {
            let json = serde_json::json!({ "name": name, "inputSchema": { "type": "object" } });
            let json = serde_json::value::to_raw_value(&json).unwrap();
            Arc::new(ListedTool::new(json).unwrap())
        };
        names.iter().map(tool).collect()
    }

    fn join(lists: &[(&str, &[&str])]) -> Catalog {
        let lists: Vec<_> = lists.iter().map(|(server, names)| (*server, None, *names)).collect();
        join_programs(&lists)
    }

    /// The same, with what each server is started with.
    fn join_programs(lists: &[(&str, Option<&str>, &[&str])]) -> Catalog {
        let lists: Vec<(Arc<str>, _, _)> = lists
            .iter()
            .map(|(server, program, names)| ((*server).into(), *program, tools(names)))
            .collect();
        Catalog::join(lists.iter().map(|(server, program, tools)| List {
            server,
            program: *program,
            freshness: Freshness::Current,
            tools,
        }))
    }

    fn names(catalog: &Catalog) -> Vec<&str> {
        catalog.tools().iter().map(|it| &*it.name).collect()
    }

    #[test]
    fn the_order_does_not_depend_on_who_lists_how() {
        let expected = ["b__x", "b__y", "a__x"];
        assert_eq!(names(&join(&[("b", &["y", "x"]), ("a", &["x"])])), expected);
        assert_eq!(names(&join(&[("b", &["x", "y", "x"]), ("a", &["x"])])), expected);
    }

    #[test]
    fn finds_tools_by_either_name() {
        let catalog = join(&[("a", &["x"]), ("b", &["x", "ä"])]);
        for tool in catalog.tools() {
            assert_eq!(catalog.find(&tool.name).unwrap().server, tool.server);
            let found = catalog.find_of(&tool.server, tool.listed.name()).unwrap();
            assert_eq!(found.name, tool.name);
        }
        assert!(catalog.find("x").is_none() && catalog.find_of("c", "x").is_none());
    }

    #[test]
    fn reports_names_that_can_be_taken_for_others() {
        let catalog = join(&[("a", &["read_file", "x"]), ("b", &["read_file", "rеad_file", "y"])]);
        let shadows: Vec<String> = catalog.shadows().iter().map(ToString::to_string).collect();
        assert_eq!(shadows.len(), 2, "{shadows:?}");
        assert!(shadows[0].contains("is also one of `a`"), "{shadows:?}");
        assert!(shadows[1].contains("looks like"), "{shadows:?}");
    }

    #[test]
    fn one_program_under_two_names_shadows_neither_itself_nor_less_than_another() {
        let catalog = join_programs(&[
            ("a", Some("1"), &["send"]),
            ("again", Some("1"), &["send"]),
            ("other", Some("2"), &["send"]),
            ("unknown", None, &["ѕend", "send"]),
        ]);
        let shadows: Vec<String> = catalog.shadows().iter().map(ToString::to_string).collect();
        assert_eq!(
            shadows,
            [
                "tool `send` of `other` is also one of `a`",
                "tool `send` of `unknown` is also one of `a`",
                "tool `\\u{455}end` of `unknown` looks like `send` of `a`",
            ]
        );
        let catalog = join(&[("a", &["send", "Send"])]);
        assert_eq!(
            catalog.shadows()[0].to_string(),
            "tool `send` of `a` looks like `Send` of the same server"
        );
    }

    #[test]
    fn what_a_name_means_does_not_depend_on_who_else_is_there() {
        let theirs = name::qualified("git (work)", "create");
        let planted = theirs.strip_prefix("git__").unwrap();
        let alone = join(&[("git (work)", &["create"])]);
        let beside = join(&[("git", &[planted, "x y"]), ("git (work)", &["create"])]);
        for catalog in [alone, beside] {
            assert_eq!(&*catalog.find(&theirs).unwrap().server, "git (work)");
        }
    }

    #[test]
    fn only_what_says_so_may_run_again() {
        let check = |annotations: &str, expected: bool| {
            let json = format!(r#"{{"name":"x","inputSchema":{{}},"annotations":{annotations}}}"#);
            let tool = ListedTool::new(serde_json::from_str(&json).unwrap()).unwrap();
            assert_eq!(tool.is_repeatable(), expected, "{annotations}");
        };
        check("null", false);
        check("{}", false);
        check(r#"{"readOnlyHint":true}"#, true);
        check(r#"{"idempotentHint":true}"#, true);
        check(r#"{"readOnlyHint":false,"destructiveHint":false}"#, false);
        check(r#"{"readOnlyHint":"true"}"#, false);
    }
}
