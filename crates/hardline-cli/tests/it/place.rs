//! A FIFO, a socket, a device or a directory in place of a file.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixListener;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::home::{HARDLINE, Home, script, tool};

/// Deadline for each step; generous, because the machine may be busy.
const DEADLINE: Duration = Duration::from_secs(60);

/// Creates a FIFO without a reader or a writer.
fn fifo(home: &Home, name: &str) -> String {
    fs::create_dir_all(home.path(name).parent().unwrap()).unwrap();
    let path = home.text(name);
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    path
}

/// Waits for a process that must not hang.
#[track_caller]
fn wait(mut child: Child) -> Output {
    let start = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if DEADLINE < start.elapsed() {
            child.kill().unwrap();
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let output = child.wait_with_output().unwrap();
    assert!(start.elapsed() < DEADLINE, "it hangs: {output:?}");
    output
}

#[track_caller]
fn run(home: &Home, args: &[&str]) -> (Option<i32>, String, String) {
    let mut command = home.command(args);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let output = wait(command.current_dir(home.path("")).spawn().unwrap());
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn a_fifo_in_the_place_of_a_file_is_told_and_never_waited_for() {
    let home = Home::new();
    let pipe = fifo(&home, "pipe");
    let socket = home.text("socket");
    let _listener = UnixListener::bind(&socket).unwrap();
    let directory = home.text("");
    let link = home.text("link");
    std::os::unix::fs::symlink(&pipe, &link).unwrap();
    for (path, what) in [
        (&*pipe, "a named pipe (FIFO)"),
        (&link, "a named pipe (FIFO)"),
        (&socket, "a socket"),
        ("/dev/zero", "a device"),
        (&directory, "a directory"),
    ] {
        for option in ["--policy", "--lock", "--record"] {
            // A recording may go to a device, and pins into a directory.
            if matches!((option, what), ("--record", "a device") | ("--lock", "a directory")) {
                continue;
            }
            let args = ["wrap", option, path, "--", HARDLINE, "demo-server"];
            let (code, output, errors) = run(&home, &args);
            assert_eq!((code, &*output), (Some(2), ""), "{option} {path}: {errors}");
            assert!(errors.contains(path) && errors.contains(what), "{option}: {errors}");
        }
        for args in [
            &["policy", "check", path][..],
            &["policy", "show", "--policy", path],
            &["pin", "list", "--lock", path],
            &["pin", "approve", "x", "--lock", path],
            &["replay", path, "--", "true"],
            &["tools", "--config", path],
            &["install", "--config", path],
            &["uninstall", "--config", path],
        ] {
            if what == "a directory" && args.contains(&"--lock") {
                continue;
            }
            let (code, _, errors) = run(&home, args);
            assert_eq!(code, Some(2), "{args:?}: {errors}");
            let is_told = errors.contains(what) || errors.contains("this is a directory");
            assert!(errors.contains(path) && is_told, "{args:?}: {errors}");
        }
        // A failing audit log costs a warning, not the session.
        let args = ["wrap", "--audit", path, "--", HARDLINE, "demo-server"];
        let (code, _, errors) = run(&home, &args);
        assert_eq!(code, Some(0), "{errors}");
        assert!(errors.contains(path) && errors.contains(what), "{errors}");
    }
}

#[test]
fn a_fifo_in_the_state_directory_costs_a_warning_and_not_the_session() {
    for (name, is_needed) in [
        ("hardline.lock", true),
        ("listed.lock", false),
        ("programs.json", true),
        ("audit.db", true),
        ("audit.db.lock", true),
        ("audit.db-wal", true),
        ("audit-spill-1-x-0.jsonl", false),
    ] {
        let home = Home::new();
        home.list(&serde_json::json!([tool("a", "A.")]));
        let path = fifo(&home, &format!("state/hardline/{name}"));
        let server = [&home.text("server"), &home.text("tools.json")].map(String::clone);
        let args = ["wrap", "--name", "shop", "--", &server[0], &server[1]];
        let mut command = home.command(&args);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(script(&["a"]).as_bytes()).unwrap();
        let output = wait(child);
        let answers = String::from_utf8(output.stdout).unwrap();
        assert_eq!(answers.matches("\"result\"").count(), 3, "{name}: {answers}");
        let errors = String::from_utf8(output.stderr).unwrap();
        let is_told = errors.contains(&path) || errors.contains("audit");
        assert_eq!(is_told, is_needed, "{name}: {errors}");
        for args in [&["doctor"][..], &["audit", "sessions"], &["pin", "list"], &["pin", "diff"]] {
            run(&home, args);
        }
        assert!(fs::metadata(&path).is_ok_and(|it| !it.is_file()), "{name} was replaced");
    }
    for (name, args) in [
        ("config/hardline/policy.toml", &["wrap", "--", HARDLINE, "demo-server"][..]),
        ("config/hardline/policy.toml", &["install"]),
        (".cursor/mcp.json", &["install"]),
        (".cursor/mcp.json", &["tools"]),
        ("config/hardline/mcp.json", &["tools"]),
    ] {
        let home = Home::new();
        let path = fifo(&home, name);
        let (code, _, errors) = run(&home, args);
        assert_eq!(code, Some(2), "{name} {args:?}: {errors}");
        assert!(errors.contains(&*path) && errors.contains("FIFO"), "{name} {args:?}: {errors}");
        run(&home, &["doctor"]);
    }
}

#[test]
fn a_signal_ends_a_session_whose_files_became_fifos() {
    let home = Home::new();
    home.list(&serde_json::json!([tool("a", "A.")]));
    let args = ["wrap", "--name", "shop", "--", &home.text("server"), &home.text("tools.json")];
    let mut command = home.command(&args);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    let mut ask = |text: &str, line: &mut String| {
        line.clear();
        input.write_all(text.as_bytes()).unwrap();
        output.read_line(line).unwrap();
    };
    let said = script(&[]);
    let lines: Vec<_> = said.split_inclusive('\n').collect();
    ask(&lines[..2].concat(), &mut line);
    ask(lines[2], &mut line);
    assert!(line.contains("\"tools\""), "{line}");
    for name in ["hardline.lock", "listed.lock", "programs.json"] {
        let path = home.path(&format!("state/hardline/{name}"));
        let _ = fs::remove_file(&path);
        fifo(&home, &format!("state/hardline/{name}"));
    }
    ask(&lines[2].replace("\"id\":2", "\"id\":3"), &mut line);
    assert!(line.contains("\"id\":3"), "{line}");
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    let mut rest = String::new();
    output.read_to_string(&mut rest).unwrap();
    assert_eq!(wait(child).status.code(), Some(128 + 15));
}

/// Source files that open files directly, and the reason.
const OPENERS: &[(&str, &str)] = &[
    ("hardline-transport/src/file.rs", "the one place"),
    ("hardline-transport/src/process/proc.rs", "/proc"),
    ("hardline-transport/src/process/keeper/watch.rs", "/dev/null"),
    ("hardline-transport/src/signal.rs", "/proc"),
    ("hardline-cli/src/frames/mod.rs", "any input"),
    ("hardline-cli/src/scan/source.rs", "any input"),
    ("hardline-cli/src/client/arguments.rs", "any input"),
    ("hardline-cli/src/demo_server/hostile/attack/death.rs", "/dev/null"),
];

#[test]
fn files_are_opened_in_one_place() {
    const CALLS: [&str; 6] = [
        "File::open(",
        "File::create(",
        "File::options(",
        "options.open(",
        "fs::read(",
        "fs::read_to_string(",
    ];
    let crates = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut folders: Vec<_> = ["cli", "client", "proxy", "transport"]
        .map(|name| crates.join(format!("hardline-{name}/src")))
        .into();
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|it| it == "rs") && !path.ends_with("tests.rs") {
                let text = fs::read_to_string(&path).unwrap().replace("PinFile::open(", "");
                let text = text.split("#[cfg(test)]").next().unwrap();
                let text = text.split("#[cfg(all(test").next().unwrap();
                if CALLS.iter().any(|call| text.contains(call)) || text.contains("true).open(") {
                    found.push(path.strip_prefix(crates).unwrap().to_string_lossy().into_owned());
                }
            }
        }
    }
    found.sort();
    let mut expected: Vec<_> = OPENERS.iter().map(|(path, _)| *path).collect();
    expected.sort_unstable();
    assert_eq!(found, expected);
}
