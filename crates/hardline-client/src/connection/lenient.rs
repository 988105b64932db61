//! Parses results leniently: accepts `null` for members that may be absent.
//!
//! Many serializers write absent members as `null`. A result that fails to parse is parsed once more without
//! its `null` members, so that results of correct servers cost nothing extra.

use serde::de::{DeserializeOwned, Deserializer};
use serde::{Deserialize as _, de};
use serde_json::Value;

/// Members with free-form values, in which a `null` may be significant.
const OPAQUE: [&str; 9] = [
    "_meta",
    "arguments",
    "data",
    "inputSchema",
    "outputSchema",
    "params",
    "requestState",
    "requestedSchema",
    "structuredContent",
];

/// Parses a result.
///
/// # Errors
///
/// Returns the error of the first, strict attempt.
pub(super) fn read<T: DeserializeOwned>(method: &str, text: &str) -> serde_json::Result<T> {
    serde_json::from_str(text).or_else(|error| read_without_nulls(method, text).ok_or(error))
}

/// Deserializes an optional value, and ignores one of the wrong type.
pub(super) fn ok_or_none<'de, T, D>(deserializer: D) -> Result<Option<T>, D::Error>
where
    T: DeserializeOwned,
    D: Deserializer<'de>,
{
    let value = Value::deserialize(deserializer).map_err(de::Error::custom)?;
    Ok(serde_json::from_value(value).ok())
}

fn read_without_nulls<T: DeserializeOwned>(method: &str, text: &str) -> Option<T> {
    let mut value: Value = serde_json::from_str(text).ok()?;
    drop_nulls(&mut value);
    // Some servers write this flag as a string or a number.
    if method == "tools/call"
        && let Some(said) = value.get_mut("isError")
    {
        *said = Value::Bool(is_failure(said));
    }
    serde_json::from_str(&value.to_string()).ok()
}

/// Removes `null` members. The wire's depth limit bounds the recursion.
fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.retain(|_, member| !member.is_null());
            let own = members.iter_mut().filter(|(name, _)| !OPAQUE.contains(&name.as_str()));
            own.for_each(|(_, member)| drop_nulls(member));
        }
        Value::Array(items) => items.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}

/// Interprets a malformed `isError`. In doubt the tool failed: a failure must not pass as a success.
fn is_failure(said: &Value) -> bool {
    match said {
        Value::Bool(said) => *said,
        Value::String(said) => !matches!(said.to_ascii_lowercase().as_str(), "false" | ""),
        Value::Number(said) => said.as_f64() != Some(0.0),
        _ => true,
    }
}
