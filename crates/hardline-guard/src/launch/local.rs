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
    /// Path relative to the working directory. A leading `*` stands for any name: `*.py`,
    /// `*/__init__.py`.
    pub path: String,
    /// Set if the same path in parent directories counts too.
    pub is_above: bool,
    /// Text without which the file does not count, such as a key of JSON. A file with a Unicode
    /// escape counts as well, because the escape may be a part of the text.
    pub needs: Option<&'static str>,
}

/// Files that JavaScript package runners read besides `node_modules`, by prefix of the runner's
/// name.
const NPM: [(&str, &[&str]); 4] = [
    ("yarn", &[".yarnrc", ".yarnrc.yml", ".pnp.cjs", ".npmrc"]),
    ("pnp", &[".npmrc", ".pnpmfile.cjs", "pnpm-workspace.yaml"]),
    ("bun", &["bunfig.toml", ".npmrc", ".env"]),
    ("np", &[".npmrc"]),
];
/// Key of a `package.json` that chooses the code of a runner, by prefix of the runner's name: the
/// project's own commands, or the package manager that is downloaded and run.
const MANIFEST: [(&str, &str); 4] =
    [("yarn", "packageManager"), ("pnp", "packageManager"), ("bun", BIN), ("np", BIN)];
const BIN: &str = "\"bin\"";
const DENO: [&str; 2] = ["deno.json", "deno.jsonc"];
/// Files that `python -m` loads instead of the module, or of a module of the standard library that the
/// module imports.
const PYTHON: [&str; 6] = ["*.py", "*.pyc", "*.so", "*.pyd", "*/__init__.py", "*/__init__.pyc"];
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
                let modules = ["", ".bin/"].map(|it| format!("node_modules/{it}{name}"));
                add_above(&mut found, &modules);
                if let Some((_, command)) = name.rsplit_once('/') {
                    add_above(&mut found, [&format!("node_modules/.bin/{command}")]);
                }
                add_above(&mut found, runner(&NPM, before, links).copied().unwrap_or_default());
                let manifest = runner(&MANIFEST, before, links);
                // A command of the project has no scope.
                let manifest = manifest.filter(|key| **key != BIN || !name.starts_with('@'));
                found.extend(manifest.map(|key| Local::manifest(key)));
            }
            Registry::Deno if spec.starts_with("npm:") || spec.starts_with("jsr:") => {
                add_above(&mut found, DENO);
                let name = npm_name(spec.split_once(':').map_or(spec, |it| it.1));
                add_above(&mut found, [".npmrc", &*format!("node_modules/{name}")]);
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
        let options = command.get(1..=code.index).unwrap_or_default();
        if !options.iter().any(|word| is_isolated(word)) {
            let local = |path: &str| Local { path: path.to_owned(), is_above: false, needs: None };
            found.extend(PYTHON.map(local));
        }
    }
    found
}

impl Local {
    fn manifest(needs: &'static str) -> Self {
        Self { path: "package.json".to_owned(), is_above: true, needs: Some(needs) }
    }
}

fn add_above<'a>(
    found: &mut Vec<Local>,
    paths: impl IntoIterator<Item = &'a (impl AsRef<str> + ?Sized + 'a)>,
) {
    let locals = paths.into_iter().map(|path| Local {
        path: path.as_ref().to_owned(),
        is_above: true,
        needs: None,
    });
    found.extend(locals);
}

/// Returns the row of a table for the last runner among these words.
fn runner<'t, T>(table: &'t [(&str, T)], words: &[String], links: Links<'_>) -> Option<&'t T> {
    let mut names = words.iter().rev().flat_map(|word| [vec![word.clone()], links(word)].concat());
    names.find_map(|name| {
        let name = plain_name(&name);
        table.iter().find(|(start, _)| name.starts_with(start)).map(|(_, row)| row)
    })
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

/// Returns true for options of Python with `I` or `P` among them: Python then loads nothing from the
/// working directory.
fn is_isolated(word: &str) -> bool {
    let options = word.strip_prefix('-').filter(|it| !it.starts_with(['-', 'W', 'X', 'c', 'Q']));
    // The value of `-m` may be glued to it.
    let options = options.and_then(|it| it.split('m').next());
    options.is_some_and(|it| it.contains(['I', 'P']))
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
        let npx = ["node_modules/@a/b", "node_modules/.bin/@a/b", "node_modules/.bin/b", ".npmrc"];
        check("npx -y @a/b@1.2 c", &npx);
        check("npm exec -- @a/b", &npx);
        check("node /usr/bin/npx @a/b", &npx);
        check("cmd /c npx -y @a/b", &npx);
        check("npx a", &["node_modules/a", "node_modules/.bin/a", ".npmrc", "package.json"]);
        let pnpm = [".npmrc", ".pnpmfile.cjs", "pnpm-workspace.yaml", "package.json"];
        check("pnpm dlx a", &[&["node_modules/a", "node_modules/.bin/a"], &pnpm[..]].concat());
        let bun = ["bunfig.toml", ".npmrc", ".env", "package.json"];
        check("bunx a", &[&["node_modules/a", "node_modules/.bin/a"], &bun[..]].concat());
        check("deno run -A npm:a", &["deno.json", "deno.jsonc", ".npmrc", "node_modules/a"]);
        for command in
            ["python3 -m a.b c", "python3 -um a -m b", "python3 -ma", "python3 -W I -m a"]
        {
            check(command, &PYTHON);
        }
        for command in ["python3 -I -m a", "python3 -Pm a", "python3 -uIm a"] {
            check(command, &[]);
        }
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
