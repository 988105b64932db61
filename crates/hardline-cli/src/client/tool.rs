//! One tool in full: what it takes, what it gives, and what its server says of it.

use std::io::{self, Write};

use anstyle::Style;
use serde_json::{Map, Value};

use super::print;
use super::server::Server;
use super::visible::visible;
use crate::terminal::table::{self, Cell, Layout, Table};

/// How deep arguments inside arguments are shown.
const MAX_DEPTH: usize = 3;
/// How many arguments are shown.
const MAX_ROWS: usize = 200;
/// How many values of an argument are named.
const MAX_VALUES: usize = 20;
/// How often a schema may refer to another before it is given up.
const MAX_REFERENCES: usize = 8;

/// The name of a tool that is JSON.
pub(super) fn name(json: &str) -> Option<String> {
    let tool: Value = serde_json::from_str(json).ok()?;
    tool.get("name")?.as_str().map(str::to_owned)
}

/// The arguments that must be given.
pub(super) fn required(schema: &Value) -> Vec<&str> {
    let names = schema.get("required").and_then(Value::as_array);
    names.into_iter().flatten().filter_map(Value::as_str).collect()
}

/// Shows a tool.
pub(super) fn show(
    out: &mut dyn Write,
    json: &str,
    server: &Server,
    is_colored: bool,
) -> io::Result<()> {
    let tool: Value = serde_json::from_str(json)?;
    let field = |name: &str| tool.get(name).and_then(Value::as_str).filter(|it| !it.is_empty());
    let name = field("name").unwrap_or_default();
    let bold = if is_colored { Style::new().bold() } else { Style::new() };
    let annotations = tool.get("annotations").unwrap_or(&Value::Null);
    let title = field("title").or_else(|| annotations.get("title").and_then(Value::as_str));
    let title = title.filter(|it| *it != name);
    let title = title.map(|it| format!(" ({})", print::name(it))).unwrap_or_default();
    writeln!(out, "{bold}{}{bold:#}{title}", print::name(name))?;
    if let Some(description) = field("description") {
        print::line(out, &visible(description.trim()))?;
    }
    let schema = tool.get("inputSchema").unwrap_or(&Value::Null);
    schema_table(out, "Arguments", schema, is_colored)?;
    if let Some(output) = tool.get("outputSchema") {
        schema_table(out, "Result", output, is_colored)?;
    }
    let hints = hints(annotations);
    if !hints.is_empty() {
        writeln!(out, "\nThe server says that it {}.", hints.join(", "))?;
    }
    if let Some(example) = example(server, name, schema) {
        writeln!(out, "\nCall it:\n  {example}")?;
    }
    Ok(())
}

