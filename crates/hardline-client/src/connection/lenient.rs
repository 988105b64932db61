//! Results of servers that write `null` where they mean nothing.
//!
//! A member that may be left out may be `null` too, as many a serializer writes it. A result that is not
//! what was expected is read once more without them, so that those who write well pay nothing for it.

use serde::de::{DeserializeOwned, Deserializer};
use serde::{Deserialize as _, de};
use serde_json::Value;

/// Members whose values are whatever somebody else put there, where a `null` may mean something.
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

/// Reads a result.
///
/// # Errors
///
/// What is wrong with it, as it came.
pub(super) fn read<T: DeserializeOwned>(method: &str, text: &str) -> serde_json::Result<T> {
    serde_json::from_str(text).or_else(|error| mended(method, text).ok_or(error))
}

/// Takes a value if it is what it should be, and nothing otherwise.
pub(super) fn if_it_fits<'de, T, D>(deserializer: D) -> Result<Option<T>, D::Error>
where
    T: DeserializeOwned,
    D: Deserializer<'de>,
{
    let value = Value::deserialize(deserializer).map_err(de::Error::custom)?;
    Ok(serde_json::from_value(value).ok())
}

fn mended<T: DeserializeOwned>(method: &str, text: &str) -> Option<T> {
    let mut value: Value = serde_json::from_str(text).ok()?;
    drop_nulls(&mut value);
    if method == "tools/call"
        && let Some(said) = value.get_mut("isError")
    {
        *said = Value::Bool(is_failure(said));
    }
    serde_json::from_str(&value.to_string()).ok()
}

/// Leaves out members that are `null`. No deeper than texts are checked to be.
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

/// Whether a tool means that it failed. In doubt it does, so that nobody takes a failure for a success.
fn is_failure(said: &Value) -> bool {
    match said {
        Value::Bool(said) => *said,
        Value::String(said) => !matches!(said.to_ascii_lowercase().as_str(), "false" | ""),
        Value::Number(said) => said.as_f64() != Some(0.0),
        _ => true,
    }
}
