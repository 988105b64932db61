//! The tools of all servers as one list.
//!
//! Invariants:
//! - Tools are ordered by their server's position in the configuration, then by name. The order in which
//!   servers answer has no influence.
//! - Names are unique, and a name stays the same as long as its server and tool do.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use hardline_guard::pin;
use rmcp::model::{Tool, ToolAnnotations};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::name;

pub use hardline_guard::pin::Shadow;

/// Limit on attempts to find an unused name.
const MAX_NAMINGS: u32 = 16;
/// Limit on reported pairs of confusable tools.
const MAX_SHADOWS: usize = 1000;

/// A snapshot of the tools of all servers.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    tools: Vec<CatalogTool>,
    /// Index into `tools` for each name.
    names: HashMap<Arc<str>, usize>,
    shadows: Vec<Shadow>,
}

/// A tool in the catalog.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CatalogTool {
    /// Unique name in the catalog, usually `server__tool`.
    pub name: Arc<str>,
    /// Name of the server that offers the tool.
    pub server: Arc<str>,
    /// Freshness of the server's list.
    pub freshness: Freshness,
    /// Definition of the tool, as the server lists it.
    pub listed: Arc<ListedTool>,
}

/// A tool as its server lists it. All text is the server's, unescaped: do not print it to a terminal.
pub struct ListedTool {
    name: String,
    json: Box<RawValue>,
    tool: Option<Tool>,
}

/// The freshness of a tool list.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
#[non_exhaustive]
pub enum Freshness {
    /// The server has listed the tool in the current session.
    Current,
    /// The server listed the tool in a session that has ended.
    Stale,
    /// The list is from an earlier run; the server has not answered in this one yet.
    Cached,
}

/// The tool list of one server.
#[derive(Clone, Copy, Debug)]
pub(super) struct List<'a> {
    pub(super) server: &'a Arc<str>,
    /// Key that two servers share only if both names run the same program.
    pub(super) program: Option<&'a str>,
    pub(super) freshness: Freshness,
    pub(super) tools: &'a [Arc<ListedTool>],
}

impl Catalog {
    /// Returns all tools.
    pub fn tools(&self) -> &[CatalogTool] {
        &self.tools
    }

    /// Returns the tool with this name in the catalog.
    pub fn find(&self, name: &str) -> Option<&CatalogTool> {
        self.tools.get(*self.names.get(name)?)
    }

    /// Returns the tool of this server with the server's own name for it.
    pub fn find_of(&self, server: &str, tool: &str) -> Option<&CatalogTool> {
        self.tools.iter().find(|it| &*it.server == server && it.listed.name == tool)
    }

    /// Returns tools that can be confused with a tool of another server, because the names are equal or look
    /// alike, or with a tool of the same server, because they look alike: rule `tool.shadow`. Two servers with
    /// the same configuration run the same program and are not reported.
    pub fn shadows(&self) -> &[Shadow] {
        &self.shadows
    }

    /// Joins the servers' lists, in the given order.
    pub(super) fn join<'a>(lists: impl IntoIterator<Item = List<'a>>) -> Self {
        let mut catalog = Self::default();
        let mut seen = pin::ToolNames::new();
        // Servers that run the same program are compared with the others under the name of the first.
        let mut programs: HashMap<&str, &str> = HashMap::new();
        for List { server, program, freshness, tools } in lists {
            // Without a known program, the name of the server is its own program.
            let owner = program.map_or(&**server, |it| *programs.entry(it).or_insert(server));
            // Per server: names that look alike within one server confuse a model just as much.
            let mut twins = pin::Twins::new();
            let mut list: Vec<_> = tools.iter().collect();
            // Sorted, because some servers list their tools in a random order.
            list.sort_by(|one, other| one.name.cmp(&other.name));
            // A call by this name could mean either definition; listing both would only repeat the name.
            list.dedup_by(|one, other| one.name == other.name);
            for listed in list {
                // Both sets must see every name, so neither insertion may be skipped.
                let twin = twins.insert(server, &listed.name);
                let mut shadow = seen.insert(owner, &listed.name).or(twin);
                if let Some(shadow) = &mut shadow {
                    // Compared under the first server of its program, but shown under its own.
                    shadow.server = server.to_string();
                }
                // A server can make up any number of similar names.
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
        // Names collide only if a server intends it, so the later server gets another name.
        let free =
            [plain].into_iter().chain(others).find(|it| !self.names.contains_key(it.as_str()));
        // Sixteen collisions of a hash are an attack; such a tool is left out.
        let Some(name) = free else { return };
        let name: Arc<str> = name.into();
        self.names.insert(Arc::clone(&name), self.tools.len());
        let (server, listed) = (Arc::clone(server), Arc::clone(listed));
        self.tools.push(CatalogTool { name, server, freshness, listed });
    }
}

impl ListedTool {
    /// Parses a tool definition. Returns `None` if it has no name.
    pub(super) fn new(json: Box<RawValue>) -> Option<Self> {
        #[derive(Deserialize)]
        struct Named {
            name: String,
        }

        let Named { name } = serde_json::from_str(json.get()).ok()?;
        // A definition that rmcp's type rejects is still listed and can still be called.
        let tool = serde_json::from_str(json.get()).ok();
        Some(Self { name, json, tool })
    }

    /// Returns the server's own name for the tool.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the complete definition as JSON, as received.
    pub fn json(&self) -> &str {
        self.json.get()
    }

    pub(super) fn raw(&self) -> &RawValue {
        &self.json
    }

    /// Returns the definition as rmcp's type, if it fits.
    pub fn tool(&self) -> Option<&Tool> {
        self.tool.as_ref()
    }

    /// Returns true if the tool may be called again after a call with an unknown outcome: the server declares
    /// it read-only or idempotent.
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

    /// Joins lists whose servers run the named programs.
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
    fn the_order_does_not_depend_on_the_servers_answers() {
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
    fn one_program_under_two_names_shadows_other_programs_but_not_itself() {
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
    fn the_meaning_of_a_name_does_not_depend_on_other_servers() {
        let theirs = name::qualified("git (work)", "create");
        let planted = theirs.strip_prefix("git__").unwrap();
        let alone = join(&[("git (work)", &["create"])]);
        let beside = join(&[("git", &[planted, "x y"]), ("git (work)", &["create"])]);
        for catalog in [alone, beside] {
            assert_eq!(&*catalog.find(&theirs).unwrap().server, "git (work)");
        }
    }

    #[test]
    fn only_tools_declared_read_only_or_idempotent_are_repeatable() {
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
