//! Variables that a client's entry sets for one server.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::home::{Home, Seen, script, tool};
use crate::install;

/// Returns the home directory of the current user in the system's user database.
fn own_home() -> String {
    let user = nix::unistd::User::from_uid(nix::unistd::getuid()).unwrap();
    user.map_or("/".to_owned(), |user| user.dir.display().to_string())
}

/// Returns the variables of a server behind `wrap` under a policy that lists it, and standard
/// error.
fn variables(home: &Home, policy: &str, given: &[(&str, &str)]) -> (Vec<(String, String)>, String) {
    let server = home.text("server");
    let policy = home.write("policy.toml", &format!("[launch]\nprograms = [{server:?}]\n{policy}"));
    let (tools, seen) = (home.text("tools.json"), home.text("env.txt"));
    let args = ["wrap", "--name", "shop", "--policy", &policy, "--", &server, &tools, &seen];
    let mut command = home.command(&args);
    command.envs(given.iter().copied());
    let output = command.stdin(Stdio::null()).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let text = home.read("env.txt");
    let lines = text.lines().filter_map(|line| line.split_once('='));
    let all = lines.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    (all, String::from_utf8(output.stderr).unwrap())
}

#[test]
fn a_list_of_programs_covers_the_variables_that_choose_code() {
    let home = Home::new();
    let evil = home.text("evil");
    let given = [
        ("HOME", &*evil),
        ("SHELL", &evil),
        ("TMPDIR", &evil),
        ("XDG_CONFIG_HOME", &evil),
        ("XDG_DATA_HOME", &evil),
        ("XDG_CACHE_HOME", &evil),
        ("NODE_EXTRA_CA_CERTS", &evil),
        ("VIRTUAL_ENV", &evil),
        ("DENO_DIR", &evil),
        ("GEM_HOME", &evil),
        ("JAVA_HOME", &evil),
        ("GIT_DIR", &evil),
        ("DOCKER_HOST", &evil),
        ("PUPPETEER_EXECUTABLE_PATH", &evil),
        ("EDITOR", &evil),
        ("PATH", &evil),
        ("GITHUB_TOKEN", "a token"),
        ("NODE_ENV", "production"),
        ("MEMORY_FILE_PATH", "/somewhere/memory.json"),
    ];
    for policy in ["", "clean_env = true\nenv = [\"GITHUB_TOKEN\", \"NODE_ENV\", \"MEMORY_*\"]"] {
        let (seen, errors) = variables(&home, policy, &given);
        let value = |name: &str| seen.iter().find(|it| it.0 == name).map(|it| it.1.as_str());
        assert_eq!(seen.iter().find(|(_, value)| value.contains(&evil)), None, "{policy}");
        assert_eq!(value("HOME"), Some(&*own_home()), "{policy}");
        assert_eq!(value("GITHUB_TOKEN"), Some("a token"), "{policy}");
        assert_eq!(value("NODE_ENV"), Some("production"), "{policy}");
        assert_eq!(value("MEMORY_FILE_PATH"), Some("/somewhere/memory.json"), "{policy}");
        let told = format!("HOME is {}", own_home());
        assert!(errors.contains(&told) && errors.contains("launch.env"), "{errors}");
    }
    // Variables that the policy names are passed.
    let named = "env = [\"HOME\", \"DENO_DIR\", \"NODE_EXTRA_CA_CERTS\"]";
    let (seen, _) = variables(&home, named, &given);
    for name in ["HOME", "DENO_DIR", "NODE_EXTRA_CA_CERTS"] {
        let value = seen.iter().find(|it| it.0 == name).map(|it| it.1.as_str());
        assert_eq!(value, Some(&*evil), "{name}");
    }
}

#[test]
fn variables_before_a_program_choose_no_code() {
    let home = Home::new();
    let [env, tool] = ["env", "tool"]
        .map(|name| home.write_program(&format!("bin/{name}"), "#!/bin/sh\nexit 0\n"));
    let list = format!("[launch]\nprograms = [{env:?}, {tool:?}]");
    super::check(&home, &list, &[&env, "A=b", &tool], None);
    for variable in
        ["HOME=/tmp/x", "XDG_CONFIG_HOME=/tmp/x", "DENO_DIR=/tmp/x", "LD_PRELOAD=/tmp/x"]
    {
        super::check(&home, &list, &[&env, variable, &tool], super::PROGRAM);
    }
}

