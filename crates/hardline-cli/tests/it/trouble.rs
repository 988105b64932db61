//! Sessions whose audit log cannot be written: they continue.

use std::fs;

use serde_json::json;

use crate::home::{Home, tool};

const DATABASE: &str = "state/hardline/audit.db";

/// Runs a session with a finding. The finding must be printed, and every request answered.
#[track_caller]
fn check(home: &Home) -> String {
    home.list(&json!([tool("buy", "Buys.\u{e0041}\u{e0042}\u{e0043}\u{e0044}")]));
    let seen = home.session(&[], &["buy"]);
    assert_eq!((seen.code, seen.tools()), (Some(0), vec!["buy"]), "{}", seen.errors);
    assert!(seen.answer(3).get("result").is_some(), "{}", seen.errors);
    assert!(seen.errors.contains("content.hidden"), "{}", seen.errors);
    seen.errors
}

/// Counts the findings of hidden text in the audit database.
fn kept(home: &Home) -> usize {
    let output =
        home.run(&["audit", "findings", "--rule", "content.hidden", "--format", "json"], "");
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    document.get("findings").unwrap().as_array().unwrap().len()
}

#[test]
fn a_broken_database_is_moved_aside_and_the_finding_is_in_the_new_one() {
    for content in ["garbage".repeat(1000), "SQLite format 3\0".to_owned() + &"x".repeat(8000)] {
        let home = Home::new();
        home.write(DATABASE, &content);
        let errors = check(&home);
        assert!(errors.contains("audit"), "{errors}");
        assert_eq!(kept(&home), 1);
        let all = fs::read_dir(home.path("state/hardline")).unwrap();
        let names: Vec<String> =
            all.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
        assert!(names.iter().any(|name| name.starts_with("audit.db.corrupt-")), "{names:?}");
    }
}

#[test]
fn a_place_that_cannot_be_written_costs_a_warning() {
    let home = Home::new();
    fs::create_dir_all(home.path(DATABASE)).unwrap();
    let errors = check(&home);
    assert!(errors.contains("cannot be written"), "{errors}");
    // A directory cannot be created below a file.
    let home = Home::new();
    home.write("state", "in the way");
    let errors = check(&home);
    assert!(errors.contains("cannot be written"), "{errors}");
}

#[test]
fn a_cut_database_still_takes_what_comes() {
    let home = Home::new();
    check(&home);
    assert_eq!(kept(&home), 1);
    let bytes = fs::read(home.path(DATABASE)).unwrap();
    fs::write(home.path(DATABASE), bytes.get(..bytes.len() / 2).unwrap()).unwrap();
    check(&home);
    assert!(kept(&home) >= 1);
}

#[test]
fn a_locked_database_costs_no_session_and_no_finding() {
    let home = Home::new();
    check(&home);
    let connection = rusqlite::Connection::open(home.path(DATABASE)).unwrap();
    connection.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let errors = check(&home);
    assert!(errors.contains("audit"), "{errors}");
    connection.execute_batch("COMMIT").unwrap();
    drop(connection);
    // The next session imports the spill file.
    check(&home);
    assert_eq!(kept(&home), 3);
}
