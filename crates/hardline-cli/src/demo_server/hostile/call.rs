//! A tool call as an attack sees it: data about the caller, and ways to answer.

use std::io::{self, Write};

use serde_json::{Value, json};

use super::attack::Next;
use super::tool::Offer;

/// A call. Its output is deliberately not validated.
pub(crate) struct Call<'a> {
    pub(super) out: &'a mut dyn Write,
    /// Id of the call, as JSON.
    pub(super) id: &'a str,
    /// Id of another waiting call, as JSON; a guessed one if there is none.
    pub(super) other: &'a str,
    /// Progress token, if the caller sent one.
    pub(super) token: Option<&'a Value>,
    /// True if the server may send requests: the handshake is over.
    pub(super) may_ask: bool,
    /// True if results must have the format of 2026-07-28.
    pub(super) is_modern: bool,
    /// Tool list for later `tools/list` requests.
    pub(super) offer: &'a mut Offer,
}

impl Call<'_> {
    /// Writes bytes unchanged.
    pub(super) fn bytes(&mut self, bytes: impl AsRef<[u8]>) -> io::Result<()> {
        self.out.write_all(bytes.as_ref())?;
        self.out.flush()
    }

    /// Writes a line.
    pub(super) fn line(&mut self, line: impl AsRef<str>) -> io::Result<()> {
        self.bytes(format!("{}\n", line.as_ref()))
    }

    /// Returns a valid answer with a text, as one line without its line end.
    pub(super) fn text(&self, text: &str) -> String {
        self.text_for(self.id, text)
    }

    /// Returns a valid answer to any request.
    pub(super) fn text_for(&self, id: &str, text: &str) -> String {
        let text = json!(text);
        self.result_for(id, &format!(r#""content":[{{"type":"text","text":{text}}}]"#))
    }

    /// Returns an answer whose result has these members.
    pub(super) fn result(&self, members: &str) -> String {
        self.result_for(self.id, members)
    }

    /// Sends a valid answer.
    pub(super) fn answer(&mut self, text: &str) -> io::Result<Next> {
        let line = self.text(text);
        self.answer_with(&line)
    }

    /// Sends a line as the answer.
    pub(super) fn answer_with(&mut self, line: &str) -> io::Result<Next> {
        self.line(line)?;
        Ok(Next::GoOn)
    }

    fn result_for(&self, id: &str, members: &str) -> String {
        let kind = if self.is_modern { r#""resultType":"complete","# } else { "" };
        format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{{kind}{members}}}}}"#)
    }
}
