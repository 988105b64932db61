//! Output of `hardline audit` on a terminal of 80 columns.

use std::process::Stdio;

use serde_json::json;

use crate::home::{Home, tool};
use crate::screen::screen;

const WIDTH: u16 = 80;

impl Home {
    /// Returns the screen after a command.
    fn screen(&self, args: &[&str]) -> String {
        let mut command = self.command(args);
        command.arg("--color=never").stderr(Stdio::null());
        let (status, screen) = screen(command, WIDTH);
        assert!(status.success(), "{args:?}");
        screen
    }
}

#[test]
fn tables_fit_and_say_what_happened() {
    let home = Home::new();
    home.list(&json!([tool("look", "Looks.")]));
    home.session(&[], &["look"]);
    let words = "Looks at everything there is, twice. ".repeat(5);
    home.list(&json!([tool("look", &words), tool("new", "Hidden.\u{e0041}")]));
    home.session(&[], &["look"]);
    let key = home.listed(&["sessions"])[1]["session"].as_str().unwrap().to_owned();

    let screens = [
        home.screen(&["audit", "sessions"]),
        home.screen(&["audit", "findings"]),
        home.screen(&["audit", "messages"]),
        home.screen(&["audit", "show", &key]),
    ];
    for screen in &screens {
        for line in screen.lines() {
            assert!(line.chars().count() <= usize::from(WIDTH), "{line:?} in\n{screen}");
        }
    }
    let [sessions, findings, messages, show] = &screens;
    assert!(sessions.contains("exit 0\n  /"), "{sessions}");
    assert!(findings.contains("SERVER  ACTION\n  SESSION   WHAT\n"), "{findings}");
    assert!(messages.contains("tools/call"), "{messages}");
    assert!(show.contains("ACTION\n  WHAT\n") && !show.contains("…\n"), "{show}");
    assert!(!findings.contains("\\n") && !show.contains("\\n"), "{findings}\n{show}");
    let pinned = " differs from its pin; ";
    assert!(findings.contains(pinned) && show.contains(pinned), "{show}");

    // In a pipe, a row is one uncut line.
    let piped = home.print(&["findings"]);
    assert!(
        piped.lines().any(|line| line.contains(key.get(..8).unwrap()) && line.contains(pinned)),
        "{piped}"
    );
    let tail = home.print(&["tail", "--no-follow"]);
    assert!(tail.contains(pinned) && !tail.contains("\\n"), "{tail}");
}

#[test]
fn a_session_begins_with_its_launch() {
    let home = Home::new();
    home.list(&json!([tool("look", "Looks.")]));
    home.session(&[], &["look"]);
    let key = home.listed(&["sessions"])[0]["session"].as_str().unwrap().to_owned();
    let shown = home.ask(&["show", &key]);
    let kinds: Vec<_> = shown["events"].as_array().unwrap().iter().map(|it| &it["kind"]).collect();
    assert_eq!(kinds.first(), Some(&&json!("launch")), "{kinds:?}");
    assert!(kinds.len() > 1, "{kinds:?}");
    let tail = home.print(&["tail", "--no-follow"]);
    assert!(tail.lines().next().unwrap().contains(": launch: "), "{tail}");
}
