//! Batches: an array that `serde_json` accepts is split into the same elements.

use hardline_wire::frame::{Decoder, Frame, RefusalReason};
use hardline_wire::limits::Limits;
use serde_json::value::RawValue;

/// Decodes `data` as a frame.
pub fn batch(data: &[u8]) {
    let limits = Limits::default();
    let mut decoder = Decoder::new(&limits);
    let elements: Option<Vec<&RawValue>> = serde_json::from_slice(data).ok();
    match decoder.decode(data) {
        Ok(Frame::Batch(batch)) => {
            assert!(!batch.is_empty() && batch.len() <= limits.max_batch_elements());
            let ours: Vec<_> = batch.elements().collect();
            assert_eq!(ours.len(), batch.len());
            // `serde_json` refuses arrays with a broken element; then there is nothing to compare.
            if let Some(theirs) = elements {
                let theirs: Vec<_> = theirs.iter().map(|it| it.get().as_bytes()).collect();
                let texts: Vec<_> = ours.iter().map(|it| it.text).collect();
                assert_eq!(texts, theirs);
            }
            for element in ours {
                let at = data.get(element.offset..).expect("the offset is inside");
                assert!(at.starts_with(element.text));
                // An element is judged like a message on a line of its own.
                let alone = Decoder::new(&limits).decode(element.text).is_ok();
                let is_message = decoder.decode_element(element).is_ok();
                let is_array = element.text.first() == Some(&b'[');
                assert!(!is_message || alone, "a batch lends nothing to its elements");
                assert!(!(is_array && is_message), "a batch in a batch is none");
            }
        }
        Ok(Frame::Message(..)) => assert!(elements.is_none(), "an array is no message"),
        Err(refusal) => {
            assert!(refusal.offset <= data.len());
            if let Some(elements) = elements {
                let expected = match elements.len() {
                    0 => RefusalReason::EmptyBatch,
                    _ => RefusalReason::BatchTooLarge { limit: limits.max_batch_elements() },
                };
                assert_eq!(refusal.reason, expected);
            }
        }
    }
}
