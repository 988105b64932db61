//! Killed and stopped processes: nothing hangs, no process is left, every request gets an answer.

use std::time::Duration;

use hardline_testkit::generate::Rng;
use rustix::process::{Signal, kill_process};

use crate::client::Client;

/// Number of kills in total, half of the server and half of the proxy.
const KILLS: u64 = 200;
/// Kills per session. With more within half a minute, the proxy's circuit breaker would open.
const KILLS_A_SESSION: u64 = 4;

fn pause(random: &mut Rng, most_micros: usize) {
    std::thread::sleep(Duration::from_micros(random.below(most_micros) as u64));
}

pub(crate) fn killed_server() {
    for seed in 0..KILLS / KILLS_A_SESSION {
        let mut random = Rng::new(seed);
        let mut client = Client::open(&[], &[]);
        let mut id = 0;
        for _ in 0..KILLS_A_SESSION {
            let mut sent = Vec::new();
            for _ in 0..random.below(30) {
                id += 1;
                client.call(id, if random.one_in(4) { "big" } else { "echo" });
                sent.push(id);
            }
            pause(&mut random, 3000);
            if let Some(server) = client.server() {
                let _ = kill_process(server, Signal::KILL);
            }
            for _ in 0..random.below(5) {
                id += 1;
                client.call(id, "echo");
                sent.push(id);
            }
            for id in sent {
                if client.answers(id) == 0 {
                    client.answer_to(id);
                }
            }
        }
        // The session must survive. The last kill may hit a call that was made after it.
        id += 1;
        client.call(id, "echo");
        let mut answer = client.answer_to(id);
        if answer.contains("server.ended") {
            id += 1;
            client.call(id, "echo");
            answer = client.answer_to(id);
        }
        assert!(answer.contains("result"), "seed {seed}: {answer}");
        assert!(client.finish().success(), "seed {seed}: {}", client.errors());
        for id in 1..=id {
            assert_eq!(client.answers(id), 1, "seed {seed}: {id}");
        }
        client.assert_gone_soon();
    }
}

pub(crate) fn killed_proxy() {
    for seed in 0..KILLS {
        let mut random = Rng::new(seed);
        let mut client = Client::start(&[], &[]);
        client.call(1, "echo");
        pause(&mut random, 30_000);
        client.signal(Signal::KILL);
        client.child.wait().unwrap();
        client.assert_gone_soon();
    }
}

pub(crate) fn client_stops_reading() {
    let mut client = Client::open(&[], &[]);
    // The harness always reads; the pipe in front of it fills up as with a slow client.
    client.signal(Signal::CONT);
    for id in 1..=200 {
        client.call(id, "big");
    }
    std::thread::sleep(Duration::from_millis(300));
    for id in 1..=200 {
        if client.answers(id) == 0 {
            client.answer_to(id);
        }
    }
    assert!(client.finish().success());
    assert!((1..=200).all(|id| client.answers(id) == 1));
    client.assert_gone_soon();
}

pub(crate) fn chatty_server() {
    let mut client = Client::open(&[], &[]);
    // In the second call, the server has read what waited, and reads nothing again.
    for (id, tool) in [(1, "chatty"), (2, "echo"), (3, "chatty")] {
        client.call(id, tool);
        let answer = client.answer_to(id);
        assert!(answer.contains("result"), "{answer}");
    }
    assert!(client.finish().success());
    client.assert_gone_soon();
}

pub(crate) fn server_stops_reading() {
    let mut client = Client::open(&["--request-timeout", "2s"], &[]);
    client.call(1, "deaf");
    client.answer_to(1);
    // More than a pipe holds: the proxy buffers the rest, and every request fails at its deadline.
    let text = "x".repeat(10_000);
    for id in 2..100 {
        client.send(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"echo","arguments":{{"text":"{text}"}}}}}}"#
        ));
    }
    for id in 2..100 {
        if client.answers(id) == 0 {
            let answer = client.answer_to(id);
            assert!(answer.contains("request.timeout"), "{answer}");
        }
    }
    client.signal(Signal::TERM);
    assert_eq!(client.wait().code(), Some(128 + 15));
    client.assert_gone_soon();
}

pub(crate) fn closed_output() {
    let mut client = Client::open(&[], &[]);
    client.call(1, "mute");
    let failed = client.answer_to(1);
    assert!(failed.contains("server.ended"), "{failed}");
    client.call(2, "half");
    let failed = client.answer_to(2);
    assert!(failed.contains("error"), "{failed}");
    client.call(3, "die");
    let failed = client.answer_to(3);
    assert!(failed.contains("exited with code 3") && failed.contains("may have been executed"));
    client.call(4, "echo");
    assert!(client.answer_to(4).contains("result"));
    assert!(client.finish().success());
    assert!((1..=4).all(|id| client.answers(id) == 1));
    client.assert_gone_soon();
}

pub(crate) fn dies_at_once() {
    // Every request gets an answer; once the circuit breaker is open, it comes at once.
    let mut client = Client::start(&[], &["--code", "7"]);
    for id in 1..40 {
        client.call(id, "echo");
        let failed = client.answer_to(id);
        assert!(failed.contains("exited with code 7"), "{failed}");
    }
    assert_eq!(client.finish().code(), Some(7));
    client.assert_gone_soon();
}

pub(crate) fn signals() {
    let all = [Signal::TERM, Signal::INT, Signal::HUP].into_iter();
    for signal in all.filter(|signal| !is_ignored(signal.as_raw())) {
        let mut client = Client::open(&[], &[]);
        client.call(1, "hang");
        client.call(2, "echo");
        client.answer_to(2);
        client.signal(signal);
        assert_eq!(client.wait().code(), Some(128 + signal.as_raw()));
        assert_eq!(client.answers(1), 1, "what was in flight is answered");
        client.assert_gone_soon();
    }
}

/// Returns true if this process ignores a signal. `wrap` inherits that, so the signal cannot end
/// it.
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap();
    u64::from_str_radix(mask.trim(), 16).unwrap() >> (signal - 1) & 1 == 1
}

pub(crate) fn codes() {
    for code in ["0", "3", "255"] {
        let mut client = Client::start(&["--restart", "never"], &["--code", code]);
        assert_eq!(client.wait().code(), code.parse().ok());
        client.assert_gone_soon();
    }
    let mut client = Client::open(&["--restart", "never"], &[]);
    kill_process(client.server().unwrap(), Signal::KILL).unwrap();
    assert_eq!(client.wait().code(), Some(128 + 9));
}
