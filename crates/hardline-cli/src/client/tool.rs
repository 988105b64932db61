//! Shows one tool in full: arguments, result, description and annotations.

use std::io::{self, Write};

use super::again::is_odd;
use super::print;
use super::server::Server;
use super::tree::Tree;
use super::visible::visible;
use crate::terminal::table::{self, Cell, Layout, Table};
use anstyle::Style;

/// Limit on the nesting of arguments that is shown.
const MAX_DEPTH: usize = 3;
/// Limit on shown arguments.
const MAX_ROWS: usize = 200;
/// Limit on shown values of an argument.
const MAX_VALUES: usize = 20;
/// Limit on the arguments of an example.
const MAX_ARGUMENTS: usize = 50;
/// Limit on followed references of a schema; schemas can refer to themselves.
const MAX_REFERENCES: usize = 8;

/// Returns the name of a tool from its JSON.
pub(super) fn name(json: &str) -> Option<String> {
    Tree::read(json)?.get("name")?.as_str().map(str::to_owned)
}

/// Returns the required arguments.
pub(super) fn required<'s>(schema: &'s Tree<'_>) -> Vec<&'s str> {
    let names = schema.get("required").map(Tree::elements).unwrap_or_default();
    names.iter().filter_map(Tree::as_str).collect()
}

/// Shows a tool.
pub(super) fn show(
    out: &mut dyn Write,
    json: &str,
    server: &Server,
    is_colored: bool,
) -> io::Result<()> {
    // Not strict JSON: show the text, escaped, rather than nothing.
    let Some(tool) = Tree::read(json) else { return print::line(out, &visible(json)) };
    let field = |name: &str| tool.get(name).and_then(Tree::as_str).filter(|it| !it.is_empty());
    let name = field("name").unwrap_or_default();
    let bold = if is_colored { Style::new().bold() } else { Style::new() };
    let annotations = tool.get("annotations");
    let title = field("title").or_else(|| annotations?.get("title")?.as_str());
    // A title that repeats the name adds nothing.
    let title = title.filter(|it| *it != name);
    let title = title.map(|it| format!(" ({})", print::name(it))).unwrap_or_default();
    writeln!(out, "{bold}{}{bold:#}{title}", print::name(name))?;
    if let Some(description) = field("description") {
        print::line(out, &visible(description.trim()))?;
    }
    let schema = tool.get("inputSchema");
    schema_table(out, "Arguments", schema, is_colored)?;
    if let Some(output) = tool.get("outputSchema") {
        schema_table(out, "Result", Some(output), is_colored)?;
    }
    let hints = annotations.map(hints).unwrap_or_default();
    if !hints.is_empty() {
        // Written by the server, which may be wrong or lie.
        writeln!(out, "\nAccording to the server, it {}.", hints.join(", "))?;
    }
    if let Some(example) = example(server, name, schema) {
        writeln!(out, "\nCall it:\n  {example}")?;
    }
    Ok(())
}

fn schema_table(
    out: &mut dyn Write,
    title: &str,
    schema: Option<&Tree<'_>>,
    is_colored: bool,
) -> io::Result<()> {
    const LAYOUT: Layout = Layout::whole(&["NAME", "TYPE", "", "DESCRIPTION"], 3);

    let mut rows = Vec::new();
    if let Some(schema) = schema {
        // The schema is its own root for `$ref`.
        collect(&mut rows, "", schema, schema, 0);
    }
    if rows.is_empty() {
        return writeln!(out, "\n{title}: none");
    }
    writeln!(out, "\n{title}:")?;
    let mut table = Table::new(LAYOUT, is_colored);
    for row in rows.iter().take(MAX_ROWS) {
        table.push(vec![
            Cell::firm(&row.name).style(Style::new().bold()),
            Cell::new(&row.kind),
            Cell::new(if row.is_required { "required" } else { "" }),
            Cell::new(&row.text),
        ]);
    }
    table.write(out, table::width())
}

/// A shown argument.
struct Row {
    name: String,
    kind: String,
    is_required: bool,
    text: String,
}

