//! Names of tools in the catalog.
//!
//! A name is derived from the server's and the tool's name alone, so other servers and the order in which
//! they answer cannot change it. It contains only what every model API accepts: ASCII letters, digits, `_`
//! and `-`, at most [`MAX_NAME`] of them.

use sha2::{Digest, Sha256};

/// Longest tool name that the model APIs accept.
const MAX_NAME: usize = 64;
/// Separator between server and tool.
const BETWEEN: &str = "__";
/// Length of the hash in a hashed name.
const HASH_DIGITS: usize = 10;

/// Returns the catalog name of a tool: `server__tool` if that is valid and unambiguous, and otherwise a
/// shortened form with a hash of both.
pub(super) fn qualified(server: &str, tool: &str) -> String {
    let plain = format!("{server}{BETWEEN}{tool}");
    if plain.len() <= MAX_NAME && is_server(server) && is_tool(tool) && !is_like_hashed(tool) {
        return plain;
    }
    hashed(server, tool, 0)
}

/// Returns a name with a hash, for tools whose plain name is invalid, ambiguous or taken. Each `attempt`
/// yields a different name.
pub(super) fn hashed(server: &str, tool: &str, attempt: u32) -> String {
    let mut hash = Sha256::new();
    // The length keeps ("ab", "c") and ("a", "bc") apart.
    hash.update(server.len().to_le_bytes());
    hash.update(server);
    hash.update(tool);
    hash.update(attempt.to_le_bytes());
    let hash: String =
        hash.finalize().iter().take(HASH_DIGITS / 2).map(|byte| format!("{byte:02x}")).collect();
    // Each part gets half of the space, plus what the other part leaves unused.
    let room = MAX_NAME - BETWEEN.len() - 1 - hash.len();
    let (server, tool) = (cleaned(server), cleaned(tool));
    let for_server = server.len().min((room / 2).max(room.saturating_sub(tool.len())));
    let server: String = server.chars().take(for_server).collect();
    let tool: String = tool.chars().take(room - for_server).collect();
    format!("{server}{BETWEEN}{tool}_{hash}")
}

/// Returns true if `name` may be the catalog name of a tool of this server. False positives are possible.
pub(super) fn may_be_of(server: &str, name: &str) -> bool {
    // A hashed name has at least this much of the server's name.
    let kept = (MAX_NAME - BETWEEN.len() - 1 - HASH_DIGITS) / 2;
    let server = cleaned(server);
    match server.char_indices().nth(kept) {
        None => name.strip_prefix(&*server).is_some_and(|rest| rest.starts_with(BETWEEN)),
        Some((cut, _)) => server.get(..cut).is_some_and(|it| name.starts_with(it)),
    }
}

/// Returns true if the name can precede [`BETWEEN`] and still be split off unambiguously.
fn is_server(name: &str) -> bool {
    !name.contains(BETWEEN) && !name.ends_with('_') && is_tool(name)
}

fn is_tool(name: &str) -> bool {
    !name.is_empty() && name.chars().all(is_taken)
}

/// Returns true if the name ends like a hashed name. Such names are always hashed, so that a server cannot
/// choose a tool name that equals the hashed name of another server's tool.
fn is_like_hashed(tool: &str) -> bool {
    let Some((_, end)) = tool.rsplit_once('_') else { return tool.len() == HASH_DIGITS };
    end.len() == HASH_DIGITS
}

fn is_taken(char: char) -> bool {
    char.is_ascii_alphanumeric() || matches!(char, '_' | '-')
}

fn cleaned(name: &str) -> String {
    name.chars().map(|char| if is_taken(char) { char } else { '_' }).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    #[track_caller]
    fn check(server: &str, tool: &str, expected: &str) {
        let name = qualified(server, tool);
        let shown = match name.rsplit_once('_') {
            Some((kept, hash)) if hash.len() == 10 => format!("{kept}_#"),
            _ => name.clone(),
        };
        assert_eq!(shown, expected);
        assert!(name.len() <= MAX_NAME && name.chars().all(is_taken), "{name}");
    }

    #[test]
    fn says_server_and_tool() {
        check("git-hub", "create_issue", "git-hub__create_issue");
        check("a_b", "_c", "a_b___c");
        check("a", "b__c", "a__b__c");
    }

    #[test]
    fn ambiguous_or_invalid_names_get_a_hash() {
        check("a__b", "c", "a__b__c_#");
        check("a_", "c", "a___c_#");
        check("a", "b c", "a__b_c_#");
        check("ä", "日本", "___ ___#".replace(' ', "").as_str());
        check("", "", "___#");
        check(
            &"s".repeat(40),
            &"t".repeat(40),
            &format!("{}__{}_#", "s".repeat(25), "t".repeat(26)),
        );
        check("s", &"t".repeat(80), &format!("s__{}_#", "t".repeat(50)));
        check(&"s".repeat(80), "t", &format!("{}__t_#", "s".repeat(50)));
    }

    #[test]
    fn a_plain_name_cannot_equal_the_hashed_name_of_another_tool() {
        let theirs = qualified("github (work)", "create_issue");
        let planted = theirs.strip_prefix("github__").unwrap();
        assert_ne!(qualified("github", planted), theirs);
        let (server, tool) = theirs.split_once("__").unwrap();
        assert_ne!(qualified(server, tool), theirs);
        check("a", "0123456789", "a__0123456789_#");
    }

    #[test]
    fn two_tools_have_two_names() {
        let parts = ["a", "b", "a_", "_b", "a__b", "b__a", "__", "_", "", "ä", "ö", "a b", "a-b"];
        let long = ["x".repeat(60), "x".repeat(61)];
        let parts: Vec<&str> = parts.into_iter().chain(long.iter().map(String::as_str)).collect();
        let mut names = HashMap::new();
        for server in &parts {
            for tool in &parts {
                let other = names.insert(qualified(server, tool), (*server, *tool));
                assert_eq!(other, None, "{server:?} {tool:?}");
            }
        }
    }
}