fn schema_table(
    out: &mut dyn Write,
    title: &str,
    schema: &Value,
    is_colored: bool,
) -> io::Result<()> {
    const LAYOUT: Layout = Layout::whole(&["NAME", "TYPE", "", "DESCRIPTION"], 3);

    let mut rows = Vec::new();
    collect(&mut rows, "", schema, schema, 0);
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

/// An argument as it is shown.
struct Row {
    name: String,
    kind: String,
    is_required: bool,
    text: String,
}

/// Takes the properties of a schema, and of those that are objects.
fn collect(rows: &mut Vec<Row>, prefix: &str, schema: &Value, root: &Value, depth: usize) {
    let schema = resolved(schema, root);
    let required = required(schema);
    let properties = schema.get("properties").and_then(Value::as_object);
    for (name, property) in properties.into_iter().flatten() {
        if MAX_ROWS <= rows.len() {
            return;
        }
        let property = resolved(property, root);
        let name_in_all = format!("{prefix}{name}");
        rows.push(Row {
            kind: kind(property, root, 0),
            is_required: required.contains(&name.as_str()),
            text: text(property),
            name: name_in_all.clone(),
        });
        if depth < MAX_DEPTH {
            let items = property.get("items").map(|it| resolved(it, root));
            match items.filter(|it| it.get("properties").is_some()) {
                Some(items) => collect(rows, &format!("{name_in_all}[]."), items, root, depth + 1),
                None => collect(rows, &format!("{name_in_all}."), property, root, depth + 1),
            }
        }
    }
}

/// What a property is for, what it is without being given, and within what bounds.
fn text(property: &Value) -> String {
    let description = property.get("description").and_then(Value::as_str).unwrap_or_default();
    let mut parts: Vec<String> = Vec::new();
    if let Some(default) = property.get("default") {
        parts.push(format!("default {default}"));
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
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
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

/// What kind of value a schema is for.
fn kind(schema: &Value, root: &Value, depth: usize) -> String {
    let schema = resolved(schema, root);
    if MAX_DEPTH < depth {
        return "…".to_owned();
    }
    if let Some(value) = schema.get("const") {
        return value.to_string();
    }
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        let mut values: Vec<String> = values.iter().map(ToString::to_string).collect();
        if MAX_VALUES < values.len() {
            values.truncate(MAX_VALUES);
            values.push("…".to_owned());
        }
        return values.join(" | ");
    }
    for key in ["anyOf", "oneOf"] {
        if let Some(options) = schema.get(key).and_then(Value::as_array) {
            let mut kinds: Vec<String> =
                options.iter().take(MAX_VALUES).map(|it| kind(it, root, depth + 1)).collect();
            kinds.dedup();
            return kinds.join(" | ");
        }
    }
    let single = |name: &str| match (name, schema.get("items")) {
        ("array", Some(items)) => format!("{}[]", kind(items, root, depth + 1)),
        _ => name.to_owned(),
    };
    match schema.get("type") {
        Some(Value::String(name)) => single(name),
        Some(Value::Array(names)) => {
            names.iter().filter_map(Value::as_str).map(single).collect::<Vec<_>>().join(" | ")
        }
        _ if schema.get("properties").is_some() => "object".to_owned(),
        _ => "any".to_owned(),
    }
}

/// Follows references inside of one document.
fn resolved<'a>(schema: &'a Value, root: &'a Value) -> &'a Value {
    let mut schema = schema;
    for _ in 0..MAX_REFERENCES {
        let reference = schema.get("$ref").and_then(Value::as_str);
        let Some(pointer) = reference.and_then(|it| it.strip_prefix('#')) else { return schema };
        match root.pointer(pointer) {
            Some(target) => schema = target,
            None => return schema,
        }
    }
    schema
}

/// What the server says that a tool does, in words.
fn hints(annotations: &Value) -> Vec<&'static str> {
    [
        ("readOnlyHint", "changes nothing", "changes something"),
        ("destructiveHint", "may destroy something", "destroys nothing"),
        ("idempotentHint", "can be called twice without harm", "does more if it is called twice"),
        ("openWorldHint", "reaches the outside world", "stays within its own world"),
    ]
    .into_iter()
    .filter_map(|(key, yes, no)| match annotations.get(key)?.as_bool()? {
        true => Some(yes),
        false => Some(no),
    })
    .collect()
}

/// A command that calls the tool, if its names need no quoting that differs between shells.
fn example(server: &Server, tool: &str, schema: &Value) -> Option<String> {
    let is_plain = |name: &str| {
        let is_part = |it: char| it.is_ascii_alphanumeric() || matches!(it, '_' | '.' | '/');
        !name.is_empty()
            && name.chars().all(|it| is_part(it) || it == '-')
            && !name.starts_with('-')
    };
    let required = required(schema);
    if server.is_given() || !is_plain(&server.name) || !is_plain(tool) {
        return None;
    }
    let mut arguments = Map::new();
    for name in required.into_iter().filter(|it| is_plain(it)) {
        let property = schema.get("properties").and_then(|it| it.get(name));
        arguments
            .insert(name.to_owned(), sample(resolved(property.unwrap_or(&Value::Null), schema)));
    }
    let arguments = match arguments.is_empty() {
        true => String::new(),
        false => format!(" '{}'", Value::Object(arguments)),
    };
    Some(format!("hardline call {} {tool}{arguments}", server.name))
}

/// A value of the kind that a schema is for.
fn sample(schema: &Value) -> Value {
    match schema.get("type").and_then(Value::as_str) {
        Some("number" | "integer") => 1.into(),
        Some("boolean") => true.into(),
        Some("array") => Value::Array(Vec::new()),
        Some("object") => Value::Object(Map::new()),
        _ => "…".into(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(schema: &Value, expected: &str) {
        assert_eq!(kind(schema, schema, 0), expected, "{schema}");
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
        let mut rows = Vec::new();
        collect(&mut rows, "", &schema, &schema, 0);
        assert!(rows.len() <= MAX_ROWS);
        let circle = json!({"$ref": "#"});
        check(&circle, "any");
        let nested = json!({"anyOf": [{"$ref": "#"}, {"$ref": "#"}]});
        assert!(kind(&nested, &nested, 0).contains('…'));
    }
}
