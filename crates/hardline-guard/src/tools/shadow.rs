//! Detects new tools that can be mistaken for other tools.

use std::collections::HashSet;

use super::keeper::PinKeeper;
use super::review::Listed;
use crate::pin::{Definition, Lock, Newcomers, Twins};

/// Returns the index of each tool that can be mistaken for another one, with a description.
///
/// Only new tools count; a pinned tool does not. A new tool is reported if its name equals the name
/// of a neighbor's tool or looks like it, or if it looks like the name of another tool of the same
/// server, pinned or on the same list.
pub(super) fn find(
    lock: &Lock,
    keeper: &mut dyn PinKeeper,
    server: &str,
    tools: &[Listed],
) -> Vec<(usize, String)> {
    let is_newcomer =
        |tool: &Listed| !tool.name.is_empty() && lock.tool(server, &tool.name).is_none();
    let mut newcomers: Vec<(usize, &str)> = tools
        .iter()
        .enumerate()
        .filter(|(_, tool)| is_newcomer(tool))
        .map(|(index, tool)| (index, &*tool.name))
        .collect();
    if newcomers.is_empty() {
        return Vec::new();
    }
    // Of two similar names on one list, the one in plain characters is the original and the other
    // the look-alike.
    newcomers.sort_by_key(|(index, name)| (!is_plain(name), *index));
    let neighbors = keeper.neighbors(server);
    let mut others = Newcomers::new(server, newcomers.iter().map(|(_, name)| *name));
    for other in neighbors.servers().filter(|other| *other != server) {
        neighbors.tools(other).for_each(|tool| others.compare(other, tool.name()));
    }
    let mut own = Twins::new();
    for tool in lock.tools(server) {
        own.insert(server, tool.name());
    }
    let found = newcomers.into_iter().filter_map(|(index, name)| {
        let twin = own.insert(server, name);
        Some((index, others.shadow(name).or(twin)?.to_string()))
    });
    found.collect()
}

/// Returns the index of each tool that repeats an earlier one of the list without a difference.
pub(super) fn copies(tools: &[Listed]) -> Vec<usize> {
    let mut seen = HashSet::new();
    let mut copies = Vec::new();
    for (index, tool) in tools.iter().enumerate() {
        let Ok(fingerprint) = tool.definition.as_ref().map(Definition::fingerprint) else {
            continue;
        };
        if !seen.insert((&*tool.name, fingerprint)) {
            copies.push(index);
        }
    }
    copies
}

/// Returns true for a name in the characters that MCP recommends.
fn is_plain(name: &str) -> bool {
    name.chars().all(|char| char.is_ascii_alphanumeric() || "_-./".contains(char))
}
