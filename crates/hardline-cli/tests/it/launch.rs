//! The start of servers: allowed programs, findings, and the environment.

mod again;
mod environment;

use std::os::unix::fs::symlink;
use std::process::Stdio;

use crate::home::{HARDLINE, Home, Seen, script};

/// Starts `command` behind `wrap` under a policy. Returns the outcome.
fn start(home: &Home, policy: &str, command: &[&str]) -> Seen {
    let policy = home.write("policy.toml", policy);
    let args = [&["wrap", "--name", "shop", "--policy", &policy, "--"], command].concat();
    Seen::new(&home.run(&args, &script(&[])))
}

#[track_caller]
fn check(home: &Home, policy: &str, command: &[&str], refused_for: Option<&str>) {
    let seen = start(home, policy, command);
    let context = format!("{policy}\n{command:?}\n{}", seen.errors);
    match refused_for {
        Some(rule) => {
            assert!(
                seen.errors.contains(&format!("was not started because of {rule}")),
                "{context}"
            );
            assert_eq!(seen.code, Some(1), "{context}");
        }
        None => {
            assert!(!seen.errors.contains("was not started"), "{context}");
            assert_eq!(seen.code, Some(0), "{context}");
        }
    }
}

const PROGRAM: Option<&str> = Some("launch.program");
const INLINE: Option<&str> = Some("launch.inline-code");

#[test]
fn inline_code_is_told_and_refused_under_strict() {
    let home = Home::new();
    for command in [
        vec!["sh", "-c", "exit 0"],
        vec!["env", "sh", "-c", "exit 0"],
        vec!["env", "-S", "sh -c true"],
        vec!["nice", "sh", "-lc", "exit 0"],
        vec!["/bin/sh", "-ec", "exit 0"],
    ] {
        check(&home, "profile = \"strict\"", &command, INLINE);
        check(&home, "profile = \"observe\"", &command, None);
        let seen = start(&home, "", &command);
        assert!(seen.errors.contains("launch.inline-code (log"), "{command:?} {}", seen.errors);
        assert_eq!(seen.code, Some(0), "{command:?}");
    }
    // A script file is not code on the command line.
    let script = home.write("script", "exit 0");
    check(&home, "profile = \"strict\"", &["sh", &script], None);
    let excused = "profile = \"strict\"\n[[allow]]\nrule = \"launch.inline-code\"\nserver = \"shop\"\nreason = \"ours\"";
    check(&home, excused, &["sh", "-c", "exit 0"], None);
}

#[test]
fn a_link_to_an_interpreter_is_one() {
    let home = Home::new();
    home.write("bin/x", "");
    for (name, target) in [
        ("mcp-server", "/bin/sh"),
        ("node", "/bin/sh"),
        ("twice", "mcp-server"),
        ("server-of-env", "/usr/bin/env"),
    ] {
        symlink(target, home.path(&format!("bin/{name}"))).unwrap();
    }
    let marker = home.text("marker");
    let code = format!("touch {marker}");
    let [server, node, twice, env] = ["mcp-server", "node", "twice", "server-of-env"]
        .map(|name| home.text(&format!("bin/{name}")));
    for command in [
        vec![&*server, "-c", &code],
        vec![&*node, "-c", &code],
        vec![&*twice, "-c", &code],
        vec![&*env, "sh", "-c", &code],
        vec!["env", &*server, "-c", &code],
    ] {
        check(&home, "profile = \"strict\"", &command, INLINE);
        // A list that contains the link does not allow code either.
        let list =
            format!("[launch]\nprograms = [{server:?}, {node:?}, {twice:?}, {env:?}, \"env\"]");
        check(&home, &list, &command, PROGRAM);
    }
    assert!(!home.path("marker").exists());
    let file = home.write("start", "exit 0");
    check(&home, "profile = \"strict\"", &[&server, &file], None);
    check(&home, &format!("[launch]\nprograms = [{server:?}]"), &[&server, &file], None);
}

