//! Environment of a server whose programs are listed. Variables that choose code come from the
//! system, not from the author of the server's entry in a client's configuration.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use hardline_guard::launch::{chooses_code, injects_code};
use hardline_guard::policy::LaunchPolicy;
use hardline_guard::tools::Glob;

/// The user that a server runs as, according to the system's user database.
#[derive(Clone, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "the caller queries the database and fills it in")]
pub struct User {
    /// Home directory.
    pub home: PathBuf,
    /// Login shell.
    pub shell: PathBuf,
}

/// Changes to an environment.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct Confined {
    /// Variables that are replaced, with their new values.
    pub set: Vec<(OsString, OsString)>,
    /// Variables that are removed.
    pub left_out: Vec<OsString>,
}

impl Confined {
    /// Describes all changes in one sentence. Returns `None` if there are none.
    pub fn describe(&self) -> Option<String> {
        let shown = |name: &OsStr| name.to_string_lossy().into_owned();
        let set = self
            .set
            .iter()
            .map(|(name, value)| format!("{} is {}", shown(name), value.to_string_lossy()));
        let left_out = self.left_out.iter().map(|name| format!("{} is left out", shown(name)));
        let all: Vec<_> = set.chain(left_out).collect();
        (!all.is_empty()).then(|| {
            format!(
                "the policy lists programs, so these variables do not come from the client: {}; to pass \
                 one on, name it in `launch.env`",
                all.join(", ")
            )
        })
    }
}

/// Finds the variables that choose code and that the policy does not name. `HOME` and `SHELL` are
/// replaced by those of `user`; others are removed.
pub fn confine(variables: &[(OsString, OsString)], launch: &LaunchPolicy, user: &User) -> Confined {
    let mut confined = Confined::default();
    let names: Vec<Glob> = launch.env().iter().map(Glob::new).collect();
    for (name, value) in variables {
        let shown = name.to_string_lossy();
        if names.iter().any(|it| it.matches(&shown)) {
            continue;
        }
        let own = match &*shown {
            "HOME" => Some(&user.home),
            "SHELL" => Some(&user.shell),
            _ => None,
        };
        match own {
            Some(own) if value == own => {}
            Some(own) => confined.set.push((name.clone(), own.into())),
            None => {
                let value = value.to_string_lossy();
                // A variable that injects code is reported and refused by `judge`, not silently
                // removed.
                if chooses_code(&shown, &value) && !injects_code(&shown, &value) {
                    confined.left_out.push(name.clone());
                }
            }
        }
    }
    // The environment has no order; a sorted message is the same every time.
    confined.left_out.sort();
    confined
}

#[cfg(test)]
mod tests {
    use hardline_guard::policy::Policy;

    use super::*;

    #[track_caller]
    fn check(env: &str, variables: &[(&str, &str)], expected: Option<&str>) {
        let text = format!("[launch]\nprograms = [\"x\"]\nenv = [\"OTHER\", {env}]");
        let policy = Policy::parse(&text).unwrap();
        let user = User { home: "/home/me".into(), shell: "/bin/sh".into() };
        let variables: Vec<_> =
            variables.iter().map(|(name, value)| (name.into(), value.into())).collect();
        let confined = confine(&variables, policy.settings(None).launch(), &user);
        let described = confined.describe();
        let changes = described.as_deref().and_then(|it| it.split(": ").nth(1)?.split("; ").next());
        assert_eq!(changes, expected);
    }

    #[test]
    fn variables_that_choose_code_do_not_come_from_the_client() {
        let own = [("HOME", "/home/me"), ("SHELL", "/bin/sh"), ("GITHUB_TOKEN", "x")];
        check("", &own, None);
        check("", &[("HOME", "/tmp/x")], Some("HOME is /home/me"));
        check("\"HOME\"", &[("HOME", "/tmp/x")], None);
        let more = [("SHELL", "/tmp/x"), ("XDG_DATA_HOME", "/x"), ("DENO_DIR", "/x")];
        let expected = "SHELL is /bin/sh, DENO_DIR is left out, XDG_DATA_HOME is left out";
        check("", &more, Some(expected));
        check("\"XDG_*\", \"SHELL\"", &more, Some("DENO_DIR is left out"));
        check("", &[("PERL5OPT", "-Mx")], None);
    }
}
