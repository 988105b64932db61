//! Calls to servers that die, return, or are not connected yet.

use std::sync::Arc;
use std::time::Duration;

use hardline_client::manager::{Connect, Manager, ManagerSettings, ServerState};
use hardline_client::{Connection, ConnectionSettings, Error, RequestOptions};
use hardline_transport::client::BoxFuture;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::stage::{Plan, Stage, manager, tool, until};

async fn call(manager: &Manager, server: &str, tool: &str) -> Result<String, Error> {
    let result =
        manager.call_tool_of(server, tool, Value::Null, &RequestOptions::default()).await?;
    let result = serde_json::to_value(result).unwrap();
    Ok(result["content"][0]["text"].as_str().unwrap().to_owned())
}

#[tokio::test(start_paused = true)]
async fn goes_to_the_server_that_has_the_tool() {
    let (one, other) = (Stage::local(), Stage::local());
    let manager = manager(&[("one", &one), ("other", &other)]);
    manager.listed().await;
    manager.call_tool("other__echo", json!({})).await.unwrap();
    assert_eq!((one.runs("echo"), other.runs("echo")), (0, 1));
    for (name, words) in [("echo", "no server has a tool echo"), ("\u{1b}[0m", "no server has")] {
        let error = manager.call_tool(name, json!({})).await.unwrap_err().to_string();
        assert!(error.contains(words) && !error.contains('\u{1b}'), "{error}");
    }
    let error = call(&manager, "unknown", "echo").await.unwrap_err();
    assert!(matches!(error, Error::Unknown(_)), "{error:?}");
    let error = manager.call_tool("one__echo", json!([1])).await.unwrap_err();
    assert!(matches!(error, Error::Params(_)), "{error:?}");
}

#[tokio::test(start_paused = true)]
async fn one_in_flight_when_its_server_dies_is_not_made_again() {
    let stage = Stage::local();
    let manager = manager(&[("near", &stage)]);
    manager.listed().await;
    let error = call(&manager, "near", "die").await.unwrap_err();
    assert!(matches!(error, Error::Lost { .. }), "{error:?}");
    assert!(error.to_string().contains("may have been executed"), "{error}");
    until(&manager, "near", ServerState::is_connected).await;
    sleep(Duration::from_secs(60)).await;
    assert_eq!(stage.runs("die"), 1);
}

