//! What a person at a terminal of 80 columns sees.

use std::fs::File;
use std::io::Read;
use std::process::Stdio;

use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use serde_json::json;

use crate::home::{Home, tool};

const WIDTH: u16 = 80;

impl Home {
    /// What is on the screen after a command.
    fn screen(&self, args: &[&str]) -> String {
        let person = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&person).unwrap();
        unlockpt(&person).unwrap();
        let size = Winsize { ws_row: 24, ws_col: WIDTH, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&person, size).unwrap();
        let name = ptsname(&person, Vec::new()).unwrap();
        let program = rustix::fs::open(name, OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).unwrap();
        let mut command = self.command(args);
        command.arg("--color=never").stdin(Stdio::null()).stdout(program).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        // It holds the program's end.
        drop(command);
        let (mut person, mut screen, mut buffer) = (File::from(person), Vec::new(), [0; 4096]);
        // A terminal ends with an error.
        while let Ok(read @ 1..) = person.read(&mut buffer) {
            screen.extend(buffer.iter().take(read));
        }
        assert!(child.wait().unwrap().success(), "{args:?}");
        String::from_utf8(screen).unwrap().replace("\r\n", "\n")
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
    let pinned = " is not what was pinned: ";
    assert!(findings.contains(pinned) && show.contains(pinned), "{show}");

    // In a pipe a row is one line, whole.
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
