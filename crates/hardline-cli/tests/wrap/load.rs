//! An hour of traffic, compressed.

use std::io::Write;
use std::time::{Duration, Instant};

use crate::client::{Client, id_of};

const CALLS: i64 = 1_000_000;
/// Calls in flight at once; below the limit of the proxy.
const AHEAD: i64 = 512;
/// Limits on the proxy's anonymous memory, and on its growth after the first tenth of the calls.
/// Pages of the program's file do not count, because a test build has many.
const MAX_RESIDENT: u64 = 8 << 10;
const MAX_GROWTH: u64 = 2 << 10;

pub(crate) fn a_million_calls() {
    let mut client = Client::open(&["--burst", "1000000"], &["--hostile"]);
    let (mut sent, mut received, mut early) = (0, 0, 0);
    let start = Instant::now();
    while received < CALLS {
        let mut chunk = String::new();
        while sent < CALLS && sent - received < AHEAD {
            sent += 1;
            chunk.push_str(&format!(
                "{{\"jsonrpc\":\"2.0\",\"id\":{sent},\"method\":\"tools/call\",\"params\":{{\"name\":\"echo\"}}}}\n"
            ));
        }
        client.input.as_mut().unwrap().write_all(chunk.as_bytes()).unwrap();
        loop {
            let wait = if sent - received < AHEAD && sent < CALLS {
                Duration::ZERO
            } else {
                Duration::from_secs(60)
            };
            let Some(line) = client.next(wait) else { break };
            let id = id_of(&line).unwrap_or_else(|| panic!("unexpected line: {line}"));
            received += 1;
            assert_eq!(id, received, "order is kept, and nothing is lost or doubled: {line}");
            assert!(line.contains(r#""result":{"content":[]}"#), "{line}");
            if received == CALLS {
                break;
            }
        }
        assert!(start.elapsed() < Duration::from_secs(600), "{received} after ten minutes");
        if early == 0 && CALLS / 10 < received {
            early = client.resident();
        }
    }
    let late = client.resident();
    println!(
        "{CALLS} calls in {:.1} s; resident {} KiB, at first {} KiB",
        start.elapsed().as_secs_f64(),
        late,
        early
    );
    assert!(late < MAX_RESIDENT && late < early + MAX_GROWTH, "{early} KiB, then {late} KiB");
    assert!(client.finish().success());
    client.assert_gone_soon();
}
