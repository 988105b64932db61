//! Requests to a manager's servers: each waits for its server, and may be repeated after a lost connection.
//!
//! Invariants:
//! - A call ends with the server's answer, or with an error that says whether the server may have carried
//!   the call out.
//! - A call that may have been carried out is repeated at most once, and only if the tool declares itself
//!   read-only or idempotent.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use hardline_transport::client::TransportError;
use hardline_wire::excerpt::Excerpt;
use hardline_wire::limits::FOREVER;
use rmcp::model::{CallToolResult, GetPromptResult, ReadResourceResult};
use serde::Serialize;
use serde_json::json;
use tokio::time::Instant;

use super::catalog::{CatalogTool, Freshness};
use super::member::Member;
use super::{Manager, name};
use crate::connection::{Params, RawResult};
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
    /// Calls a tool by its name in the [`catalog`](Self::catalog), usually `server__tool`. `arguments` serializes
    /// to a JSON object, or to `null` for none. If the server has not listed its tools yet, the call waits for
    /// that.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Away`] if the server was not connected in time, [`Error::Lost`] if the connection was
    /// lost during the call, [`Error::Unknown`] if there is no such tool, and the errors of
    /// [`Connection::request`] otherwise.
    pub async fn call_tool(
        &self,
        name: &str,
        arguments: impl Serialize,
    ) -> Result<CallToolResult, Error> {
        self.call_tool_with(name, arguments, &RequestOptions::default()).await
    }

    /// Like [`call_tool`](Self::call_tool), with options.
    ///
    /// ```no_run
    /// # async fn run(manager: hardline_client::Manager) -> Result<(), hardline_client::Error> {
    /// use std::time::Duration;
    ///
    /// use hardline_client::RequestOptions;
    /// use serde_json::json;
    ///
    /// // Includes the wait for the server, and a second attempt if there is one.
    /// let options = RequestOptions::default().with_max_total(Duration::from_secs(20));
    /// let result = manager.call_tool_with("docs__search", json!({ "query": "mcp" }), &options).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`call_tool`](Self::call_tool).
    pub async fn call_tool_with(
        &self,
        name: &str,
        arguments: impl Serialize,
        options: &RequestOptions,
    ) -> Result<CallToolResult, Error> {
        let end = options.max_total().map(end_after);
        let tool = self.find_tool(name, end).await?;
        let params = Params::call(tool.listed.name(), arguments)?;
        let result = self.perform(&tool.server, "tools/call", &params, options, end).await?;
        result.parse("tools/call")
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
        arguments: impl Serialize,
        options: &RequestOptions,
    ) -> Result<CallToolResult, Error> {
        let (params, end) = (Params::call(tool, arguments)?, options.max_total().map(end_after));
        self.perform(server, "tools/call", &params, options, end).await?.parse("tools/call")
    }

    /// Reads a resource of a server.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`call_tool`](Self::call_tool).
    pub async fn read_resource(
        &self,
        server: &str,
        uri: &str,
    ) -> Result<ReadResourceResult, Error> {
        let (method, params) = ("resources/read", json!({ "uri": uri }).to_string());
        self.request_json(server, method, &params, &RequestOptions::default()).await?.parse(method)
    }

    /// Gets a prompt of a server. `arguments` serializes to an object of strings, or to `null` for none.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`call_tool`](Self::call_tool).
    pub async fn get_prompt(
        &self,
        server: &str,
        name: &str,
        arguments: impl Serialize,
    ) -> Result<GetPromptResult, Error> {
        let (method, params) = ("prompts/get", Params::call(name, arguments)?);
        let options = RequestOptions::default();
        self.perform(server, method, &params, &options, None).await?.parse(method)
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
        let end = options.max_total().map(end_after);
        self.perform(server, method, &Params::read(params)?, options, end).await
    }

    /// Sends a request, with `end` as the end of all its waits and attempts together.
    async fn perform(
        &self,
        server: &str,
        method: &str,
        params: &Params,
        options: &RequestOptions,
        end: Option<Instant>,
    ) -> Result<RawResult, Error> {
        let member = self.member(server)?;
        let tool = params.name().filter(|_| method == "tools/call");
        let call = Call { manager: self, member: &member, method, tool, end };
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
        let deadline = self.deadline(None);
        Ok(self.member(server)?.connected(deadline).await?.connection)
    }

    /// Returns the end of a wait that begins now, at most `end`.
    fn deadline(&self, end: Option<Instant>) -> Instant {
        let deadline = end_after(self.inner.hub.settings.max_wait);
        end.map_or(deadline, |end| end.min(deadline))
    }

    /// Finds a tool in the catalog. Waits for the servers that may have it but have not listed their tools yet.
    async fn find_tool(&self, name: &str, end: Option<Instant>) -> Result<CatalogTool, Error> {
        if let Some(tool) = self.catalog().find(name) {
            return Ok(tool.clone());
        }
        let mut catalog = self.inner.hub.catalog.subscribe();
        let members = self.inner.hub.members().into_iter();
        let candidates: Vec<_> =
            members.filter(|it| !it.has_listed() && name::may_be_of(&it.name, name)).collect();
        let deadline = self.deadline(end);
        let waiting = async {
            // All at once: they connect and list concurrently, and only the waiting is one after the other.
            for member in &candidates {
                member.asked.notify_one();
            }
            let mut outcome = Ok(());
            for member in &candidates {
                outcome = outcome.and(member.wait_until_listed(deadline).await);
            }
            outcome
        };
        let outcome = tokio::select! {
            biased;
            // Any server may turn out to have the tool before the others are decided.
            _ = catalog.wait_for(|it| it.find(name).is_some()) => Ok(()),
            outcome = waiting => outcome,
        };
        if let Some(tool) = self.catalog().find(name) {
            return Ok(tool.clone());
        }
        outcome?;
        let name = Excerpt::new(name.as_bytes(), NAME_BYTES);
        Err(Error::Unknown(format!("no server has a tool {name}")))
    }
}

