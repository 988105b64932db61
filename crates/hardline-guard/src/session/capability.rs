//! The capabilities that a side declared, as far as the table of methods needs them.

use hardline_wire::json::{Kind, Value};

/// The paths in the table of methods, and those that parts of a request need.
const PATHS: [&str; 22] = [
    "completions",
    "elicitation",
    "elicitation.form",
    "elicitation.url",
    "logging",
    "prompts",
    "prompts.listChanged",
    "resources",
    "resources.listChanged",
    "resources.subscribe",
    "roots",
    "roots.listChanged",
    "sampling",
    "sampling.context",
    "sampling.tools",
    "tasks",
    "tasks.cancel",
    "tasks.list",
    "tasks.requests.elicitation.create",
    "tasks.requests.sampling.createMessage",
    "tools",
    "tools.listChanged",
];

/// A set of capabilities: one bit for each of [`PATHS`].
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Capabilities(u32);

impl Capabilities {
    /// Reads the capabilities that a side declares, in one pass for each of two levels.
    ///
    /// Names are compared exactly, unlike the parts of a request: in doubt, a side declared nothing.
    pub(super) fn read(declared: Value<'_>) -> Self {
        let mut set = Self::default();
        for (name, value) in declared.members().filter(|(_, value)| is_declared(*value)) {
            set.add(&name, "");
            for (part, value) in value.members().filter(|(_, value)| is_declared(*value)) {
                set.add(&name, &part);
                if (&*name, &*part) == ("tasks", "requests") {
                    set.add_task_requests(value);
                }
            }
        }
        // Before there were two kinds of elicitation, the capability had no parts.
        if set.has("elicitation") && !set.has("elicitation.url") {
            set.add("elicitation", "form");
        }
        set
    }

    /// Returns true if the capability at `path` was declared. Unknown paths never are.
    pub(super) fn has(self, path: &str) -> bool {
        PATHS.iter().zip(0_u32..).any(|(it, bit)| *it == path && self.0 & 1 << bit != 0)
    }

    /// Adds the kinds of requests that may be tasks: `{"sampling": {"createMessage": {}}}`.
    fn add_task_requests(&mut self, requests: Value<'_>) {
        for (area, methods) in requests.members() {
            for (method, _) in methods.members().filter(|(_, value)| is_declared(*value)) {
                self.add("tasks", &format!("requests.{area}.{method}"));
            }
        }
    }

    fn add(&mut self, name: &str, part: &str) {
        for (path, bit) in PATHS.iter().zip(0_u32..) {
            let (first, second) = path.split_once('.').unwrap_or((path, ""));
            if first == name && second == part && !name.is_empty() {
                self.0 |= 1 << bit;
            }
        }
    }
}

fn is_declared(value: Value<'_>) -> bool {
    value.kind() != Kind::Null && value.as_bool() != Some(false)
}

#[cfg(test)]
mod tests {
    use hardline_wire::json::Checker;
    use hardline_wire::limits::Limits;
    use hardline_wire::method;

    use super::*;

    #[test]
    fn knows_every_path_of_the_table() {
        for method in method::all() {
            let Some(capability) = method.capability else { continue };
            assert!(PATHS.contains(&capability.path), "{}", capability.path);
        }
    }

    #[test]
    fn reads_two_levels() {
        let text = br#"{"tools":{"listChanged":false},"resources":{"subscribe":true},
            "sampling":{"tools":{}},"roots":null,"elicitation":{"url":{}},"":{"":1},"logging":false,
            "tasks":{"requests":{"sampling":{"createMessage":{}},"tools":{"call":{}}}}}"#;
        let declared = Checker::new(&Limits::default()).check(text).unwrap().value;
        let set = Capabilities::read(declared);
        let has: Vec<_> = PATHS.into_iter().filter(|it| set.has(it)).collect();
        let expected = [
            "elicitation",
            "elicitation.url",
            "resources",
            "resources.subscribe",
            "sampling",
            "sampling.tools",
            "tasks",
            "tasks.requests.sampling.createMessage",
            "tools",
        ];
        assert_eq!(has, expected);
        let declared = br#"{"elicitation":{}}"#;
        let declared = Checker::new(&Limits::default()).check(declared).unwrap().value;
        let set = Capabilities::read(declared);
        assert!(set.has("elicitation.form") && !set.has("elicitation.url"));
    }
}