#[test]
fn a_list_of_programs_is_about_files() {
    let home = Home::new();
    let good = home.write_program("good/tool", "#!/bin/sh\nexit 0\n");
    let evil = home.write_program("evil/tool", "#!/bin/sh\nexit 0\n");
    symlink(home.path("good/tool"), home.path("evil/other")).unwrap();
    symlink(home.path("evil/tool"), home.path("good/linked")).unwrap();
    let by_path = format!("[launch]\nprograms = [{good:?}]");
    check(&home, &by_path, &[&good], None);
    check(&home, &by_path, &[&evil], PROGRAM);
    // A link with the same name counts as the file; with another name, some files are another
    // program.
    symlink(home.path("good/tool"), home.write("links/x", "").replace("/x", "/tool")).unwrap();
    check(&home, &by_path, &[&home.text("links/tool")], None);
    check(&home, &by_path, &[&home.text("evil/other")], PROGRAM);
    check(&home, &by_path, &[&home.text("good/linked")], PROGRAM);
    let around = home.text("good/../evil/tool");
    check(&home, &by_path, &[&around], PROGRAM);
    let around = home.text("evil/../good/tool");
    check(&home, &by_path, &[&around], None);

    // A bare name stands for a file in the trusted directories, not in `PATH`.
    let by_name = "[launch]\nprograms = [\"tool\", \"sh\"]";
    check(&home, by_name, &[&evil], PROGRAM);
    check(&home, by_name, &["sh", &home.write("script", "exit 0")], None);
    let directory = home.text("good");
    let by_name = format!("[launch]\nprograms = [\"tool\"]\npath = [{directory:?}]");
    check(&home, &by_name, &["tool"], None);
    check(&home, &by_name, &[&good], None);
    check(&home, &by_name, &[&evil], PROGRAM);
}

#[test]
fn path_games_do_not_get_around_the_list() {
    let home = Home::new();
    home.write_program("evil/sh", "#!/bin/sh\nexit 0\n");
    let script = home.write("script", "exit 0");
    let policy = home.write("policy.toml", "[launch]\nprograms = [\"sh\", \"env\"]");
    let run = |path: &str, command: &[&str]| {
        let args = [&["wrap", "--name", "shop", "--policy", &policy, "--"], command].concat();
        let mut command = home.command(&args);
        command.env("PATH", path).stdin(Stdio::null());
        Seen::new(&command.output().unwrap())
    };
    let (evil, good) = (format!("{}:/usr/bin:/bin", home.text("evil")), "/usr/bin:/bin");
    assert_eq!(run(good, &["sh", &script]).code, Some(0));
    assert_eq!(run(&evil, &["sh", &script]).code, Some(1));
    assert_eq!(run(good, &["env", "sh", &script]).code, Some(0));
    // A listed program that starts another by name finds it in the trusted directories, too.
    home.write_program("evil/sleep", "#!/bin/sh\ntouch \"$HOME/was-here\"\n");
    let other = home.write("other", "sleep 0");
    assert_eq!(run(&evil, &["env", "sh", &other]).code, Some(0));
    assert!(!home.path("was-here").exists());
    assert_eq!(run(good, &["env", &format!("PATH={evil}"), "sh", &script]).code, Some(1));
    assert_eq!(run(good, &["env", "-C", &home.text("evil"), "./sh", &script]).code, Some(1));
    assert_eq!(run(good, &["env", "-P", &evil, "sh", &script]).code, Some(1));
    // Empty and relative parts of `PATH` mean the client's current directory.
    let args = ["wrap", "--name", "shop", "--policy", &policy, "--", "sh", &script];
    let mut command = home.command(&args);
    command.env("PATH", ":/usr/bin:/bin").current_dir(home.path("evil"));
    let seen = Seen::new(&command.stdin(Stdio::null()).output().unwrap());
    assert_eq!(seen.code, Some(1), "{}", seen.errors);
}

