//! End of a session.

use std::time::Duration;

use hardline_transport::{EndpointSettings, Role};
use hardline_wire::id::Id;
use tokio::time::Instant;

use crate::peer::{answer, pair, receive, receive_all, request};

#[tokio::test(start_paused = true)]
async fn the_last_line_counts_without_its_end() {
    let (mut connection, mut peer, _) = pair(Role::Server, EndpointSettings::default());
    peer.write(&request(7)).await;
    peer.finish().await;
    assert_eq!(receive(&mut connection).await.unwrap(), request(7));
    answer(&mut connection, 7).await;
    assert_eq!(receive(&mut connection).await, None);
}

#[tokio::test(start_paused = true)]
async fn the_end_waits_for_answers_and_not_longer() {
    let (mut connection, mut peer, _) = pair(Role::Server, EndpointSettings::default());
    peer.send(&[&request(7)]).await;
    peer.finish().await;
    assert!(receive(&mut connection).await.is_some());
    let start = Instant::now();
    let early = tokio::time::timeout(Duration::from_secs(59), receive(&mut connection)).await;
    assert!(early.is_err(), "{early:?}");
    answer(&mut connection, 7).await;
    assert_eq!(receive(&mut connection).await, None);
    assert!(start.elapsed() < Duration::from_secs(60));
    connection.close().await.unwrap();
    assert_eq!(peer.lines().await, [r#"{"jsonrpc":"2.0","id":7,"result":{}}"#]);
}

#[tokio::test(start_paused = true)]
async fn what_is_open_after_the_grace_is_answered_with_an_error() {
    let settings = EndpointSettings::default().with_grace(Duration::from_secs(5));
    let (mut connection, mut peer, events) = pair(Role::Server, settings);
    peer.send(&[&request(7), r#"{"jsonrpc":"2.0","id":"s","method":"subscriptions/listen"}"#])
        .await;
    peer.finish().await;
    let start = Instant::now();
    let mut received = receive_all(&mut connection).await;
    assert!((5..6).contains(&start.elapsed().as_secs()));
    received.sort();
    assert_eq!(received[..2], ["abandoned \"s\"", "abandoned 7"]);
    // Too late: the request was already abandoned.
    answer(&mut connection, 7).await;
    connection.close().await.unwrap();
    let lines = peer.lines().await;
    assert_eq!(lines.len(), 2);
    let error = lines.iter().find(|line| line.contains(r#""id":7"#)).unwrap();
    assert!(error.contains("-32603") && error.contains("transport.closed"), "{error}");
    let end = lines.iter().find(|line| line.contains(r#""id":"s""#)).unwrap();
    assert!(end.contains(r#""io.modelcontextprotocol/subscriptionId":"s""#), "{end}");
    assert!(events.lock().unwrap().iter().any(|it| it.starts_with("requests still unanswered")));
}

#[tokio::test(start_paused = true)]
async fn the_end_does_not_wait_for_subscriptions() {
    let (mut connection, mut peer, _) = pair(Role::Server, EndpointSettings::default());
    peer.send(&[r#"{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen"}"#]).await;
    peer.finish().await;
    let start = Instant::now();
    assert_eq!(receive_all(&mut connection).await.len(), 2);
    assert!(start.elapsed() < Duration::from_secs(1));
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_request_is_not_waited_for() {
    let (mut connection, mut peer, _) = pair(Role::Server, EndpointSettings::default());
    let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}"#;
    peer.send(&[&request(7), cancel]).await;
    peer.finish().await;
    let start = Instant::now();
    assert_eq!(receive_all(&mut connection).await, [request(7).as_str(), cancel]);
    assert!(start.elapsed() < Duration::from_secs(1));
    connection.close().await.unwrap();
    assert!(peer.lines().await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn requests_towards_a_peer_that_closed_fail_also_later_ones() {
    let (mut connection, mut peer, _) = pair(Role::Server, EndpointSettings::default());
    connection.send_request(Id::from_integer(1), "m", b"{}".to_vec()).room().await.unwrap();
    peer.send(&[&request(7)]).await;
    peer.finish().await;
    assert_eq!(receive(&mut connection).await.unwrap(), request(7));
    assert_eq!(receive(&mut connection).await.unwrap(), "failed 1: the connection is closed");
    connection.send_request(Id::from_integer(2), "m", b"{}".to_vec()).room().await.unwrap();
    assert_eq!(receive(&mut connection).await.unwrap(), "failed 2: the connection is closed");
    answer(&mut connection, 7).await;
    assert_eq!(receive(&mut connection).await, None);
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_is_gone_is_not_waited_for() {
    let (mut connection, mut peer, events) = pair(Role::Server, EndpointSettings::default());
    peer.send(&[&request(7), &request(8)]).await;
    assert!(receive(&mut connection).await.is_some());
    assert!(receive(&mut connection).await.is_some());
    drop(peer);
    // Only a write shows that the peer is gone.
    let sent = connection.send_answer(&Id::from_integer(7), b"{}".to_vec()).room().await;
    let start = Instant::now();
    let rest = receive_all(&mut connection).await;
    assert_eq!(rest, ["abandoned 8"]);
    assert!(start.elapsed() < Duration::from_secs(1), "{sent:?}");
    assert!(events.lock().unwrap().iter().any(|it| it.starts_with("writing failed")));
}

#[tokio::test(start_paused = true)]
async fn a_batch_of_which_some_are_open_at_the_end_is_answered_as_one() {
    let settings = EndpointSettings::default().with_grace(Duration::from_secs(1));
    let (mut connection, mut peer, _) = pair(Role::Server, settings);
    connection.set_version("2025-03-26".parse().unwrap());
    peer.send(&[&format!("[{},{},3]", request(7), request(8))]).await;
    peer.finish().await;
    assert_eq!(receive(&mut connection).await.unwrap(), request(7));
    assert_eq!(receive(&mut connection).await.unwrap(), request(8));
    answer(&mut connection, 7).await;
    assert_eq!(receive(&mut connection).await.unwrap(), "abandoned 8");
    assert_eq!(receive(&mut connection).await, None);
    connection.close().await.unwrap();
    let lines = peer.lines().await;
    assert_eq!(lines.len(), 1, "{lines:?}");
    let batch: Vec<serde_json::Value> = serde_json::from_str(&lines[0]).unwrap();
    assert_eq!(batch.len(), 3);
}

#[tokio::test(start_paused = true)]
async fn graces_of_any_length_are_taken() {
    let settings =
        EndpointSettings::default().with_grace(Duration::MAX).with_signal_grace(Duration::MAX);
    let (mut connection, mut peer, _) = pair(Role::Server, settings);
    peer.send(&[&request(7)]).await;
    peer.finish().await;
    assert!(receive(&mut connection).await.is_some());
    let waiting = tokio::time::timeout(Duration::from_secs(100_000), receive(&mut connection));
    assert!(waiting.await.is_err());
    answer(&mut connection, 7).await;
    assert_eq!(receive(&mut connection).await, None);
}

#[tokio::test(start_paused = true)]
async fn closing_and_dropping_answer_what_is_open() {
    for is_dropped in [false, true] {
        let (mut connection, mut peer, _) = pair(Role::Server, EndpointSettings::default());
        peer.send(&[&request(7)]).await;
        assert!(receive(&mut connection).await.is_some());
        if is_dropped {
            drop(connection);
        } else {
            connection.close().await.unwrap();
        }
        let lines = peer.lines().await;
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert!(lines[0].contains("transport.closed"));
    }
}
