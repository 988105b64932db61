//! What a side declared that it can do, as far as the table of methods asks for it.

use hardline_wire::json::{Kind, Value};

/// Every path that the table of methods names.
const PATHS: [&str; 17] = [
    "completions",
    "elicitation",
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
    "tasks",
    "tasks.cancel",
    "tasks.list",
    "tools",
    "tools.listChanged",
];

/// A set of capabilities: one bit for each of [`PATHS`].
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Capabilities(u32);

impl Capabilities {
    /// Reads the capabilities that a side declares, in one pass for each of two levels.
    pub(super) fn read(declared: Value<'_>) -> Self {
        let mut set = Self::default();
        for (name, value) in declared.members().filter(|(_, value)| is_declared(*value)) {
            set.add(&name, "");
            for (part, _) in value.members().filter(|(_, value)| is_declared(*value)) {
                set.add(&name, &part);
            }
        }
        set
    }

    /// Whether the capability at `path` was declared. What no table names was not.
    pub(super) fn has(self, path: &str) -> bool {
        PATHS.iter().zip(0_u32..).any(|(it, bit)| *it == path && self.0 & 1 << bit != 0)
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
            "sampling":{},"roots":null,"elicitation":{"url":{}},"":{"":1},"logging":false}"#;
        let declared = Checker::new(&Limits::default()).check(text).unwrap().value;
        let set = Capabilities::read(declared);
        let has: Vec<_> = PATHS.into_iter().filter(|it| set.has(it)).collect();
        let expected = [
            "elicitation",
            "elicitation.url",
            "resources",
            "resources.subscribe",
            "sampling",
            "tools",
        ];
        assert_eq!(has, expected);
    }
}
