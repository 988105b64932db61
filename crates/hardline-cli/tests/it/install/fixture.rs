//! Each fixture in the styles of several editors: with other line ends, a byte order mark, tabs.

use std::fs;
use std::path::Path;

use similar::{ChangeTag, TextDiff};

use super::value::{Wrapped, forget_empty_args, parse};
use super::{HARDLINE, Home, Outcome};

const MCP_SERVERS: &[&[&str]] = &[&["mcpServers"]];

/// A file of `tests/fixtures/configs`, and the expected result.
struct Fixture {
    name: &'static str,
    client: &'static str,
    /// Path at which the client looks for it, on Linux.
    path: &'static str,
    places: &'static [&'static [&'static str]],
    /// Number of servers that are wrapped.
    wrapped: usize,
    /// Exit status of `install`.
    code: i32,
    /// True for a file of a project.
    is_project: bool,
}

impl Fixture {
    const fn new(
        name: &'static str,
        client: &'static str,
        path: &'static str,
        wrapped: usize,
    ) -> Self {
        let places = MCP_SERVERS;
        Self { name, client, path, places, wrapped, code: 0, is_project: false }
    }

    const fn at(self, places: &'static [&'static [&'static str]]) -> Self {
        Self { places, ..self }
    }

    const fn project(self) -> Self {
        Self { is_project: true, ..self }
    }
}

const FIXTURES: &[Fixture] = &[
    Fixture::new(
        "claude-desktop.json",
        "claude-desktop",
        ".config/Claude/claude_desktop_config.json",
        5,
    ),
    Fixture::new("claude-code.json", "claude-code", ".claude.json", 3)
        .at(&[&["mcpServers"], &["projects", "*", "mcpServers"]]),
    // One of its entries is not a server.
    Fixture {
        code: 1,
        ..Fixture::new("claude-code-project.json", "claude-code", ".mcp.json", 1).project()
    },
    Fixture::new("cursor.json", "cursor", ".cursor/mcp.json", 2),
    Fixture::new("cursor.json", "cursor", ".cursor/mcp.json", 2).project(),
    Fixture::new("vscode-mcp.jsonc", "vscode", ".config/Code/User/mcp.json", 3).at(&[&["servers"]]),
    Fixture::new("vscode-mcp.jsonc", "vscode", ".config/Code/User/profiles/-7a1b/mcp.json", 3)
        .at(&[&["servers"]]),
    Fixture::new("vscode-mcp.jsonc", "vscode", ".vscode/mcp.json", 3).at(&[&["servers"]]).project(),
    Fixture::new(
        "vscode-settings.jsonc",
        "vscode",
        ".config/Code - Insiders/User/settings.json",
        2,
    )
    .at(&[&["mcp", "servers"], &["mcp.servers"]]),
    Fixture::new("windsurf.json", "windsurf", ".codeium/windsurf/mcp_config.json", 2),
    Fixture::new("zed-settings.jsonc", "zed", ".config/zed/settings.json", 3)
        .at(&[&["context_servers"]]),
    Fixture::new("gemini.json", "gemini-cli", ".gemini/settings.json", 1),
    Fixture::new("codex.toml", "codex", ".codex/config.toml", 4).at(&[&["mcp_servers"]]),
    Fixture::new("codex-inline.toml", "codex", ".codex/config.toml", 3).at(&[&["mcp_servers"]]),
    Fixture::new(
        "cline.json",
        "cline",
        ".config/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
        2,
    ),
    Fixture::new(
        "roo.json",
        "roo",
        ".config/VSCodium/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json",
        4,
    ),
    Fixture::new("lm-studio.json", "lm-studio", ".lmstudio/mcp.json", 1),
];

#[test]
fn the_files_of_every_client() {
    for fixture in FIXTURES {
        check(fixture, str::to_owned);
    }
}

#[test]
fn files_with_the_line_ends_of_windows() {
    for fixture in FIXTURES {
        check(fixture, |text| text.replace('\n', "\r\n"));
    }
}

#[test]
fn files_with_a_byte_order_mark() {
    for fixture in FIXTURES {
        check(fixture, |text| format!("\u{feff}{text}"));
    }
}

#[test]
fn files_with_tabs_and_without_a_last_line_end() {
    for fixture in FIXTURES {
        check(fixture, |text| text.replace("  ", "\t").trim_end().to_owned());
    }
}

/// Returns true if the command changed nothing and gave the reason.
fn is_idle(outcome: &Outcome) -> bool {
    let is_odd = outcome.code != Some(0);
    outcome.stdout.contains(if is_odd { "nothing was changed" } else { "nothing to do" })
}

/// Installs and uninstalls in every supported way.
#[track_caller]
fn check(fixture: &Fixture, variant: impl Fn(&str) -> String) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/configs");
    let original = variant(&fs::read_to_string(folder.join(fixture.name)).unwrap());
    let home = Home::new();
    let is_elsewhere = cfg!(target_os = "macos") && fixture.client != "zed";
    let path = match fixture.path.strip_prefix(".config/").filter(|_| is_elsewhere) {
        Some(rest) => home.write(&format!("Library/Application Support/{rest}"), &original),
        None => home.write(fixture.path, &original),
    };
    let mut selection = vec!["--client", fixture.client];
    if fixture.is_project {
        selection.push("--project");
    }
    let run = |command: &str, more: &[&str]| {
        home.expect(fixture.code, &[&[command], &*selection, more].concat())
    };
    let now = || fs::read_to_string(&path).unwrap();

