//! Twice the bytes of a hostile server cost a relay at most three times the work, also where its lines arrive
//! in small pieces.

use std::hint::black_box;
use std::time::Duration;

use hardline_guard::policy::Policy;
use hardline_proxy::Notice;
use hardline_proxy::relay::{Outgoing, Relay, RelaySettings, Sink};
use hardline_testkit::hostile::CASES;
use hardline_testkit::work::{Case, Otherwise, assert_linear};
use hardline_wire::line::{Line, LineFramer};

const SMALL: usize = 40_000;
/// Bytes of one read. The more reads, the more a second look at the unfinished line costs.
const CHUNK: usize = 200;

struct Nothing;

impl Sink for Nothing {
    fn send(&mut self, outgoing: Outgoing<'_>) {
        black_box(outgoing);
    }

    fn notify(&mut self, notice: &Notice<'_>) {
        black_box(notice);
    }
}

fn relay(stream: &[u8]) {
    let mut relay = Relay::new(RelaySettings::new("s", Policy::default()));
    let request = Line::of_text(br#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#);
    relay.handle_client(&request, Duration::ZERO, &mut Nothing);
    let mut framer = LineFramer::new(relay.limits());
    for (index, mut chunk) in stream.chunks(CHUNK).enumerate() {
        let now = Duration::from_micros(u64::try_from(index).unwrap());
        let mut has_lines = false;
        while let Some(line) = framer.next_line(&mut chunk) {
            relay.handle_server(&line, now, &mut Nothing);
            has_lines = true;
        }
        relay.handle_server_bytes(framer.unfinished(), has_lines, now);
    }
}

#[test]
fn small_pieces_of_hostile_lines_cost_at_most_three_times_for_twice_the_bytes() {
    let test = "linear::small_pieces_of_hostile_lines_cost_at_most_three_times_for_twice_the_bytes";
    assert_linear(test, Otherwise::Nothing, || {
        CASES.iter().map(|(name, make)| Case::new(*name, relay, SMALL, make))
    });
}
