//! Id recovery: chunking does not change it, and it never returns an id that is not on the line.

use hardline_wire::json::Checker;
use hardline_wire::limits::Limits;
use hardline_wire::message::Message;
use hardline_wire::recover::{Ending, Recovered, Recovery, recover as recover_line};

use super::split_seed;
use crate::generate::chunks;

/// Recovers ids from `data`, whole and in chunks.
pub fn recover(data: &[u8]) {
    let (mut rng, line) = split_seed(data);
    recover_in_chunks(&chunks(&mut rng, line));
}

/// Does the same with chunks that the caller chooses.
pub fn recover_in_chunks(chunks: &[&[u8]]) {
    let line = &*chunks.concat();
    let limits = Limits::default();
    for ending in [Ending::Whole, Ending::Cut] {
        let whole: Vec<_> = recover_line(line, ending, &limits).collect();
        let mut recovery = Recovery::new(&limits);
        let mut chunked: Vec<Recovered> = Vec::new();
        for mut chunk in chunks.iter().copied() {
            while let Some(message) = recovery.next_message(&mut chunk) {
                chunked.push(message);
            }
        }
        // A message at the end of a cut line is known only now.
        chunked.extend(recovery.finish(ending));
        assert_eq!(chunked, whole, "in chunks {chunks:?}");
        for message in &whole {
            assert_is_on_line(line, message);
        }
        assert_agrees_with_message(line, &whole);
    }
}

fn assert_is_on_line(line: &[u8], message: &Recovered) {
    let Some(id) = &message.id else { return };
    let text = id.to_string();
    let is_there = line.windows(text.len()).any(|window| window == text.as_bytes());
    // A wrong id would answer another request.
    assert!(is_there, "{text} was never sent");
}

/// Checks that recovery from a message, and from every beginning of it, finds only its own id.
fn assert_agrees_with_message(line: &[u8], whole: &[Recovered]) {
    let limits = Limits::default();
    let mut checker = Checker::new(&limits);
    let Ok(checked) = checker.check(line) else { return };
    let Ok(message) = Message::read(&checked, &limits) else { return };
    let [recovered] = whole else { panic!("one message, {} recovered", whole.len()) };
    assert_eq!(recovered.id.as_ref(), message.id());
    let is_response = matches!(message, Message::Response(_) | Message::Error(_));
    assert_eq!(recovered.is_response, is_response);
    // Bounded, because each cut is a pass over the line.
    for cut in (0..line.len()).take(200) {
        let begin = line.get(..cut).unwrap_or_default();
        for part in recover_line(begin, Ending::Cut, &limits) {
            assert!(part.id.is_none() || part.id.as_ref() == message.id(), "cut at {cut}");
        }
    }
}
