//! Detection of the server's era, and the handshake.

use hardline_client::{Connection, ConnectionSettings, Error, Version, Versions};
use serde_json::{Value, json};

use crate::peer::{Peer, assert_closed, discovered};

/// Opens a session with a server that answers `server/discover` as given and then speaks 2025-11-25.
async fn falls_back(answer: impl AsyncFnOnce(&mut Peer, &Value)) {
    let (stream, mut peer) = Peer::pair();
    let opening = tokio::spawn(Connection::open(stream, ConnectionSettings::default()));
    let asked = peer.expect("server/discover").await;
    answer(&mut peer, &asked).await;
    peer.greet().await;
    let connection = opening.await.unwrap().unwrap();
    assert_eq!(connection.version(), Version::V2025_11_25);
    assert_eq!(connection.server().instructions.as_deref(), Some("be kind"));
    assert_eq!(connection.server().implementation.unwrap().name, "peer");
}

#[tokio::test]
async fn any_error_but_one_means_initialize() {
    for code in [-32601, -32600, -32602, -32603, -32000, -32002, 7] {
        falls_back(async |peer, asked| peer.error(asked, code, json!({})).await).await;
    }
    falls_back(async |peer, asked| peer.result(asked, json!({})).await).await;
    let error = json!({ "code": -32600, "message": "?" });
    falls_back(async |peer, _| peer.send(json!({ "jsonrpc": "2.0", "error": error })).await).await;
}

#[tokio::test]
async fn a_server_may_offer_older_versions_alone() {
    for data in [json!({ "supported": ["2025-06-18", "2024-11-05"], "requested": "2026-07-28" })] {
        let (stream, mut peer) = Peer::pair();
        let opening = tokio::spawn(Connection::open(stream, ConnectionSettings::default()));
        let asked = peer.expect("server/discover").await;
        peer.error(&asked, -32022, data).await;
        peer.greet().await;
        assert_eq!(opening.await.unwrap().unwrap().version(), Version::V2025_06_18);
    }
}

#[tokio::test]
async fn reports_that_no_version_is_in_common() {
    let (stream, mut peer) = Peer::pair();
    let opening = tokio::spawn(Connection::open(stream, ConnectionSettings::default()));
    let asked = peer.expect("server/discover").await;
    peer.error(&asked, -32022, json!({ "supported": ["2031-01-01\u{1b}"] })).await;
    let error = opening.await.unwrap().unwrap_err();
    assert!(matches!(error, Error::Version(_)), "{error:?}");
    assert!(error.to_string().contains(r"2031-01-01\u{1b}"), "{error}");

    let (stream, mut peer) = Peer::pair();
    let settings = ConnectionSettings::default().with_versions(Versions::WithHandshake);
    let opening = tokio::spawn(Connection::open(stream, settings));
    let asked = peer.expect("initialize").await;
    peer.result(&asked, json!({ "protocolVersion": "1.0", "capabilities": {} })).await;
    assert!(matches!(opening.await.unwrap(), Err(Error::Version(_))));
}

