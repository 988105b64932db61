//! Variables of the environment that make programs run other code.

/// Variables that load code into any program, or into any of its kind.
const ALWAYS: [&str; 8] = [
    "LD_PRELOAD",
    "LD_AUDIT",
    "DYLD_INSERT_LIBRARIES",
    "BASH_ENV",
    "PERL5OPT",
    "RUBYOPT",
    "PYTHONSTARTUP",
    "JAVA_TOOL_OPTIONS",
];

/// Options of Node.js that load code.
const NODE: [&str; 6] =
    ["--require", "-r", "--import", "--loader", "--experimental-loader", "--eval"];

/// Whether a variable with this value makes programs run code that their command line does not name.
pub fn injects_code(name: &str, value: &str) -> bool {
    if value.is_empty() {
        return false;
    }
    let is_node =
        |word: &str| NODE.iter().any(|it| word == *it || word.starts_with(&format!("{it}=")));
    ALWAYS.contains(&name) || name == "NODE_OPTIONS" && value.split_whitespace().any(is_node)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn preloaded_code_is_seen() {
        assert!(injects_code("LD_PRELOAD", "/tmp/x.so"));
        assert!(injects_code("NODE_OPTIONS", "--max-old-space-size=4096 --require=/tmp/x.js"));
        assert!(!injects_code("NODE_OPTIONS", "--max-old-space-size=4096"));
        assert!(!injects_code("LD_PRELOAD", ""));
        assert!(!injects_code("PATH", "/tmp"));
    }
}
