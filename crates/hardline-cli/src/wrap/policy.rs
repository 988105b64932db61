//! The policy and the state directory of a session.

use std::path::PathBuf;

use anyhow::{Result, bail};
use hardline_guard::policy::Policy;

use super::WrapArgs;
use crate::{directory, policy};

impl WrapArgs {
    /// Returns the directory of the audit database, the pins and the records of executables.
    pub(super) fn state(&self) -> Option<PathBuf> {
        self.state_dir.clone().or_else(directory::state)
    }

    /// Reads the policy. Also returns a warning if the user's own policy is bypassed.
    ///
    /// # Errors
    ///
    /// The policy cannot be read; or environment variables bypass a policy in the user's home that
    /// lists the allowed programs. A client's entry can set any variable, and the list must hold
    /// for such entries.
    pub(super) fn read_policy(&self, server: &str) -> Result<(Policy, Option<String>)> {
        let used = self.policy.read_in(self.config_dir.as_deref())?;
        // An explicit path is the user's choice, so variables cannot redirect it.
        if self.policy.named().is_some() || self.config_dir.is_some() {
            return Ok((used, None));
        }
        let Some(own) = directory::bypassed_policy() else { return Ok((used, None)) };
        let warning = judge_bypassed(&policy::read(&own, None), server, &own.display().to_string());
        warning.map(|warning| (used, Some(warning)))
    }
}

/// Judges a policy that is not used because variables point elsewhere. Returns a warning, or an
/// error if the session must not start.
fn judge_bypassed(own: &Result<Policy>, server: &str, path: &str) -> Result<String> {
    let why = "HOME or XDG_CONFIG_HOME points to another directory";
    let advice = "unset them, or give --policy FILE or --config-dir DIR";
    match own {
        Ok(own) if own.settings(Some(server)).launch().programs().is_none() => {
            Ok(format!("{path} is not used, because {why}; {advice}"))
        }
        Ok(_) => bail!("{path} lists the programs that may be started, but {why}; {advice}"),
        Err(error) => bail!("{error:#}\nit is not used, because {why}; {advice}"),
    }
}

#[cfg(test)]
mod tests {
    use anyhow::anyhow;

    use super::*;

    #[test]
    fn a_list_of_programs_is_not_bypassed_by_variables() {
        let judge = |text: &str, server: &str| {
            let policy = Policy::parse(text).map_err(|error| anyhow!("{error}"));
            judge_bypassed(&policy, server, "/home/me/policy.toml").map_err(|it| it.to_string())
        };
        assert!(judge("profile = \"strict\"", "a").unwrap().contains("is not used"));
        let refused = judge("[launch]\nprograms = [\"x\"]", "a").unwrap_err();
        assert!(refused.contains("/home/me/policy.toml lists the programs"), "{refused}");
        assert!(refused.contains("--config-dir"), "{refused}");
        let one = "[server.a.launch]\nprograms = [\"x\"]";
        assert!(judge(one, "a").is_err());
        assert!(judge(one, "b").is_ok());
        assert!(judge("no policy", "a").is_err());
    }
}
