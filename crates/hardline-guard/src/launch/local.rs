//! Files in the working directory that choose the code that a command runs.
//!
//! `npx` prefers packages of the project to those of the registry, and uses the registry that an
//! `.npmrc` names. `python -m` loads modules from the working directory. A user who opens the
//! project of a stranger is in such a directory.
//!
//! The files that a runner would pick cannot be predicted from the name of a package: npm compares
//! the `name` inside of every `package.json` of the project, and the file name of a command is
//! whatever that file says. So the presence of a project is enough.

use super::family::plain_name;
use super::inspect::{CodeKind, Links, inspect_with};
use super::package::Registry;

/// A file or directory that chooses code if it exists.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Local {
    /// Path relative to the working directory. A leading `*` stands for any name: `*.py`,
    /// `*/__init__.py`. [`Local::TREE`] stands for a Python module at any depth.
    pub path: String,
    /// Set if the same path in parent directories counts too.
    pub is_above: bool,
}

/// Files that npm, and the runners that read the same projects, search for packages and commands.
const PROJECT: [&str; 2] = ["package.json", "node_modules"];

/// Files that JavaScript package runners read besides [`PROJECT`], by prefix of the runner's name.
const NPM: [(&str, &[&str]); 4] = [
    ("yarn", &[".yarnrc", ".yarnrc.yml", ".pnp.cjs", ".npmrc"]),
    ("pnp", &[".npmrc", ".pnpmfile.cjs", "pnpm-workspace.yaml", "package.json5", "package.yaml"]),
    ("bun", &["bunfig.toml", ".npmrc", ".env"]),
    ("np", &[".npmrc"]),
];
const DENO: [&str; 2] = ["deno.json", "deno.jsonc"];
/// Files that `python -m` loads instead of the module, or of a module of the standard library that the
/// module imports.
const PYTHON: [&str; 8] =
    ["*.py", "*.pyw", "*.pyc", "*.so", "*.pyd", "*/__init__.py", "*/__init__.pyc", Local::TREE];
/// Endings of the files that Python imports.
const MODULES: [&str; 5] = [".py", ".pyw", ".pyc", ".so", ".pyd"];
/// Directories whose names no honest module imports. JavaScript packages often contain scripts in
/// Python.
const NEVER_IMPORTED: [&str; 2] = ["node_modules", "__pycache__"];
/// Directory in which `pipx run` looks for a command before it asks the registry.
const PIPX: &str = "__pypackages__";
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
                add_above(&mut found, PROJECT);
                add_above(&mut found, runner(&NPM, before, links).copied().unwrap_or_default());
            }
            Registry::Deno if spec.starts_with("npm:") || spec.starts_with("jsr:") => {
                add_above(&mut found, DENO);
                add_above(&mut found, PROJECT);
                add_above(&mut found, [".npmrc"]);
            }
            // An absolute path is what the list says, not what the directory contains.
            Registry::Python if !spec.is_empty() && !spec.starts_with('/') => {
                let is_pipx = runner(&[("pipx", true), ("uv", false)], before, links);
                if is_pipx == Some(&true) {
                    found.extend([spec, PIPX].map(Local::here));
                }
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
    for code in look.code.iter().filter(|code| code.kind == CodeKind::Named) {
        let before = command.get(..code.index).unwrap_or_default();
        // A runner may start Python too: `uvx python -m a`.
        let Some(python) = before.iter().rposition(|word| is_python(word, links)) else { continue };
        let options = command.get(python + 1..=code.index).unwrap_or_default();
        if !options.iter().any(|word| is_isolated(word)) {
            // A directory without modules joins the package of the same name.
            found.extend(first_part(command, code.index).map(Local::here));
            found.extend(PYTHON.map(Local::here));
        }
    }
    found
}

impl Local {
    /// Path that stands for a Python module at any depth. Without an `__init__.py`, a directory
    /// joins an installed namespace package, and its modules win: `google/auth/__init__.py`.
    pub const TREE: &'static str = "**";

    fn here(path: &str) -> Self {
        Self { path: path.to_owned(), is_above: false }
    }
}

/// Returns true if Python can import modules from a directory of this name.
pub fn can_import_directory(name: &str) -> bool {
    is_identifier(name) && !NEVER_IMPORTED.contains(&name)
}

/// Returns true if Python can import a file of this name.
pub fn can_import_file(name: &str) -> bool {
    let lower = name.to_lowercase();
    // Libraries have the version of Python in their name: `a.cpython-312-x86_64-linux-gnu.so`.
    let stem = name.split('.').next().unwrap_or_default();
    MODULES.iter().any(|end| lower.ends_with(end)) && is_identifier(stem)
}

/// Returns true if a statement `import` can spell a name.
fn is_identifier(name: &str) -> bool {
    let is_letter = |it: char| it.is_alphanumeric() || it == '_' || !it.is_ascii();
    !name.is_empty()
        && name.chars().all(is_letter)
        && !name.starts_with(|first: char| first.is_ascii_digit())
}

/// Returns the first part of the name of the module that `-m` runs. The option is at `index`.
fn first_part(command: &[String], index: usize) -> Option<&str> {
    let (_, glued) = command.get(index)?.split_once('m')?;
    let module = if glued.is_empty() { command.get(index + 1)? } else { glued };
    module.split(['.', '/']).next().filter(|part| !part.is_empty())
}

fn add_above<'a>(
    found: &mut Vec<Local>,
    paths: impl IntoIterator<Item = &'a (impl AsRef<str> + ?Sized + 'a)>,
) {
    let locals = paths.into_iter();
    found.extend(locals.map(|path| Local { path: path.as_ref().to_owned(), is_above: true }));
}

/// Returns the row of a table for the last runner among these words.
fn runner<'t, T>(table: &'t [(&str, T)], words: &[String], links: Links<'_>) -> Option<&'t T> {
    let mut names = words.iter().rev().flat_map(|word| [vec![word.clone()], links(word)].concat());
    names.find_map(|name| {
        let name = plain_name(&name);
        table.iter().find(|(start, _)| name.starts_with(start)).map(|(_, row)| row)
    })
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

fn is_python(word: &String, links: Links<'_>) -> bool {
    let names = names(Some(word), links);
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
        let npx = ["package.json", "node_modules", ".npmrc"];
        for command in [
            "npx -y @a/b@1.2 c",
            "npx a",
            "npm exec -- @a/b",
            "npm x a",
            "node /usr/bin/npx @a/b",
            "cmd /c npx -y @a/b",
        ] {
            check(command, &npx);
        }
        let pnpm = [".pnpmfile.cjs", "pnpm-workspace.yaml", "package.json5", "package.yaml"];
        check("pnpm dlx a", &[&npx, &pnpm[..]].concat());
        let yarn = [".yarnrc", ".yarnrc.yml", ".pnp.cjs", ".npmrc"];
        check("yarn dlx a", &[&PROJECT[..], &yarn].concat());
        check("bunx a", &[&PROJECT[..], &["bunfig.toml", ".npmrc", ".env"]].concat());
        for command in ["deno run -A npm:a", "deno run -A jsr:@a/b"] {
            check(command, &[&DENO[..], &npx].concat());
        }
        check("pipx run a==1 b", &["a==1", "__pypackages__"]);
        check("pipx run /srv/a", &[]);
        for command in [
            "python3 -m a.b c",
            "python3 -um a -m b",
            "python3 -ma",
            "python3 -W I -m a",
            "uvx python -m a",
        ] {
            check(command, &[&["a"], &PYTHON[..]].concat());
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
