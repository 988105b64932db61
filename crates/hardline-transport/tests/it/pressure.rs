//! Slow peers, busy services, and futures that are dropped early.

use std::time::Duration;

use hardline_testkit::generate::Rng;
use hardline_transport::{Endpoint, EndpointSettings, Incoming, Role};
use hardline_wire::id::Id;
use hardline_wire::limits::Limits;

use crate::peer::{as_text, pair_over, receive, request};

#[tokio::test(start_paused = true)]
async fn a_peer_that_does_not_read_holds_senders_back() {
    let limits = Limits::default().with_max_queue_frames(4).unwrap();
    let settings = EndpointSettings::default().with_limits(limits);
    let (mut connection, mut peer, _) = pair_over(Role::Server, settings, 16);
    let mut held_back = Vec::new();
    for number in 0..20 {
        let line = format!(r#"{{"number":{number},"filler":"{}"}}"#, "x".repeat(100));
        let mut sending = Box::pin(connection.send_notification(line.into_bytes()).room());
        if tokio::time::timeout(Duration::from_millis(10), &mut sending).await.is_err() {
            held_back.push(sending);
        }
    }
    assert_eq!(held_back.len(), 16);
    // A sender that stops waiting has still sent its message.
    held_back.truncate(8);
    let reading = tokio::spawn(async move {
        let mut lines = Vec::new();
        for _ in 0..20 {
            lines.push(peer.line().await.unwrap());
        }
        lines
    });
    for sending in held_back {
        sending.await.unwrap();
    }
    let lines = reading.await.unwrap();
    for (number, line) in lines.iter().enumerate() {
        assert!(line.starts_with(&format!(r#"{{"number":{number},"#)), "{number}: {line}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_does_not_read_is_not_read_from_either() {
    let limits = Limits::default().with_max_queue_bytes(1000).unwrap();
    let settings = EndpointSettings::default().with_limits(limits);
    let (mut connection, mut peer, _) = pair_over(Role::Server, settings, 256);
    let receiving = tokio::spawn(async move {
        let received = receive(&mut connection).await;
        (received, connection)
    });
    // Each line is answered with an error, and the peer does not read the errors.
    let mut written = 0;
    let broken = r#"{"jsonrpc":"2.0","id":1,"method":"#;
    while tokio::time::timeout(Duration::from_millis(50), peer.send(&[broken])).await.is_ok() {
        written += 1;
        assert!(written < 10_000, "everything is taken in");
    }
    // Half of the last line was written.
    let reading = tokio::spawn(async move {
        let mut count = 0;
        while let Ok(line) = tokio::time::timeout(Duration::from_secs(1), peer.line()).await {
            assert!(line.unwrap().contains("-32700"));
            count += 1;
        }
        (count, peer)
    });
    let (count, mut peer) = reading.await.unwrap();
    assert_eq!(count, written);
    peer.send(&["", &request(2)]).await;
    let (received, _connection) = receiving.await.unwrap();
    assert_eq!(received.unwrap(), request(2));
}

/// Many scripts do that.
#[tokio::test(start_paused = true)]
async fn a_peer_may_write_a_thousand_requests_before_it_reads() {
    let (mut connection, mut peer, _) = pair_over(Role::Server, EndpointSettings::default(), 4096);
    let serving = tokio::spawn(async move {
        let mut held_back = Vec::new();
        while let Some(incoming) = connection.receive_with(as_text).await {
            let Incoming::Message(text) = incoming else { break };
            let id = text.split(&[':', ','][..]).nth(3).unwrap().parse().unwrap();
            let line = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#);
            held_back.push(connection.send_answer(&Id::from_integer(id), line.into_bytes()).room());
        }
        connection.close().await.unwrap();
    });
    for id in 0..1000 {
        let line = request(id);
        let lines = [line.as_str()];
        let writing = tokio::time::timeout(Duration::from_secs(1), peer.send(&lines));
        writing.await.expect("the request should be taken in");
    }
    peer.finish().await;
    assert_eq!(peer.lines().await.len(), 1000);
    serving.await.unwrap();
}

/// Cancels receiving at random points while a peer sends byte by byte: no message is lost or
/// doubled.
#[tokio::test(start_paused = true)]
async fn receiving_can_be_dropped_at_any_point() {
    let mut random = Rng::new(11);
    let (mut connection, mut peer, _) = pair_over(Role::Server, EndpointSettings::default(), 64);
    let writing = tokio::spawn(async move {
        let mut random = Rng::new(12);
        for id in 0..300 {
            let line = format!("{}\n", request(id));
            let mut rest = line.as_str();
            while !rest.is_empty() {
                let (now, later) = rest.split_at(1 + random.below(rest.len()));
                peer.write(now).await;
                tokio::time::sleep(Duration::from_micros(random.below(50) as u64)).await;
                rest = later;
            }
        }
        peer
    });
    let mut received = 0;
    while received < 300 {
        let patience = Duration::from_micros(random.below(60) as u64);
        let result = tokio::time::timeout(patience, connection.receive_with(as_text)).await;
        if let Ok(incoming) = result {
            let text = format!("{:?}", incoming.unwrap());
            assert!(text.contains(&format!("\\\"id\\\":{received},")), "{received}: {text}");
            received += 1;
        }
    }
    drop(writing.await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn closing_gives_up_on_a_peer_that_does_not_read() {
    let settings = EndpointSettings::default().with_grace(Duration::from_secs(3));
    let (mut connection, _peer, _) = pair_over(Role::Server, settings, 16);
    connection.send_notification(vec![b'x'; 1000]).room().await.unwrap();
    assert!(connection.close().await.is_err());
    let refused = connection.send_notification(b"{}".to_vec()).room().await;
    assert!(refused.is_err());
}

#[tokio::test]
async fn requests_of_ours_are_limited_too() {
    let limits = Limits::default().with_max_in_flight(2).unwrap();
    let settings = EndpointSettings::default().with_limits(limits);
    let (mut connection, _peer, _) = pair_over(Role::Client, settings, 1024);
    for id in 1..=2 {
        connection.send_request(Id::from_integer(id), "m", b"{}".to_vec()).room().await.unwrap();
    }
    assert!(
        connection.send_request(Id::from_integer(3), "m", b"{}".to_vec()).room().await.is_err()
    );
    connection.cancel(&Id::from_integer(1));
    assert!(connection.send_request(Id::from_integer(3), "m", b"{}".to_vec()).room().await.is_ok());
}

/// A foreign output that panics.
struct Panicking;

impl tokio::io::AsyncWrite for Panicking {
    fn poll_write(
        self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
        _: &[u8],
    ) -> std::task::Poll<std::io::Result<usize>> {
        panic!("as asked")
    }

    fn poll_flush(
        self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<std::io::Result<()>> {
        std::task::Poll::Ready(Ok(()))
    }

    fn poll_shutdown(
        self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<std::io::Result<()>> {
        std::task::Poll::Ready(Ok(()))
    }
}

#[tokio::test(start_paused = true)]
async fn a_panic_in_the_output_leaves_nobody_waiting() {
    let mut connection =
        Endpoint::new(Role::Server, tokio::io::empty(), Panicking, EndpointSettings::default());
    let _ = connection.send_notification(b"{}".to_vec()).room().await;
    let closing = tokio::time::timeout(Duration::from_secs(1), connection.close());
    assert!(closing.await.expect("closing should end").is_err());
}
