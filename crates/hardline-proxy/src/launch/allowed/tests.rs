//! Files of the working directory that choose the code of a listed program.

use std::fs;
use std::path::Path;

use hardline_guard::policy::Policy;
use tempfile::TempDir;

use super::super::{Start, judge};
use super::find_module;

/// Returns the reason why a command is refused in `directory` under a list with this entry.
fn refusal(list: &str, command: &str, directory: &Path, home: &Path) -> Option<String> {
    let words: Vec<String> = list.split(' ').map(|word| format!("{word:?}")).collect();
    let policy = format!("[launch]\nprograms = [[{}]]", words.join(", "));
    let policy = Policy::parse(&policy).unwrap();
    let command: Vec<String> = command.split(' ').map(String::from).collect();
    let program = command.first().unwrap().into();
    let start = Start { program, command, directory: Some(directory.to_owned()) };
    let variables = [("HOME".to_owned(), home.display().to_string())];
    judge(&start, &variables, &policy, "shop").pop().map(|found| found.finding.detail)
}

/// Starts a command in `project/deep` of a home directory, with each of these files alone.
#[track_caller]
fn check(command: &str, refused: &[&str], harmless: &[&str]) {
    for (paths, is_refused) in [(refused, true), (harmless, false)] {
        for path in paths {
            let home = TempDir::new().unwrap();
            let deep = home.path().join("project/deep");
            fs::create_dir_all(&deep).unwrap();
            assert_eq!(refusal(command, command, &deep, home.path()), None, "{command}");
            let file = home.path().join(path);
            if path.ends_with('/') {
                fs::create_dir_all(&file).unwrap();
            } else {
                fs::create_dir_all(file.parent().unwrap()).unwrap();
                fs::write(&file, "").unwrap();
            }
            let refusal = refusal(command, command, &deep, home.path());
            assert_eq!(refusal.is_some(), is_refused, "{command}: {path}: {refusal:?}");
            let shown = home.path().join("project").display().to_string();
            let is_told = |it: &str| it.contains(&shown) && it.contains("`launch.directory`");
            assert!(refusal.is_none_or(|it| is_told(&it)), "{path}");
        }
    }
}

#[test]
fn a_runner_of_packages_does_not_start_in_a_project() {
    for command in [
        "/opt/npx -y @a/b",
        "/opt/npm exec -- @a/b",
        "/opt/npm x a",
        "/opt/pnpm dlx a",
        "/opt/yarn dlx a",
        "/opt/bunx a",
        "/opt/deno run -A npm:a",
        "/opt/deno run -A jsr:@a/b",
    ] {
        let project = [
            "project/package.json",
            "project/deep/package.json",
            // The folder of a package may have any name.
            "project/node_modules/c/package.json",
            "project/deep/node_modules/",
        ];
        // Files of the home directory are the user's own.
        check(command, &project, &["package.json", "node_modules/", "project/deep/index.js"]);
    }
}

#[test]
fn a_file_with_the_name_of_a_command_is_not_run_by_pipx() {
    let refused = ["project/deep/mcp-a", "project/deep/mcp-a/", "project/deep/__pypackages__/"];
    check("/opt/pipx run mcp-a", &refused, &["project/mcp-a", "project/deep/mcp-b"]);
    check("/opt/pipx run mcp-a==1.2", &["project/deep/mcp-a==1.2"], &[]);
    check("/opt/uvx mcp-a", &[], &["project/deep/mcp-a", "project/deep/mcp-a/"]);
}

#[test]
fn a_directory_without_a_package_joins_no_module_of_python() {
    let refused = [
        "project/deep/a/",
        "project/deep/a/__main__.py",
        "project/deep/a.py",
        "project/deep/a.pyc",
        "project/deep/a.so",
        "project/deep/a.cpython-312-x86_64-linux-gnu.so",
        "project/deep/a.pyd",
        "project/deep/google/auth/__init__.py",
        "project/deep/google/auth.py",
        "project/deep/x/y/z/auth.abi3.so",
    ];
    let harmless = [
        "project/a.py",
        "project/deep/b/",
        "project/deep/docs/index.html",
        "project/deep/node_modules/c/c.py",
        "project/deep/.venv/lib/c.py",
        "project/deep/my-scripts/c.py",
        "project/deep/scripts/my-script.py",
    ];
    check("/opt/python3 -m a.b", &refused, &harmless);
    check("/opt/python3 -I -m a.b", &[], &refused);
    check("/opt/uvx python -m a.b", &refused, &harmless);
}

#[test]
fn a_directory_that_is_too_large_to_be_searched_counts_as_one_with_modules() {
    let home = TempDir::new().unwrap();
    for name in ["a", "b", "c"] {
        fs::create_dir(home.path().join(name)).unwrap();
    }
    assert_eq!(find_module(home.path(), 3), None);
    assert_eq!(find_module(home.path(), 2).as_deref(), Some(home.path()));
    assert_eq!(find_module(Path::new("/"), 0), None);
}