#[test]
fn a_program_on_the_list_runs_no_other_code() {
    let home = Home::new();
    let [node, npx, python] = ["node", "npx", "python3"]
        .map(|name| home.write_program(&format!("bin/{name}"), "#!/bin/sh\nexit 0\n"));
    let bare = format!("[launch]\nprograms = [{node:?}, {npx:?}, {python:?}]");
    let spelled = format!(
        "[launch]\nprograms = [[{npx:?}, \"-y\", \"@scope/*\", \"**\"], [{python:?}, \"-m\", \"mcp_server_time\"]]"
    );
    for (command, is_bare_fine, is_spelled_fine) in [
        (vec![&*npx, "-y", "@scope/server", "/tmp"], true, true),
        (vec![&*npx, "-y", "@other/server"], true, false),
        (vec![&*npx, "-c", "id"], false, false),
        (vec![&*npx, "-y", "--call=id"], false, false),
        (vec![&*npx, "-y", "@scope/server", "-c", "id"], true, true),
        (vec![&*npx, "--call", "id", "-y", "@scope/x"], false, false),
        (vec![&*node, "server.js"], true, false),
        (vec![&*node, "-e", "1"], false, false),
        (vec![&*node, "--require", "/tmp/x.js", "server.js"], false, false),
        (vec![&*node, "--import=/tmp/x.js", "server.js"], false, false),
        (vec![&*python, "-m", "mcp_server_time"], false, true),
        (vec![&*python, "-m", "http.server"], false, false),
        (vec![&*python, "-c", "1"], false, false),
        (vec![&*python, "server.py"], true, false),
        (vec![&*npx, "-y", "@scope/x@file:/tmp/evil"], true, false),
        (vec![&*npx, "-y", "@scope/../../tmp/evil"], true, false),
        (vec![&*node, "--title", "x.js", "-e", "1"], false, false),
        (vec![&*node, "--unheard-of", "x.js"], false, false),
        (vec![&*npx, "--loglevel", "silent", "node", "-e", "1"], false, false),
    ] {
        check(&home, &bare, &command, if is_bare_fine { None } else { PROGRAM });
        check(&home, &spelled, &command, if is_spelled_fine { None } else { PROGRAM });
    }
}

#[test]
fn what_is_behind_a_verb_is_looked_for_on_the_list() {
    let home = Home::new();
    let [op, toolbox, npx, other] = ["op", "toolbox", "npx", "other"]
        .map(|name| home.write_program(&format!("bin/{name}"), "#!/bin/sh\nexit 0\n"));
    let list = format!("[launch]\nprograms = [{op:?}, {toolbox:?}, {npx:?}]");
    check(&home, &list, &[&op, "run", "--", &npx, "-y", "server"], None);
    check(&home, &list, &[&op, "run", "--", &other], PROGRAM);
    check(&home, &list, &[&op, "run", "--", &npx, "-c", "id"], PROGRAM);
    check(&home, &list, &[&op, "run", "--unheard-of", &npx, "-y", "server"], PROGRAM);
    check(&home, &list, &[&toolbox, "--prebuilt", "postgres", "--stdio"], None);
    check(&home, &list, &[&toolbox, "run", &other], PROGRAM);
}

#[test]
fn a_wildcard_makes_no_code_welcome() {
    let home = Home::new();
    let [node, python, git] = ["node", "python3", "git"]
        .map(|name| home.write_program(&format!("bin/{name}"), "#!/bin/sh\nexit 0\n"));
    let list = format!(
        "[launch]\nprograms = [[{node:?}, \"*/index.js\"], [{python:?}, \"*.py\"], {git:?}]"
    );
    check(&home, &list, &[&node, "dist/index.js"], None);
    check(&home, &list, &[&node, "--require=/tmp/index.js"], PROGRAM);
    check(&home, &list, &[&node, "../evil/index.js"], PROGRAM);
    check(&home, &list, &[&python, "server.py"], None);
    check(&home, &list, &[&python, "-cimport os #.py"], PROGRAM);
    // Git runs other programs by its arguments, so an entry without arguments accepts none.
    check(&home, &list, &[&git, "-c", "alias.x=!id", "x"], PROGRAM);
}