/// Adds the properties of a schema, and those of nested objects.
fn collect(rows: &mut Vec<Row>, prefix: &str, schema: &Tree<'_>, root: &Tree<'_>, depth: usize) {
    let schema = resolved(schema, root);
    let required = required(schema);
    let properties = schema.get("properties").map(Tree::members).unwrap_or_default();
    for (name, property) in properties {
        // A schema can list any number of properties.
        if rows.len() >= MAX_ROWS {
            return;
        }
        // Properties are often references to shared definitions.
        let property = resolved(property, root);
        let name_in_all = format!("{prefix}{name}");
        rows.push(Row {
            kind: kind(property, root, 0),
            is_required: required.contains(&&**name),
            text: text(property),
            name: name_in_all.clone(),
        });
        // Schemas can be recursive.
        if depth < MAX_DEPTH {
            let items = property.get("items").map(|it| resolved(it, root));
            match items.filter(|it| it.get("properties").is_some()) {
                Some(items) => collect(rows, &format!("{name_in_all}[]."), items, root, depth + 1),
                None => collect(rows, &format!("{name_in_all}."), property, root, depth + 1),
            }
        }
    }
}

/// Returns the description, the default and the bounds of a property.
fn text(property: &Tree<'_>) -> String {
    let description = property.get("description").and_then(Tree::as_str).unwrap_or_default();
    let mut parts: Vec<String> = Vec::new();
    if let Some(default) = property.get("default") {
        parts.push(format!("default {}", default.flat()));
    }
    for (key, words) in [
        ("minimum", "at least"),
        ("exclusiveMinimum", "more than"),
        ("maximum", "at most"),
        ("exclusiveMaximum", "less than"),
        ("minLength", "characters at least"),
        ("maxLength", "characters at most"),
        ("minItems", "items at least"),
        ("maxItems", "items at most"),
        ("pattern", "like"),
        ("format", "a"),
    ] {
        if let Some(value) = property.get(key) {
            let value = value.as_str().map_or_else(|| value.flat(), str::to_owned);
            parts.push(format!("{words} {value}"));
        }
    }
    let description = description.split_whitespace().collect::<Vec<_>>().join(" ");
    match (description.is_empty(), parts.is_empty()) {
        (_, true) => description,
        (true, false) => parts.join(", "),
        (false, false) => format!("{description} ({})", parts.join(", ")),
    }
}

/// Returns the kind of value that a schema describes.
fn kind(schema: &Tree<'_>, root: &Tree<'_>, depth: usize) -> String {
    let schema = resolved(schema, root);
    if depth > MAX_DEPTH {
        return "…".to_owned();
    }
    if let Some(value) = schema.get("const") {
        return value.flat();
    }
    if let Some(values) = schema.get("enum").filter(|it| it.is_array()) {
        let values = values.elements();
        let mut shown: Vec<String> = values.iter().take(MAX_VALUES).map(Tree::flat).collect();
        if values.len() > MAX_VALUES {
            shown.push("…".to_owned());
        }
        return shown.join(" | ");
    }
    for key in ["anyOf", "oneOf"] {
        if let Some(options) = schema.get(key).filter(|it| it.is_array()) {
            let options = options.elements().iter().take(MAX_VALUES);
            let mut kinds: Vec<String> = options.map(|it| kind(it, root, depth + 1)).collect();
            // Alternatives often differ only in their constraints.
            kinds.dedup();
            return kinds.join(" | ");
        }
    }
    let single = |name: &str| match (name, schema.get("items")) {
        ("array", Some(items)) => format!("{}[]", kind(items, root, depth + 1)),
        _ => name.to_owned(),
    };
    let given = schema.get("type");
    match given.and_then(Tree::as_str) {
        Some(name) => single(name),
        None if given.is_some_and(Tree::is_array) => {
            let names = given.map(Tree::elements).unwrap_or_default();
            names.iter().filter_map(Tree::as_str).map(single).collect::<Vec<_>>().join(" | ")
        }
        _ if schema.get("properties").is_some() => "object".to_owned(),
        _ => "any".to_owned(),
    }
}

/// Follows references within the document.
fn resolved<'s, 'a>(schema: &'s Tree<'a>, root: &'s Tree<'a>) -> &'s Tree<'a> {
    let mut schema = schema;
    // A reference can lead back to itself.
    for _ in 0..MAX_REFERENCES {
        let reference = schema.get("$ref").and_then(Tree::as_str);
        let Some(pointer) = reference.and_then(|it| it.strip_prefix('#')) else { return schema };
        match root.pointer(pointer) {
            Some(target) => schema = target,
            None => return schema,
        }
    }
    schema
}

