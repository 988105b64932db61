//! Unavailable servers and the backoff for them, on a paused clock.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hardline_client::config::{self, Dialect};
use hardline_client::manager::{Freshness, Manager, ManagerSettings, ServerState};
use hardline_client::{AddServerError, Error, RequestOptions};
use hardline_testkit::http::Server;
use serde_json::json;
use tokio::time::{Instant, sleep};

use super::stage::{Plan, Stage, manager, until};

#[track_caller]
fn assert_near(actual: &[u128], expected: &[u128]) {
    assert_eq!(actual.len(), expected.len(), "{actual:?}");
    for (actual, expected) in actual.iter().zip(expected) {
        let is_near = (expected * 79 / 100..=expected * 121 / 100 + 5).contains(actual);
        assert!(is_near, "{actual} for {expected}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_remote_one_is_tried_less_and_less() {
    let stage = Stage::new(Plan::Refuse, true);
    let manager = manager(&[("far", &stage)]);
    sleep(Duration::from_secs(3600)).await;
    let gaps = stage.gaps();
    assert_near(&gaps[..6], &[500, 1000, 2000, 4000, 15_000, 30_000]);
    assert!(stage.attempts() < 25, "{}", stage.attempts());
    assert!(gaps.iter().all(|it| *it < 361_000), "{gaps:?}");
    stage.plan(Plan::Live);
    until(&manager, "far", ServerState::is_connected).await;
    manager.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_local_one_that_always_fails_is_left_alone_until_it_is_asked_for() {
    let stage = Stage::new(Plan::Refuse, false);
    let manager = manager(&[("near", &stage)]);
    until(&manager, "near", |it| matches!(it, ServerState::Broken { .. })).await;
    assert_near(&stage.gaps(), &[500, 1000, 2000, 4000]);
    sleep(Duration::from_secs(20)).await;
    // Too soon for another attempt: a call fails at once.
    let now = Instant::now();
    let error = manager.call_tool_of("near", "echo", json!({}), &Default::default()).await;
    let error = error.unwrap_err();
    assert!(matches!(error, Error::Away { .. }), "{error:?}");
    assert!(error.to_string().contains("no server is listening"), "{error}");
    assert_eq!((now.elapsed(), stage.attempts()), (Duration::ZERO, 5));
    sleep(Duration::from_secs(3600)).await;
    assert_eq!(stage.attempts(), 5);
    // A call triggers one attempt, and another only after the minimum gap.
    for _ in 0..10 {
        let error = manager.call_tool_of("near", "echo", json!({}), &Default::default()).await;
        assert!(matches!(error, Err(Error::Away { .. })), "{error:?}");
    }
    assert_eq!(stage.attempts(), 6);
    stage.plan(Plan::Live);
    sleep(Duration::from_secs(60)).await;
    manager.call_tool_of("near", "echo", json!({}), &Default::default()).await.unwrap();
    assert_eq!(stage.attempts(), 7);
}

#[tokio::test(start_paused = true)]
async fn a_flapping_server_causes_no_reconnect_storm() {
    let stage = Stage::new(Plan::Flap, true);
    let manager = manager(&[("far", &stage)]);
    sleep(Duration::from_secs(60)).await;
    assert!(stage.attempts() <= 8, "{}", stage.attempts());
    // Constant calls cause no storm either.
    let before = stage.attempts();
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(60) {
        let _ = manager.call_tool_of("far", "echo", json!({}), &Default::default()).await;
        sleep(Duration::from_millis(10)).await;
    }
    assert!(stage.attempts() - before <= 6, "{}", stage.attempts() - before);
}

#[tokio::test(start_paused = true)]
async fn tools_stay_listed_and_marked_while_their_server_is_away() {
    let stage = Stage::local();
    let manager = manager(&[("near", &stage)]);
    manager.listed().await;
    let freshness = || manager.catalog().find("near__echo").map(|it| it.freshness);
    assert_eq!(freshness(), Some(Freshness::Current));
    stage.plan(Plan::Refuse);
    stage.kill();
    until(&manager, "near", ServerState::has_failed).await;
    assert_eq!(freshness(), Some(Freshness::Stale));
    stage.plan(Plan::Live);
    until(&manager, "near", ServerState::is_connected).await;
    manager.listed().await;
    assert_eq!(freshness(), Some(Freshness::Current));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_needs_a_login_is_retried_slowly_with_advice() {
    let stage = Stage::new(Plan::Login, true);
    let manager = manager(&[("far", &stage)]);
    let state = until(&manager, "far", ServerState::has_failed).await;
    assert!(
        matches!(&state, ServerState::LoginNeeded { reason } if reason.contains("hardline login"))
    );
    let error = manager.call_tool_of("far", "echo", json!({}), &Default::default()).await;
    assert!(error.unwrap_err().to_string().contains("hardline login"));
    sleep(Duration::from_secs(100)).await;
    assert!(stage.attempts() <= 4, "{}", stage.attempts());
    // After a login elsewhere, a call reconnects.
    stage.plan(Plan::Live);
    manager.call_tool_of("far", "echo", json!({}), &Default::default()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn reconnect_restarts_at_once() {
    let stage = Stage::new(Plan::Refuse, false);
    let manager = manager(&[("near", &stage)]);
    until(&manager, "near", |it| matches!(it, ServerState::Broken { .. })).await;
    stage.plan(Plan::Live);
    let now = Instant::now();
    manager.reconnect("near").unwrap();
    until(&manager, "near", ServerState::is_connected).await;
    assert!(now.elapsed() < Duration::from_millis(100));
    // Also for a connected server.
    let attempts = stage.attempts();
    manager.reconnect("near").unwrap();
    while stage.attempts() == attempts {
        sleep(Duration::from_millis(100)).await;
    }
    manager.call_tool_of("near", "echo", json!({}), &Default::default()).await.unwrap();
    assert!(manager.reconnect("unknown").is_err());
}

#[tokio::test(start_paused = true)]
async fn a_restart_counts_as_no_failure_even_during_a_hanging_open() {
    let stage = Stage::local();
    let manager = manager(&[("near", &stage)]);
    manager.listed().await;
    for round in 2..20 {
        let now = Instant::now();
        manager.reconnect("near").unwrap();
        while stage.attempts() < round {
            sleep(Duration::from_millis(1)).await;
        }
        assert!(now.elapsed() < Duration::from_millis(100), "{:?}", now.elapsed());
        manager.call_tool_of("near", "echo", json!({}), &Default::default()).await.unwrap();
    }
    stage.plan(Plan::Hang);
    manager.reconnect("near").unwrap();
    sleep(Duration::from_secs(1)).await;
    stage.plan(Plan::Live);
    manager.reconnect("near").unwrap();
    until(&manager, "near", ServerState::is_connected).await;
    sleep(Duration::from_secs(1)).await;
    assert!(manager.status("near").unwrap().state.is_connected());
}

#[tokio::test(start_paused = true)]
async fn the_last_failure_is_known_during_the_next_attempt() {
    let stage = Stage::new(Plan::Refuse, true);
    let manager = manager(&[("far", &stage)]);
    until(&manager, "far", ServerState::has_failed).await;
    stage.plan(Plan::Hang);
    until(&manager, "far", |it| *it == ServerState::Connecting).await;
    let status = manager.status("far").unwrap();
    assert!(status.last_failure.unwrap().contains("no server is listening"));
    let error = manager.call_tool_of("far", "echo", json!({}), &Default::default()).await;
    assert!(error.unwrap_err().to_string().contains("no server is listening"));
}

#[tokio::test]
async fn rejected_credentials_are_looked_up_again() {
    let is_good = Arc::new(AtomicBool::new(false));
    let is_let_in = Arc::clone(&is_good);
    let server = Server::start(async move |it| match it.rpc_method().as_str() {
        "initialize" => {
            it.answer(r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{}}}"#).await;
        }
        "tools/list" => it.answer(r#"{"tools":[]}"#).await,
        "tools/call" if is_let_in.load(Ordering::SeqCst) => it.answer(r#"{"content":[]}"#).await,
        "tools/call" => it.status(401).await,
        "" => it.status(405).await,
        name if name.starts_with("notifications/") => it.status(202).await,
        _ => it.status(404).await,
    });
    let text = json!({ "mcpServers": { "far": { "url": server.url("/mcp") } } }).to_string();
    let file = config::parse("mcp.json".as_ref(), text.as_bytes(), Dialect::Generic).unwrap();
    let manager = Manager::new(ManagerSettings::default());
    for config in file.servers {
        manager.add_configured(config).unwrap();
    }
    let options = RequestOptions::default();
    let error = manager.call_tool_of("far", "x", json!({}), &options).await.unwrap_err();
    assert!(error.to_string().contains("401"), "{error}");
    is_good.store(true, Ordering::SeqCst);
    while manager.status("far").unwrap().attempts < 2 {
        sleep(Duration::from_millis(10)).await;
    }
    manager.call_tool_of("far", "x", json!({}), &options).await.unwrap();
    manager.close().await;
}

/// One second is too short for starting a server, so the open timeout is five.
#[tokio::test(start_paused = true)]
async fn the_time_that_is_configured_for_a_server_holds_for_opening_its_session() {
    for (timeout, expected) in [(1000, 5), (8000, 8), (90_000, 60)] {
        let server = Server::start(async |it| it.wait_for_close().await);
        let far = json!({ "url": server.url("/mcp"), "type": "http", "timeout": timeout });
        let text = json!({ "mcpServers": { "far": far } }).to_string();
        let file = config::parse("mcp.json".as_ref(), text.as_bytes(), Dialect::Generic).unwrap();
        let began = Instant::now();
        let manager = Manager::new(ManagerSettings::default());
        for config in file.servers {
            manager.add_configured(config).unwrap();
        }
        until(&manager, "far", |it| matches!(it, ServerState::Waiting { .. })).await;
        let took = began.elapsed().as_secs();
        assert!((expected..=expected + 1).contains(&took), "{timeout}: {took}");
        manager.close().await;
    }
}

#[tokio::test(start_paused = true)]
async fn closing_works_in_every_state() {
    let stages = [Plan::Live, Plan::Refuse, Plan::Hang, Plan::Login, Plan::Flap];
    let stages = stages.map(|plan| Stage::new(plan, true));
    let names = ["live", "refuse", "hang", "login", "flap"];
    let servers: Vec<_> = names.into_iter().zip(&stages).collect();
    let manager = manager(&servers);
    sleep(Duration::from_secs(3)).await;
    let waiting = {
        let manager = manager.clone();
        let call = async move {
            manager.call_tool_of("hang", "echo", json!({}), &Default::default()).await
        };
        tokio::spawn(call)
    };
    tokio::task::yield_now().await;
    let now = Instant::now();
    manager.close().await;
    assert!(now.elapsed() < Duration::from_secs(15), "{:?}", now.elapsed());
    assert!(manager.statuses().iter().all(|it| it.state == ServerState::Closed));
    assert!(matches!(waiting.await.unwrap(), Err(Error::Away { .. })));
    let attempts: usize = stages.iter().map(Stage::attempts).sum();
    sleep(Duration::from_secs(600)).await;
    assert_eq!(stages.iter().map(Stage::attempts).sum::<usize>(), attempts);
    let error = manager.call_tool_of("live", "echo", json!({}), &Default::default()).await;
    assert!(matches!(error, Err(Error::Away { .. })));
    let closed = manager.add("late", Arc::new(Stage::local())).unwrap_err();
    assert_eq!(closed, AddServerError::Closed);
}
