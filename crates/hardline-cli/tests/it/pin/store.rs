//! The files of pins: one for each server, and the shared file of earlier versions.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::pin;
use crate::home::{Home, tool};

const STRICT: [&str; 2] = ["--profile", "strict"];

/// Returns the files of pins in the state directory.
fn files(home: &Home) -> Vec<PathBuf> {
    let entries = fs::read_dir(home.path("state/hardline/pins")).into_iter().flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

/// Runs a session with a server of this name that lists the tools in this file.
fn session(home: &Home, name: &str, tools: &str) -> crate::home::Seen {
    let (server, tools) = (home.text("server"), home.text(tools));
    home.session_with(&["--name", name, "--profile", "strict"], &[&server, &tools], &[])
}

#[test]
fn one_server_cannot_take_the_room_of_another() {
    let home = Home::new();
    // Short on the wire, but long in a file with one line per element.
    let long: Vec<i32> = vec![1; 120_000];
    let greedy: Vec<Value> = (0..16)
        .map(|it| json!({"name": format!("t{it}"), "inputSchema": {"enum": long}}))
        .collect();
    home.write("greedy.json", &json!(greedy).to_string());
    let seen = session(&home, "greedy", "greedy.json");
    let pinned = seen.tools().len();
    assert!((1..16).contains(&pinned), "{pinned}");
    assert!(seen.errors.contains("not all tools are pinned"), "{}", seen.errors);
    assert!(seen.errors.contains("tool.new (block"), "{}", seen.errors);
    let file = files(&home).pop().unwrap();
    assert!(fs::metadata(file).unwrap().len() < 17 << 20);
    // The next session gives the same result, and a session of another server is not affected.
    assert_eq!(session(&home, "greedy", "greedy.json").tools().len(), pinned);
    home.list(&json!([tool("buy", "Buys.")]));
    for _ in 0..2 {
        let seen = home.session(&STRICT, &["buy"]);
        assert_eq!((seen.tools(), seen.refusal(3), &*seen.errors), (vec!["buy"], None, ""));
    }
    assert_eq!(files(&home).len(), 2);
    assert!(!home.path("state/hardline/hardline.lock").exists());
}

#[test]
fn a_shared_file_of_before_still_counts_and_is_left_server_by_server() {
    let home = Home::new();
    let lock = home.text("old.lock");
    home.list(&json!([tool("a", "1")]));
    home.session(&["--lock", &lock], &[]);
    home.session_with(
        &["--name", "other", "--lock", &lock],
        &[&home.text("server"), &home.text("tools.json"), ""],
        &[],
    );
    fs::create_dir_all(home.path("state/hardline")).unwrap();
    fs::remove_dir_all(home.path("state/hardline")).unwrap();
    let old = home.read("old.lock");
    home.write("state/hardline/hardline.lock", &old);
    assert!(pin(&home, &["list"]).1.contains("other\n"));

    home.list(&json!([tool("a", "2"), tool("b", "")]));
    let seen = home.session(&STRICT, &["a", "b"]);
    assert_eq!(seen.tools(), [""; 0]);
    assert_eq!((seen.refusal(3), seen.refusal(4)), (Some("tool.changed"), Some("tool.new")));
    assert_eq!(pin(&home, &["approve", "shop"]).0, Some(0));
    assert_eq!(home.session(&STRICT, &[]).tools(), ["a", "b"]);
    assert_eq!(files(&home).len(), 1, "only the server that was used has a file of its own");
    assert_eq!(home.read("state/hardline/hardline.lock"), old);
    // A broken shared file does not affect a server with its own file.
    home.write("state/hardline/hardline.lock", "<<<<<<< merge");
    assert_eq!(home.session(&STRICT, &[]).code, Some(0));
    assert_eq!(session(&home, "other", "tools.json").code, Some(2));
    home.write("state/hardline/hardline.lock", &old);
    // `forget` removes a server from both files.
    assert_eq!(pin(&home, &["forget", "shop"]).0, Some(0));
    assert!(!home.read("state/hardline/hardline.lock").contains("\"shop\""));
    assert!(home.read("state/hardline/hardline.lock").contains("\"other\""));
    assert_eq!(files(&home), Vec::<PathBuf>::new());
    home.list(&json!([tool("c", "")]));
    let seen = home.session(&STRICT, &["c"]);
    assert_eq!((seen.tools(), seen.refusal(3)), (vec!["c"], None));
}

#[test]
fn a_broken_file_stops_its_own_server_and_no_other() {
    let home = Home::new();
    home.list(&json!([tool("a", "1")]));
    session(&home, "other", "tools.json");
    let file = files(&home).pop().unwrap();
    for broken in ["", "{", "{\"version\": 1, \"servers\": {}}"] {
        fs::write(&file, broken).unwrap();
        assert_eq!(session(&home, "other", "tools.json").code, Some(2), "{broken}");
        pin(&home, &["forget", "shop"]);
        home.list(&json!([tool("a", "1")]));
        let seen = home.session(&STRICT, &["a"]);
        assert_eq!((seen.code, seen.tools(), seen.refusal(3)), (Some(0), vec!["a"], None));
        assert!(seen.errors.contains("not compared with those of all"), "{}", seen.errors);
        assert_eq!(fs::read_to_string(&file).unwrap(), broken);
        fs::remove_file(files(&home).iter().find(|it| **it != file).unwrap()).unwrap();
    }
}

#[test]
fn a_directory_can_be_given_in_the_place_of_a_file() {
    let home = Home::new();
    let locks = format!("{}/", home.text("locks"));
    home.list(&json!([tool("a", "1")]));
    home.session(&["--lock", &locks], &[]);
    assert_eq!(fs::read_dir(home.path("locks")).unwrap().count(), 1);
    home.list(&json!([tool("a", "2")]));
    let seen = home.session(&["--lock", &locks, "--profile", "strict"], &["a"]);
    assert_eq!(seen.refusal(3), Some("tool.changed"));
    assert_eq!(pin(&home, &["approve", "shop", "--lock", &locks]).0, Some(0));
    let seen = home.session(&["--lock", &home.text("locks"), "--profile", "strict"], &["a"]);
    assert_eq!(seen.refusal(3), None);
    assert_eq!(files(&home), Vec::<PathBuf>::new());
}
