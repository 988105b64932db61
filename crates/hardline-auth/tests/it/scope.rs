//! Scopes for which a call is refused, and the login, in any process, that requests them.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use hardline_auth::{
    Auth, AuthSettings, AuthorizationUrl, Browser, MemoryStore, Secret, TokenKey, TokenStore,
};
use hardline_testkit::http::Server;
use hardline_testkit::oauth::World;
use serde_json::{Value, json};

use crate::person::{Person, query};
use crate::{connect, echo, settings, start};

/// A store that counts saves.
#[derive(Debug, Default)]
struct Counting {
    kept: MemoryStore,
    saves: AtomicUsize,
    key: Mutex<Option<TokenKey>>,
}

impl TokenStore for Counting {
    fn load(&self, key: &TokenKey) -> Result<Option<Secret>, String> {
        self.kept.load(key)
    }

    fn save(&self, key: &TokenKey, text: &Secret) -> Result<(), String> {
        self.saves.fetch_add(1, Ordering::SeqCst);
        *self.key.lock().unwrap() = Some(key.clone());
        self.kept.save(key, text)
    }

    fn remove(&self, key: &TokenKey) -> Result<bool, String> {
        self.kept.remove(key)
    }
}

impl Counting {
    fn saves(&self) -> usize {
        self.saves.load(Ordering::SeqCst)
    }

    /// Returns the stored credentials; `null` if there are none.
    fn now(&self) -> Value {
        let key = self.key.lock().unwrap().clone().unwrap();
        let text = self.kept.load(&key).unwrap();
        text.map_or(Value::Null, |it| serde_json::from_str(it.reveal()).unwrap())
    }

    /// Changes the stored credentials, as another process would; `null` removes them.
    fn replace(&self, with: &Value) {
        let key = self.key.lock().unwrap().clone().unwrap();
        match with {
            Value::Null => assert!(self.kept.remove(&key).unwrap()),
            with => self.kept.save(&key, &Secret::new(with.to_string())).unwrap(),
        }
    }
}

/// A slow user: another process changes the store before the login ends.
#[derive(Debug)]
struct Slow {
    person: Arc<Person>,
    store: Arc<Counting>,
    meanwhile: Value,
}

impl Browser for Slow {
    fn open(&self, url: &AuthorizationUrl) -> Result<(), String> {
        self.store.replace(&self.meanwhile);
        self.person.open(url)
    }
}

/// Starts a server that requires the scope `sN` for the call with `N`, and is never satisfied.
fn start_picky() -> Server {
    let world = Arc::new(World::default());
    Server::start(async move |it| {
        if it.rpc_method() != "tools/call" {
            return world.serve(it).await;
        }
        let n = it.request.member("params").unwrap()["arguments"]["n"].to_string();
        let challenge =
            format!("WWW-Authenticate: Bearer error=\"insufficient_scope\", scope=\"s{n}\"");
        it.respond(403, &[&challenge], "").await;
    })
}

/// Creates an `Auth` without a browser, as the manager and `hardline call` have.
fn quiet(server: &Server, store: &Arc<Counting>) -> Auth {
    let store = Arc::<Counting>::clone(store);
    let settings = AuthSettings::new().with_store(store).with_login_advice("log in");
    Auth::new(&server.url("/mcp"), settings).unwrap()
}

/// Logs in as a separate process, as `hardline login` does. Returns the requested scopes.
async fn login(
    server: &Server,
    store: &Arc<Counting>,
    answer: &str,
) -> (String, Result<(), String>) {
    let person = Person::new(&[&format!("GET /callback?{answer}&state=STATE HTTP/1.1")]);
    let settings = settings(&person).with_store(Arc::<Counting>::clone(store));
    let auth = Auth::new(&server.url("/mcp"), settings).unwrap();
    let outcome = auth.login().await.map(drop).map_err(|error| error.to_string());
    let opened = person.opened();
    let [url] = opened.as_slice() else { panic!("{opened:?}") };
    (query(url)["scope"].clone(), outcome)
}

async fn refused(server: &Server, auth: &Auth) -> String {
    refused_for(server, auth, 1).await
}

