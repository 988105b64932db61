//! The requests of a client, and the answers that they are owed.

use std::collections::{HashMap, HashSet};

use super::messages_of;
use crate::reader::Json;

/// The requests of one session.
#[derive(Debug, Default)]
pub(super) struct Requests {
    /// Requests without an answer, by their ids as JSON.
    open: HashMap<String, Open>,
    /// Ids that were asked at some time.
    known: HashSet<String>,
    /// Ids on lines that are no proper requests: the relay may answer them or not.
    free: HashSet<String>,
}

#[derive(Debug, Default)]
struct Open {
    /// True once the server that is there has got it.
    is_delivered: bool,
    is_cancelled: bool,
    /// The reason why an answer is owed.
    owed: Option<&'static str>,
}

impl Requests {
    /// Takes a line of the client.
    pub(super) fn handle_client(&mut self, line: &[u8]) {
        let Some(messages) = messages_of(line) else {
            self.free.extend(loose_ids(line));
            return;
        };
        for message in messages {
            let id = message.get("id").map(Json::to_string);
            match (message.get("method").and_then(Json::as_str), id) {
                (Some(_), Some(id)) => {
                    if self.open.contains_key(&id) {
                        // The second of two gets an error, and the first its answer.
                        self.free.insert(id.clone());
                    }
                    self.known.insert(id.clone());
                    self.open.entry(id).or_default();
                }
                (Some("notifications/cancelled"), None) => {
                    let id = message.get("params").and_then(|it| it.get("requestId"));
                    if let Some(open) = id.and_then(|id| self.open.get_mut(&id.to_string())) {
                        open.is_cancelled = true;
                    }
                }
                _ => {}
            }
        }
    }

    /// Takes note that the server gets a request.
    pub(super) fn deliver(&mut self, id: &str) {
        if let Some(open) = self.open.get_mut(id) {
            open.is_delivered = true;
        }
    }

    /// Takes note that an answer is owed, if the server has the request.
    pub(super) fn owe(&mut self, id: &str, why: &'static str) {
        if let Some(open) = self.open.get_mut(id).filter(|it| it.is_delivered) {
            open.owed.get_or_insert(why);
        }
    }

    /// Takes note that the server ended: what it was asked is owed an answer.
    pub(super) fn handle_server_end(&mut self) {
        for open in self.open.values_mut().filter(|it| it.is_delivered) {
            open.owed.get_or_insert("the server ended");
        }
    }

    /// Takes note that a server was started, which knows of nothing.
    pub(super) fn handle_server_start(&mut self) {
        for open in self.open.values_mut() {
            open.is_delivered = false;
        }
    }

    /// Takes an answer that the client gets.
    pub(super) fn answer(&mut self, id: &str) -> Result<(), &'static str> {
        if self.open.remove(id).is_some() || self.free.contains(id) {
            return Ok(());
        }
        Err(if self.known.contains(id) { "a second answer" } else { "an answer to no request" })
    }

    /// Returns a request that is owed an answer, and why. All are once the session `is_over`.
    pub(super) fn unanswered(&self, is_over: bool) -> Option<(&str, &'static str)> {
        let mut left: Vec<_> = self
            .open
            .iter()
            .filter(|(_, open)| !open.is_cancelled && open.is_delivered | open.owed.is_some())
            .filter_map(|(id, open)| {
                let why = open.owed.or(is_over.then_some("the session has ended"))?;
                Some((id.as_str(), why))
            })
            .collect();
        left.sort_unstable();
        left.first().copied()
    }
}

/// Finds what may be ids on a line that is no message: numbers and strings behind `id` and a colon.
fn loose_ids(line: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(line);
    let mut ids = Vec::new();
    for (at, _) in text.to_ascii_lowercase().match_indices("id") {
        let rest = text.get(at + 2..).unwrap_or_default();
        let value = rest.trim_start_matches(|it: char| "\"': \t\r\n".contains(it));
        let end = value.find(|it: char| !it.is_alphanumeric() && it != '-');
        let value = value.get(..end.unwrap_or(value.len())).unwrap_or_default();
        ids.extend([value.to_owned(), format!("\"{value}\"")]);
    }
    ids
}

#[cfg(test)]
mod tests {
    use super::*;

    const CALL: &[u8] = br#"{"jsonrpc":"2.0","id":1,"method":"tools/call"}"#;

    #[test]
    fn each_request_is_owed_one_answer_after_the_server_spoke_or_ended() {
        let mut requests = Requests::default();
        requests.handle_client(CALL);
        requests.owe("1", "early");
        assert_eq!(requests.unanswered(false), None, "the server never got it");
        requests.deliver("1");
        assert_eq!(requests.unanswered(false), None, "the server has said nothing");
        assert!(requests.unanswered(true).is_some());
        requests.owe("1", "spoke");
        assert_eq!(requests.unanswered(false), Some(("1", "spoke")));
        assert_eq!(requests.answer("\"1\""), Err("an answer to no request"));
        assert_eq!(requests.answer("1"), Ok(()));
        assert_eq!(requests.answer("1"), Err("a second answer"));
        assert_eq!(requests.unanswered(true), None);

        requests.handle_client(CALL);
        requests.deliver("1");
        requests.handle_server_end();
        assert_eq!(requests.unanswered(false), Some(("1", "the server ended")));
        let cancel =
            br#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
        requests.handle_client(cancel);
        assert_eq!(requests.unanswered(false), None);
    }

    #[test]
    fn broken_lines_of_the_client_may_be_answered_or_not() {
        let mut requests = Requests::default();
        requests.handle_client(br#"{"jsonrpc":"2.0","id":"a7","method":"x","method":"y"}"#);
        assert_eq!(requests.unanswered(true), None);
        assert_eq!(requests.answer("\"a7\""), Ok(()));
    }
}