/// Returns the end of a time that begins now.
fn end_after(time: Duration) -> Instant {
    // Callers may say `Duration::MAX` for "no limit", which no instant can represent.
    Instant::now() + time.min(FOREVER)
}

/// One request to one server.
struct Call<'a> {
    manager: &'a Manager,
    member: &'a Arc<Member>,
    method: &'a str,
    tool: Option<&'a str>,
    /// End of all waits and attempts together, if the caller has set one.
    end: Option<Instant>,
}

impl Call<'_> {
    async fn run(&self, params: &Params, options: &RequestOptions) -> Result<RawResult, Error> {
        let mut deadline = self.manager.deadline(self.end);
        let mut was_repeated = false;
        let mut last = None;
        for _ in 0..MAX_SENDS {
            let open = match (self.member.connected(deadline).await, last.take()) {
                (Ok(open), _) => open,
                // That the call may have been carried out matters more to the caller than the failed reconnect.
                (Err(_), Some(lost)) => return Err(lost),
                (Err(away), None) => return Err(away),
            };
            let options = self.remaining(options);
            let failure = match open.connection.inner.perform(self.method, params, &options).await {
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
                deadline = self.manager.deadline(self.end);
                last = Some(lost);
            }
            // The task checks the connection first; sending at once would fail on the same broken connection.
            self.member.wait_until_checked(&open, deadline).await;
        }
        Err(self.member.away("its connection was lost repeatedly"))
    }

    /// Returns the options for an attempt that begins now.
    fn remaining<'o>(&self, options: &'o RequestOptions) -> Cow<'o, RequestOptions> {
        let Some(end) = self.end else { return Cow::Borrowed(options) };
        let left = end.saturating_duration_since(Instant::now());
        Cow::Owned(options.clone().with_max_total(left))
    }

    /// Returns true if the request can be sent twice without harm.
    fn is_repeatable(&self) -> bool {
        let Some(tool) = self.tool else { return HARMLESS.contains(&self.method) };
        let catalog = self.manager.catalog();
        let found = catalog.find_of(&self.member.name, tool);
        // A cached declaration is from another run; the server may have changed since.
        found.is_some_and(|it| it.freshness != Freshness::Cached && it.listed.is_repeatable())
    }

    fn lost(&self, failure: &Error) -> Error {
        let what = match self.tool {
            Some(tool) => format!("the call of {}", Excerpt::new(tool.as_bytes(), NAME_BYTES)),
            None => Excerpt::new(self.method.as_bytes(), NAME_BYTES).to_string(),
        };
        Error::Lost { server: self.member.display_name(), what, reason: failure.to_string() }
    }
}