#[tokio::test]
async fn a_server_of_the_new_era_is_not_greeted() {
    let (connection, mut peer) = Peer::stateless(ConnectionSettings::default()).await;
    assert_eq!(connection.version(), Version::V2026_07_28);
    assert_eq!(connection.server().implementation.unwrap().name, "peer");
    tokio::spawn(async move { connection.ping().await });
    let ping = peer.expect("server/discover").await;
    let meta = &ping["params"]["_meta"];
    assert_eq!(meta["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
    assert_eq!(meta["io.modelcontextprotocol/clientInfo"]["name"], "hardline");
    assert!(meta["io.modelcontextprotocol/clientCapabilities"].is_object());
}

#[tokio::test]
async fn uses_the_version_in_the_servers_answer() {
    let (stream, mut peer) = Peer::pair();
    let settings = ConnectionSettings::default().with_versions(Versions::WithHandshake);
    let opening = tokio::spawn(Connection::open(stream, settings));
    let asked = peer.expect("initialize").await;
    assert_eq!(asked["params"]["protocolVersion"], "2025-11-25");
    peer.result(&asked, json!({ "protocolVersion": "2024-11-05", "capabilities": {} })).await;
    peer.expect("notifications/initialized").await;
    assert_eq!(opening.await.unwrap().unwrap().version(), Version::V2024_11_05);

    let (stream, mut peer) = Peer::pair();
    let only = ConnectionSettings::default().with_versions(Versions::Only(Version::V2025_06_18));
    let opening = tokio::spawn(Connection::open(stream, only));
    let asked = peer.expect("initialize").await;
    assert_eq!(asked["params"]["protocolVersion"], "2025-06-18");
    peer.result(&asked, json!({ "protocolVersion": "2025-03-26", "capabilities": {} })).await;
    assert!(matches!(opening.await.unwrap(), Err(Error::Version(_))));
}

#[tokio::test(start_paused = true)]
async fn a_server_silent_on_discover_gets_initialize() {
    falls_back(async |_, _| {}).await;
}

/// A server that was slow to start answers both requests. Its answer to `initialize` counts, because some
/// servers follow the last request that they received.
#[tokio::test(start_paused = true)]
async fn a_slow_server_may_answer_both() {
    let (stream, mut peer) = Peer::pair();
    let opening = tokio::spawn(Connection::open(stream, ConnectionSettings::default()));
    let asked = peer.expect("server/discover").await;
    let greeted = peer.expect("initialize").await;
    peer.result(&asked, discovered(&["2026-07-28"])).await;
    let result = json!({ "protocolVersion": "2025-11-25", "capabilities": {} });
    peer.result(&greeted, result).await;
    peer.expect("notifications/initialized").await;
    assert_eq!(opening.await.unwrap().unwrap().version(), Version::V2025_11_25);

    let (stream, mut peer) = Peer::pair();
    let opening = tokio::spawn(Connection::open(stream, ConnectionSettings::default()));
    let asked = peer.expect("server/discover").await;
    let greeted = peer.expect("initialize").await;
    peer.result(&asked, discovered(&["2026-07-28"])).await;
    peer.error(&greeted, -32022, json!({ "supported": ["2026-07-28"] })).await;
    assert_eq!(opening.await.unwrap().unwrap().version(), Version::V2026_07_28);
}

#[tokio::test(start_paused = true)]
async fn opening_times_out_if_the_server_never_answers() {
    let (stream, mut peer) = Peer::pair();
    let opening = tokio::spawn(Connection::open(stream, ConnectionSettings::default()));
    peer.expect("server/discover").await;
    peer.expect("initialize").await;
    let error = opening.await.unwrap().unwrap_err();
    assert!(matches!(error, Error::Timeout { .. }), "{error:?}");
    assert_eq!(error.to_string(), "no answer to the opening of the session within 60 s");
    // The server sees the end of the stream.
    assert!(peer.receive().await.is_none());
}

#[tokio::test]
async fn opening_fails_when_the_server_goes_away() {
    let (stream, peer) = Peer::pair();
    drop(peer);
    assert_closed(&Connection::open(stream, ConnectionSettings::default()).await);
}

#[tokio::test]
async fn noise_before_the_first_answer_costs_nothing() {
    falls_back(async |peer, asked| {
        peer.write("Server starting on stdio…").await;
        peer.write("{\"level\":\"info\"}").await;
        peer.write("").await;
        peer.error(asked, -32601, json!(null)).await;
    })
    .await;
}

#[tokio::test]
async fn a_server_that_refuses_the_question_but_not_the_version_is_asked_again() {
    let (stream, mut peer) = Peer::pair();
    let opening = tokio::spawn(Connection::open(stream, ConnectionSettings::default()));
    let asked = peer.expect("server/discover").await;
    peer.error(&asked, -32022, json!({ "supported": ["2026-07-28"] })).await;
    let asked = peer.expect("server/discover").await;
    peer.result(&asked, discovered(&["2026-07-28"])).await;
    let connection = opening.await.unwrap().unwrap();
    assert_eq!(connection.version(), Version::V2026_07_28);
    assert!(connection.server().capabilities.tools.is_some());
}
