//! The readers of a string: people and models, machines, or both.
//!
//! The table covers the messages of a server. It follows the schemas of all versions of MCP, and a
//! test has an entry for each of their strings. A string that no version defines is text.
//!
//! | | is read | is compared or sent back | a match |
//! |---|---|---|---|
//! | [`Reader::Person`] | yes | no | is sanitized |
//! | [`Reader::Both`], [`Reader::Name`] | yes | yes | blocks the message: an edit renames something |
//! | [`Reader::Machine`] | no | yes | is reported; a planted message blocks |
//!
//! Nothing inside of a piece of content is for machines alone, except for icons and `_meta`.

/// The readers of a string.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Reader {
    /// Read by people and models; nothing depends on the exact characters.
    Person,
    /// Seen by people and models, and compared by machines: addresses, keys, values of a choice.
    Both,
    /// Same as `Both`, and people and models call something by it: an identifier needs no invisible
    /// character.
    Name,
    /// Read by machines alone: cursors, states, binary data.
    Machine,
}

/// Members that clients pass on unread, at any depth.
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

/// Members that hold binary data or its size, each with the parents below which it does.
const BINARY: [(&str, &[&str]); 4] = [
    ("blob", &["contents", "resource"]),
    ("data", &["content"]),
    ("sizes", &["icons"]),
    ("src", &["icons"]),
];

/// Members that hold a keyword of the protocol, a name or an address, at any depth.
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

/// Parts of a result or of parameters that concern the session and are shown to no person or model.
const SETTINGS: [&str; 3] = ["capabilities", "metadata", "modelPreferences"];

/// The server's description of itself, inside `_meta`, which is otherwise for machines.
const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";

/// Returns the readers of the string at the path `names`; if `is_key`, of a key there.
pub(super) fn of(names: &[&str], is_key: bool) -> Reader {
    let inside = |reader| if is_key { Reader::Both } else { reader };
    for (at, name) in names.iter().enumerate() {
        let (before, after) =
            (names.get(..at).unwrap_or_default(), names.get(at + 1..).unwrap_or_default());
        match *name {
            "inputSchema" | "outputSchema" | "requestedSchema" => return of_schema(after, is_key),
            // Free-form data: results of a tool, and arguments that a model passed to one.
            "structuredContent" => return inside(Reader::Person),
            "input" if before.ends_with(&["content"]) => return inside(Reader::Person),
            "data" if is_free(before) && after.first() != Some(&"elicitations") => {
                return inside(Reader::Person);
            }
            // Falls through to the table, because clients show this description to people.
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

/// Returns true if a `data` member below this path belongs to an error or a log message: free-form,
/// for people.
fn is_free(names: &[&str]) -> bool {
    matches!(names, ["error" | "params"])
}

fn of_member(names: &[&str]) -> Reader {
    let Some((name, before)) = names.split_last() else { return Reader::Person };
    let is_below = |of: &[&str]| before.last().is_some_and(|it| of.contains(it));
    // Hosts pass content of a type that they do not know to the model as it is, all members included.
    let is_seen = before.contains(&"content") && !is_below(&["icons"]);
    let opaque = if is_seen { Reader::Both } else { Reader::Machine };
    match *name {
        // These are addressed by another member (a URI), so their name is only a title.
        "name" if is_title(before) => Reader::Person,
        name if MACHINE.contains(&name) => opaque,
        "name" => Reader::Name,
        name if BINARY.iter().any(|(it, of)| *it == name && is_below(of)) => opaque,
        name if BOTH.contains(&name) => Reader::Both,
        _ => Reader::Person,
    }
}

/// Returns true if a `name` below this path is a title for people: of a resource, of a link to one,
/// or of a server.
fn is_title(names: &[&str]) -> bool {
    match names.last() {
        Some(&("resources" | "resourceTemplates" | "serverInfo" | SERVER_INFO)) => true,
        // In a sampling request, `content` holds tool calls, whose names are identifiers.
        Some(&"content") => !names.contains(&"params"),
        _ => false,
    }
}

/// Keywords of JSON Schema whose members are named by the author, each with a schema.
const NAMED: [&str; 5] =
    ["$defs", "definitions", "dependentSchemas", "patternProperties", "properties"];

/// Keywords of JSON Schema with a schema, or a list of schemas.
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

/// Keywords of JSON Schema whose strings machines compare.
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

/// Those of them that hold whole values.
const CHOICES: [&str; 3] = ["const", "default", "enum"];

/// Returns the readers of a string in a schema, or of a key there. Titles and descriptions are
/// text; values of a choice are not.
fn of_schema(path: &[&str], is_key: bool) -> Reader {
    let mut names = path.iter();
    while let Some(name) = names.next() {
        match *name {
            name if NAMED.contains(&name) => {
                // A key right below such a keyword is a name that the author chose.
                if names.next().is_none() && is_key {
                    return Reader::Name;
                }
            }
            name if NESTED.contains(&name) => {}
            name if EXACT.contains(&name) || is_key => return Reader::Both,
            // A schema may also be below a keyword that no draft defines.
            _ if names.any(|it| CHOICES.contains(it)) => return Reader::Both,
            _ => return of_member(path),
        }
    }
    // Either a keyword, or a string in place of a schema.
    Reader::Both
}
