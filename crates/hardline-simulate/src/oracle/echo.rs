//! Texts that a client reads from a server and sends back.

use crate::reader::Json;

/// Marks that the relay puts into texts that it edits.
const MARKS: [&str; 2] = ["<U+", "blocked by hardline"];

/// The last text that the client read, and the texts that the server must get.
#[derive(Debug, Default)]
pub(super) struct Echoes {
    read: Option<String>,
    /// Ids of calls, as JSON, and the text that each must carry.
    expected: Vec<(String, String)>,
}

impl Echoes {
    /// Takes a message that the client gets.
    pub(super) fn handle_to_client(&mut self, message: &Json<'_>) {
        if message.get("method").is_some() {
            return;
        }
        let content = message.get("result").and_then(|result| result.get("content"));
        let text = match content {
            Some(Json::Array(items)) => items.first().and_then(|it| it.get("text")?.as_str()),
            _ => None,
        };
        self.read = text.map(str::to_owned);
    }

    /// Returns the text that the client sends back in the call `id`: all that it read, or one line. The
    /// server must get the same part of `document`.
    pub(super) fn send(&mut self, id: &str, line: Option<usize>, document: &str) -> Option<String> {
        let read = self.read.clone()?;
        // A text that has a mark of its own beside one of the relay's cannot be told apart.
        let has_own_mark = MARKS.iter().any(|mark| document.contains(mark));
        if has_own_mark && read != document {
            return None;
        }
        let (sent, original) = match line {
            None => (read.as_str(), document),
            Some(number) => {
                let (read, document) = (read.split('\n'), document.split('\n'));
                if read.clone().count() != document.clone().count() {
                    return None;
                }
                ({ read }.nth(number)?, { document }.nth(number)?)
            }
        };
        self.expected.push((id.to_owned(), original.to_owned()));
        Some(sent.to_owned())
    }

    /// Takes a message that the server gets. Returns what is wrong with it.
    pub(super) fn handle_to_server(&mut self, message: &Json<'_>) -> Option<String> {
        let id = message.get("id")?.to_string();
        let at = self.expected.iter().position(|(it, _)| *it == id)?;
        let (_, expected) = self.expected.swap_remove(at);
        let text = message.get("params")?.get("arguments")?.get("text")?.as_str()?;
        (text != expected).then(|| format!("{expected:?} was read, {text:?} is written back"))
    }
}
