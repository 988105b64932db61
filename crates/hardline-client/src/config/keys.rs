//! The keys that a server may have, in any client.

/// Longer words are no typing errors, and comparing takes the product of the lengths.
const MAX_WORD_CHARS: usize = 40;

/// Keys whose value is where a server is, the one that counts before others first.
pub(super) const ADDRESSES: [&str; 4] = ["httpUrl", "serverUrl", "server_url", "url"];

/// Keys that say what is spoken.
pub(super) const TYPES: [&str; 3] = ["type", "transport", "transportType"];

/// Keys for servers that are started.
pub(super) const OF_COMMANDS: [&str; 5] = ["args", "env", "cwd", "envFile", "env_vars"];

/// Keys for servers at an address.
pub(super) const OF_URLS: [&str; 6] =
    ["headers", "http_headers", "env_http_headers", "bearer_token_env_var", "oauth", "auth"];

/// What else is read.
const READ: [&str; 7] =
    ["command", "timeout", "tool_timeout_sec", "disabled", "enabled", "isActive", "scopes"];

/// What clients keep for themselves: how they show a server, and which of its tools they let pass.
const HARMLESS: [&str; 52] = [
    "$schema",
    "_comment",
    "alwaysAllow",
    "alwaysLoad",
    "authProviderType",
    "autoApprove",
    "autoStart",
    "chat",
    "comment",
    "default_tools_approval_mode",
    "description",
    "dev",
    "disabledTools",
    "disabled_tools",
    "displayName",
    "enabledTools",
    "enabled_tools",
    "environment_id",
    "excludeTools",
    "experimental_environment",
    "extension",
    "extensionName",
    "gallery",
    "homepage",
    "icon",
    "icons",
    "id",
    "includeTools",
    "initTimeout",
    "instructions",
    "metadata",
    "name",
    "note",
    "oauth_resource",
    "provider",
    "registry",
    "remote",
    "required",
    "sandbox",
    "sandboxEnabled",
    "settings",
    "source",
    "startup_timeout_ms",
    "startup_timeout_sec",
    "supports_parallel_tool_calls",
    "tags",
    "targetAudience",
    "targetServiceAccount",
    "title",
    "tools",
    "trust",
    "version",
];

/// More of these, which are of one client each.
const RARE: [&str; 4] = ["watchPaths", "networkTimeout", "requireApproval", "//"];

/// Whether some client gives a key a meaning.
pub(super) fn is_known(key: &str) -> bool {
    all().any(|known| known == key)
}

/// The known key that is most like `key`, if one is like it at all.
pub(super) fn nearest(key: &str) -> Option<&'static str> {
    // Codex wants the name of a variable, not the token.
    if key == "bearer_token" {
        return Some("bearer_token_env_var");
    }
    let length = key.chars().take(MAX_WORD_CHARS + 1).count();
    if MAX_WORD_CHARS < length {
        return None;
    }
    let plain = |word: &str| word.to_lowercase().replace(['_', '-', ' '], "");
    let word = plain(key);
    read()
        .map(|known| (strsim::damerau_levenshtein(&word, &plain(known)), known))
        .filter(|(distance, _)| *distance <= length / 3)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, known)| known)
}

fn read() -> impl Iterator<Item = &'static str> {
    READ.into_iter().chain(ADDRESSES).chain(TYPES).chain(OF_COMMANDS).chain(OF_URLS)
}

fn all() -> impl Iterator<Item = &'static str> {
    read().chain(HARMLESS).chain(RARE).chain(["headersHelper", "tcp"])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_what_may_have_been_meant() {
        for (key, expected) in [
            ("comand", Some("command")),
            ("Args", Some("args")),
            ("http_url", Some("httpUrl")),
            ("enviroment", None),
            ("envs", Some("env")),
            ("disable", Some("disabled")),
            ("header", Some("headers")),
            ("tiemout", Some("timeout")),
            ("env_file", Some("envFile")),
            ("bearer_token", Some("bearer_token_env_var")),
            ("zzz", None),
            (&*"a".repeat(1000), None),
        ] {
            assert!(!is_known(key), "{key}");
            assert_eq!(nearest(key), expected, "{key}");
        }
    }
}
