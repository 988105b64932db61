//! The paths of three platforms.

use std::collections::HashMap;

use super::*;

/// Compares all paths of a client with `expected`, one per line, sorted.
#[track_caller]
fn check(platform: Platform, variables: &[(&str, &str)], client: &str, expected: &[&str]) {
    let variables: HashMap<_, _> = variables.iter().copied().collect();
    let variable = |name: &str| variables.get(name).map(PathBuf::from);
    let home = match platform {
        Platform::Linux => "/home/ada",
        Platform::MacOs => "/Users/ada",
        Platform::Windows => r"C:\Users\ada",
    };
    let system = System { platform, home: home.into(), variable: &variable };
    let client = CLIENTS.iter().find(|it| it.id == client).unwrap();
    let files = client.files(&system);
    let paths: Vec<_> =
        files.iter().map(|(path, _)| path.to_str().unwrap().replace('\\', "/")).collect();
    assert_eq!(paths, expected, "{}", client.id);
}

const WINDOWS: &[(&str, &str)] = &[
    ("APPDATA", r"C:\Users\ada\AppData\Roaming"),
    ("LOCALAPPDATA", r"C:\Users\ada\AppData\Local"),
    ("XDG_CONFIG_HOME", r"C:\not\here"),
];

#[test]
fn linux() {
    let check = |client, expected: &[&str]| check(Platform::Linux, &[], client, expected);
    check("claude-desktop", &["/home/ada/.config/Claude/claude_desktop_config.json"]);
    check("claude-code", &["/home/ada/.claude.json"]);
    check("cursor", &["/home/ada/.cursor/mcp.json"]);
    check(
        "vscode",
        &[
            "/home/ada/.config/Code/User/mcp.json",
            "/home/ada/.config/Code - Insiders/User/mcp.json",
            "/home/ada/.config/VSCodium/User/mcp.json",
            "/home/ada/.config/Code/User/settings.json",
            "/home/ada/.config/Code - Insiders/User/settings.json",
            "/home/ada/.config/VSCodium/User/settings.json",
            "/home/ada/.config/Code/User/profiles/*/mcp.json",
            "/home/ada/.config/Code - Insiders/User/profiles/*/mcp.json",
            "/home/ada/.config/VSCodium/User/profiles/*/mcp.json",
        ],
    );
    check(
        "windsurf",
        &["/home/ada/.codeium/windsurf/mcp_config.json", "/home/ada/.codeium/mcp_config.json"],
    );
    check("zed", &["/home/ada/.config/zed/settings.json"]);
    check("gemini-cli", &["/home/ada/.gemini/settings.json"]);
    check("codex", &["/home/ada/.codex/config.toml"]);
    check("lm-studio", &["/home/ada/.lmstudio/mcp.json", "/home/ada/.cache/lm-studio/mcp.json"]);
}

#[test]
fn mac_os() {
    let support = "/Users/ada/Library/Application Support";
    // macOS has its own directory, so the variable does not matter.
    let variables = [("XDG_CONFIG_HOME", "/elsewhere")];
    let check = |client, expected: &[&str]| check(Platform::MacOs, &variables, client, expected);
    check("claude-desktop", &[&format!("{support}/Claude/claude_desktop_config.json")]);
    check("zed", &["/Users/ada/.config/zed/settings.json"]);
    let cline = "saoudrizwan.claude-dev/settings/cline_mcp_settings.json";
    let mut expected: Vec<_> = ["Code", "Code - Insiders", "VSCodium", "Cursor", "Windsurf"]
        .iter()
        .map(|editor| format!("{support}/{editor}/User/globalStorage/{cline}"))
        .collect();
    expected.push("/Users/ada/.cline/data/settings/cline_mcp_settings.json".to_owned());
    check("cline", &expected.iter().map(String::as_str).collect::<Vec<_>>());
}

#[test]
fn windows() {
    let check = |client, expected: &[&str]| check(Platform::Windows, WINDOWS, client, expected);
    let roaming = "C:/Users/ada/AppData/Roaming";
    check(
        "claude-desktop",
        &[
            &format!("{roaming}/Claude/claude_desktop_config.json"),
            "C:/Users/ada/AppData/Local/Packages/Claude_pzs8sxrjxfjjc/LocalCache/Roaming/Claude/\
            claude_desktop_config.json",
        ],
    );
    check("claude-code", &["C:/Users/ada/.claude.json"]);
    check("cursor", &["C:/Users/ada/.cursor/mcp.json"]);
    check("zed", &[&format!("{roaming}/zed/settings.json")]);
    check("codex", &["C:/Users/ada/.codex/config.toml"]);
    let roo = "User/globalStorage/rooveterinaryinc.roo-cline/settings";
    let names = ["mcp_settings.json", "cline_mcp_settings.json"];
    let expected: Vec<_> = names
        .iter()
        .flat_map(|name| EDITORS.iter().map(move |it| format!("{roaming}/{it}/{roo}/{name}")))
        .collect();
    check("roo", &expected.iter().map(String::as_str).collect::<Vec<_>>());
}

#[test]
fn variables_beat_the_usual_places() {
    let variables = [
        ("XDG_CONFIG_HOME", "/etc/ada"),
        ("CODEX_HOME", "/srv/codex"),
        ("CLAUDE_CONFIG_DIR", "/srv/claude"),
    ];
    let check = |client, expected: &[&str]| check(Platform::Linux, &variables, client, expected);
    check("zed", &["/etc/ada/zed/settings.json"]);
    check("codex", &["/srv/codex/config.toml"]);
    check("claude-code", &["/srv/claude/.claude.json"]);
}

#[test]
fn a_star_is_any_directory() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["b", "a"] {
        fs::create_dir(folder.path().join(name)).unwrap();
    }
    let found = expand(&folder.path().join("*/mcp.json"));
    let expected = ["a/mcp.json", "b/mcp.json"].map(|name| folder.path().join(name));
    assert_eq!(found, expected);
    assert_eq!(expand(&folder.path().join("none/*/mcp.json")), Vec::<PathBuf>::new());
}

#[test]
fn the_page_in_docs_lists_every_client_and_file() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/configs.md");
    let page = fs::read_to_string(path).unwrap();
    let (_, dialects) = page.split_once("### Dialects").unwrap();
    for client in CLIENTS {
        let Client { id, name, .. } = client;
        let is_row = |line: &str| line.starts_with(&format!("| {name}")) && line.contains(id);
        assert!(page.lines().any(is_row), "{name} has no row");
        let first_cell = |line: &str| line.split('|').nth(1).unwrap_or_default().contains(name);
        assert!(dialects.lines().any(first_cell), "{name} has no dialect");
        for (_, file, _) in client.files {
            let name = Path::new(file).file_name().unwrap().to_str().unwrap();
            assert!(page.contains(name), "{file}");
        }
        for (file, _) in client.project_files {
            assert!(page.contains(&format!("`{file}`")), "{file}");
        }
    }
}
