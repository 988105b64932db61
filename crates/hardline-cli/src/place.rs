//! Where Hardline keeps what it must remember, and looks for what it was told.
//!
//! State (audit database, pins) and configuration (policy) have a directory each: the one of the XDG
//! base directories if its variable is set, else the platform's own place. A variable that is no
//! absolute path counts as not set, as that specification says.

use std::env;
use std::path::PathBuf;

/// What the directories are called.
const NAME: &str = "hardline";

/// Where the audit database and the pins are. `None` if the environment does not say where the user
/// is at home.
pub(crate) fn state() -> Option<PathBuf> {
    let own = match env::consts::OS {
        "windows" => absolute("LOCALAPPDATA"),
        "macos" => home().map(|home| home.join("Library/Application Support")),
        _ => home().map(|home| home.join(".local/state")),
    };
    Some(absolute("XDG_STATE_HOME").or(own)?.join(NAME))
}

/// Where the policy is looked for.
pub(crate) fn config() -> Option<PathBuf> {
    let own = match env::consts::OS {
        "windows" => absolute("APPDATA"),
        "macos" => home().map(|home| home.join("Library/Application Support")),
        _ => home().map(|home| home.join(".config")),
    };
    Some(absolute("XDG_CONFIG_HOME").or(own)?.join(NAME))
}

/// The user's home.
pub(crate) fn home() -> Option<PathBuf> {
    absolute("HOME").or_else(|| absolute("USERPROFILE"))
}

fn absolute(name: &str) -> Option<PathBuf> {
    env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute())
}