#[test]
fn variables_that_load_code_do_not_get_around_the_list() {
    let home = Home::new();
    let program = home.write_program("bin/tool", "#!/bin/sh\nexit 0\n");
    let policy = home.write("policy.toml", &format!("[launch]\nprograms = [{program:?}]"));
    let args = ["wrap", "--name", "shop", "--policy", &policy, "--", &program];
    for (name, value, code) in [
        ("NODE_OPTIONS", "--require=/tmp/x.js", 1),
        ("NODE_OPTIONS", "--max-old-space-size=64", 0),
        ("BASH_ENV", "/tmp/x", 1),
        ("PERL5OPT", "-Mx", 1),
        ("PYTHONPATH", "/tmp", 1),
        ("npm_config_script_shell", "/tmp/x", 1),
        ("GCONV_PATH", "/tmp", 1),
        ("SHELLOPTS", "xtrace", 1),
        ("GIT_SSH_COMMAND", "id", 1),
    ] {
        let mut command = home.command(&args);
        let output = command.env(name, value).stdin(Stdio::null()).output().unwrap();
        assert_eq!(Seen::new(&output).code, Some(code), "{name}={value}");
    }
}

#[test]
fn another_executable_is_noticed() {
    let home = Home::new();
    let program = home.write_program("bin/tool", "#!/bin/sh\nexit 0\n");
    check(&home, "", &[&program], None);
    let seen = start(&home, "", &[&program]);
    assert!(!seen.errors.contains("launch"), "{}", seen.errors);
    home.write_program("bin/tool", "#!/bin/sh\nexit  0\n");
    let seen = start(&home, "profile = \"strict\"", &[&program]);
    assert_eq!(seen.code, Some(1));
    assert!(seen.errors.contains("launch.changed"), "{}", seen.errors);
    assert!(seen.errors.contains("hardline pin approve shop"), "{}", seen.errors);
    let diff = home.run(&["pin", "diff"], "");
    assert_eq!(diff.status.code(), Some(1));
    let approved = home.run(&["pin", "approve", "shop"], "");
    assert_eq!(approved.status.code(), Some(0));
    check(&home, "profile = \"strict\"", &[&program], None);

    // `balanced` reports a change once.
    home.write_program("bin/tool", "#!/bin/sh\nexit   0\n");
    let seen = start(&home, "", &[&program]);
    assert_eq!(seen.code, Some(0));
    assert!(seen.errors.contains("launch.changed (log"), "{}", seen.errors);
    assert!(!start(&home, "", &[&program]).errors.contains("launch"));
    // A file with the same bytes counts as unchanged.
    home.write_program("bin/tool", "#!/bin/sh\nexit   0\n");
    check(&home, "profile = \"strict\"", &[&program], None);
}

