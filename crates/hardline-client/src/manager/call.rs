//! Requests to a manager's servers: each waits for its server, and may be repeated after a lost connection.
//!
//! Invariants:
//! - A call ends with the server's answer, or with an error that says whether the server may have carried
//!   the call out.
//! - A call that may have been carried out is repeated at most once, and only if the tool declares itself
//!   read-only or idempotent.

use std::sync::Arc;

use hardline_transport::client::TransportError;
use hardline_wire::excerpt::Excerpt;
use rmcp::model::CallToolResult;
use serde_json::Value;
use tokio::time::Instant;

use super::Manager;
use super::catalog::{CatalogTool, Freshness};
use super::member::Member;
use crate::connection::RawResult;
use crate::{Connection, Error, RequestOptions};

/// Limit on sending a request that servers keep refusing before they process it.
const MAX_SENDS: u32 = 8;
/// Number of bytes of a name that an error quotes.
const NAME_BYTES: usize = 80;
/// Methods without side effects, which can be repeated safely.
const HARMLESS: &[&str] = &[
    "completion/complete",
    "ping",
    "prompts/get",
    "prompts/list",
    "resources/list",
    "resources/read",
    "resources/templates/list",
    "server/discover",
    "tools/list",
];

impl Manager {
    /// Calls a tool by its name in the [`catalog`](Self::catalog). `arguments` is an object, or `null` for
    /// none.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Away`] if the server was not connected in time, [`Error::Lost`] if the connection was
    /// lost during the call, [`Error::Unknown`] if there is no such tool, and the errors of
    /// [`Connection::request`] otherwise.
    pub async fn call_tool(&self, name: &str, arguments: Value) -> Result<CallToolResult, Error> {
        let tool = self.tool(name)?;
        self.call_tool_of(&tool.server, tool.listed.name(), arguments, &RequestOptions::default())
            .await
    }

    /// Calls a tool of one server. The tool need not be in the catalog yet.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`call_tool`](Self::call_tool).
    pub async fn call_tool_of(
        &self,
        server: &str,
        tool: &str,
        arguments: Value,
        options: &RequestOptions,
    ) -> Result<CallToolResult, Error> {
        let params = match arguments {
            Value::Null => serde_json::json!({ "name": tool }),
            Value::Object(_) => serde_json::json!({ "name": tool, "arguments": arguments }),
            _ => return Err(Error::Params("a tool's arguments must be a JSON object".into())),
        };
        let params = params.to_string();
        self.request_json(server, "tools/call", &params, options).await?.parse("tools/call")
    }

    /// Sends a request for any method to a server, with parameters that are JSON already.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`call_tool`](Self::call_tool).
    pub async fn request_json(
        &self,
        server: &str,
        method: &str,
        params: &str,
        options: &RequestOptions,
    ) -> Result<RawResult, Error> {
        let member = self.member(server)?;
        let tool = if method == "tools/call" { tool_name(params) } else { None };
        let call = Call { manager: self, member: &member, method, tool };
        call.run(params, options).await
    }

    /// Waits for the connection to a server, as long as a call would, and returns it. Use it for requests that
    /// only [`Connection`] offers; the manager neither waits nor repeats for those.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Away`] if the server was not connected in time, [`Error::Unknown`] if there is no server
    /// of that name.
    pub async fn connection(&self, server: &str) -> Result<Connection, Error> {
        let deadline = Instant::now() + self.inner.hub.settings.max_wait;
        Ok(self.member(server)?.connected(deadline).await?.connection)
    }

    fn tool(&self, name: &str) -> Result<CatalogTool, Error> {
        let catalog = self.catalog();
        catalog.find(name).cloned().ok_or_else(|| {
            let name = Excerpt::new(name.as_bytes(), NAME_BYTES);
            Error::Unknown(format!("no server has a tool {name}"))
        })
    }
}

/// One request to one server.
struct Call<'a> {
    manager: &'a Manager,
    member: &'a Arc<Member>,
    method: &'a str,
    tool: Option<String>,
}

impl Call<'_> {
    async fn run(&self, params: &str, options: &RequestOptions) -> Result<RawResult, Error> {
        let max_wait = self.manager.inner.hub.settings.max_wait;
        let mut deadline = Instant::now() + max_wait;
        let mut was_repeated = false;
        let mut last = None;
        for _ in 0..MAX_SENDS {
            let open = match (self.member.connected(deadline).await, last.take()) {
                (Ok(open), _) => open,
                // That the call may have been carried out matters more to the caller than the failed reconnect.
                (Err(_), Some(lost)) => return Err(lost),
                (Err(away), None) => return Err(away),
            };
            let failure = match open.connection.request_json(self.method, params, options).await {
                Err(failure) if self.member.report_failure(open.generation, &failure) => failure,
                outcome => return outcome,
            };
            let was_refused =
                matches!(&failure, Error::Transport(error) if TransportError::is_refused(error));
            // A refused request was never processed, so sending it again is always safe.
            if !was_refused {
                let lost = self.lost(&failure);
                if was_repeated || !self.is_repeatable() {
                    return Err(lost);
                }
                was_repeated = true;
                deadline = Instant::now() + max_wait;
                last = Some(lost);
            }
            // The task checks the connection first; sending at once would fail on the same broken connection.
            self.member.wait_until_checked(&open, deadline).await;
        }
        Err(self.member.away("its connection was lost repeatedly"))
    }

    /// Returns true if the request can be sent twice without harm.
    fn is_repeatable(&self) -> bool {
        let Some(tool) = &self.tool else { return HARMLESS.contains(&self.method) };
        let catalog = self.manager.catalog();
        let found = catalog.find_of(&self.member.name, tool);
        // A cached declaration is from another run; the server may have changed since.
        found.is_some_and(|it| it.freshness != Freshness::Cached && it.listed.is_repeatable())
    }

    fn lost(&self, failure: &Error) -> Error {
        let what = match &self.tool {
            Some(tool) => format!("the call of {}", Excerpt::new(tool.as_bytes(), NAME_BYTES)),
            None => Excerpt::new(self.method.as_bytes(), NAME_BYTES).to_string(),
        };
        Error::Lost { server: self.member.display_name(), what, reason: failure.to_string() }
    }
}

/// Returns the name of the called tool.
fn tool_name(params: &str) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct Named {
        name: String,
    }

    serde_json::from_str(params).map(|it: Named| it.name).ok()
}
