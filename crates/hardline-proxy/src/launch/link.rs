//! Where links lead.

use std::fs;
use std::path::{Path, PathBuf};

/// As many as systems follow.
const MAX_LINKS: usize = 40;

/// The file that a name stands for to whoever looks for it in `path`.
pub(super) fn find(name: &str, path: &str) -> Option<PathBuf> {
    std::env::split_paths(path).map(|it| it.join(name)).find(|it| it.is_file())
}

/// The files that a link leads to, one after another; none if it is no link.
pub(super) fn chain(file: &Path) -> Vec<String> {
    let mut file = file.to_owned();
    let mut chain = Vec::new();
    while let Ok(target) = fs::read_link(&file) {
        if MAX_LINKS <= chain.len() {
            break;
        }
        file = file.parent().map_or(target.clone(), |directory| directory.join(&target));
        chain.push(file.to_string_lossy().into_owned());
    }
    chain
}