    let dry = run("install", &["--dry-run"]);
    assert_eq!(now(), original, "--dry-run wrote {}", fixture.name);
    assert!(!home.path("state").exists());
    let outcome = run("install", &[]);
    let installed = now();
    assert_eq!(diff_of(&dry.stdout), diff_of(&outcome.stdout));
    says_what_it_should(fixture, &original, &installed);
    changes_nothing_but_entries(&original, &installed, &outcome.stdout);
    for secret in ["ghp_", "s3cret", "sk-planted"] {
        assert!(!outcome.stdout.contains(secret), "{outcome:?}");
    }

    let [backup] = &*home.backups() else { panic!("{:?}", home.backups()) };
    let kept = || fs::read_to_string(backup.join("original")).unwrap();
    assert_eq!(kept(), original);
    let outcome = run("install", &[]);
    assert_eq!((now(), kept()), (installed.clone(), original.clone()), "twice is once");
    assert!(is_idle(&outcome), "{outcome:?}");

    run("uninstall", &[]);
    assert_eq!(now(), original, "to the byte");
    assert_eq!(home.backups().len(), 0);
    assert!(is_idle(&run("uninstall", &[])));
    assert_eq!(now(), original);

    // With the backup, other changes in the file stay, and only the entries are reverted.
    let edit = |text: &str| match Path::new(fixture.path).extension() {
        Some(toml) if toml == "toml" => {
            text.replace("[other]", "# more\n[another]\n[other]") + "\n# end"
        }
        _ => {
            text.replacen('{', "{ \"added\": {\"command\": \"é\"},", 1)
                .replace(": false", ":  true")
                + " \n"
        }
    };
    run("install", &[]);
    fs::write(&path, edit(&installed)).unwrap();
    run("uninstall", &[]);
    assert_eq!(now(), edit(&original), "with another change in between");

    // Without the backup, the file has the same meaning as before.
    fs::write(&path, &original).unwrap();
    run("install", &[]);
    fs::remove_dir_all(home.path("state")).unwrap();
    run("uninstall", &[]);
    let is_toml = fixture.path.ends_with("toml");
    let [mut before, mut after] = [&original, &now()].map(|text| parse(text, is_toml));
    forget_empty_args(&mut before);
    forget_empty_args(&mut after);
    assert_eq!(after, before, "without a backup");
}

#[track_caller]
fn says_what_it_should(fixture: &Fixture, original: &str, installed: &str) {
    let is_toml = fixture.path.ends_with("toml");
    let [mut before, mut after] = [original, installed].map(|text| parse(text, is_toml));
    let wrapped = Wrapped { program: HARDLINE, places: fixture.places };
    assert_eq!(wrapped.undo(&mut after), fixture.wrapped, "{}:\n{installed}", fixture.name);
    forget_empty_args(&mut before);
    forget_empty_args(&mut after);
    assert_eq!(after, before, "{}", fixture.name);
}

#[track_caller]
fn changes_nothing_but_entries(original: &str, installed: &str, stdout: &str) {
    let diff = TextDiff::from_lines(original, installed);
    let changed = diff.iter_all_changes().filter(|change| change.tag() != ChangeTag::Equal);
    let changed: Vec<_> = changed.map(|change| change.value()).collect();
    for line in &changed {
        let is_ours =
            ["command", "\"path\"", "\"wrap\"", "args"].iter().any(|it| line.contains(it));
        assert!(is_ours, "{line:?} in:\n{stdout}");
    }
    assert_eq!(diff_of(stdout).len(), changed.len(), "{stdout}");
}

/// Returns the removed and added lines of a printed diff.
fn diff_of(stdout: &str) -> Vec<&str> {
    let is_change = |line: &&str| line.starts_with(['+', '-']);
    let is_name = |line: &&str| line.starts_with("+++ ") || line.starts_with("--- ");
    stdout.lines().filter(|line| is_change(line) && !is_name(line)).collect()
}
