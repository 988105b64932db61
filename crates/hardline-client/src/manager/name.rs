//! What a tool is called among those of all servers.
//!
//! A name says server and tool, and depends on these two alone: which other servers there are, and in
//! which order they answered, changes none. Names are made of what every model's interface takes: letters,
//! digits, `_` and `-`, [`MAX_NAME`] at most.

use sha2::{Digest, Sha256};

/// The longest name that the interfaces of models take.
const MAX_NAME: usize = 64;
/// What stands between server and tool.
const BETWEEN: &str = "__";
/// How long a hash is.
const HASH_DIGITS: usize = 10;

/// The name of a tool of a server: `server__tool` where that can be read in one way only, and else what can
/// be kept of it and a hash of both.
pub(super) fn qualified(server: &str, tool: &str) -> String {
    let plain = format!("{server}{BETWEEN}{tool}");
    if plain.len() <= MAX_NAME && is_server(server) && is_tool(tool) && !is_like_hashed(tool) {
        return plain;
    }
    hashed(server, tool, 0)
}

/// A name with a hash: of what has no plain one, or whose plain one is another's. Each `attempt` has
/// another.
pub(super) fn hashed(server: &str, tool: &str, attempt: u32) -> String {
    let mut hash = Sha256::new();
    hash.update(server.len().to_le_bytes());
    hash.update(server);
    hash.update(tool);
    hash.update(attempt.to_le_bytes());
    let hash: String =
        hash.finalize().iter().take(HASH_DIGITS / 2).map(|byte| format!("{byte:02x}")).collect();
    // Half of the room for each, and what one does not need for the other.
    let room = MAX_NAME - BETWEEN.len() - 1 - hash.len();
    let (server, tool) = (cleaned(server), cleaned(tool));
    let for_server = server.len().min((room / 2).max(room.saturating_sub(tool.len())));
    let server: String = server.chars().take(for_server).collect();
    let tool: String = tool.chars().take(room - for_server).collect();
    format!("{server}{BETWEEN}{tool}_{hash}")
}

/// Whether it can stand before [`BETWEEN`], so that there is one way to split it off.
fn is_server(name: &str) -> bool {
    !name.contains(BETWEEN) && !name.ends_with('_') && is_tool(name)
}

fn is_tool(name: &str) -> bool {
    !name.is_empty() && name.chars().all(is_taken)
}

/// Whether it ends as a name with a hash does. Nobody has such a name but by the hash of his own.
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
    fn has_a_hash_where_it_could_be_read_in_two_ways_or_not_taken() {
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
    fn nobody_can_have_the_hash_of_another_in_a_plain_name() {
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