async fn refused_for(server: &Server, auth: &Auth, n: usize) -> String {
    let connection = connect(server, auth).await.unwrap();
    echo(&connection, n).await.unwrap_err().to_string()
}

#[tokio::test]
async fn a_login_asks_for_what_a_call_in_another_process_was_refused_for() {
    let (world, server) = start(World { scope: Some("write"), ..World::default() });
    let store = Arc::new(Counting::default());
    assert_eq!(login(&server, &store, "code=c").await, ("basic".to_owned(), Ok(())));
    let saves = store.saves();
    let manager = quiet(&server, &store);
    for auth in [&manager, &manager, &quiet(&server, &store)] {
        let error = refused(&server, auth).await;
        assert!(error.ends_with("wants the further permission write: log in"), "{error}");
    }
    // The scope was saved at the first refusal only.
    assert_eq!(store.saves(), saves + 1);
    assert_eq!(login(&server, &store, "code=c").await, ("basic write".to_owned(), Ok(())));
    // The refused call succeeds now.
    let connection = connect(&server, &manager).await.unwrap();
    assert_eq!(echo(&connection, 1).await.unwrap(), "1");
    assert_eq!(world.runs.lock().unwrap()["1"], 1);
}

/// The advice stays the same however often the call is repeated.
#[tokio::test]
async fn many_refusals_without_a_browser_are_no_loop() {
    let (_world, server) = start(World { scope: Some("write"), ..World::default() });
    let store = Arc::new(Counting::default());
    login(&server, &store, "code=c").await.1.unwrap();
    let auth = quiet(&server, &store);
    let connection = connect(&server, &auth).await.unwrap();
    for n in 0..20 {
        let error = echo(&connection, n).await.unwrap_err().to_string();
        assert!(error.ends_with("wants the further permission write: log in"), "{error}");
    }
}

#[tokio::test]
async fn a_scope_that_is_never_granted_does_not_prevent_logins() {
    for (answer, why) in [
        ("error=invalid_scope", "the authorization server says invalid_scope"),
        ("error=access_denied", "access was denied"),
    ] {
        let (_world, server) = start(World { scope: Some("write"), ..World::default() });
        let store = Arc::new(Counting::default());
        login(&server, &store, "code=c").await.1.unwrap();
        refused(&server, &quiet(&server, &store)).await;
        let (asked, outcome) = login(&server, &store, answer).await;
        assert_eq!(asked, "basic write");
        let expected = format!("the login failed: {why}; the next login will not request write, ");
        let error = outcome.unwrap_err();
        assert!(error.starts_with(&expected), "{error}");
        assert_eq!(login(&server, &store, "code=c").await, ("basic".to_owned(), Ok(())));
    }
}

/// Scopes that were never granted are dropped first, then those of earlier logins.
#[tokio::test]
async fn a_scope_that_the_authorization_server_has_given_up_is_not_asked_for_for_ever() {
    let server = start_picky();
    let store = Arc::new(Counting::default());
    login(&server, &store, "code=c").await.1.unwrap();
    refused_for(&server, &quiet(&server, &store), 1).await;
    assert_eq!(login(&server, &store, "code=c").await, ("basic s1".to_owned(), Ok(())));
    refused_for(&server, &quiet(&server, &store), 2).await;
    for (expected, dropped) in [("basic s1 s2", "s2"), ("basic s1", "s1")] {
        let (asked, outcome) = login(&server, &store, "error=invalid_scope").await;
        assert_eq!(asked, expected);
        let error = outcome.unwrap_err();
        let note = format!("; the next login will not request {dropped}, which this one ");
        assert!(error.contains(&note), "{error}");
    }
    // No scope is dropped now, so the error has no note.
    let (asked, outcome) = login(&server, &store, "error=invalid_scope").await;
    assert_eq!(asked, "basic");
    assert!(outcome.unwrap_err().ends_with("invalid_scope"));
    assert_eq!(login(&server, &store, "code=c").await, ("basic".to_owned(), Ok(())));
}

