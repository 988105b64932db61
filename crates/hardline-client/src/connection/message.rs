//! Writes outgoing messages: adds the metadata that a version requires and leaves the rest unchanged.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write as _;

use hardline_wire::encode::{push_id, push_json_string};
use hardline_wire::id::Id;
use hardline_wire::json::{Checker, Kind};
use hardline_wire::limits::Limits;
use serde::Serialize;
use serde_json::Value;

use crate::{Error, RpcError};

/// The parameters of a request: a strict JSON object on one line, split so that `_meta` can be extended.
#[derive(Clone, Debug, Default)]
pub(crate) struct Params {
    /// The member `name`: the tool of a `tools/call`.
    name: Option<String>,
    /// All members other than `_meta`, without the braces.
    members: String,
    /// The arguments of a tool call. They may be large, so they are serialized only into the final line.
    arguments: Option<Value>,
    /// Members that change from round to round, as JSON by name.
    round: BTreeMap<&'static str, String>,
    /// Members of `_meta` that the caller set, without braces.
    meta: String,
    /// True if the caller set a progress token among them.
    has_token: bool,
}

/// Names of the members that change from round to round.
const ROUND: [&str; 2] = ["inputResponses", "requestState"];

/// Names of the members of `_meta` that the connection sets itself.
const OURS: [&str; 3] = [
    "io.modelcontextprotocol/protocolVersion",
    "io.modelcontextprotocol/clientInfo",
    "io.modelcontextprotocol/clientCapabilities",
];

impl Params {
    /// Serializes a value as parameters. `null` becomes an empty object.
    pub(super) fn new(value: &(impl Serialize + ?Sized)) -> Result<Self, Error> {
        let text =
            serde_json::to_string(value).map_err(|error| Error::Params(error.to_string()))?;
        Self::read(&text)
    }

    /// Parses parameters from JSON. Line breaks between values become spaces.
    pub(crate) fn read(text: &str) -> Result<Self, Error> {
        let limits = Limits::default();
        let mut checker = Checker::new(&limits);
        let value = match checker.check(text.as_bytes()) {
            Ok(checked) => checked.value,
            Err(error) => return Err(Error::Params(error.to_string())),
        };
        match value.kind() {
            // `()` serializes as null, and stands for no parameters.
            Kind::Null => return Ok(Self::default()),
            Kind::Object => {}
            _ => return Err(Error::Params("they must be a JSON object".into())),
        }
        let mut params = Self { members: String::with_capacity(text.len()), ..Self::default() };
        for (key, member) in value.members() {
            if key == "name" {
                params.name = member.as_str().map(Cow::into_owned);
            }
            if key == "_meta" && member.kind() == Kind::Object {
                // The connection writes these members itself; a second value would be a duplicate key.
                for (key, member) in member.members().filter(|(key, _)| !OURS.contains(&&**key)) {
                    params.has_token |= key == "progressToken";
                    push_member(&mut params.meta, &key, member.text());
                }
            } else if let Some(name) = ROUND.into_iter().find(|name| *name == key) {
                params.round.insert(name, one_line(member.text()));
            } else {
                push_member(&mut params.members, &key, member.text());
            }
        }
        for text in [&mut params.members, &mut params.meta] {
            // One message is one line on stdio, also if the caller formatted the JSON.
            if text.contains(['\n', '\r']) {
                *text = one_line(text);
            }
        }
        Ok(params)
    }

