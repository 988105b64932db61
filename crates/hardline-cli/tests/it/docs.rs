//! Checks of the documentation: the tests that it names, the commands that it gives.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

#[test]
fn each_test_that_the_page_on_threats_names_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = fs::read_to_string(root.join("docs/threats.md")).unwrap();
    let mut source = String::new();
    read_all(&root.join("crates"), &mut source);
    let mut count = 0;
    for section in page.split("**Tests.**").skip(1) {
        let list = section.split("\n\n").next().unwrap();
        for name in list.split('`').skip(1).step_by(2) {
            assert!(source.contains(&format!("fn {name}(")), "there is no test `{name}`");
            count += 1;
        }
    }
    assert!(count > 50, "only {count} tests were found on the page");
}

#[test]
fn each_file_that_the_architecture_sends_a_change_to_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = fs::read_to_string(root.join("ARCHITECTURE.md")).unwrap();
    let (_, rest) = page.split_once("## Where a change goes").unwrap();
    let table = rest.split("\n## ").next().unwrap();
    let mut count = 0;
    for name in table.split('`').skip(1).step_by(2) {
        if name.contains('/') {
            // `NAME` stands for the name of a rule.
            let path = root.join(name.replace("NAME", "content.frame"));
            assert!(path.is_file(), "{name} does not exist");
            count += 1;
        }
    }
    assert!(count > 15, "only {count} files were found in the table");
}

/// The default features of the façade are those of a server.
#[test]
fn each_documented_dependency_names_the_features_that_its_code_needs() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let mut count = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let Ok(page) = fs::read_to_string(&path) else { continue };
        // The code of a dependency line is all that follows, up to the next such line.
        for part in page.split("\nhardline = {").skip(1) {
            let (dependency, code) = part.split_once('\n').unwrap();
            let code: String = code.split("```").skip(2).step_by(2).collect();
            for feature in ["client", "guard"] {
                let is_needed = code.contains(&format!("hardline::{feature}::"));
                let is_named = dependency.contains(&format!("\"{feature}\""));
                assert!(is_named || !is_needed, "{}: no feature `{feature}`", path.display());
                count += usize::from(is_needed);
            }
        }
    }
    assert!(count > 0, "no code needs a feature");
}

/// The README starts with `cargo run --release -- demo`, which fails if there is more than one
/// program to choose.
#[test]
fn cargo_run_without_a_package_finds_one_program() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .current_dir(root)
        .output()
        .unwrap();
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let members = metadata["workspace_default_members"].as_array().unwrap();
    let is_default = |package: &&Value| members.contains(&package["id"]);
    let programs: Vec<&str> = metadata["packages"]
        .as_array()
        .unwrap()
        .iter()
        .filter(is_default)
        .flat_map(|package| package["targets"].as_array().unwrap())
        .filter(|target| target["kind"][0] == "bin")
        .map(|target| target["name"].as_str().unwrap())
        .collect();
    assert_eq!(programs, ["hardline"]);
}

fn read_all(folder: &Path, source: &mut String) {
    let mut entries: Vec<PathBuf> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            read_all(&path, source);
        } else if path.extension().is_some_and(|it| it == "rs") {
            source.push_str(&fs::read_to_string(&path).unwrap());
        }
    }
}
