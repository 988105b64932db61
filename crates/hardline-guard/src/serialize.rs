//! Serialization with serde: names as strings, findings as objects. Feature `serde`.

use std::borrow::Cow;

use serde::de::{Error, Unexpected};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::finding::{Direction, Severity};
use crate::rule::{Action, Rule};

macro_rules! by_name {
    ($($type:ty, $expected:literal;)*) => {$(
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.name())
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let name = Cow::<str>::deserialize(deserializer)?;
                let unknown = |_| D::Error::invalid_value(Unexpected::Str(&name), &$expected);
                name.parse().map_err(unknown)
            }
        }
    )*};
}

by_name! {
    Action, "allow, log, sanitize, block or close";
    Direction, "server-to-client or client-to-server";
    Rule, "the name of a rule";
    Severity, "low, medium, high or critical";
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Finding;
    use crate::guard::Found;

    #[test]
    fn every_name_is_read_as_what_it_was_written_from() {
        fn check<T: Serialize + for<'de> Deserialize<'de> + PartialEq + std::fmt::Debug>(value: T) {
            let text = serde_json::to_string(&value).unwrap();
            assert_eq!(serde_json::from_str::<T>(&text).unwrap(), value, "{text}");
        }
        Action::ALL.into_iter().for_each(check);
        Severity::ALL.into_iter().for_each(check);
        Rule::ALL.iter().copied().for_each(check);
        [Direction::ServerToClient, Direction::ClientToServer].into_iter().for_each(check);
        let error = serde_json::from_str::<Action>("\"maybe\"").unwrap_err();
        assert!(error.to_string().contains("allow, log, sanitize, block or close"), "{error}");
    }

    #[test]
    fn a_finding_is_an_object_with_names_in_it() {
        let direction = Direction::ServerToClient;
        let finding = Finding::new(Rule::ContentHidden, direction, "<U+200B>", "hidden characters");
        let found = Found::new(finding, Action::Sanitize);
        let json = serde_json::to_value(&found).unwrap();
        let expected = serde_json::json!({
            "finding": {
                "rule": "content.hidden",
                "severity": "high",
                "direction": "server-to-client",
                "path": null,
                "offset": 0,
                "length": 0,
                "excerpt": "<U+200B>",
                "detail": "hidden characters",
            },
            "action": "sanitize",
        });
        assert_eq!(json, expected);
        assert_eq!(serde_json::from_value::<Found>(json).unwrap(), found);
    }
}