/// Describes the annotations of a tool in words.
fn hints(annotations: &Tree<'_>) -> Vec<&'static str> {
    [
        ("readOnlyHint", "changes nothing", "changes something"),
        ("destructiveHint", "may destroy something", "destroys nothing"),
        ("idempotentHint", "can be called twice without harm", "has more effect if called twice"),
        ("openWorldHint", "reaches the outside world", "stays within its own system"),
    ]
    .into_iter()
    .filter_map(|(key, yes, no)| Some(if annotations.get(key)?.as_bool()? { yes } else { no }))
    .collect()
}

/// Returns a command that calls the tool, if it can be written safely. Arguments with unusual names
/// are left out.
fn example(server: &Server, tool: &str, schema: Option<&Tree<'_>>) -> Option<String> {
    let is_plain = |name: &str| {
        let is_part = |it: char| it.is_ascii_alphanumeric() || matches!(it, '_' | '.' | '/');
        !name.is_empty()
            && name.chars().all(|it| is_part(it) || it == '-')
            && !name.starts_with('-')
    };
    // A shell would interpret such names, or hardline would take them for options.
    if tool.is_empty() || tool.starts_with('-') || is_odd(tool) || is_odd(&server.name) {
        return None;
    }
    let mut arguments = Vec::new();
    let required = schema.map(required).unwrap_or_default();
    if required.len() > MAX_ARGUMENTS {
        return None;
    }
    for name in required.into_iter().filter(|it| is_plain(it)) {
        let property = schema.and_then(|root| Some((root.get("properties")?.get(name)?, root)));
        let sample = property.map_or(UNKNOWN, |(it, root)| sample(resolved(it, root)));
        arguments.push(format!("\"{name}\":{sample}"));
    }
    let arguments = format!("{{{}}}", arguments.join(","));
    let words = [tool, &arguments];
    let words = if arguments == "{}" { words.get(..1)? } else { &words };
    server.again.line("call", &server.name, words)
}

/// Placeholder for a value of unknown type.
const UNKNOWN: &str = "\"…\"";

/// Returns a sample value of the type that a schema describes.
fn sample(schema: &Tree<'_>) -> &'static str {
    match schema.get("type").and_then(Tree::as_str) {
        Some("number" | "integer") => "1",
        Some("boolean") => "true",
        Some("array") => "[]",
        Some("object") => "{}",
        _ => UNKNOWN,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[track_caller]
    fn check(schema: &Value, expected: &str) {
        let schema = schema.to_string();
        let schema = Tree::read(&schema).unwrap();
        assert_eq!(kind(&schema, &schema, 0), expected, "{schema:?}");
    }

    #[test]
    fn kinds_are_told_in_few_words() {
        check(&json!({"type": "string"}), "string");
        check(&json!({"type": ["string", "null"]}), "string | null");
        check(&json!({"type": "array", "items": {"type": "integer"}}), "integer[]");
        check(&json!({"enum": ["a", "b", 3]}), "\"a\" | \"b\" | 3");
        check(&json!({"anyOf": [{"type": "number"}, {"const": "x"}]}), "number | \"x\"");
        check(&json!({"$ref": "#/$defs/a", "$defs": {"a": {"type": "boolean"}}}), "boolean");
        check(&json!({}), "any");
        check(&json!(true), "any");
    }

    #[test]
    fn schemas_that_never_end_do() {
        let schema = json!({
            "properties": {"next": {"$ref": "#"}, "list": {"type": "array", "items": {"$ref": "#"}}},
            "$ref": "#/$defs/none",
        });
        let schema = schema.to_string();
        let schema = Tree::read(&schema).unwrap();
        let mut rows = Vec::new();
        collect(&mut rows, "", &schema, &schema, 0);
        assert!(rows.len() <= MAX_ROWS);
        let circle = json!({"$ref": "#"});
        check(&circle, "any");
        let nested = json!({"anyOf": [{"$ref": "#"}, {"$ref": "#"}]});
        let nested = nested.to_string();
        let nested = Tree::read(&nested).unwrap();
        assert!(kind(&nested, &nested, 0).contains('…'));
    }
}
