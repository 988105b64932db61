//! Directories of Hardline's state and configuration.
//!
//! State (audit database, pins) and configuration (policy) have one directory each: the XDG base
//! directory if its variable is set, else that of the platform. A variable that is not an absolute
//! path counts as unset, as the XDG specification demands.
//!
//! A client's configuration can set these variables for a server. So `install` writes both
//! directories into each entry, and `wrap` also looks at the home directory in the system's user
//! database.

use std::env;
use std::path::{Path, PathBuf};

/// Name of both directories.
const NAME: &str = "hardline";
/// Name of the policy in the configuration directory.
const POLICY: &str = "policy.toml";

/// Returns the directory of the audit database and the pins. `None` if no variable names the user's
/// home.
pub(crate) fn state() -> Option<PathBuf> {
    let own = match env::consts::OS {
        "windows" => absolute("LOCALAPPDATA"),
        "macos" => home().map(|home| home.join("Library/Application Support")),
        _ => home().map(|home| home.join(".local/state")),
    };
    Some(absolute("XDG_STATE_HOME").or(own)?.join(NAME))
}

/// Returns the directory of the policy.
pub(crate) fn config() -> Option<PathBuf> {
    let own = match env::consts::OS {
        "windows" => absolute("APPDATA"),
        _ => home().map(|home| config_below(&home)),
    };
    Some(absolute("XDG_CONFIG_HOME").or(own)?.join(NAME))
}

/// Returns the policy in a configuration directory, if it exists. A file that cannot be examined
/// counts as existing, so that no session starts without it.
pub(crate) fn policy_in(config: &Path) -> Option<PathBuf> {
    let path = config.join(POLICY);
    (!matches!(path.try_exists(), Ok(false))).then_some(path)
}

/// Returns the path of the default policy, which may not exist.
pub(crate) fn policy() -> Option<PathBuf> {
    Some(config()?.join(POLICY))
}

/// Returns the policy in the user's home by the system's user database, if it exists and
/// environment variables point to another policy.
#[cfg(unix)]
pub(crate) fn bypassed_policy() -> Option<PathBuf> {
    // The user database cannot be changed by a client's entry.
    let own = policy_in(&config_below(&user()?.home).join(NAME))?;
    is_bypassed(&own, policy().as_deref()).then_some(own)
}

/// Returns true if a policy is another file than the one in use.
#[cfg(unix)]
fn is_bypassed(own: &Path, used: Option<&Path>) -> bool {
    let whole = |path: &Path| path.canonicalize().ok();
    used.is_none_or(|used| whole(used) != whole(own))
}

/// Returns the user of this process from the system's user database.
#[cfg(unix)]
pub(crate) fn user() -> Option<hardline_proxy::launch::User> {
    let user = nix::unistd::User::from_uid(nix::unistd::getuid()).ok()??;
    let (home, shell) = (user.dir, user.shell);
    home.is_absolute().then_some(hardline_proxy::launch::User { home, shell })
}

/// Returns the user's home directory.
pub(crate) fn home() -> Option<PathBuf> {
    absolute("HOME").or_else(|| absolute("USERPROFILE"))
}

fn config_below(home: &Path) -> PathBuf {
    home.join(if cfg!(target_os = "macos") { "Library/Application Support" } else { ".config" })
}

fn absolute(name: &str) -> Option<PathBuf> {
    env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute())
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_is_bypassed_by_another_file_and_not_by_another_name() {
        let folder = tempfile::tempdir().unwrap();
        let (own, other) = (folder.path().join("own.toml"), folder.path().join("other.toml"));
        std::fs::write(&own, "").unwrap();
        assert!(is_bypassed(&own, None));
        assert!(is_bypassed(&own, Some(&other)), "there need be none elsewhere");
        assert!(!is_bypassed(&own, Some(&own)));
        std::os::unix::fs::symlink(&own, &other).unwrap();
        assert!(!is_bypassed(&own, Some(&other)));
    }

    #[test]
    fn the_database_knows_who_runs_the_tests() {
        // A container may run as a user that no database has.
        if let Some(user) = user() {
            assert!(user.home.is_absolute());
        }
    }
}
