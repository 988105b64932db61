//! `docs/tools.svg`: the client in a terminal, from real runs: tools of two servers, a call in
//! progress, its result, and an error.
//!
//! The commands run in a terminal that `script` creates, because they show some output only there.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::{COLUMNS, still};
use crate::process::{command, root, show, target};

pub(super) fn run() -> Result<(), String> {
    let program = build()?;
    let folder = std::env::temp_dir().join(format!("hardline-picture-{}", std::process::id()));
    let drawn = draw(&program, &folder);
    let _ = fs::remove_dir_all(&folder);
    let path = root().join("docs/tools.svg");
    fs::write(&path, drawn?)
        .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    println!("wrote docs/tools.svg");
    Ok(())
}

fn draw(program: &Path, folder: &Path) -> Result<String, String> {
    let wrong = |error| format!("cannot write to {}: {error}", folder.display());
    // Hardline's own configuration file, because this folder is all that the command knows.
    let place = folder.join("hardline");
    fs::create_dir_all(&place).map_err(wrong)?;
    let config = format!(
        r#"{{"mcpServers": {{"demo": {{"command": {:?}, "args": ["demo-server"]}},
            "github": {{"command": "sh", "args": ["-c", "echo GITHUB_TOKEN is not set >&2; exit 1"]}}}}}}"#,
        program.display().to_string()
    );
    fs::write(place.join("mcp.json"), config).map_err(wrong)?;
    let shown = |arguments: &str| screen(program, folder, arguments);
    let mut lines = Vec::new();
    let mut add = |command: &str, text: &str| {
        lines.push(format!("\x1b[2m$\x1b[0m \x1b[1m{command}\x1b[0m"));
        lines.extend(text.lines().map(str::to_owned));
        lines.push(String::new());
    };
    add("hardline tools", &wrapped(&settled(&shown("tools")?)));
    let call = r#"call demo progress '{"steps": 10, "ms": 40}'"#;
    let screen = shown(call)?;
    // A progress bar overwrites its line, so each state follows a carriage return.
    let half = screen.split('\r').find(|frame| frame.contains(" 50 %"));
    let half = half.ok_or("the call showed no progress")?.replace("\x1b[K", "");
    add(&format!("hardline {call}"), &half);
    let call = r#"call demo ecko '{"text": "hello"}'"#;
    add(&format!("hardline {call}"), &wrapped(&settled(&shown(call)?)));
    lines.pop();
    Ok(still(&lines, "hardline tools, a call that reports progress, and a mistake"))
}

/// Returns the program, built as for a release.
fn build() -> Result<PathBuf, String> {
    let arguments = ["build", "--quiet", "--release", "--locked", "-p", "hardline-cli"];
    show(&mut command("cargo", &arguments))?;
    Ok(target().join("release/hardline"))
}

/// Returns everything that a command writes to a terminal.
fn screen(program: &Path, folder: &Path, arguments: &str) -> Result<String, String> {
    let line = format!("stty cols {COLUMNS}; '{}' {arguments}", program.display());
    let output = Command::new("script")
        .args(["--quiet", "--return", "--command", &line, "/dev/null"])
        .current_dir(folder)
        .envs(["HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME"].map(|name| (name, folder)))
        .env("TERM", "xterm")
        .env_remove("NO_COLOR")
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("cannot run script: {error}"))?;
    Ok(String::from_utf8_lossy(&output.stdout).replace("\r\n", "\n"))
}

/// Returns the final screen: of each line, the text that was written last.
fn settled(screen: &str) -> String {
    let last = |line: &str| line.rsplit('\r').next().unwrap_or_default().replace("\x1b[K", "");
    screen.lines().map(last).collect::<Vec<_>>().join("\n")
}

/// Wraps lines like a terminal. Lines with colors must fit already.
fn wrapped(text: &str) -> String {
    let mut result = String::new();
    for line in text.lines() {
        for (index, char) in line.chars().enumerate() {
            if index > 0 && index % COLUMNS == 0 && !line.contains('\x1b') {
                result.push('\n');
            }
            result.push(char);
        }
        result.push('\n');
    }
    result
}