#[test]
fn what_install_wrote_is_not_redirected_by_the_env_of_an_entry() {
    let home = install::Home::new();
    let server = Home::new();
    server.list(&json!([tool("a", "A.")]));
    let (command, tools) = (server.text("server"), server.text("tools.json"));
    let evil = home.path("evil");
    fs::create_dir_all(evil.join("hardline")).unwrap();
    fs::create_dir_all(evil.join(".config/hardline")).unwrap();
    for place in ["hardline/policy.toml", ".config/hardline/policy.toml"] {
        fs::write(evil.join(place), "profile = \"observe\"").unwrap();
    }
    let redirects = json!({"HOME": evil, "XDG_CONFIG_HOME": evil, "XDG_STATE_HOME": evil});
    let entry = json!({"command": command, "args": [tools], "env": redirects});
    let original = json!({"mcpServers": {"shop": entry}}).to_string();
    let path = home.write("mcp.json", &original);
    home.expect(0, &["install", "--config", "mcp.json"]);
    let start = |expected: i32| {
        let config: Value = serde_json::from_str(&install::read(&path)).unwrap();
        let entry = &config["mcpServers"]["shop"];
        let words = entry["args"].as_array().unwrap().iter().map(|it| it.as_str().unwrap());
        let mut command = home.command(&words.collect::<Vec<_>>());
        for (name, value) in entry["env"].as_object().unwrap() {
            command.env(name, value.as_str().unwrap());
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let input = child.stdin.take().unwrap();
        let _ = std::io::Write::write_all(&mut &input, script(&[]).as_bytes());
        drop(input);
        let seen = Seen::new(&child.wait_with_output().unwrap());
        assert_eq!(seen.code, Some(expected), "{}", seen.errors);
        seen
    };
    assert_eq!(start(0).tools(), ["a"]);
    // A policy that is written after the installation applies too.
    home.write(".config/hardline/policy.toml", "[launch]\nprograms = [\"/no/such\"]");
    assert!(start(1).errors.contains("because of launch.program"));
    for name in ["pins", "programs.json", "audit.db"] {
        assert!(home.path(&format!("state/hardline/{name}")).exists(), "{name}");
    }
    let left = fs::read_dir(evil.join("hardline")).unwrap().flatten().map(|it| it.file_name());
    let left: Vec<_> = left.filter(|name| name.as_bytes() != b"policy.toml").collect();
    assert!(left.is_empty(), "{left:?}");
    let outcome = home.expect(0, &["doctor", "--config", "mcp.json"]);
    assert!(!outcome.stdout.contains("its env sets"), "{outcome:?}");
    home.expect(0, &["uninstall", "--config", "mcp.json"]);
    assert_eq!(install::read(&path), original);
}

#[test]
fn doctor_tells_of_entries_that_keep_things_elsewhere() {
    let home = install::Home::new();
    let this = install::HARDLINE;
    let entry = |options: &[&str], env: Value| {
        let args = [&["wrap"], options, &["--", "sh"]].concat();
        json!({"command": this, "args": args, "env": env})
    };
    let (config, state) = (home.path(".config/hardline"), home.path("state/hardline"));
    let (config, state) = (config.to_str().unwrap(), state.to_str().unwrap());
    for (entry, expected) in [
        (entry(&[], json!({"HOME": "/x"})), Some("its env sets HOME")),
        (entry(&[], json!({"TOKEN": "x"})), None),
        (entry(&["--config-dir", config, "--state-dir", state], json!({"HOME": "/x"})), None),
        (
            entry(&["--state-dir", state], json!({"XDG_CONFIG_HOME": "/x"})),
            Some("its env sets XDG_CONFIG_HOME"),
        ),
        (
            entry(&["--state-dir", "/elsewhere"], json!({})),
            Some("its pins and audit log are in /elsewhere"),
        ),
        (
            entry(&["--config-dir", "/elsewhere"], json!({})),
            Some("its policy is read from /elsewhere"),
        ),
    ] {
        home.write(".cursor/mcp.json", json!({"mcpServers": {"a": entry}}).to_string());
        let outcome = home.expect(0, &["doctor"]);
        let is_told = |words: &str| outcome.stdout.contains(words);
        match expected {
            Some(words) => assert!(is_told(words), "{words}: {outcome:?}"),
            None => assert!(!is_told("its env sets") && !is_told("elsewhere"), "{outcome:?}"),
        }
    }
}

#[test]
fn an_entry_for_others_has_no_paths_of_ours() {
    let home = install::Home::new();
    let config = json!({"mcpServers": {"a": {"command": "sh", "args": ["x"]}}}).to_string();
    let path = home.write(".mcp.json", &config);
    home.expect(0, &["install", "--project", "--command", "hardline"]);
    let text = install::read(&path);
    assert!(text.contains("\"wrap\"") && !text.contains("-dir"), "{text}");
    home.expect(0, &["uninstall", "--project"]);
    assert_eq!(install::read(&path), config);
}

#[test]
fn a_working_directory_chooses_no_code() {
    let home = Home::new();
    let [npx, python] = ["npx", "python3"].map(|name| {
        home.write_program(&format!("bin/{name}"), "#!/bin/sh\npwd > \"$(dirname \"$0\")/pwd\"\n")
    });
    fs::create_dir_all(home.path("repo/deep")).unwrap();
    let list = format!(
        "[launch]\nprograms = [[{npx:?}, \"-y\", \"@a/*\"], \
         [{python:?}, \"-m\", \"mcp_server\"]]"
    );
    let start = |policy: &str, command: &[&str]| {
        let policy = home.write("policy.toml", policy);
        let args = [&["wrap", "--name", "shop", "--policy", &policy, "--"], command].concat();
        let mut wrap = home.command(&args);
        let output =
            wrap.current_dir(home.path("repo/deep")).stdin(Stdio::null()).output().unwrap();
        let seen = Seen::new(&output);
        assert_eq!(seen.errors.contains("because of launch.program"), seen.code == Some(1));
        (seen.code, seen.errors)
    };
    let (package, module) = ([&*npx, "-y", "@a/b@1.2"], [&*python, "-m", "mcp_server"]);
    assert_eq!((start(&list, &package).0, start(&list, &module).0), (Some(0), Some(0)));
    for (file, command) in [
        ("repo/package.json", &package),
        ("repo/deep/package.json", &package),
        // npm goes by the name in the file.
        ("repo/node_modules/other/package.json", &package),
        ("repo/.npmrc", &package),
        ("repo/deep/.npmrc", &package),
        ("repo/node_modules/@a/b/package.json", &package),
        ("repo/deep/mcp_server.py", &module),
        ("repo/deep/mcp_server/__init__.py", &module),
        ("repo/deep/mcp_server.pyc", &module),
        // The module may import `argparse`, and would get this one.
        ("repo/deep/argparse.py", &module),
        ("repo/deep/argparse/__init__.py", &module),
        ("repo/deep/google/auth/__init__.py", &module),
    ] {
        home.write(file, "");
        let (code, errors) = start(&list, command);
        assert_eq!(code, Some(1), "{file}: {errors}");
        assert!(errors.contains("launch.directory"), "{errors}");
        // A directory that the policy names is allowed, with all files in it.
        for place in ["repo/deep", "bin"] {
            let place = home.text(place);
            let named = format!("{list}\ndirectory = {place:?}");
            assert_eq!(start(&named, command).0, Some(0), "{file}");
            assert_eq!(home.read("bin/pwd").trim(), place);
        }
        // If the list allows every package anyway, such a file changes nothing.
        let any = format!("[launch]\nprograms = [{npx:?}]");
        assert_eq!(start(&any, &package).0, Some(0), "{file}");
        fs::remove_dir_all(home.path("repo")).unwrap();
        fs::create_dir_all(home.path("repo/deep")).unwrap();
    }
    // Python does not load modules from a parent directory.
    home.write("repo/mcp_server.py", "");
    assert_eq!(start(&list, &module).0, Some(0));
}
