//! The environment of a child, and failed starts.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use hardline_transport::process::{Command, Environment, Keeper, SpawnError};

use super::{MARK, Mark, check, in_time, keeper, line, runtime};

/// Returns the first line that a command writes.
async fn first_line(command: Command) -> String {
    let mut child = command.spawn().unwrap();
    let mut stdout = tokio::io::BufReader::new(child.take_stdout().unwrap());
    let line = line(&mut stdout).await;
    in_time(child.close()).await;
    line
}

#[test]
fn gets_its_arguments_unread_by_any_shell() {
    check(async |mark, is_kept| {
        let args = ["$HOME", "a b", "--", "-x", "*", ""];
        let command = mark.shell("for it; do printf '<%s>' \"$it\"; done", is_kept).arg("sh");
        assert_eq!(first_line(command.args(args)).await, "<$HOME><a b><--><-x><*><>");
    });
}

#[test]
fn gets_the_environment_that_was_chosen() {
    check(async |mark, is_kept| {
        // Cargo sets this variable for every test.
        let script = "echo \"$CARGO_MANIFEST_DIR:$GIVEN:${PATH:+path}:$SECRET\"";
        let new = |environment| {
            let command = Command::new("/bin/sh", environment).args(["-c", script]);
            let command = command.envs([(MARK, mark.value()), ("GIVEN", "given")]);
            if is_kept { command.keeper(keeper()) } else { command }
        };
        let inherited = format!("{}:given:path:", env!("CARGO_MANIFEST_DIR"));
        assert_eq!(first_line(new(Environment::Inherit)).await, inherited);
        assert_eq!(first_line(new(Environment::Base)).await, ":given:path:");
        let empty = first_line(new(Environment::Base).env("PATH", "").env("GIVEN", "later")).await;
        assert_eq!(empty, ":later::");
        let debug = format!("{:?}", new(Environment::Base).env("SECRET", "hidden-value"));
        assert!(debug.contains("SECRET") && !debug.contains("hidden-value"), "{debug}");
    });
}

#[test]
fn gets_the_directory_that_was_chosen() {
    check(async |mark, is_kept| {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().canonicalize().unwrap();
        fs::create_dir(path.join("bin")).unwrap();
        fs::copy("/bin/sh", path.join("bin/my-shell")).unwrap();
        let script = ["-c", "pwd -P"];
        let new = |program: &str| {
            let command = Command::new(program, Environment::Base).args(script);
            let command = command.current_dir(&path).env(MARK, mark.value());
            if is_kept { command.keeper(keeper()) } else { command }
        };
        let expected = path.to_str().unwrap();
        assert_eq!(first_line(new("/bin/sh")).await, expected);
        assert_eq!(first_line(new("bin/my-shell")).await, expected);
        assert_eq!(first_line(new("my-shell").env("PATH", "/nowhere:bin")).await, expected);
    });
}

#[test]
fn says_at_once_what_is_wrong() {
    check(async |mark, is_kept| {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("file");
        fs::write(&file, "#!/bin/sh\n").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
        let try_to = |program: &str| {
            let command = Command::new(program, Environment::Base).env(MARK, mark.value());
            if is_kept { command.keeper(keeper()) } else { command }
        };
        let fail = |command: Command| command.spawn().unwrap_err();
        let path = directory.path().to_str().unwrap();

        let error = fail(try_to("no-such-program-anywhere"));
        assert!(matches!(error, SpawnError::NotFound { .. }), "{error}");
        assert!(error.to_string().contains("install it"), "{error}");
        let error = fail(try_to("/no/such/program"));
        assert!(matches!(error, SpawnError::NoSuchFile { .. }), "{error}");
        let error = fail(try_to(file.to_str().unwrap()));
        assert!(matches!(error, SpawnError::NotExecutable { .. }), "{error}");
        let error = fail(try_to("file").env("PATH", path));
        assert!(matches!(error, SpawnError::NotExecutable { .. }), "{error}");
        let error = fail(try_to(path));
        assert!(matches!(error, SpawnError::NotAFile { .. }), "{error}");
        let error = fail(try_to("/bin/sh").current_dir("/no/such/directory"));
        assert!(matches!(error, SpawnError::Directory { .. }), "{error}");
        let error = fail(try_to("/bin/sh").current_dir("/bin/sh"));
        assert!(matches!(error, SpawnError::Directory { .. }), "{error}");
        for (name, value) in [("", "a"), ("a=b", "a"), ("a\0", "a"), ("a", "\0")] {
            let error = fail(try_to("/bin/sh").env(name, value));
            assert!(matches!(error, SpawnError::Variable { .. }), "{error}");
        }
        let error = fail(try_to("/bin/sh").keeper(Keeper::new("/no/such/keeper", ["keeper"])));
        assert!(matches!(error, SpawnError::Keeper { .. }), "{error}");
        mark.assert_gone();
    });
}

#[test]
fn says_what_only_the_system_finds_out() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("server");
    fs::write(&file, "#!/no/such/interpreter\n").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    let mark = Mark::new();
    let command = Command::new(&file, Environment::Base).env(MARK, mark.value());
    runtime().block_on(async {
        let error = command.spawn().unwrap_err();
        assert!(matches!(error, SpawnError::System { .. }), "{error}");
        let exit = in_time(command.keeper(keeper()).spawn().unwrap().wait()).await;
        assert_eq!(exit.code(), Some(127));
        assert!(exit.to_string().contains("cannot start"), "{exit}");
    });
}

#[test]
fn needs_a_runtime() {
    let error = Command::new("/bin/sh", Environment::Base).spawn().unwrap_err();
    assert!(matches!(error, SpawnError::NoRuntime), "{error}");
}
