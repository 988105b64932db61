//! Calls to servers that die, return, or are not connected yet.

use std::sync::Arc;
use std::time::Duration;

use hardline_client::manager::{Manager, ManagerSettings, ServerState};
use hardline_client::{Error, RequestOptions};
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
    assert!(error.to_string().contains("may or may not have been done"), "{error}");
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
    manager.add("near", Arc::new(stage.clone()), None);
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
    manager.add("near", Arc::new(stage.clone()), None);
    sleep(Duration::from_secs(5)).await;
    assert_eq!(stage.attempts(), 0);
    assert_eq!(call(&manager, "near", "echo").await.unwrap(), "echo");
    assert_eq!(stage.attempts(), 1);
}

#[tokio::test(start_paused = true)]
async fn timeouts_are_those_of_the_server() {
    let stage = Stage::local();
    let manager = Manager::new(ManagerSettings::default());
    manager.add("near", Arc::new(stage.clone()), Some(Duration::from_secs(3)));
    manager.listed().await;
    let error = call(&manager, "near", "hang").await.unwrap_err();
    assert!(matches!(error, Error::Timeout { after, .. } if after.as_secs() == 3), "{error:?}");
    // A timed-out request casts no doubt on its connection.
    assert!(manager.status("near").unwrap().state.is_connected());
}
