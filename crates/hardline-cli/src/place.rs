//! Where Hardline keeps what it must remember, and looks for what it was told.
//!
//! State (audit database, pins) and configuration (policy) have a directory each: the one of the XDG
//! base directories if its variable is set, else the platform's own place. A variable that is no
//! absolute path counts as not set, as that specification says.
//!
//! A client's configuration can set these variables for one server. So `install` writes both directories into
//! each entry, and `wrap` looks besides at the home that the system's database has for the user.

use std::env;
use std::path::{Path, PathBuf};

/// Name of both directories.
const NAME: &str = "hardline";
/// Name of the policy in the configuration directory.
const POLICY: &str = "policy.toml";

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
        _ => home().map(|home| config_below(&home)),
    };
    Some(absolute("XDG_CONFIG_HOME").or(own)?.join(NAME))
}

/// The policy in a configuration directory, if there is one. One that cannot be looked at counts as there, so
/// that nothing begins without it.
pub(crate) fn policy_in(config: &Path) -> Option<PathBuf> {
    let path = config.join(POLICY);
    (!matches!(path.try_exists(), Ok(false))).then_some(path)
}

/// The policy that is used unless another is named, whether it is there or not.
pub(crate) fn policy() -> Option<PathBuf> {
    Some(config()?.join(POLICY))
}

/// The policy in the user's home by the system's database, if there is one and variables of the environment
/// lead to another place.
#[cfg(unix)]
pub(crate) fn bypassed_policy() -> Option<PathBuf> {
    let own = policy_in(&config_below(&user()?.home).join(NAME))?;
    is_bypassed(&own, policy().as_deref()).then_some(own)
}

/// Checks if a policy is another file than the one that is used.
#[cfg(unix)]
fn is_bypassed(own: &Path, used: Option<&Path>) -> bool {
    let whole = |path: &Path| path.canonicalize().ok();
    used.is_none_or(|used| whole(used) != whole(own))
}

/// The user that this process runs as, by the system's database of users.
#[cfg(unix)]
pub(crate) fn user() -> Option<hardline_proxy::launch::User> {
    let user = nix::unistd::User::from_uid(nix::unistd::getuid()).ok()??;
    let (home, shell) = (user.dir, user.shell);
    home.is_absolute().then_some(hardline_proxy::launch::User { home, shell })
}

/// The user's home.
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
