//! The keys that an entry may have, in any client.

/// Limit on the length of a word that is compared with known keys. A longer word is not a typing error, and
/// the comparison takes time proportional to the product of the lengths.
const MAX_WORD_CHARS: usize = 40;

/// Keys for a server's address, in order of precedence.
pub(super) const ADDRESSES: [&str; 4] = ["httpUrl", "serverUrl", "server_url", "url"];

/// Keys for the transport of a server.
pub(super) const TYPES: [&str; 3] = ["type", "transport", "transportType"];

/// Keys that apply only to servers that are started as a process.
pub(super) const OF_COMMANDS: [&str; 5] = ["args", "env", "cwd", "envFile", "env_vars"];

/// Keys that apply only to servers at an address.
pub(super) const OF_URLS: [&str; 6] =
    ["headers", "http_headers", "env_http_headers", "bearer_token_env_var", "oauth", "auth"];

/// Further keys that Hardline reads.
const READ: [&str; 7] =
    ["command", "timeout", "tool_timeout_sec", "disabled", "enabled", "isActive", "scopes"];

/// Keys that only matter to the client, such as display options and tool filters.
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

/// Further such keys, each specific to one client.
const RARE: [&str; 4] = ["watchPaths", "networkTimeout", "requireApproval", "//"];

/// Returns true if the key has a meaning in any client.
pub(super) fn is_known(key: &str) -> bool {
    all().any(|known| known == key)
}

/// Returns the known key most similar to `key`, if one is similar enough.
pub(super) fn nearest(key: &str) -> Option<&'static str> {
    // Codex expects the name of a variable here rather than the token itself.
    if key == "bearer_token" {
        return Some("bearer_token_env_var");
    }
    let length = key.chars().take(MAX_WORD_CHARS + 1).count();
    if length > MAX_WORD_CHARS {
        return None;
    }
    // Spelling styles differ between clients and are not what the user got wrong.
    let plain = |word: &str| word.to_lowercase().replace(['_', '-', ' '], "");
    let word = plain(key);
    read()
        .map(|known| (strsim::damerau_levenshtein(&word, &plain(known)), known))
        // More than one error in three letters is a different word.
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
    fn suggests_the_nearest_known_key() {
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
