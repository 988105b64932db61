//! Event streams: chunking does not change them, memory is bounded, and written events can be read.

use hardline_wire::limits::Limits;
use hardline_wire::recover::{Ending, Recovered, recover};
use hardline_wire::sse::{OutgoingEvent, SseDecoder, encode_event};

use super::split_seed;
use crate::generate::chunks;

/// Decodes `data` whole and in chunks, then writes the events and reads them again.
pub fn sse(data: &[u8]) {
    let (mut rng, stream) = split_seed(data);
    let limit = 1 + rng.below(200);
    sse_in_chunks(&chunks(&mut rng, stream), limit);
}

/// Does the same with chunks and a length limit that the caller chooses.
pub fn sse_in_chunks(chunks: &[&[u8]], limit: usize) {
    let limits = Limits::default().with_max_event_bytes(limit).expect("it is in range");
    let whole = decode(&limits, &[&chunks.concat()]);
    assert_eq!(decode(&limits, chunks), whole, "in chunks {chunks:?}");
    // The events without a limit show what recovery should find in an overlong one.
    let unlimited = decode(&Limits::default(), &[&chunks.concat()]);
    for (event, full) in whole.events.iter().zip(&unlimited.events) {
        match (event, full) {
            (Ok(event), _) => {
                assert!(event.1.len() <= limit && event.0.len() <= limit.max("message".len()) * 3);
                assert_survives(event);
            }
            (Err((_, recovered)), Ok((_, data, _)))
                if whole.events.len() == unlimited.events.len() =>
            {
                let expected: Vec<_> =
                    recover(data, Ending::Whole, &limits).filter_map(|it| it.id).collect();
                let found: Vec<_> = recovered.iter().filter_map(|it| it.id.clone()).collect();
                assert_eq!(found, expected, "in the data of an overlong event");
            }
            _ => {}
        }
    }
}

/// Name, data and last id of an event.
type Seen = (String, Vec<u8>, String);

#[derive(Debug, Eq, PartialEq)]
struct Decoded {
    /// Each event; for an overlong one, its length and the ids found in it.
    events: Vec<Result<Seen, (u64, Vec<Recovered>)>>,
    last_event_id: String,
    retry_ms: Option<u64>,
    is_inside_event: bool,
}

fn decode(limits: &Limits, chunks: &[&[u8]]) -> Decoded {
    let mut decoder = SseDecoder::new(limits);
    let mut events = Vec::new();
    for chunk in chunks {
        let mut rest = *chunk;
        loop {
            match decoder.next_event(&mut rest) {
                Ok(Some(event)) => events.push(Ok((
                    event.name.to_owned(),
                    event.data.to_owned(),
                    event.last_event_id.to_owned(),
                ))),
                Ok(None) => break,
                Err(error) => events.push(Err((error.length, error.recovered))),
            }
        }
        assert!(rest.is_empty(), "the decoder takes all of a chunk");
    }
    Decoded {
        events,
        last_event_id: decoder.last_event_id().to_owned(),
        retry_ms: decoder.retry_ms(),
        is_inside_event: decoder.is_inside_event(),
    }
}

fn assert_survives((name, data, id): &Seen) {
    // Only text can be written as an event.
    let Ok(data) = str::from_utf8(data) else { return };
    let event = OutgoingEvent { name: Some(name), data, id: Some(id), retry_ms: None };
    let text = encode_event(&event).expect("what was read can be written");
    let again = decode(&Limits::default(), &[text.as_bytes()]);
    assert_eq!(again.events, [Ok((name.clone(), data.as_bytes().to_vec(), id.clone()))]);
    assert!(!again.is_inside_event);
}