/// A failed login takes minutes, in which other processes log in, refresh and log out.
#[tokio::test]
async fn a_login_that_fails_leaves_alone_what_others_keep_meanwhile() {
    for answer in ["error=access_denied", "error=invalid_scope"] {
        let (_world, server) = start(World { scope: Some("write"), ..World::default() });
        let store = Arc::new(Counting::default());
        login(&server, &store, "code=c").await.1.unwrap();
        refused(&server, &quiet(&server, &store)).await;
        let before = store.now();
        assert_eq!((&before["asked"], &before["wanted"]), (&json!(["basic"]), &json!(["write"])));

        let mut refreshed = before.clone();
        refreshed["tokens"]["access"] = "access-9".into();
        refreshed["wanted"] = json!(["write", "other"]);
        let mut refreshed_after = refreshed.clone();
        refreshed_after["wanted"] = json!(["other"]);
        let mut logged_in = before.clone();
        logged_in["tokens"]["access"] = "access-9".into();
        logged_in["asked"] = json!(["basic", "write"]);
        logged_in["wanted"] = json!([]);
        for (meanwhile, after) in [
            (refreshed, refreshed_after),
            (logged_in.clone(), logged_in),
            (Value::Null, Value::Null),
        ] {
            store.replace(&before);
            let person = Person::new(&[&format!("GET /callback?{answer}&state=STATE HTTP/1.1")]);
            let slow = Slow { person, store: Arc::clone(&store), meanwhile };
            let settings = settings(&Person::agreeing())
                .with_store(Arc::<Counting>::clone(&store))
                .with_browser(Arc::new(slow));
            let auth = Auth::new(&server.url("/mcp"), settings).unwrap();
            auth.login().await.unwrap_err();
            assert_eq!(store.now(), after);
        }
    }
}

#[tokio::test]
async fn each_permission_that_is_refused_is_named_and_remembered() {
    let server = start_picky();
    let store = Arc::new(Counting::default());
    login(&server, &store, "code=c").await.1.unwrap();
    let auth = quiet(&server, &store);
    let connection = connect(&server, &auth).await.unwrap();
    for n in [1, 2, 1, 2] {
        let error = echo(&connection, n).await.unwrap_err().to_string();
        let expected = format!("wants the further permission s{n}: log in");
        assert!(error.ends_with(&expected), "{error}");
    }
    assert_eq!(login(&server, &store, "code=c").await.0, "basic s1 s2");
}

/// After a declined login, no page is opened for another scope for some time.
#[tokio::test]
async fn another_permission_is_left_to_the_next_login_after_a_no() {
    let server = start_picky();
    let store = Arc::new(Counting::default());
    login(&server, &store, "code=c").await.1.unwrap();
    let person = Person::new(&["GET /callback?error=access_denied&state=STATE HTTP/1.1"]);
    let settings = settings(&person).with_store(Arc::<Counting>::clone(&store));
    let auth = Auth::new(&server.url("/mcp"), settings).unwrap();
    let connection = connect(&server, &auth).await.unwrap();
    for (n, expected) in [
        (1, "access was denied"),
        (2, "wants the further permission s2: run `hardline login it`"),
        (1, "access was denied"),
    ] {
        let error = echo(&connection, n).await.unwrap_err().to_string();
        assert!(error.ends_with(expected), "{error}");
    }
    assert_eq!(person.opened().len(), 1);
    assert_eq!(store.now()["wanted"], json!(["s2"]));
}

#[tokio::test]
async fn a_scope_that_was_dropped_is_not_brought_back_by_a_process_that_runs() {
    let server = start_picky();
    let store = Arc::new(Counting::default());
    login(&server, &store, "code=c").await.1.unwrap();
    let manager = quiet(&server, &store);
    refused_for(&server, &manager, 1).await;
    assert_eq!(login(&server, &store, "code=c").await, ("basic s1".to_owned(), Ok(())));
    manager.status().await.unwrap();
    login(&server, &store, "error=invalid_scope").await.1.unwrap_err();
    refused_for(&server, &manager, 2).await;
    let now = store.now();
    assert_eq!((&now["asked"], &now["wanted"]), (&json!([]), &json!(["s2"])));
}
