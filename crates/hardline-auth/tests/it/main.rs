//! Logins at a scripted server that is its own authorization server, through connections of `hardline-client`.
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests may")]
#![expect(clippy::indexing_slicing, reason = "of JSON, which gives null")]

mod hostile;
mod login;
mod person;
mod refresh;
mod scope;
mod secrecy;
mod store;

use std::sync::Arc;

use hardline_auth::{Auth, AuthSettings, MemoryStore};
use hardline_client::{Connection, ConnectionSettings, Error, Versions};
use hardline_testkit::http::Server;
use hardline_testkit::oauth::World;
use hardline_transport::http::HttpSettings;
use person::Person;
use serde_json::json;

/// Returns settings with a store and a person in front of the browser.
fn settings(person: &Arc<Person>) -> AuthSettings {
    AuthSettings::new()
        .with_store(Arc::new(MemoryStore::new()))
        .with_browser(Arc::<Person>::clone(person))
        .with_login_advice("run `hardline login it`")
}

/// Logs in to the server with these settings.
async fn logged_in(server: &Server, settings: AuthSettings) -> Auth {
    let auth = Auth::new(&server.url("/mcp"), settings).unwrap();
    auth.login().await.unwrap();
    auth
}

async fn connect(server: &Server, auth: &Auth) -> Result<Connection, Error> {
    let config = HttpSettings::new(&server.url("/mcp")).unwrap();
    let config = config.with_header_source(Arc::new(auth.clone()));
    let settings = ConnectionSettings::default().with_versions(Versions::WithHandshake);
    Connection::connect_with(config, settings).await
}

/// Calls a tool that returns its argument.
async fn echo(connection: &Connection, n: usize) -> Result<String, Error> {
    let result = connection.call_tool("echo", json!({ "n": n })).await?;
    let text = result.content.first().and_then(|it| it.as_text()).map(|it| it.text.clone());
    Ok(text.unwrap_or_default())
}

/// Calls the tool twenty times concurrently.
async fn echo_twenty(connection: &Connection) -> Vec<Result<String, Error>> {
    let calls: Vec<_> = (0..20)
        .map(|n| {
            let connection = connection.clone();
            tokio::spawn(async move { echo(&connection, n).await })
        })
        .collect();
    let mut outcomes = Vec::new();
    for call in calls {
        outcomes.push(call.await.unwrap());
    }
    outcomes
}

/// Starts the server of a world.
fn start(world: World) -> (Arc<World>, Server) {
    let world = Arc::new(world);
    let server = Server::start({
        let world = Arc::clone(&world);
        async move |it| world.serve(it).await
    });
    (world, server)
}
