//! Calls to whichever server has the tool.
//!
//! Invariants:
//! - A call ends: with the server's answer, or an error that says whether it may have been carried out.
//! - A call that may have been carried out is made again only if the tool says that this does no harm, and
//!   once.

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
use crate::{Connection, Error, Options};

/// How often a request is sent that was not taken.
const MAX_SENDS: u32 = 8;
/// How much of a name is shown.
const NAME_BYTES: usize = 80;
/// Requests that change nothing, so that they can be made twice.
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
    /// [`Error::Away`], if the server was not there in time, [`Error::Lost`], if it went away meanwhile,
    /// [`Error::Unknown`], if there is no such tool, and whatever else can go wrong with a call.
    pub async fn call_tool(&self, name: &str, arguments: Value) -> Result<CallToolResult, Error> {
        let tool = self.tool(name)?;
        self.call_tool_of(&tool.server, tool.listed.name(), arguments, &Options::default()).await
    }

    /// Calls a tool of a server, which need not be in the catalog yet.
    ///
    /// # Errors
    ///
    /// As for [`call_tool`](Self::call_tool).
    pub async fn call_tool_of(
        &self,
        server: &str,
        tool: &str,
        arguments: Value,
        options: &Options,
    ) -> Result<CallToolResult, Error> {
        let params = match arguments {
            Value::Null => serde_json::json!({ "name": tool }),
            Value::Object(_) => serde_json::json!({ "name": tool, "arguments": arguments }),
            _ => return Err(Error::Params("a tool's arguments are an object".into())),
        };
        let params = params.to_string();
        self.request_json(server, "tools/call", &params, options).await?.parse("tools/call")
    }

    /// Sends a request of any method to a server, with parameters that are JSON already.
    ///
    /// # Errors
    ///
    /// As for [`call_tool`](Self::call_tool).
    pub async fn request_json(
        &self,
        server: &str,
        method: &str,
        params: &str,
        options: &Options,
    ) -> Result<RawResult, Error> {
        let member = self.member(server)?;
        let tool = if method == "tools/call" { tool_name(params) } else { None };
        let call = Call { manager: self, member: &member, method, tool };
        call.run(params, options).await
    }

    /// Waits for the connection to a server, which is asked for if there is none, as long as a call would.
    /// It is for what [`Connection`] alone has: whoever uses it sees for himself what becomes of it.
    ///
    /// # Errors
    ///
    /// [`Error::Away`] or [`Error::Unknown`].
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

/// A request to one server.
struct Call<'a> {
    manager: &'a Manager,
    member: &'a Arc<Member>,
    method: &'a str,
    tool: Option<String>,
}

impl Call<'_> {
    async fn run(&self, params: &str, options: &Options) -> Result<RawResult, Error> {
        let max_wait = self.manager.inner.hub.settings.max_wait;
        let mut deadline = Instant::now() + max_wait;
        let mut is_again = false;
        let mut last = None;
        for _ in 0..MAX_SENDS {
            let open = match (self.member.connected(deadline).await, last.take()) {
                (Ok(open), _) => open,
                // What was lost is worth more than that it stays away.
                (Err(_), Some(lost)) => return Err(lost),
                (Err(away), None) => return Err(away),
            };
            let failure = match open.connection.request_json(self.method, params, options).await {
                Err(failure) if self.member.suspect(open.generation, &failure) => failure,
                outcome => return outcome,
            };
            let is_untaken =
                matches!(&failure, Error::Transport(error) if TransportError::is_refused(error));
            if !is_untaken {
                let lost = self.lost(&failure);
                if is_again || !self.is_repeatable() {
                    return Err(lost);
                }
                is_again = true;
                deadline = Instant::now() + max_wait;
                last = Some(lost);
            }
            self.member.settled(&open, deadline).await;
        }
        Err(self.member.away("it comes and goes"))
    }

    fn is_repeatable(&self) -> bool {
        let Some(tool) = &self.tool else { return HARMLESS.contains(&self.method) };
        let catalog = self.manager.catalog();
        let found = catalog.find_of(&self.member.name, tool);
        // What was kept from an earlier run is only shown.
        found.is_some_and(|it| it.freshness != Freshness::Cached && it.listed.is_repeatable())
    }

    fn lost(&self, failure: &Error) -> Error {
        let what = match &self.tool {
            Some(tool) => format!("the call of {}", Excerpt::new(tool.as_bytes(), NAME_BYTES)),
            None => Excerpt::new(self.method.as_bytes(), NAME_BYTES).to_string(),
        };
        Error::Lost { server: self.member.shown(), what, reason: failure.to_string() }
    }
}

/// The name of the tool that a call is for.
fn tool_name(params: &str) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct Named {
        name: String,
    }

    serde_json::from_str(params).map(|it: Named| it.name).ok()
}
