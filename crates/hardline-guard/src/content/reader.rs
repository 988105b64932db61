//! The readers of a message's strings: people and models, machines, or both.
//!
//! The table here is about what a server sends. It follows the schemas of all versions of MCP; a test has an
//! entry for each of their strings. What no version knows is text.
//!
//! | | is read | is compared or sent back | what is wrong with it |
//! |---|---|---|---|
//! | [`Reader::Person`] | yes | no | is made harmless |
//! | [`Reader::Both`], [`Reader::Name`] | yes | yes | blocks what it is part of: editing would name something else |
//! | [`Reader::Machine`] | no | yes | is reported; a planted message blocks |

/// Readers of a string.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Reader {
    /// People and models read it, and nothing depends on its exact characters.
    Person,
    /// People and models see it, and machines compare it: addresses, keys, values of a choice.
    Both,
    /// The same, and it is what people and models call something by: an identifier needs no invisible character.
    Name,
    /// Machines alone: cursors, states, binary data.
    Machine,
}

/// Members that hold what is passed on unread, wherever they stand.
const MACHINE: [&str; 11] = [
    "cursor",
    "elicitationId",
    "id",
    "jsonrpc",
    "nextCursor",
    "progressToken",
    "requestId",
    "requestState",
    "sessionId",
    "taskId",
    "toolUseId",
];

/// Members that hold binary data and its size, each below one of some members.
const BINARY: [(&str, &[&str]); 4] = [
    ("blob", &["contents", "resource"]),
    ("data", &["content"]),
    ("sizes", &["icons"]),
    ("src", &["icons"]),
];

/// Members that hold a word of the protocol, a name or an address, wherever they stand.
const BOTH: [&str; 29] = [
    "action",
    "audience",
    "cacheScope",
    "createdAt",
    "format",
    "href",
    "includeContext",
    "lastModified",
    "lastUpdatedAt",
    "level",
    "method",
    "mimeType",
    "mode",
    "model",
    "protocolVersion",
    "resourceSubscriptions",
    "resultType",
    "role",
    "status",
    "stopReason",
    "stopSequences",
    "supportedVersions",
    "taskSupport",
    "theme",
    "type",
    "uri",
    "uriTemplate",
    "url",
    "websiteUrl",
];

/// Parts of a result or of parameters that are about the session, and that no person or model is shown.
const SETTINGS: [&str; 3] = ["capabilities", "metadata", "modelPreferences"];

/// The server's description of itself, in a place that is otherwise for machines.
const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";

/// Returns the readers of the string that `names` lead to; if `is_key`, of a key there.
pub(super) fn of(names: &[&str], is_key: bool) -> Reader {
    let inside = |reader| if is_key { Reader::Both } else { reader };
    for (at, name) in names.iter().enumerate() {
        let (before, after) =
            (names.get(..at).unwrap_or_default(), names.get(at + 1..).unwrap_or_default());
        match *name {
            "inputSchema" | "outputSchema" | "requestedSchema" => return of_schema(after, is_key),
            // What a tool returned, and what a model called one with, as they like.
            "structuredContent" => return inside(Reader::Person),
            "input" if before.ends_with(&["messages", "content"]) => return inside(Reader::Person),
            "data" if is_free(before) && after.first() != Some(&"elicitations") => {
                return inside(Reader::Person);
            }
            "_meta" if after.first() == Some(&SERVER_INFO) && after.len() > 1 => {}
            "_meta" => return Reader::Machine,
            name if SETTINGS.contains(&name) && matches!(before, ["result"] | [.., "params"]) => {
                return Reader::Machine;
            }
            _ => {}
        }
    }
    inside(of_member(names))
}

/// Returns whether the `data` below this is an error's or a log message's: anything, for people.
fn is_free(names: &[&str]) -> bool {
    matches!(names, ["error" | "params"])
}

fn of_member(names: &[&str]) -> Reader {
    let Some((name, before)) = names.split_last() else { return Reader::Person };
    let is_below = |of: &[&str]| before.last().is_some_and(|it| of.contains(it));
    match *name {
        // These are addressed by something else, so that their name is a title.
        "name" if is_title(before) => Reader::Person,
        name if MACHINE.contains(&name) => Reader::Machine,
        "name" => Reader::Name,
        name if BINARY.iter().any(|(it, of)| *it == name && is_below(of)) => Reader::Machine,
        name if BOTH.contains(&name) => Reader::Both,
        _ => Reader::Person,
    }
}

/// Returns whether a name below this is for people: that of a resource, of a link to one, or of a server.
fn is_title(names: &[&str]) -> bool {
    match names.last() {
        Some(&("resources" | "resourceTemplates" | "serverInfo" | SERVER_INFO)) => true,
        // A sampling request has calls of tools there.
        Some(&"content") => !names.contains(&"params"),
        _ => false,
    }
}

/// Keywords of JSON Schema below which names follow, each with a schema.
const NAMED: [&str; 5] =
    ["$defs", "definitions", "dependentSchemas", "patternProperties", "properties"];

/// Keywords with a schema, or a list of them.
const NESTED: [&str; 16] = [
    "additionalItems",
    "additionalProperties",
    "allOf",
    "anyOf",
    "contains",
    "contentSchema",
    "else",
    "if",
    "items",
    "not",
    "oneOf",
    "prefixItems",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
];

/// Keywords whose strings machines compare.
const EXACT: [&str; 17] = [
    "$anchor",
    "$dynamicAnchor",
    "$dynamicRef",
    "$id",
    "$ref",
    "$schema",
    "$vocabulary",
    "const",
    "contentEncoding",
    "contentMediaType",
    "default",
    "dependentRequired",
    "enum",
    "format",
    "pattern",
    "required",
    "type",
];

/// Returns the readers of a string in a schema, or of a key there: a title or description is text, a value of a
/// choice is not.
fn of_schema(names: &[&str], is_key: bool) -> Reader {
    let mut names = names.iter();
    while let Some(name) = names.next() {
        match *name {
            name if NAMED.contains(&name) => {
                if names.next().is_none() && is_key {
                    return Reader::Name;
                }
            }
            name if NESTED.contains(&name) => {}
            name if EXACT.contains(&name) || is_key => return Reader::Both,
            _ => return Reader::Person,
        }
    }
    // A keyword, or a string where a schema should be.
    Reader::Both
}
