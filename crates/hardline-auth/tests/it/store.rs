//! Token storage in files.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use hardline_auth::{Auth, AuthSettings, FileStore, Grant, default_store};
use hardline_testkit::http::Server;
use hardline_testkit::oauth::World;
use tempfile::TempDir;

use crate::person::Person;
use crate::{connect, logged_in, settings, start};

/// Returns a directory with the tokens of a login, and the path of their file.
async fn kept() -> (Server, TempDir, PathBuf) {
    let (_world, server) = start(World::default());
    let dir = tempfile::tempdir().unwrap();
    let settings = settings(&Person::agreeing()).with_store(Arc::new(FileStore::new(dir.path())));
    logged_in(&server, settings).await;
    let names = fs::read_dir(dir.path()).unwrap().map(|it| it.unwrap().path());
    let file = names.into_iter().find(|it| it.extension().is_some_and(|it| it == "json")).unwrap();
    (server, dir, file)
}

fn auth(server: &Server, dir: &TempDir) -> Auth {
    let settings = settings(&Person::new(&[])).with_store(Arc::new(FileStore::new(dir.path())));
    Auth::new(&server.url("/mcp"), settings).unwrap()
}

#[tokio::test]
async fn permissions_of_other_users_are_removed() {
    let (server, dir, file) = kept().await;
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
    assert!(auth(&server, &dir).status().await.unwrap().is_logged_in);
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
}

#[tokio::test]
async fn a_link_in_place_of_the_file_is_not_followed() {
    let (server, dir, file) = kept().await;
    let elsewhere = dir.path().join("elsewhere");
    fs::rename(&file, &elsewhere).unwrap();
    symlink(&elsewhere, &file).unwrap();
    let error = auth(&server, &dir).status().await.unwrap_err().to_string();
    assert!(error.contains("it is not a file of its own"), "{error}");
    // A login must not replace it either.
    for text in [fs::read(&elsewhere).unwrap(), b"damaged".to_vec()] {
        fs::write(&elsewhere, &text).unwrap();
        let settings =
            settings(&Person::agreeing()).with_store(Arc::new(FileStore::new(dir.path())));
        let auth = Auth::new(&server.url("/mcp"), settings).unwrap();
        for error in [auth.login().await.unwrap_err(), auth.logout().await.unwrap_err()] {
            assert!(error.to_string().contains("it is not a file of its own"), "{error}");
        }
        assert!(file.is_symlink());
        assert_eq!(fs::read(&elsewhere).unwrap(), text);
    }
}

#[tokio::test]
async fn a_file_that_is_broken_is_named_and_not_shown() {
    let (server, dir, file) = kept().await;
    fs::write(&file, "{\"server\":\"secret-token").unwrap();
    let error = auth(&server, &dir).status().await.unwrap_err().to_string();
    assert!(error.contains(&*file.to_string_lossy()), "{error}");
    assert!(error.contains("log in again, which replaces it"), "{error}");
    assert!(!error.contains("secret-token"), "{error}");
    fs::write(&file, vec![b'x'; 300 << 10]).unwrap();
    let error = auth(&server, &dir).status().await.unwrap_err().to_string();
    assert!(error.contains("longer than 262144 bytes"), "{error}");
}

#[tokio::test]
async fn a_file_that_is_damaged_is_replaced_by_a_login_and_removed_by_a_logout() {
    let damages = [
        b"".to_vec(),
        b"{\"server\":\"".to_vec(),
        b"[]".to_vec(),
        b"\xff\xfe".to_vec(),
        br#"{"server":"https://other.example/","credentials":"{}"}"#.to_vec(),
        vec![b'x'; 300 << 10],
    ];
    for damage in damages {
        let (server, dir, file) = kept().await;
        fs::write(&file, &damage).unwrap();
        let logs_in =
            settings(&Person::agreeing()).with_store(Arc::new(FileStore::new(dir.path())));
        let auth = Auth::new(&server.url("/mcp"), logs_in).unwrap();
        assert!(auth.login().await.unwrap().is_logged_in);
        assert!(self::auth(&server, &dir).status().await.unwrap().is_logged_in);
        fs::write(&file, &damage).unwrap();
        assert!(self::auth(&server, &dir).logout().await.unwrap());
        assert!(!file.exists());
        assert!(!self::auth(&server, &dir).logout().await.unwrap());
    }
}

#[tokio::test]
async fn each_address_has_its_own_tokens() {
    let (server, dir, _file) = kept().await;
    for path in ["/mcp/", "/mcp?x", "/other", ""] {
        let settings = settings(&Person::new(&[])).with_store(Arc::new(FileStore::new(dir.path())));
        let auth = Auth::new(&server.url(path), settings).unwrap();
        assert!(!auth.status().await.unwrap().is_logged_in, "{path}");
    }
}

#[tokio::test]
async fn no_temporary_files_are_left() {
    let (_server, dir, _file) = kept().await;
    let names: Vec<_> = fs::read_dir(dir.path())
        .unwrap()
        .map(|it| it.unwrap().file_name().into_string().unwrap())
        .collect();
    assert!(names.iter().all(|it| it.ends_with(".json") || it.ends_with(".lock")), "{names:?}");
}

#[test]
fn there_is_a_store_wherever_we_run() {
    let dir = tempfile::tempdir().unwrap();
    assert!(!format!("{:?}", default_store(dir.path())).is_empty());
}

fn logins(server: &Server) -> usize {
    server.requests().iter().filter(|it| it.path == "/token").count()
}

/// A refresh that another process has started earlier would overwrite the new tokens.
#[tokio::test]
async fn a_login_is_kept_when_no_other_process_is_at_it() {
    let (server, dir, file) = kept().await;
    let before = fs::read_to_string(&file).unwrap();
    let lock = fs::File::create(file.with_extension("lock")).unwrap();
    lock.lock().unwrap();
    let settings = settings(&Person::agreeing()).with_store(Arc::new(FileStore::new(dir.path())));
    let auth = Auth::new(&server.url("/mcp"), settings).unwrap();
    let logging_in = tokio::spawn(async move { auth.login().await });
    while logins(&server) < 2 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(fs::read_to_string(&file).unwrap(), before);
    lock.unlock().unwrap();
    logging_in.await.unwrap().unwrap();
    assert!(fs::read_to_string(&file).unwrap().contains("access-2"));
}

/// Without a person there is no long wait, so one process obtains the token for all.
#[tokio::test]
async fn two_processes_of_a_program_get_one_token() {
    let world = Arc::new(World::default());
    let server = Server::start(async move |it| {
        if it.request.path == "/token" {
            tokio::time::sleep(Duration::from_millis(300)).await;
        }
        world.serve(it).await;
    });
    let dir = tempfile::tempdir().unwrap();
    let process = || {
        let settings = AuthSettings::new()
            .with_store(Arc::new(FileStore::new(dir.path())))
            .with_grant(Grant::client_secret("me", "my-secret"));
        Auth::new(&server.url("/mcp"), settings).unwrap()
    };
    let (one, other) = (process(), process());
    let (one, other) = tokio::join!(connect(&server, &one), connect(&server, &other));
    one.unwrap();
    other.unwrap();
    assert_eq!(logins(&server), 1);
}
