//! Atomic writes: the old or the new file, through links, with their permissions.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::process::Stdio;
use std::thread;
use std::time::Instant;

use super::{Home, read};

const CONFIG: &str = "{\"mcpServers\": {\"a\": {\"command\": \"npx\", \"args\": [\"x\"]}}}\n";
const PATH: &str = ".cursor/mcp.json";

#[test]
fn a_kill_leaves_the_old_or_the_new_file() {
    let home = Home::new();
    // Large, so that the kill can hit the write.
    let filler = format!("\"{}\",\n", "x".repeat(1000)).repeat(2000);
    let old = CONFIG.replace("{\"mcp", &format!("{{\"other\": [{filler} 0], \"mcp"));
    let path = home.write(PATH, &old);
    let started = Instant::now();
    home.expect(0, &["install"]);
    let whole = started.elapsed();
    let new = read(&path);
    assert_ne!(old, new);
    let (mut killed, mut replaced) = (0, 0);
    let mut seed = 0x9e37_79b9_u64;
    for round in 0..100 {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let delay = whole.mul_f64((seed >> 40) as f64 / f64::from(1 << 24) * 1.2);
        let command = if round % 2 == 0 { "uninstall" } else { "install" };
        let mut child =
            home.command(&[command]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        thread::sleep(delay);
        child.kill().unwrap();
        killed += usize::from(child.wait().unwrap().code().is_none());
        let now = read(&path);
        assert!(now == old || now == new, "half a file after {delay:?} of {whole:?}");
        replaced += usize::from(now == if round % 2 == 0 { &*old } else { &*new });
    }
    assert!(killed > 10 && replaced > 10, "killed {killed}, replaced {replaced} of 100");
    // The next run removes leftovers, and everything is as before.
    home.expect(0, &["install"]);
    assert_eq!(read(&path), new);
    home.expect(0, &["uninstall"]);
    assert_eq!(read(&path), old);
    let left: Vec<_> = fs::read_dir(path.parent().unwrap()).unwrap().collect();
    assert_eq!(left.len(), 1, "{left:?}");
    assert_eq!(home.backups().len(), 0);
}

#[test]
fn two_at_once_wait_for_each_other() {
    let home = Home::new();
    let path = home.write(PATH, CONFIG);
    let children: Vec<_> = (0..8)
        .map(|_| {
            home.command(&["install"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
        })
        .collect();
    for mut child in children {
        assert_eq!(child.wait().unwrap().code(), Some(0));
    }
    assert_eq!(read(&path).matches("\"wrap\"").count(), 1, "{}", read(&path));
    home.expect(0, &["uninstall"]);
    assert_eq!(read(&path), CONFIG);
}

#[test]
fn a_link_stays_a_link() {
    let home = Home::new();
    let target = home.write("dotfiles/cursor.json", CONFIG);
    fs::create_dir_all(home.path(".cursor")).unwrap();
    symlink("../dotfiles/hop", home.path(PATH)).unwrap();
    symlink("cursor.json", home.path("dotfiles/hop")).unwrap();
    home.expect(0, &["install"]);
    assert!(home.path(PATH).is_symlink() && home.path("dotfiles/hop").is_symlink());
    assert!(!target.is_symlink() && read(&target).contains("\"wrap\""));
    home.expect(0, &["uninstall"]);
    assert_eq!(read(&target), CONFIG);
    assert!(home.path(PATH).is_symlink());

    fs::remove_file(&target).unwrap();
    let outcome = home.expect(2, &["install"]);
    assert!(outcome.stderr.contains("link to a file that does not exist"), "{outcome:?}");
}

#[test]
fn the_name_of_a_link_says_what_the_file_is() {
    let home = Home::new();
    let text = "[mcp_servers.a]\ncommand = \"x\"\n";
    let target = home.write("dotfiles/codex", text);
    fs::create_dir_all(home.path(".codex")).unwrap();
    symlink(&target, home.path(".codex/config.toml")).unwrap();
    home.expect(0, &["install"]);
    assert!(read(&target).contains("\nargs = [\"wrap\""), "{}", read(&target));
    // With `--config`, the contents decide which client's format it is.
    home.expect(0, &["uninstall", "--config", "dotfiles/codex"]);
    assert_eq!(read(&target), text);
}

#[test]
fn permissions_stay_and_backups_are_private() {
    for mode in [0o600, 0o644, 0o664, 0o640] {
        let home = Home::new();
        let path = home.write(PATH, CONFIG);
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        home.expect(0, &["install"]);
        let metadata = fs::metadata(&path).unwrap();
        assert_eq!(metadata.mode() & 0o7777, mode);
        let [backup] = &*home.backups() else { panic!("{:?}", home.backups()) };
        for (path, expected) in [
            (backup.join("original"), 0o600),
            (backup.join("record.json"), 0o600),
            (backup.clone(), 0o700),
            (home.path("state/hardline"), 0o700),
        ] {
            assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, expected, "{path:?}");
        }
        home.expect(0, &["uninstall"]);
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, mode);
    }
}

#[test]
fn what_is_read_only_is_left_alone() {
    let home = Home::new();
    let path = home.write(PATH, CONFIG);
    let other = home.write(".gemini/settings.json", CONFIG);
    fs::set_permissions(&path, Permissions::from_mode(0o444)).unwrap();
    let outcome = home.expect(2, &["install"]);
    assert!(outcome.stderr.contains("Cursor: "), "{outcome:?}");
    assert!(outcome.stderr.contains("it is read-only"), "{outcome:?}");
    assert!(outcome.stderr.contains("nothing was written"), "{outcome:?}");
    assert_eq!(read(&path), CONFIG);
    assert!(read(&other).contains("\"wrap\""), "the others are done all the same");
    assert_eq!(home.backups().len(), 1);

    fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
    let folder = path.parent().unwrap();
    fs::set_permissions(folder, Permissions::from_mode(0o555)).unwrap();
    let outcome = home.expect(2, &["install"]);
    assert!(outcome.stderr.contains("is read-only"), "{outcome:?}");
    assert_eq!(read(&path), CONFIG);
    fs::set_permissions(folder, Permissions::from_mode(0o755)).unwrap();
    home.expect(0, &["install"]);
    assert_ne!(read(&path), CONFIG);
}

#[test]
fn without_a_backup_nothing_is_written() {
    let home = Home::new();
    let path = home.write(PATH, CONFIG);
    home.write("state/hardline", "a file where a directory should be");
    let outcome = home.expect(2, &["install"]);
    assert!(outcome.stderr.contains("cannot create"), "{outcome:?}");
    assert_eq!(read(&path), CONFIG);
}

#[test]
fn what_was_wrapped_by_hand_before_stays_so() {
    let home = Home::new();
    let text = r#"{"mcpServers": {
        "mine": {"command": "hardline", "args": ["wrap", "--profile", "strict", "--", "x"]},
        "other": {"command": "y"}}}"#;
    let path = home.write("mcp.json", text);
    home.expect(0, &["install", "--config", "mcp.json"]);
    assert_ne!(read(&path), text);
    let outcome = home.expect(0, &["uninstall", "--config", "mcp.json"]);
    assert_eq!(read(&path), text);
    assert!(outcome.stdout.contains("mine (wrapped by hand"), "{outcome:?}");

    home.expect(0, &["uninstall", "--config", "mcp.json", "--server", "mine"]);
    assert!(!read(&path).contains("hardline"), "{}", read(&path));
}