/// The file that shows a changed executable must not be ignored.
#[test]
fn a_damaged_file_of_executables_stops_the_start_under_strict() {
    let sha256 = "\u{1b}[31mred";
    let tampered = format!(r#"{{"servers":{{"shop":{{"path":"/x","sha256":{sha256:?}}}}}}}"#)
        .replace("\\u{1b}", "\\u001b");
    for content in ["garbage", &tampered] {
        let home = Home::new();
        let program = home.write_program("bin/tool", "#!/bin/sh\nexit 0\n");
        home.write("state/hardline/programs.json", content);
        let seen = start(&home, "profile = \"strict\"", &[&program]);
        assert_eq!(seen.code, Some(1), "{}", seen.errors);
        assert!(seen.errors.contains("programs.json is broken"), "{}", seen.errors);
        assert!(seen.errors.contains("delete it to start over"), "{}", seen.errors);
        assert!(!seen.errors.contains("pin approve"), "{}", seen.errors);
        let seen = start(&home, "", &[&program]);
        assert_eq!(seen.code, Some(0), "{}", seen.errors);
        assert!(seen.errors.contains("programs.json is broken"), "{}", seen.errors);
        let listed = home.run(&["pin", "list"], "");
        assert_ne!(listed.status.code(), Some(0));
        assert!(!listed.stdout.contains(&0x1b) && !listed.stderr.contains(&0x1b));
    }
}

#[test]
fn a_clean_environment_has_what_is_listed_and_nothing_else() {
    let home = Home::new();
    let (server, tools, seen) =
        (home.text("server"), home.text("tools.json"), home.text("env.txt"));
    let run = |options: &[&str], policy: &str| {
        let policy = home.write("policy.toml", policy);
        let mut args = vec!["wrap", "--name", "shop", "--policy", &policy];
        args.extend(options);
        args.extend(["--", &server, &tools, &seen]);
        let mut command = home.command(&args);
        command.env("SECRET", "s").env("GITHUB_TOKEN", "g").env("MCP_A", "a").env("ODD", "x\ny=z");
        let output = command.stdin(Stdio::null()).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        home.read("env.txt")
    };
    let has =
        |text: &str, name: &str| text.lines().any(|line| line.starts_with(&format!("{name}=")));

    let all = run(&[], "");
    for name in ["SECRET", "GITHUB_TOKEN", "MCP_A", "PATH", "HOME", "XDG_STATE_HOME", "ODD"] {
        assert!(has(&all, name), "{name}");
    }
    for (options, policy) in [
        (vec!["--clean-env", "--env", "GITHUB_TOKEN", "--env", "MCP_*"], ""),
        (vec![], "[launch]\nclean_env = true\nenv = [\"GITHUB_TOKEN\", \"MCP_*\"]"),
        (
            vec!["--env", "MCP_A"],
            "[server.shop.launch]\nclean_env = true\nenv = [\"GITHUB_TOKEN\"]",
        ),
    ] {
        let few = run(&options, policy);
        for name in ["GITHUB_TOKEN", "MCP_A", "PATH", "HOME"] {
            assert!(has(&few, name), "{name} {options:?}");
        }
        let known = [
            "GITHUB_TOKEN",
            "MCP_A",
            "PATH",
            "HOME",
            "LANG",
            "LC_ALL",
            "LC_CTYPE",
            "LOGNAME",
            "SHELL",
            "TERM",
            "TMPDIR",
            "TZ",
            "USER",
            "PWD",
            "SHLVL",
            "OLDPWD",
            "_",
        ];
        for line in few.lines() {
            let name = line.split_once('=').map_or(line, |(name, _)| name);
            assert!(known.contains(&name), "{line}");
        }
    }
}

#[test]
fn a_variable_is_passed_on_by_its_name() {
    let home = Home::new();
    for env in ["FOO=bar", "", "="] {
        let args = ["wrap", "--clean-env", "--env", env, "--", HARDLINE, "demo-server"];
        let seen = Seen::new(&home.run(&args, ""));
        assert_eq!(seen.code, Some(2), "{}", seen.errors);
        assert!(seen.errors.contains("the name of a variable"), "{}", seen.errors);
    }
    let policy = "[launch]\nclean_env = true\nenv = [\"FOO=bar\", \"\"]";
    let seen = start(&home, policy, &["true"]);
    assert_eq!(seen.code, Some(2), "{}", seen.errors);
    assert_eq!(seen.errors.matches("the name of a variable").count(), 2, "{}", seen.errors);
}

#[test]
fn a_server_that_is_not_there_is_named() {
    let home = Home::new();
    let seen = start(&home, "", &["no-such-program-anywhere"]);
    assert_eq!(seen.code, Some(127));
    assert!(seen.errors.contains("no-such-program-anywhere"), "{}", seen.errors);
    assert!(start(&home, "", &[HARDLINE, "demo-server"]).answer(1)["result"].is_object());
}

#[test]
fn as_much_is_told_as_was_asked_for() {
    let home = Home::new();
    let run = |level: &str| {
        let args =
            ["wrap", "--log", level, "--name", "shop", "--", "sh", "-c", "echo noise; exit 3"];
        home.run(&[&args[..3], &["--restart", "never"], &args[3..]].concat(), &script(&[]))
    };
    let told = |level| {
        let output = run(level);
        assert_eq!(output.status.code(), Some(3), "{output:?}");
        let text = String::from_utf8(output.stderr).unwrap();
        let words = [
            "client-to-server initialize",
            "[shop stdout] noise",
            "launch.inline-code",
            "exited with code 3",
        ];
        words.map(|word| text.contains(word))
    };
    assert_eq!(told("off"), [false; 4]);
    assert_eq!(told("error"), [false; 4]);
    assert_eq!(told("warn"), [false, false, true, true]);
    assert_eq!(told("info"), [false, true, true, true]);
    assert_eq!(told("debug"), [true; 4]);
}
