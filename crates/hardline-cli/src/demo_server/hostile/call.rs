//! A call of a tool, as an attack sees it: what it knows of the caller, and ways to answer.

use std::io::{self, Write};

use serde_json::{Value, json};

use super::attack::Next;
use super::tool::Offer;

/// One call. Nothing is checked of what goes out: that is the point.
pub(crate) struct Call<'a> {
    pub(super) out: &'a mut dyn Write,
    /// Its id, as JSON.
    pub(super) id: &'a str,
    /// The id of another call that waits, as JSON: a made-up one if there is none.
    pub(super) other: &'a str,
    /// What progress is reported under, if the caller wants that.
    pub(super) token: Option<&'a Value>,
    /// Whether the client may be asked something: the handshake is over.
    pub(super) may_ask: bool,
    /// Whether results are those of 2026-07-28.
    pub(super) is_modern: bool,
    /// What `tools/list` says from now on.
    pub(super) offer: &'a mut Offer,
}

impl Call<'_> {
    /// Writes bytes as they are.
    pub(super) fn bytes(&mut self, bytes: impl AsRef<[u8]>) -> io::Result<()> {
        self.out.write_all(bytes.as_ref())?;
        self.out.flush()
    }

    /// Writes a line.
    pub(super) fn line(&mut self, line: impl AsRef<str>) -> io::Result<()> {
        self.bytes(format!("{}\n", line.as_ref()))
    }

    /// A proper answer with a text in it, as one line without its end.
    pub(super) fn text(&self, text: &str) -> String {
        self.text_for(self.id, text)
    }

    /// A proper answer to any request.
    pub(super) fn text_for(&self, id: &str, text: &str) -> String {
        let text = json!(text);
        self.result_for(id, &format!(r#""content":[{{"type":"text","text":{text}}}]"#))
    }

    /// An answer whose result has these members.
    pub(super) fn result(&self, members: &str) -> String {
        self.result_for(self.id, members)
    }

    /// Answers properly.
    pub(super) fn answer(&mut self, text: &str) -> io::Result<Next> {
        let line = self.text(text);
        self.answer_with(&line)
    }

    /// Answers with a line.
    pub(super) fn answer_with(&mut self, line: &str) -> io::Result<Next> {
        self.line(line)?;
        Ok(Next::GoOn)
    }

    fn result_for(&self, id: &str, members: &str) -> String {
        let kind = if self.is_modern { r#""resultType":"complete","# } else { "" };
        format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{{kind}{members}}}}}"#)
    }
}