#[test]
fn what_was_wrapped_by_hand_is_known_after_others_wrote_too() {
    let home = Home::new();
    let text = r#"{"mcpServers": {
        "mine": {"command": "hardline", "args": ["wrap", "--", "x"]},
        "other": {"command": "y"}}}"#;
    let path = home.write("mcp.json", text);
    let command = |command: &str, rest: &[&str]| {
        home.expect(0, &[&[command, "--config", "mcp.json"], rest].concat())
    };
    // A client rewrites its file, and `install` runs again.
    command("install", &[]);
    home.write("mcp.json", format!("{} \n", read(&path)));
    command("install", &["--profile", "strict"]);
    home.write("mcp.json", format!("{} \n", read(&path)));
    let outcome = command("uninstall", &[]);
    assert!(outcome.stdout.contains("mine (wrapped by hand"), "{outcome:?}");
    assert_eq!(read(&path).trim_end(), text);

    // An entry that was reverted by name stays reverted when the rest is reverted.
    home.write("mcp.json", text);
    command("install", &[]);
    command("uninstall", &["--server", "mine"]);
    assert!(read(&path).contains(r#""mine": {"command": "x","#), "{}", read(&path));
    command("uninstall", &[]);
    assert!(!read(&path).contains("hardline"), "{}", read(&path));
    assert!(read(&path).contains(r#""other": {"command": "y"}"#), "{}", read(&path));
}
