//! Servers that go away, and how often they are tried. The clock is the test's.

use std::time::Duration;

use hardline_client::Error;
use hardline_client::manager::{Freshness, State};
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
    until(&manager, "far", State::is_connected).await;
    manager.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_local_one_that_always_fails_is_left_alone_until_it_is_asked_for() {
    let stage = Stage::new(Plan::Refuse, false);
    let manager = manager(&[("near", &stage)]);
    until(&manager, "near", |it| matches!(it, State::Broken { .. })).await;
    assert_near(&stage.gaps(), &[500, 1000, 2000, 4000]);
    sleep(Duration::from_secs(20)).await;
    // Too soon to try again: whoever calls is told at once.
    let now = Instant::now();
    let error = manager.call_tool_of("near", "echo", json!({}), &Default::default()).await;
    let error = error.unwrap_err();
    assert!(matches!(error, Error::Away { .. }), "{error:?}");
    assert!(error.to_string().contains("nobody is at home"), "{error}");
    assert_eq!((now.elapsed(), stage.attempts()), (Duration::ZERO, 5));
    sleep(Duration::from_secs(3600)).await;
    assert_eq!(stage.attempts(), 5);
    // A call brings about one attempt, and another only after a while.
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
async fn one_that_flaps_is_no_storm() {
    let stage = Stage::new(Plan::Flap, true);
    let manager = manager(&[("far", &stage)]);
    sleep(Duration::from_secs(60)).await;
    assert!(stage.attempts() <= 8, "{}", stage.attempts());
    // Nor if it is asked for all the time.
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
    until(&manager, "near", State::has_failed).await;
    assert_eq!(freshness(), Some(Freshness::Stale));
    stage.plan(Plan::Live);
    until(&manager, "near", State::is_connected).await;
    manager.listed().await;
    assert_eq!(freshness(), Some(Freshness::Current));
}

#[tokio::test(start_paused = true)]
async fn one_that_wants_a_login_is_asked_seldom_and_says_what_to_do() {
    let stage = Stage::new(Plan::Login, true);
    let manager = manager(&[("far", &stage)]);
    let state = until(&manager, "far", State::has_failed).await;
    assert!(matches!(&state, State::LoginNeeded { reason } if reason.contains("hardline login")));
    let error = manager.call_tool_of("far", "echo", json!({}), &Default::default()).await;
    assert!(error.unwrap_err().to_string().contains("hardline login"));
    sleep(Duration::from_secs(100)).await;
    assert!(stage.attempts() <= 4, "{}", stage.attempts());
    // Somebody has logged in: a call finds out.
    stage.plan(Plan::Live);
    manager.call_tool_of("far", "echo", json!({}), &Default::default()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn whoever_wants_a_new_start_gets_it_at_once() {
    let stage = Stage::new(Plan::Refuse, false);
    let manager = manager(&[("near", &stage)]);
    until(&manager, "near", |it| matches!(it, State::Broken { .. })).await;
    stage.plan(Plan::Live);
    let now = Instant::now();
    manager.reconnect("near").unwrap();
    until(&manager, "near", State::is_connected).await;
    assert!(now.elapsed() < Duration::from_millis(100));
    // Also one that is connected.
    let attempts = stage.attempts();
    manager.reconnect("near").unwrap();
    while stage.attempts() == attempts {
        sleep(Duration::from_millis(100)).await;
    }
    manager.call_tool_of("near", "echo", json!({}), &Default::default()).await.unwrap();
    assert!(manager.reconnect("nobody").is_err());
}

#[tokio::test(start_paused = true)]
async fn closing_ends_whatever_a_server_is_at() {
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
    assert!(manager.statuses().iter().all(|it| it.state == State::Closed));
    assert!(matches!(waiting.await.unwrap(), Err(Error::Away { .. })));
    let attempts: usize = stages.iter().map(Stage::attempts).sum();
    sleep(Duration::from_secs(600)).await;
    assert_eq!(stages.iter().map(Stage::attempts).sum::<usize>(), attempts);
    let error = manager.call_tool_of("live", "echo", json!({}), &Default::default()).await;
    assert!(matches!(error, Err(Error::Away { .. })));
    assert!(!manager.add("late", std::sync::Arc::new(Stage::local()), None), "it is closed");
}
