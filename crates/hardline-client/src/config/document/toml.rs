//! Parses TOML into the common tree.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{DocumentError, Member, Node, Value, place};

pub(super) fn parse(text: &str) -> Result<Option<Node>, DocumentError> {
    let table = DeTable::parse(text).map_err(|error| {
        let (line, column) = place(text, error.span().map_or(0, |span| span.start));
        DocumentError::Syntax { line, column, message: error.message().to_owned() }
    })?;
    let node = Node { range: table.span(), value: members(text, table.get_ref()) };
    Ok((!table.get_ref().is_empty()).then_some(node))
}

/// Converts a parsed value. The parser's own nesting limit bounds the recursion.
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
    fn syntax_errors_have_a_line_and_column() {
        let error = parse("[a]\nb = \n").unwrap_err().to_string();
        assert!(error.starts_with("line 2, column 5: "), "{error}");
        let error = parse("[a]\nb = 1\n[a]\n").unwrap_err().to_string();
        assert!(error.contains("line 3, column 2: duplicate key"), "{error}");
    }
}
