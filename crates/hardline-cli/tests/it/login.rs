//! `hardline login` and `hardline logout`, from the page that a person opens to the stored tokens.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use hardline_testkit::http::Server;
use hardline_testkit::oauth::{World, refreshes};

use crate::call::run_in;
use crate::home::Home;

/// Starts a server that requires a login; its name in the home's configuration is `shop`.
fn start(home: &Home) -> (Arc<World>, Server) {
    let world = Arc::new(World::default());
    let server = Server::start({
        let world = Arc::clone(&world);
        async move |it| world.serve(it).await
    });
    let url = server.url("/mcp");
    home.write("mcp.json", &serde_json::json!({"mcpServers": {"shop": {"url": url}}}).to_string());
    (world, server)
}

/// Runs `hardline login` and sends `answer` in place of the browser; `STATE` in it is replaced by
/// the login's state.
fn login(home: &Home, args: &[&str], answer: &str) -> (Option<i32>, String) {
    let mut command: Command = home.command(&[&["login", "--no-browser"], args].concat());
    let mut child = command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut errors = BufReader::new(child.stderr.take().unwrap());
    let mut said = String::new();
    while !said.contains("&state=") && errors.read_line(&mut said).unwrap() != 0 {}
    if let Some(url) = said.split_whitespace().find(|it| it.contains("&state=")) {
        let parameter = |name: &str| {
            let value = url.split(['?', '&']).find_map(|it| it.strip_prefix(name));
            value.unwrap().trim_start_matches('=').to_owned()
        };
        let back = parameter("redirect_uri").replace("%3A", ":").replace("%2F", "/");
        let address = back.strip_prefix("http://").unwrap().split('/').next().unwrap();
        let answer = answer.replace("STATE", &parameter("state"));
        let mut browser = TcpStream::connect(address).unwrap();
        write!(browser, "GET /callback?{answer} HTTP/1.1\r\nHost: {address}\r\n\r\n").unwrap();
        let _ = browser.read_to_end(&mut Vec::new());
    }
    errors.read_to_string(&mut said).unwrap();
    (child.wait().unwrap().code(), said)
}

const AGREED: &str = "code=the-code&state=STATE";
const CALL: [&str; 6] = ["call", "shop", "echo", r#"{"n":7}"#, "--config", "mcp.json"];

/// Returns all files under a directory.
fn files(directory: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    let paths = entries.map(|it| it.unwrap().path());
    paths.flat_map(|it| if it.is_dir() { files(&it) } else { vec![it] }).collect()
}

#[test]
fn a_login_is_kept_refreshed_and_forgotten() {
    let home = Home::new();
    let (world, server) = start(&home);
    let config = home.text("mcp.json");

    let (out, err) = run_in(&home, &CALL, 1);
    assert!(out.is_empty() && err.contains("hardline login shop"), "{err}");
    assert_eq!(server.requests().iter().filter(|it| it.path == "/token").count(), 0);

    let (code, said) = login(&home, &["shop", "--config", &config], AGREED);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("logged in to shop"), "{said}");
    assert!(!said.contains("access-1") && !said.contains("refresh-1"), "{said}");

    let (out, _) = run_in(&home, &CALL, 0);
    assert_eq!(out, "7\n");
    world.expire();
    let (out, err) = run_in(&home, &CALL, 0);
    assert_eq!((out.as_str(), refreshes(&server)), ("7\n", 1), "{err}");

    let keepers: Vec<_> = files(&home.path(""))
        .into_iter()
        .filter(|it| fs::read(it).unwrap().windows(8).any(|it| it == b"access-2"))
        .collect();
    assert!(!keepers.is_empty(), "no file holds the token");
    for file in &keepers {
        let mode = fs::metadata(file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{}", file.display());
    }

    let (_, err) = run_in(&home, &["logout", "shop", "--config", &config], 0);
    assert!(err.contains("logged out of shop"), "{err}");
    assert!(server.requests().iter().any(|it| it.path == "/revoke"));
    for file in files(&home.path("")) {
        let bytes = fs::read(&file).unwrap();
        assert!(!bytes.windows(8).any(|it| it == b"access-2"), "{}", file.display());
    }
    let (_, err) = run_in(&home, &CALL, 1);
    assert!(err.contains("hardline login shop"), "{err}");
    let (_, err) = run_in(&home, &["logout", "shop", "--config", &config], 0);
    assert!(err.contains("there was no login"), "{err}");
}

#[test]
fn a_person_who_says_no_is_heard() {
    let home = Home::new();
    let (_world, server) = start(&home);
    let answer = "error=access_denied&error_description=%1b%5b2Jno&state=STATE";
    let (code, said) = login(&home, &["--url", &server.url("/mcp")], answer);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("access was denied") && !said.contains('\x1b'), "{said}");
    assert_eq!(server.requests().iter().filter(|it| it.path == "/token").count(), 0);
}

#[test]
fn a_server_that_wants_no_login_is_told_from_one_that_does() {
    let server = Server::start(async |it| match it.request.path.as_str() {
        "/mcp" => it.answer("{}").await,
        _ => it.status(404).await,
    });
    let (_, err) = run_in(&Home::new(), &["login", "--url", &server.url("/mcp")], 1);
    assert!(err.contains("requests no login"), "{err}");
    assert_eq!(err.lines().count(), 1, "{err}");
    let asked: Vec<_> = server.requests().iter().map(|it| it.path.clone()).collect();
    assert!(asked.iter().all(|it| it != "/register"), "{asked:?}");
}
