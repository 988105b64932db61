//! Files in the working directory that choose the code that a command runs.
//!
//! `npx` prefers packages in `node_modules`, and uses the registry that an `.npmrc` names. `python
//! -m` loads modules from the working directory. A user who opens the project of a stranger is in
//! such a directory.

use super::family::plain_name;
use super::inspect::{CodeKind, Links, inspect_with};
use super::package::Registry;

/// A file or directory that chooses code if it exists.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Local {
    /// Path relative to the working directory.
    pub path: String,
    /// Set if the same path in parent directories counts too.
    pub is_above: bool,
}

/// Files that JavaScript package runners read besides `node_modules`, by prefix of the runner's
/// name.
const NPM: [(&str, &[&str]); 4] = [
    ("yarn", &[".yarnrc", ".yarnrc.yml", ".pnp.cjs", ".npmrc"]),
    ("pnp", &[".npmrc", ".pnpmfile.cjs", "pnpm-workspace.yaml"]),
    ("bun", &["bunfig.toml", ".npmrc"]),
    ("np", &[".npmrc"]),
];
const DENO: [&str; 2] = ["deno.json", "deno.jsonc"];
/// Files that load code for a script outside of the directory, by the program that runs it.
const SCRIPTS: [(&str, &[&str]); 5] = [
    ("bun", &["bunfig.toml"]),
    ("deno", &DENO),
    ("tsx", &["tsconfig.json"]),
    ("ts-node", &["tsconfig.json"]),
    ("uv", &["pyproject.toml", "uv.toml"]),
];
/// Options of `uv` that select another project than the one in the working directory, or none.
const PROJECTS: [&str; 3] = ["--directory", "--project", "--no-project"];

/// Returns the files that would choose the code of a command if they existed in its working
/// directory. `links` resolves words of the command to files.
pub fn local_sources(command: &[String], links: Links<'_>) -> Vec<Local> {
    let look = inspect_with(command, links);
    let mut found = Vec::new();
    for package in &look.packages {
        let word = command.get(package.index).map_or("", String::as_str);
        let spec = word.get(package.start..).unwrap_or_default();
        let before = command.get(..package.index).unwrap_or_default();
        match package.registry {
            Registry::Npm => {
                let name = npm_name(spec);
                add_above(
                    &mut found,
                    [&format!("node_modules/{name}"), &format!("node_modules/.bin/{name}")],
                );
                add_above(&mut found, runner_files(before, links));
            }
            Registry::Deno if spec.starts_with("npm:") || spec.starts_with("jsr:") => {
                add_above(&mut found, DENO);
            }
            _ => {}
        }
    }
    // These options replace the project of the working directory.
    let is_elsewhere = |word: &String| PROJECTS.iter().any(|option| word.starts_with(option));
    if has_script_elsewhere(command) && !command.iter().any(is_elsewhere) {
        let names = names(command.first(), links);
        let files = SCRIPTS.iter().filter(|(name, _)| names.iter().any(|it| it == name));
        files.for_each(|(_, files)| add_above(&mut found, *files));
    }
    // Words after the module are arguments of the module.
    let mut named = look.code.iter().filter(|code| code.kind == CodeKind::Named);
    if let Some(code) = named.next().filter(|_| is_python(command, links)) {
        // `-m` may be glued to its value, and to other short options before it: `-um`, `-ma`.
        let glued = command.get(code.index).and_then(|word| word.split_once('m')).map(|it| it.1);
        let next = command.get(code.index + 1).map(String::as_str);
        let module = glued.filter(|it| !it.is_empty()).or(next).unwrap_or_default();
        let top = module.split('.').next().unwrap_or(module);
        found.extend(
            [format!("{top}.py"), top.to_owned()].map(|path| Local { path, is_above: false }),
        );
    }
    found
}

