//! Tool lists: listing, changes, and the cache.

use std::sync::Arc;
use std::time::Duration;

use hardline_client::manager::{
    Connect, Freshness, Manager, ManagerEvent, ManagerSettings, ServerState,
};
use hardline_client::{AddServerError, Connection, ConnectionSettings, Error, ServerEvent};
use hardline_transport::client::BoxFuture;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::sleep;

use crate::peer::{Peer, discovered};

use super::stage::{Plan, Stage, manager, tool, until};

fn names(manager: &Manager) -> Vec<String> {
    manager.catalog().tools().iter().map(|it| it.name.to_string()).collect()
}

#[tokio::test(start_paused = true)]
async fn a_burst_of_changes_causes_few_listings() {
    let stage = Stage::local();
    let manager = manager(&[("near", &stage)]);
    manager.listed().await;
    assert_eq!(names(&manager), ["near__die", "near__echo", "near__hang"]);
    let mut events = manager.events();
    for number in 0..100 {
        stage.set_tools(vec![tool(&format!("t{number}"))]);
        tokio::task::yield_now().await;
    }
    while names(&manager) != ["near__t99"] {
        sleep(Duration::from_millis(10)).await;
    }
    sleep(Duration::from_secs(1)).await;
    let mut lists = 0;
    let mut told = 0;
    while let Some(event) = events.try_recv() {
        match event {
            ManagerEvent::CatalogChanged => lists += 1,
            ManagerEvent::Server { server, event: ServerEvent::Notification(it) } => {
                assert_eq!(&*server, "near");
                assert_eq!(&*it.method, "notifications/tools/list_changed");
                told += 1;
            }
            event => panic!("{event:?}"),
        }
    }
    assert!(lists <= 3 && told > 0, "{lists} lists, told {told} times");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_listed_is_in_the_catalog() {
    for _ in 0..100 {
        let (one, other) = (Stage::local(), Stage::local());
        let manager = manager(&[("one", &one), ("other", &other)]);
        manager.listed().await;
        assert_eq!(manager.catalog().tools().len(), 6);
        manager.call_tool("other__echo", json!({})).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn tools_beyond_the_limit_are_counted() {
    let stage = Stage::local();
    stage.set_tools((0..10_007).map(|number| tool(&format!("t{number}"))).collect());
    let manager = manager(&[("near", &stage)]);
    manager.listed().await;
    assert_eq!(manager.catalog().tools().len(), 10_000);
    assert_eq!(manager.status("near").unwrap().unlisted, 7);
}

#[tokio::test(start_paused = true)]
async fn the_order_is_that_of_the_servers_however_late_they_are() {
    let (late, soon) = (Stage::new(Plan::Refuse, true), Stage::local());
    for stage in [&late, &soon] {
        stage.set_tools(vec![tool("b"), tool("a")]);
    }
    let manager = manager(&[("late", &late), ("soon", &soon)]);
    manager.listed().await;
    assert_eq!(names(&manager), ["soon__a", "soon__b"]);
    late.plan(Plan::Live);
    until(&manager, "late", ServerState::is_connected).await;
    manager.listed().await;
    assert_eq!(names(&manager), ["late__a", "late__b", "soon__a", "soon__b"]);
    assert_eq!(manager.catalog().shadows().len(), 2);
    manager.remove("late").unwrap();
    assert!(matches!(manager.remove("late"), Err(Error::Unknown(_))));
    assert_eq!(names(&manager), ["soon__a", "soon__b"]);
    let taken = manager.add("soon", Arc::new(Stage::local())).unwrap_err();
    assert_eq!(taken, AddServerError::NameTaken("soon".into()));
}

#[tokio::test(start_paused = true)]
async fn a_slow_server_is_listed_as_it_was_and_a_call_waits_for_it() {
    let directory = tempfile::tempdir().unwrap();
    let settings = ManagerSettings::default().with_cache(directory.path().join("tools"));
    let stage = Stage::local();
    let first = Manager::new(settings.clone());
    first.add("near", Arc::new(stage.clone())).unwrap();
    first.listed().await;
    first.close().await;

    stage.plan(Plan::Refuse);
    let second = Manager::new(settings);
    second.add("near", Arc::new(stage.clone())).unwrap();
    while second.catalog().tools().is_empty() {
        sleep(Duration::from_millis(1)).await;
    }
    assert_eq!(second.catalog().find("near__echo").unwrap().freshness, Freshness::Cached);
    let call = {
        let second = second.clone();
        tokio::spawn(async move { second.call_tool("near__echo", json!({})).await })
    };
    sleep(Duration::from_millis(100)).await;
    stage.plan(Plan::Live);
    call.await.unwrap().unwrap();
    second.listed().await;
    assert_eq!(second.catalog().find("near__echo").unwrap().freshness, Freshness::Current);
}

/// A server of 2026-07-28, which notifies only subscribers.
#[derive(Debug)]
struct Stateless(mpsc::Sender<Peer>);

impl Connect for Stateless {
    fn connect(&self, settings: ConnectionSettings) -> BoxFuture<'_, Result<Connection, Error>> {
        Box::pin(async move {
            let (stream, mut peer) = Peer::pair();
            let opening = tokio::spawn(Connection::open(stream, settings));
            let asked = peer.expect("server/discover").await;
            let mut about = discovered(&["2026-07-28"]);
            about["capabilities"] = json!({ "tools": { "listChanged": true } });
            peer.result(&asked, about).await;
            let opened = opening.await.unwrap();
            self.0.send(peer).await.unwrap();
            opened
        })
    }

    fn is_remote(&self) -> bool {
        true
    }
}

/// Answers the manager's requests until `subscriptions/listen`, and returns that request.
async fn play(peer: &mut Peer, tool_name: &str) -> Value {
    loop {
        let message = peer.receive().await.unwrap();
        match message["method"].as_str().unwrap() {
            "tools/list" => {
                let tools = [tool(tool_name)];
                peer.result(&message, json!({ "resultType": "complete", "tools": tools })).await;
            }
            "subscriptions/listen" => return message,
            _ => {}
        }
    }
}

#[tokio::test(start_paused = true)]
async fn resubscribes_when_the_notification_stream_ends() {
    let (sender, mut peers) = mpsc::channel(1);
    let manager = Manager::new(ManagerSettings::default());
    manager.add("far", Arc::new(Stateless(sender))).unwrap();
    let mut peer = peers.recv().await.unwrap();
    let listen = play(&mut peer, "old").await;
    assert_eq!(listen["params"]["notifications"], json!({ "toolsListChanged": true }));
    let method = "notifications/tools/list_changed";
    peer.send(json!({ "jsonrpc": "2.0", "method": method })).await;
    // After the end of the stream, the manager subscribes again and lists the tools.
    peer.result(&listen, json!({ "resultType": "complete" })).await;
    let again = play(&mut peer, "new").await;
    assert_ne!(again["id"], listen["id"]);
    let follow = tokio::spawn(async move {
        play(&mut peer, "new").await;
    });
    while names(&manager) != ["far__new"] {
        sleep(Duration::from_millis(10)).await;
    }
    follow.abort();
}

#[tokio::test(start_paused = true)]
async fn states_lists_and_notifications_come_in_one_order() {
    let stage = Stage::local();
    let manager = Manager::new(ManagerSettings::default());
    let mut events = manager.events();
    manager.add("near", Arc::new(stage.clone())).unwrap();
    manager.listed().await;
    stage.set_tools(vec![tool("new")]);
    while names(&manager) != ["near__new"] {
        sleep(Duration::from_millis(10)).await;
    }
    stage.kill();
    until(&manager, "near", ServerState::has_failed).await;
    let mut seen = Vec::new();
    while let Some(event) = events.try_recv() {
        seen.push(match event {
            ManagerEvent::State { state: ServerState::Connecting, .. } => "connecting",
            ManagerEvent::State { state: ServerState::Connected { .. }, .. } => "connected",
            ManagerEvent::State { state: ServerState::Waiting { .. }, .. } => "waiting",
            ManagerEvent::CatalogChanged => "catalog",
            ManagerEvent::Server { event: ServerEvent::Notification(_), .. } => "notification",
            ManagerEvent::Server { .. } => "event",
            event => panic!("{event:?}"),
        });
    }
    seen.retain(|it| *it != "event");
    let expected =
        ["connecting", "connected", "catalog", "notification", "catalog", "catalog", "waiting"];
    assert_eq!(seen, expected);
}

#[tokio::test]
async fn a_manager_is_made_from_a_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("mcp.json");
    let servers = json!({
        "off": { "command": "/nonexistent", "disabled": true },
        "wrong": { "command": 1 },
        "gone": { "command": "/nonexistent" },
    });
    std::fs::write(&path, json!({ "mcpServers": servers }).to_string()).unwrap();
    let manager = Manager::from_file(&path, ManagerSettings::default().when_asked()).unwrap();
    let names: Vec<_> = manager.statuses().iter().map(|it| it.server.to_string()).collect();
    assert_eq!(names, ["gone", "off"]);
    assert_eq!(manager.status("off").unwrap().state, ServerState::Disabled);
    let missing = directory.path().join("other.json");
    assert!(Manager::from_file(missing, ManagerSettings::default()).is_err());
}