    /// Creates the parameters of `tools/call` and `prompts/get`.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Params`] if the arguments serialize to anything but an object or `null`.
    pub(crate) fn call(name: &str, arguments: impl Serialize) -> Result<Self, Error> {
        let arguments = match serde_json::to_value(arguments) {
            Ok(Value::Null) => None,
            Ok(arguments @ Value::Object(_)) => Some(arguments),
            Ok(_) => return Err(Error::Params("the arguments must be a JSON object".into())),
            Err(error) => return Err(Error::Params(error.to_string())),
        };
        let mut params = Self { name: Some(name.to_owned()), arguments, ..Self::default() };
        params.members.push_str(r#""name":"#);
        push_json_string(&mut params.members, name);
        Ok(params)
    }

    /// Returns the member `name`, if it is a string.
    pub(crate) fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Returns a copy with this member of [`ROUND`] set to a JSON value.
    pub(super) fn with(&self, name: &'static str, value: &str) -> Self {
        let mut params = self.clone();
        params.round.insert(name, value.to_owned());
        params
    }

    /// Returns true if the caller set a progress token of its own.
    pub(super) fn has_token(&self) -> bool {
        self.has_token
    }

    /// Writes the object, with `meta` as additional members of `_meta`.
    fn push(&self, text: &mut String, meta: &str) {
        text.push('{');
        text.push_str(&self.members);
        for (name, value) in &self.round {
            if !text.ends_with('{') {
                text.push(',');
            }
            let _ = write!(text, r#""{name}":{value}"#);
        }
        if let Some(arguments) = &self.arguments {
            // `members` is never empty here: `call` always writes the name.
            text.push_str(r#","arguments":"#);
            push_value(text, arguments);
        }
        // `_meta` comes last, so that it can be extended per attempt without copying the rest.
        if !self.meta.is_empty() || !meta.is_empty() {
            if !self.members.is_empty() || !self.round.is_empty() {
                text.push(',');
            }
            text.push_str(r#""_meta":{"#);
            text.push_str(&self.meta);
            if !self.meta.is_empty() && !meta.is_empty() {
                text.push(',');
            }
            text.push_str(meta);
            text.push('}');
        }
        text.push('}');
    }

    fn len(&self) -> usize {
        self.members.len() + self.meta.len()
    }
}

/// Writes a value. Faster than serde for long strings, which serde searches byte by byte.
fn push_value(text: &mut String, value: &Value) {
    let comma = |text: &mut String, index: usize| {
        if index > 0 {
            text.push(',');
        }
    };
    match value {
        Value::Null => text.push_str("null"),
        Value::Bool(bool) => text.push_str(if *bool { "true" } else { "false" }),
        Value::Number(number) => {
            let _ = write!(text, "{number}");
        }
        Value::String(string) => push_json_string(text, string),
        Value::Array(values) => {
            text.push('[');
            for (index, value) in values.iter().enumerate() {
                comma(text, index);
                push_value(text, value);
            }
            text.push(']');
        }
        Value::Object(members) => {
            text.push('{');
            for (index, (key, value)) in members.iter().enumerate() {
                comma(text, index);
                push_json_string(text, key);
                text.push(':');
                push_value(text, value);
            }
            text.push('}');
        }
    }
}

/// Replaces line breaks with spaces. JSON strings contain no raw line break, so all of them are between
/// values.
fn one_line(text: &str) -> String {
    text.replace(['\n', '\r'], " ")
}

fn push_member(members: &mut String, key: &str, value: &str) {
    if !members.is_empty() {
        members.push(',');
    }
    push_json_string(members, key);
    members.push(':');
    members.push_str(value);
}

/// Writes a request. `meta` are additional members of the parameters' `_meta`.
pub(super) fn request(id: i64, method: &str, params: &Params, meta: &str) -> String {
    // 80 bytes cover the envelope and the id, so the common case allocates once.
    let mut text = String::with_capacity(params.len() + meta.len() + method.len() + 80);
    let _ = write!(text, r#"{{"jsonrpc":"2.0","id":{id},"method":"#);
    push_json_string(&mut text, method);
    text.push_str(r#","params":"#);
    params.push(&mut text, meta);
    text.push('}');
    text
}

/// Writes a notification.
pub(super) fn notification(method: &str, params: Option<&Params>, meta: &str) -> String {
    let mut text = String::from(r#"{"jsonrpc":"2.0","method":"#);
    push_json_string(&mut text, method);
    if let Some(params) = params {
        text.push_str(r#","params":"#);
        params.push(&mut text, meta);
    }
    text.push('}');
    text
}

/// Writes the answer to a request from the server. A result is JSON.
pub(super) fn answer(id: &Id<'_>, outcome: &Result<String, RpcError>) -> String {
    let mut text = String::from(r#"{"jsonrpc":"2.0","id":"#);
    push_id(&mut text, id);
    match outcome {
        Ok(result) => {
            text.push_str(r#","result":"#);
            text.push_str(result);
        }
        Err(error) => {
            // The data is valid JSON already, because serde parsed or built it.
            let _ = write!(text, r#","error":{{"code":{},"message":"#, error.code);
            push_json_string(&mut text, &error.message);
            if let Some(data) = &error.data {
                let _ = write!(text, r#","data":{data}"#);
            }
            text.push('}');
        }
    }
    text.push('}');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(params: &str, meta: &str, expected: &str) {
        let text = request(7, "m", &Params::read(params).unwrap(), meta);
        let head = r#"{"jsonrpc":"2.0","id":7,"method":"m","params":"#;
        assert_eq!(text, format!("{head}{expected}}}"));
    }

    #[test]
    fn adds_meta_and_touches_nothing_else() {
        check("null", "", "{}");
        check("{}", r#""a":1"#, r#"{"_meta":{"a":1}}"#);
        check(r#"{"x": 1.50, "y":[ ]}"#, "", r#"{"x":1.50,"y":[ ]}"#);
        check(r#"{"x":1}"#, r#""a":1"#, r#"{"x":1,"_meta":{"a":1}}"#);
        check(r#"{"_meta":{"b":2},"x":1}"#, r#""a":1"#, r#"{"x":1,"_meta":{"b":2,"a":1}}"#);
        // The connection's own members appear once, with its own value.
        let version = OURS[0];
        let given =
            format!(r#"{{"_meta":{{"{version}":"1","progressToken":"t"}},"requestState":"s"}}"#);
        check(
            &given,
            &format!(r#""{version}":"2""#),
            &format!(r#"{{"requestState":"s","_meta":{{"progressToken":"t","{version}":"2"}}}}"#),
        );
        let params = Params::read(&given).unwrap();
        assert!(params.has_token());
        let text = request(7, "m", &params.with("requestState", "1"), "");
        assert!(text.contains(r#"{"requestState":1,"#), "{text}");
        check(r#"{"x":{"_meta":{"b":2}}}"#, "", r#"{"x":{"_meta":{"b":2}}}"#);
        check("{\r\n \"x\":\n[1,\n2]}\n", "", r#"{"x":[1, 2]}"#);
        check(r#"{"\u0078":9007199254740993}"#, "", r#"{"x":9007199254740993}"#);
    }

    #[test]
    fn writes_arguments_as_serde_would() {
        let arguments = serde_json::json!({
            "a": [1, -2.5, 1e300, true, null, {}, []], "b\"": { "c": "é\u{2028}\u{85}\n\\ 😀" },
        });
        let text = request(1, "tools/call", &Params::call("x\"", &arguments).unwrap(), r#""m":1"#);
        assert!(text.is_ascii() || !text.contains(['\u{2028}', '\u{85}']), "{text}");
        let written: Value = serde_json::from_str(&text).unwrap();
        let params =
            serde_json::json!({ "name": "x\"", "arguments": arguments, "_meta": { "m": 1 } });
        assert_eq!(written["params"], params);
        let text = request(1, "tools/call", &Params::call("x", ()).unwrap(), "");
        assert!(text.ends_with(r#""params":{"name":"x"}}"#), "{text}");
    }

    #[test]
    fn rejects_parameters_that_are_not_an_object() {
        for text in ["", "[]", "1", "{", r#"{"a":1,"a":2}"#, "\"a\"", "{} {}"] {
            assert!(matches!(Params::read(text), Err(Error::Params(_))), "{text}");
        }
    }

    #[test]
    fn answers_repeat_the_id_unchanged() {
        let id = Id::from_string("a\"b");
        let error = RpcError { code: -1, message: "no\n".into(), data: Some(1.into()) };
        assert_eq!(answer(&id, &Ok("{}".into())), r#"{"jsonrpc":"2.0","id":"a\"b","result":{}}"#);
        assert_eq!(
            answer(&Id::from_integer(1), &Err(error)),
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"no\n","data":1}}"#
        );
    }
}
