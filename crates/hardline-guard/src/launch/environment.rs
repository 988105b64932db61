//! Variables of the environment that make programs run other code.

/// Variables that load code into any program, or into any of its kind.
const ALWAYS: [&str; 27] = [
    "LD_PRELOAD",
    "LD_AUDIT",
    "LD_LIBRARY_PATH",
    "DYLD_INSERT_LIBRARIES",
    "DYLD_LIBRARY_PATH",
    "DYLD_FRAMEWORK_PATH",
    "BASH_ENV",
    "ENV",
    "NODE_PATH",
    "PERL5OPT",
    "PERL5LIB",
    "PERL5DB",
    "RUBYOPT",
    "RUBYLIB",
    "PYTHONSTARTUP",
    "PYTHONPATH",
    "PYTHONHOME",
    "PYTHONINSPECT",
    "JAVA_TOOL_OPTIONS",
    "_JAVA_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "CLASSPATH",
    "DOTNET_STARTUP_HOOKS",
    "PHPRC",
    "PHP_INI_SCAN_DIR",
    "LUA_INIT",
    "OPENSSL_CONF",
];

/// Variables that begin like this configure runners, and what those run. In any case.
const RUNNERS: [&str; 4] = ["npm_config_", "uv_", "pip_", "bash_func_"];

/// What options of Node.js that load code have in them.
const NODE: [&str; 7] =
    ["--require", "-r", "--import", "loader", "--eval", "--env-file", "-config"];

/// Whether a variable with this value makes programs run code that their command line does not name.
pub fn injects_code(name: &str, value: &str) -> bool {
    if value.is_empty() {
        return false;
    }
    let lower = name.to_lowercase();
    if lower == "node_options" {
        // Quotes and underscores make no difference to it.
        let value = value.replace('_', "-").replace(['"', '\''], "");
        return value.split_whitespace().any(|word| NODE.iter().any(|it| word.contains(it)));
    }
    ALWAYS.contains(&name) || RUNNERS.iter().any(|it| lower.starts_with(it))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn preloaded_code_is_seen() {
        for (name, value) in [
            ("LD_PRELOAD", "/tmp/x.so"),
            ("NODE_OPTIONS", "--max-old-space-size=4096 --require=/tmp/x.js"),
            ("NODE_OPTIONS", "\"--require\" x.js"),
            ("NODE_OPTIONS", "--experimental_loader x"),
            ("PYTHONPATH", "/tmp"),
            ("npm_config_script_shell", "/tmp/x"),
            ("NPM_CONFIG_CALL", "id"),
        ] {
            assert!(injects_code(name, value), "{name}={value}");
        }
        for (name, value) in [
            ("NODE_OPTIONS", "--max-old-space-size=4096"),
            ("LD_PRELOAD", ""),
            ("PATH", "/tmp"),
            ("GITHUB_TOKEN", "x"),
        ] {
            assert!(!injects_code(name, value), "{name}={value}");
        }
    }
}
