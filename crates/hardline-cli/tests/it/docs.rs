//! What the documentation says of tests: each that it names is one.

use std::fs;
use std::path::{Path, PathBuf};

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
    assert!(50 < count, "only {count} tests were found on the page");
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
