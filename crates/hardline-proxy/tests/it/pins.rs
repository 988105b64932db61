//! Tests of pins in files, as a session uses them.

use std::fs;
use std::path::Path;

use hardline_guard::pin::{Definition, Instructions};
use hardline_guard::tools::{Page, PinKeeper};
use hardline_proxy::launch::LaunchId;
use hardline_proxy::pins::{PinFile, PinStore};
use hardline_wire::json::Checker;
use hardline_wire::limits::Limits;

const WHOLE: Page = Page { is_first: true, is_next: false, is_last: true };

fn definition(name: &str) -> Definition {
    let text = format!(r#"{{"name":"{name}"}}"#);
    let mut checker = Checker::new(&Limits::default());
    Definition::new(checker.check(text.as_bytes()).unwrap().value).unwrap()
}

fn instructions(text: &str) -> Instructions {
    let text = format!(r#"{{"instructions":"{text}"}}"#);
    let mut checker = Checker::new(&Limits::default());
    Instructions::of_result(checker.check(text.as_bytes()).unwrap().value)
}

fn open(state: &Path, server: &str, program: &str) -> PinFile {
    let store = PinStore::in_state(state);
    let listed = store.listed(state);
    let pins = PinFile::for_server(store, Some(listed), server).unwrap();
    pins.with_launch(state, LaunchId::new(Path::new(program), &[]))
}

#[test]
fn what_could_not_be_written_at_first_is_written_later() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("state");
    // A directory cannot be created where a file is.
    fs::write(&state, "in the way").unwrap();
    let mut pins = open(&state, "shop", "/bin/shop");
    pins.pin_instructions("shop", &instructions("Be kind."));
    assert!(!pins.lock().has_list("shop"), "its first list is still to come");
    pins.pin("shop", &[definition("buy")]);
    pins.list("shop", &[definition("buy")], WHOLE);
    assert!(pins.lock().tool("shop", "buy").is_some(), "it counts for this session");
    assert!(pins.take_trouble().unwrap().contains("for this session only"));

    fs::remove_file(&state).unwrap();
    pins.list("shop", &[definition("buy")], WHOLE);
    let mut next = open(&state, "shop", "/bin/shop");
    assert!(next.lock().tool("shop", "buy").is_some());
    assert_eq!(next.lock().instructions("shop"), Some(&instructions("Be kind.")));
}

#[test]
fn neighbors_are_other_programs_of_the_same_client() {
    let folder = tempfile::tempdir().unwrap();
    for (server, program, client) in [
        ("bank", "/bin/bank", "desktop"),
        ("elsewhere", "/bin/elsewhere", "editor"),
        ("anonymous", "/bin/anonymous", ""),
        ("both", "/bin/both", "desktop"),
        ("both", "/bin/both", "editor"),
    ] {
        let mut pins = open(folder.path(), server, program);
        if !client.is_empty() {
            pins.meet_client(server, client);
        }
        pins.pin(server, &[definition("send")]);
    }
    let neighbors = |program: &str, client: &str| {
        let mut pins = open(folder.path(), "new", program);
        if !client.is_empty() {
            pins.meet_client("new", client);
        }
        pins.neighbors("new").servers().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(neighbors("/bin/new", "desktop"), ["anonymous", "bank", "both"]);
    assert_eq!(neighbors("/bin/new", "editor"), ["anonymous", "both", "elsewhere"]);
    assert_eq!(neighbors("/bin/new", ""), ["anonymous", "bank", "both", "elsewhere"]);
    // The same program under another name.
    assert_eq!(neighbors("/bin/bank", "desktop"), ["anonymous", "both"]);
}

#[test]
fn a_server_with_ever_new_clients_is_a_neighbor_of_all() {
    let folder = tempfile::tempdir().unwrap();
    for client in 0..20 {
        open(folder.path(), "bank", "/bin/bank").meet_client("bank", &format!("client {client}"));
    }
    open(folder.path(), "bank", "/bin/bank").pin("bank", &[definition("send")]);
    let mut pins = open(folder.path(), "new", "/bin/new");
    pins.meet_client("new", "another");
    assert_eq!(pins.neighbors("new").servers().collect::<Vec<_>>(), ["bank"]);
}

#[test]
fn many_servers_that_begin_at_once_are_all_pinned() {
    let folder = tempfile::tempdir().unwrap();
    std::thread::scope(|scope| {
        for number in 0..24 {
            let state = folder.path();
            scope.spawn(move || {
                let server = format!("server{number}");
                let mut pins = open(state, &server, "/bin/server");
                pins.meet_client(&server, "desktop");
                pins.pin_instructions(&server, &instructions("Be kind."));
                pins.pin(&server, &[definition("send")]);
                pins.list(&server, &[definition("send")], WHOLE);
            });
        }
    });
    let lock = PinStore::in_state(folder.path()).read_all().unwrap();
    assert_eq!(lock.servers().filter(|it| lock.tool(it, "send").is_some()).count(), 24);
}
