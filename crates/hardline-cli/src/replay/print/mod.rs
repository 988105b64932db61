//! Prints the report of a replay, for people and for programs.

pub(super) mod json;
pub(super) mod text;

fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}
