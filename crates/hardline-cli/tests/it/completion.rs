//! `hardline completion` and `hardline man`.

use std::collections::BTreeSet;
use std::process::Command;

use crate::hardline;

/// Returns the commands that the help lists.
fn commands() -> Vec<String> {
    let help = String::from_utf8(hardline(&["--help"], b"").stdout).unwrap();
    let list = help.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    // Continuation lines of descriptions are indented further.
    let lines = list.lines().filter(|line| !line.starts_with("   "));
    let names = lines.filter_map(|line| line.split_whitespace().next());
    names.filter(|it| *it != "help").map(str::to_owned).collect()
}

#[test]
fn every_shell_has_its_script() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let output = hardline(&["completion", shell], b"");
        assert_eq!(output.status.code(), Some(0));
        let script = String::from_utf8(output.stdout).unwrap();
        for command in commands() {
            assert!(script.contains(&command), "{shell} does not know {command}");
        }
        // Commands that the help does not list are internal.
        assert!(!script.contains("keeper"), "{shell} completes an internal command");
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("script");
        std::fs::write(&path, &script).unwrap();
        // A machine may lack some of these shells.
        let option = if shell == "fish" { "--no-execute" } else { "-n" };
        if ["bash", "zsh", "fish"].contains(&shell)
            && let Ok(checked) = Command::new(shell).arg(option).arg(&path).output()
        {
            assert!(checked.status.success(), "{checked:?}");
        }
    }
    assert_eq!(hardline(&["completion", "tcsh"], b"").status.code(), Some(2));
}

#[test]
fn every_command_has_its_page() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().join("man/man1");
    let output = hardline(&["man", "--dir", place.to_str().unwrap()], b"");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let pages: BTreeSet<String> = std::fs::read_dir(&place)
        .unwrap()
        .map(|it| it.unwrap().file_name().into_string().unwrap())
        .collect();
    let commands = commands();
    assert!(commands.len() > 10, "{commands:?}");
    assert!(
        pages.contains("hardline.1") && pages.contains("hardline-audit-sessions.1"),
        "{pages:?}"
    );
    for command in &commands {
        assert!(pages.contains(&format!("hardline-{command}.1")), "{command}: {pages:?}");
    }
    assert!(!pages.iter().any(|it| it.contains("keeper")), "{pages:?}");
    for page in &pages {
        let text = std::fs::read_to_string(place.join(page)).unwrap();
        assert!(text.contains(".TH") && text.contains(".SH NAME"), "{page}");
        let mut man = Command::new("man");
        let man = man.args(["--warnings", "-l"]).arg(place.join(page)).env("MANWIDTH", "80");
        // A machine may lack `man`.
        if let Ok(shown) = man.env("LC_ALL", "C.UTF-8").output()
            && shown.status.success()
        {
            assert!(shown.stderr.is_empty(), "{page}: {}", String::from_utf8_lossy(&shown.stderr));
        }
    }
}

#[test]
fn a_page_is_printed_by_its_name() {
    let page = |args: &[&str]| {
        let output = hardline(&[&["man"], args].concat(), b"");
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    assert!(page(&[]).1.contains(".TH hardline 1"));
    assert!(page(&["call"]).1.contains(".TH hardline-call 1"), "{}", page(&["call"]).1);
    assert!(page(&["audit", "sessions"]).1.contains(".TH hardline-audit-sessions 1"));
    assert_eq!(page(&["nothing"]).0, Some(2));
}
