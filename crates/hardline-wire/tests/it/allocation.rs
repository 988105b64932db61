//! In the steady state, a frame costs no allocation.

use allocation_counter::measure;
use hardline_testkit::sample;
use hardline_wire::frame::{Decoder, Frame};
use hardline_wire::limits::Limits;
use hardline_wire::line::LineFramer;

#[test]
fn framing_and_reading_allocate_nothing_in_the_steady_state() {
    let limits = Limits::default();
    let (mut framer, mut decoder) = (LineFramer::new(&limits), Decoder::new(&limits));
    let mut stream = Vec::new();
    for len in [200, 2_000, 100_000] {
        for frame in [sample::text_frame(len), sample::dense_frame(len)] {
            stream.extend_from_slice(frame.as_bytes());
            stream.push(b'\n');
        }
    }
    stream.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"tools/call\"}\n");
    let mut round = || {
        let mut messages = 0;
        // Chunks that hold whole lines and parts of lines.
        for mut chunk in stream.chunks(30_000) {
            while let Some(line) = framer.next_line(&mut chunk) {
                let frame = decoder.decode(line.whole().unwrap());
                messages += usize::from(matches!(frame, Ok(Frame::Message(..))));
            }
        }
        assert_eq!(messages, 7);
    };
    round();
    let steady = measure(round);
    assert_eq!(steady.count_total, 0, "{steady:?}");
}
