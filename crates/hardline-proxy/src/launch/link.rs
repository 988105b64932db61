//! Follows symbolic links.

use std::fs;
use std::path::{Path, PathBuf};

/// Limit on the links followed: the limit of Linux.
const MAX_LINKS: usize = 40;

/// Finds a program by name in the search path `path`.
pub(super) fn find(name: &str, path: &str) -> Option<PathBuf> {
    std::env::split_paths(path).map(|it| it.join(name)).find(|it| it.is_file())
}

/// Returns the targets of a chain of links, in order. Empty if `file` is not a link.
pub(super) fn chain(file: &Path) -> Vec<String> {
    let mut file = file.to_owned();
    let mut chain = Vec::new();
    while let Ok(target) = fs::read_link(&file) {
        // Links can form a loop.
        if chain.len() >= MAX_LINKS {
            break;
        }
        file = file.parent().map_or(target.clone(), |directory| directory.join(&target));
        chain.push(file.to_string_lossy().into_owned());
    }
    chain
}
