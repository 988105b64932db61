//! Writes JSON strings.

/// Quotes a text as a JSON string.
pub(super) fn quote(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
