//! Permissions that a call is refused for, and the login that asks for them, in whatever process.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use hardline_client::auth::{Auth, AuthSettings, Key, MemoryStore, Secret, TokenStore};
use hardline_testkit::http::Server;
use hardline_testkit::oauth::World;

use super::person::{Person, query};
use super::{connect, echo, settings, start};

/// A store that counts how often something is kept.
#[derive(Debug, Default)]
struct Counting {
    kept: MemoryStore,
    saves: AtomicUsize,
}

impl TokenStore for Counting {
    fn load(&self, key: &Key) -> Result<Option<Secret>, String> {
        self.kept.load(key)
    }

    fn save(&self, key: &Key, text: &Secret) -> Result<(), String> {
        self.saves.fetch_add(1, Ordering::SeqCst);
        self.kept.save(key, text)
    }

    fn remove(&self, key: &Key) -> Result<bool, String> {
        self.kept.remove(key)
    }
}

impl Counting {
    fn saves(&self) -> usize {
        self.saves.load(Ordering::SeqCst)
    }
}

/// What a process without a browser has, as the manager and `hardline call`.
fn quiet(server: &Server, store: &Arc<Counting>) -> Auth {
    let store = Arc::<Counting>::clone(store);
    let settings = AuthSettings::new().with_store(store).with_login_advice("log in");
    Auth::new(&server.url("/mcp"), settings).unwrap()
}

/// Logs in as a process of its own, as `hardline login`. Returns the scopes that were asked for.
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
    let connection = connect(server, auth).await.unwrap();
    echo(&connection, 1).await.unwrap_err().to_string()
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
    // It was kept at the first refusal, and once.
    assert_eq!(store.saves(), saves + 1);
    assert_eq!(login(&server, &store, "code=c").await, ("basic write".to_owned(), Ok(())));
    // Whoever was refused is let in now.
    let connection = connect(&server, &manager).await.unwrap();
    assert_eq!(echo(&connection, 1).await.unwrap(), "1");
    assert_eq!(world.runs.lock().unwrap()["1"], 1);
}

/// However often somebody tries, the error stays the one that says what to do.
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
async fn a_permission_that_nobody_gives_does_not_keep_anybody_out() {
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
        let expected = format!("the login failed: {why}; the next login does not ask for write, ");
        let error = outcome.unwrap_err();
        assert!(error.starts_with(&expected), "{error}");
        assert_eq!(login(&server, &store, "code=c").await, ("basic".to_owned(), Ok(())));
    }
}

/// What was given once may be gone later.
#[tokio::test]
async fn a_scope_that_the_authorization_server_has_given_up_is_not_asked_for_for_ever() {
    let (_world, server) = start(World { scope: Some("write"), ..World::default() });
    let store = Arc::new(Counting::default());
    login(&server, &store, "code=c").await.1.unwrap();
    refused(&server, &quiet(&server, &store)).await;
    assert_eq!(login(&server, &store, "code=c").await, ("basic write".to_owned(), Ok(())));
    let (asked, outcome) = login(&server, &store, "error=invalid_scope").await;
    assert_eq!(asked, "basic write");
    assert!(outcome.unwrap_err().contains("the next login does not ask for basic write"));
    assert_eq!(login(&server, &store, "code=c").await, ("basic".to_owned(), Ok(())));
}
