//! Variables of the environment that make programs run other code.

/// Variables that load code into any program, or into any of its kind.
const ALWAYS: &[&str] = &[
    "BASH_ENV",
    "SHELLOPTS",
    "BASHOPTS",
    "PS4",
    "PROMPT_COMMAND",
    "GCONV_PATH",
    "LOCPATH",
    "NODE_PATH",
    "NODE_REPL_EXTERNAL_MODULE",
    "BUN_OPTIONS",
    "PERL5OPT",
    "PERL5LIB",
    "PERLLIB",
    "PERL5DB",
    "RUBYOPT",
    "RUBYLIB",
    "PYTHONSTARTUP",
    "PYTHONPATH",
    "PYTHONHOME",
    "PYTHONUSERBASE",
    "PYTHONPLATLIBDIR",
    "PYTHONBREAKPOINT",
    "PYTHONINSPECT",
    "JAVA_TOOL_OPTIONS",
    "_JAVA_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "CLASSPATH",
    "DOTNET_STARTUP_HOOKS",
    "DOTNET_ADDITIONAL_DEPS",
    "CORECLR_PROFILER_PATH",
    "PHPRC",
    "PHP_INI_SCAN_DIR",
    "OPENSSL_CONF",
    "OPENSSL_ENGINES",
    "OPENSSL_MODULES",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "GIT_PROXY_COMMAND",
    "GIT_EXEC_PATH",
    "GIT_EXTERNAL_DIFF",
    "GIT_TEMPLATE_DIR",
    "R_PROFILE",
    "R_PROFILE_USER",
    "R_ENVIRON",
    "R_ENVIRON_USER",
    "JULIA_LOAD_PATH",
    "JULIA_DEPOT_PATH",
    "ERL_LIBS",
    "MAKEFLAGS",
    "MAKEFILES",
];

/// Variables that begin like this configure loaders, interpreters and runners, and what those run. In any
/// case.
const BEGINNINGS: &[&str] = &[
    "ld_",
    "dyld_",
    "lua_init",
    "lua_path",
    "lua_cpath",
    "erl_flags",
    "erl_aflags",
    "erl_zflags",
    "git_config",
    "npm_config_",
    "uv_",
    "pip_",
    "bash_func_",
];

/// What options of Node.js that load code have in them. `-r` does so too.
const NODE: [&str; 6] = ["--require", "--import", "loader", "--eval", "--env-file", "-config"];

/// Whether a text can be the name of a variable, or a pattern for names.
pub fn is_variable(name: &str) -> bool {
    !name.is_empty() && !name.contains(['=', '\0'])
}

/// Whether a variable with this value makes programs run code that their command line does not name.
pub fn injects_code(name: &str, value: &str) -> bool {
    if value.is_empty() {
        return false;
    }
    let lower = name.to_lowercase();
    if lower == "node_options" {
        // Quotes and underscores make no difference to it.
        let value = value.replace('_', "-").replace(['"', '\''], "");
        let loads = |word: &str| word.starts_with("-r") || NODE.iter().any(|it| word.contains(it));
        return value.split_whitespace().any(loads);
    }
    // The name of a file to shells, and of anything to others.
    if name == "ENV" {
        return value.contains(['/', '$', '`', '.']);
    }
    // A category of warnings with a dot in it is a module that is loaded.
    if name == "PYTHONWARNINGS" {
        return value.contains('.');
    }
    ALWAYS.contains(&name) || BEGINNINGS.iter().any(|it| lower.starts_with(it))
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
            ("GCONV_PATH", "/tmp"),
            ("SHELLOPTS", "xtrace"),
            ("GIT_SSH_COMMAND", "id"),
            ("GIT_CONFIG_COUNT", "1"),
            ("DYLD_INSERT_LIBRARIES", "x"),
            ("LUA_INIT_5_4", "x"),
            ("NODE_OPTIONS", "--no-warnings -r x.js"),
            ("NODE_OPTIONS", "-r=x.js"),
            ("ENV", "$HOME/.shrc"),
        ] {
            assert!(injects_code(name, value), "{name}={value}");
        }
        for (name, value) in [
            ("NODE_OPTIONS", "--max-old-space-size=4096"),
            ("LD_PRELOAD", ""),
            ("PATH", "/tmp"),
            ("PYTHONWARNINGS", "ignore"),
            ("GITHUB_TOKEN", "x"),
            ("NODE_OPTIONS", "--dns-result-order=ipv4first --unhandled-rejections=strict"),
            ("ENV", "production"),
        ] {
            assert!(!injects_code(name, value), "{name}={value}");
        }
    }
}
