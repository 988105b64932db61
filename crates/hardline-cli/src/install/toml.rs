//! TOML, as the same tree.

use anyhow::{Result, anyhow};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::document::{Member, Node, Value, place};

pub(super) fn parse(text: &str) -> Result<Option<Node>> {
    let table = DeTable::parse(text).map_err(|error| {
        let (line, column) = place(text, error.span().map_or(0, |span| span.start));
        anyhow!("line {line}, column {column}: {}", error.message())
    })?;
    let node = Node { range: table.span(), value: members(text, table.get_ref()) };
    Ok((!table.get_ref().is_empty()).then_some(node))
}

/// A text as a TOML string.
pub(super) fn quote(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for char in text.chars() {
        match char {
            '"' | '\\' => quoted.extend(['\\', char]),
            '\u{0}'..='\u{1f}' | '\u{7f}' => {
                quoted.push_str(&format!("\\u{:04X}", u32::from(char)));
            }
            _ => quoted.push(char),
        }
    }
    quoted.push('"');
    quoted
}

/// Recursion ends: the parser has a limit of its own.
fn node(text: &str, value: &Spanned<DeValue<'_>>) -> Node {
    let range = value.span();
    let value = match value.get_ref() {
        DeValue::String(string) => Value::String(string.clone().into_owned()),
        DeValue::Array(array) => Value::Array(array.iter().map(|it| node(text, it)).collect()),
        DeValue::Table(table) => members(text, table),
        _ => Value::Other(text.get(range.clone()).unwrap_or_default().to_owned()),
    };
    Node { range, value }
}

fn members(text: &str, table: &DeTable<'_>) -> Value {
    let members = table.iter().map(|(key, value)| Member {
        key: key.get_ref().clone().into_owned(),
        key_range: key.span(),
        node: node(text, value),
    });
    Value::Object(members.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quoted_text_is_read_as_it_was() {
        let all: String = ('\u{0}'..='\u{ff}').chain("\u{2028}日\u{1f600}".chars()).collect();
        let node = parse(&format!("a = {}", quote(&all))).unwrap().unwrap();
        assert_eq!(node.member("a").unwrap().node.as_str(), Some(&*all));
    }

    #[test]
    fn says_where_a_text_is_broken() {
        let error = parse("[a]\nb = \n").unwrap_err().to_string();
        assert!(error.starts_with("line 2, column 5: "), "{error}");
        let error = parse("[a]\nb = 1\n[a]\n").unwrap_err().to_string();
        assert!(error.contains("line 3, column 2: duplicate key"), "{error}");
    }
}