#[tokio::test(start_paused = true)]
async fn one_that_does_no_harm_is_made_again_once() {
    for hint in ["readOnlyHint", "idempotentHint"] {
        let stage = Stage::local();
        let mut die = tool("die");
        die["annotations"] = json!({ hint: true });
        stage.set_tools(vec![die]);
        let manager = manager(&[("near", &stage)]);
        manager.listed().await;
        assert_eq!(call(&manager, "near", "die").await.unwrap(), "die");
        assert_eq!(stage.runs("die"), 2);
        // If the server stays away, the call fails in time, and the error says what happened.
        stage.plan(Plan::Refuse);
        let manager = manager.clone();
        let hanging = tokio::spawn(async move {
            let mut hang = tool("hang");
            hang["annotations"] = json!({ hint: true });
            call(&manager, "near", "hang").await
        });
        while stage.runs("hang") == 0 {
            sleep(Duration::from_millis(10)).await;
        }
        stage.kill();
        let error = hanging.await.unwrap().unwrap_err();
        assert!(matches!(error, Error::Lost { .. }), "{error:?}");
        assert_eq!(stage.runs("hang"), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn one_made_while_the_server_is_away_waits_for_it() {
    let stage = Stage::new(Plan::Refuse, false);
    let manager = manager(&[("near", &stage)]);
    until(&manager, "near", ServerState::has_failed).await;
    let calls: Vec<_> = (0..50)
        .map(|_| {
            let manager = manager.clone();
            tokio::spawn(async move { call(&manager, "near", "echo").await })
        })
        .collect();
    sleep(Duration::from_millis(600)).await;
    stage.plan(Plan::Live);
    for call in calls {
        assert_eq!(call.await.unwrap().unwrap(), "echo");
    }
    assert_eq!(stage.runs("echo"), 50);
    assert!(stage.attempts() <= 3, "{}", stage.attempts());
}

#[tokio::test(start_paused = true)]
async fn one_waits_no_longer_than_it_may() {
    let stage = Stage::new(Plan::Hang, false);
    let settings = ManagerSettings::default().with_max_wait(Duration::from_secs(7));
    let manager = Manager::new(settings);
    manager.add("near", Arc::new(stage.clone())).unwrap();
    let now = Instant::now();
    let error = call(&manager, "near", "echo").await.unwrap_err();
    assert!(matches!(error, Error::Away { .. }), "{error:?}");
    assert_eq!(now.elapsed().as_secs(), 7);
}

#[tokio::test(start_paused = true)]
async fn a_silently_broken_connection_is_replaced() {
    let stage = Stage::local();
    let manager = manager(&[("near", &stage)]);
    manager.listed().await;
    for round in 0..100 {
        stage.kill();
        // The call may have been sent, so it is not repeated; but it ends, and the next one succeeds.
        match call(&manager, "near", "echo").await {
            Ok(_) | Err(Error::Lost { .. }) => {}
            Err(error) => panic!("{round}: {error:?}"),
        }
        sleep(Duration::from_secs(31)).await;
        call(&manager, "near", "echo").await.unwrap();
    }
    assert!(stage.runs("echo") <= 200);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_asked_for_first_is_connected_to_then() {
    let stage = Stage::local();
    let manager = Manager::new(ManagerSettings::default().when_asked());
    manager.add("near", Arc::new(stage.clone())).unwrap();
    sleep(Duration::from_secs(5)).await;
    assert_eq!(stage.attempts(), 0);
    assert_eq!(call(&manager, "near", "echo").await.unwrap(), "echo");
    assert_eq!(stage.attempts(), 1);
}

/// A server with a request timeout of its own.
#[derive(Debug)]
struct Timed(Stage);

impl Connect for Timed {
    fn connect(&self, settings: ConnectionSettings) -> BoxFuture<'_, Result<Connection, Error>> {
        self.0.connect(settings)
    }

    fn is_remote(&self) -> bool {
        self.0.is_remote()
    }

    fn timeout(&self) -> Option<Duration> {
        Some(Duration::from_secs(3))
    }
}

#[tokio::test(start_paused = true)]
async fn timeouts_are_those_of_the_server() {
    let stage = Stage::local();
    let manager = Manager::new(ManagerSettings::default());
    manager.add("near", Arc::new(Timed(stage.clone()))).unwrap();
    manager.listed().await;
    let error = call(&manager, "near", "hang").await.unwrap_err();
    assert!(matches!(error, Error::Timeout { after, .. } if after.as_secs() == 3), "{error:?}");
    // A timed-out request casts no doubt on its connection.
    assert!(manager.status("near").unwrap().state.is_connected());
}

#[tokio::test(start_paused = true)]
async fn one_of_a_tool_that_is_not_listed_yet_waits_for_the_list() {
    let (near, far) = (Stage::new(Plan::Refuse, false), Stage::new(Plan::Hang, true));
    let manager = manager(&[("near", &near), ("far", &far)]);
    let calling = |name: &'static str| {
        let manager = manager.clone();
        tokio::spawn(async move { manager.call_tool(name, json!({})).await })
    };
    let (call, missing) = (calling("near__echo"), calling("near__other"));
    sleep(Duration::from_millis(100)).await;
    near.plan(Plan::Live);
    call.await.unwrap().unwrap();
    // Once the server has listed its tools, it is certain that it has no such tool.
    let now = Instant::now();
    assert!(matches!(missing.await.unwrap(), Err(Error::Unknown(_))));
    // The server that hangs has nothing to do with it.
    assert!(now.elapsed() < Duration::from_secs(1));
    let error = manager.call_tool("far__echo", json!({})).await.unwrap_err();
    assert!(matches!(error, Error::Away { .. }), "{error:?}");
    assert!(error.is_connect() && !error.may_have_run());
}

#[tokio::test(start_paused = true)]
async fn one_with_a_total_limit_waits_no_longer_than_that() {
    let stage = Stage::new(Plan::Hang, false);
    let manager = manager(&[("near", &stage)]);
    let options = RequestOptions::default().with_max_total(Duration::from_secs(4));
    let now = Instant::now();
    let error = manager.call_tool_with("near__hang", json!({}), &options).await.unwrap_err();
    assert!(matches!(error, Error::Away { .. }), "{error:?}");
    assert_eq!(now.elapsed().as_secs(), 4);
    // The wait for the server and the wait for the answer have one limit together.
    let late = Stage::new(Plan::Refuse, false);
    let manager = super::stage::manager(&[("late", &late)]);
    let calling = tokio::spawn(async move {
        let now = Instant::now();
        let called = manager.call_tool_of("late", "hang", json!({}), &options).await;
        (called.unwrap_err(), now.elapsed())
    });
    sleep(Duration::from_millis(100)).await;
    late.plan(Plan::Live);
    let (error, elapsed) = calling.await.unwrap();
    assert!(error.is_timeout() && error.may_have_run(), "{error:?}");
    assert_eq!(elapsed.as_secs(), 4);
}

#[tokio::test(start_paused = true)]
async fn a_resource_is_read_through_the_manager() {
    let stage = Stage::local();
    let manager = manager(&[("near", &stage)]);
    let read = manager.read_resource("near", "file:///notes.txt").await.unwrap();
    let read = serde_json::to_value(read).unwrap();
    assert_eq!(read["contents"][0]["uri"], "file:///notes.txt");
    let error = manager.read_resource("nowhere", "file:///notes.txt").await.unwrap_err();
    assert!(matches!(error, Error::Unknown(_)), "{error:?}");
}