fn add_above<'a>(
    found: &mut Vec<Local>,
    paths: impl IntoIterator<Item = &'a (impl AsRef<str> + ?Sized + 'a)>,
) {
    let locals =
        paths.into_iter().map(|path| Local { path: path.as_ref().to_owned(), is_above: true });
    found.extend(locals);
}

/// Returns the files that the last runner among these words reads.
fn runner_files(words: &[String], links: Links<'_>) -> &'static [&'static str] {
    let names = words.iter().rev().flat_map(|word| [vec![word.clone()], links(word)].concat());
    let mut files = names.filter_map(|name| {
        let name = plain_name(&name);
        NPM.iter().find(|(start, _)| name.starts_with(start)).map(|(_, files)| *files)
    });
    files.next().unwrap_or_default()
}

/// Returns the name of a package without its version.
fn npm_name(spec: &str) -> &str {
    // The `@` of a scope does not start a version.
    let scope = usize::from(spec.starts_with('@'));
    let version = spec.get(scope..).and_then(|rest| rest.find('@'));
    version.and_then(|at| spec.get(..scope + at)).unwrap_or(spec)
}

/// Returns true if a script is given by its absolute path. A relative one is meant to use the files
/// of the directory.
fn has_script_elsewhere(command: &[String]) -> bool {
    // The file extension tells a script from a data file with an absolute path.
    let is_script = |word: &&str| {
        let ending = word.rsplit_once('.').map(|(_, ending)| ending);
        word.starts_with('/')
            && ending.is_some_and(|it| matches!(it, "js" | "ts" | "mjs" | "mts" | "py"))
    };
    command.iter().map(String::as_str).any(|word| is_script(&word))
}

fn is_python(command: &[String], links: Links<'_>) -> bool {
    let names = names(command.first(), links);
    names.iter().any(|name| matches!(&**name, "python" | "pythonw" | "pypy" | "py"))
}

/// Returns the names of a program and of the files that it leads to.
fn names(program: Option<&String>, links: Links<'_>) -> Vec<String> {
    let Some(program) = program else { return Vec::new() };
    let all = [vec![program.clone()], links(program)].concat();
    all.iter().map(|name| plain_name(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(command: &str, expected: &[&str]) {
        let command: Vec<String> = command.split(' ').map(String::from).collect();
        let found = local_sources(&command, &|_| Vec::new());
        let found: Vec<_> = found.iter().map(|it| &*it.path).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn runners_read_what_lies_in_their_directory() {
        let npx = ["node_modules/@a/b", "node_modules/.bin/@a/b", ".npmrc"];
        check("npx -y @a/b@1.2 c", &npx);
        check("npm exec -- @a/b", &npx);
        check("node /usr/bin/npx @a/b", &npx);
        check("cmd /c npx -y @a/b", &npx);
        let pnpm = [".npmrc", ".pnpmfile.cjs", "pnpm-workspace.yaml"];
        check("pnpm dlx a", &[&["node_modules/a", "node_modules/.bin/a"], &pnpm[..]].concat());
        check("bunx a", &["node_modules/a", "node_modules/.bin/a", "bunfig.toml", ".npmrc"]);
        check("deno run -A npm:a", &["deno.json", "deno.jsonc"]);
        check("python3 -m a.b c", &["a.py", "a"]);
        check("python3 -um a -m b", &["a.py", "a"]);
        check("python3 -ma", &["a.py", "a"]);
        check("bun run /srv/a.ts", &["bunfig.toml"]);
        check("deno run -A /srv/a.ts", &["deno.json", "deno.jsonc"]);
        check("tsx /srv/a.ts", &["tsconfig.json"]);
        check("uv run /srv/a.py", &["pyproject.toml", "uv.toml"]);
        check("uv --directory /srv run /srv/a.py", &[]);
        check("bun run a.ts", &[]);
        for command in ["node a.js", "uvx a", "python3 /srv/a.py", "deno run a.ts", "docker run a"]
        {
            check(command, &[]);
        }
    }
}
