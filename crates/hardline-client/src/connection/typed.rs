//! The protocol's methods as typed functions, with rmcp's types.

use std::collections::{HashMap, HashSet};
use std::sync::PoisonError;

use hardline_transport::client::TransportKind;
use rmcp::model::{
    CallToolResult, CompleteRequestParams, CompleteResult, GetPromptResult, LoggingLevel, Prompt,
    ReadResourceResult, Resource, ResourceTemplate, SubscriptionFilter, Tool,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::message::Params;
use super::{Connection, RequestOptions, tools};
use crate::Error;

/// Limit on the total size of all pages of a list.
const MAX_LIST_BYTES: usize = 64 << 20;

/// Progress that the server reports for a request.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Progress {
    /// Progress so far.
    pub progress: f64,
    /// Progress at completion, if known.
    pub total: Option<f64>,
    /// Description of the current step. Not escaped: do not print it to a terminal.
    pub message: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Page {
    pub(super) next_cursor: Option<String>,
}

impl Connection {
    /// Lists all tools, following pagination. Over HTTP, tools of a 2026-07-28 server with invalid header
    /// definitions are left out, as the protocol requires.
    ///
    /// # Errors
    ///
    /// Returns an [`Error`] if a request fails, or if the list exceeds the limits on pages and bytes.
    pub async fn list_tools(&self) -> Result<Vec<Tool>, Error> {
        self.list_tools_as(|tool: &Tool| tool.name.to_string()).await
    }

    /// Lists all tools as JSON, each as the server wrote it.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`list_tools`](Self::list_tools).
    pub async fn list_tools_json(&self) -> Result<Vec<Box<RawValue>>, Error> {
        #[derive(Deserialize)]
        struct Named {
            name: String,
        }

        let name = |tool: &RawValue| serde_json::from_str(tool.get()).map(|it: Named| it.name);
        self.list_tools_as::<Box<RawValue>>(|tool| name(tool).unwrap_or_default()).await
    }

    async fn list_tools_as<T: DeserializeOwned>(
        &self,
        name: impl Fn(&T) -> String,
    ) -> Result<Vec<T>, Error> {
        let mut invalid = HashSet::new();
        // Over stdio there are no headers, so an invalid definition does no harm.
        let has_headers =
            !self.version().has_handshake() && self.inner.transport.kind() == TransportKind::Http;
        let mut listed: Vec<T> = self
            .list_pages("tools/list", "tools", |result| {
                if has_headers {
                    invalid.extend(tools::invalid(result));
                }
            })
            .await?;
        if !invalid.is_empty() {
            // A tool with an invalid definition cannot be called with the right headers.
            listed.retain(|tool| !invalid.contains(name(tool).as_str()));
        }
        Ok(listed)
    }

    /// Calls a tool. `arguments` serializes to a JSON object, or to `null` for none.
    ///
    /// ```no_run
    /// # async fn run(server: hardline_client::Connection) -> Result<(), hardline_client::Error> {
    /// #[derive(serde::Serialize)]
    /// struct Search<'a> {
    ///     query: &'a str,
    /// }
    ///
    /// let result = server.call_tool("search", Search { query: "mcp" }).await?;
    /// let result = server.call_tool("search", serde_json::json!({ "query": "mcp" })).await?;
    /// let result = server.call_tool("latest", ()).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// If the tool reports a failure of its own, the result has `is_error` set; that is not an [`Error`].
    ///
    /// # Errors
    ///
    /// Returns an [`Error`] if the request fails.
    pub async fn call_tool(
        &self,
        name: &str,
        arguments: impl Serialize,
    ) -> Result<CallToolResult, Error> {
        self.call_tool_with(name, arguments, &RequestOptions::default()).await
    }

    /// Like [`call_tool`](Self::call_tool), with options.
    ///
    /// # Errors
    ///
    /// Returns an [`Error`] if the request fails.
    pub async fn call_tool_with(
        &self,
        name: &str,
        arguments: impl Serialize,
        options: &RequestOptions,
    ) -> Result<CallToolResult, Error> {
        let params = Params::call(name, arguments)?;
        self.inner.perform("tools/call", &params, options).await?.parse("tools/call")
    }

    /// Lists all resources.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`list_tools`](Self::list_tools).
    pub async fn list_resources(&self) -> Result<Vec<Resource>, Error> {
        self.list("resources/list", "resources").await
    }

    /// Lists all resource templates.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`list_tools`](Self::list_tools).
    pub async fn list_resource_templates(&self) -> Result<Vec<ResourceTemplate>, Error> {
        self.list("resources/templates/list", "resourceTemplates").await
    }

    /// Reads a resource.
    ///
    /// # Errors
    ///
    /// Returns an [`Error`] if the request fails.
    pub async fn read_resource(&self, uri: &str) -> Result<ReadResourceResult, Error> {
        self.ask("resources/read", json!({ "uri": uri })).await
    }

    /// Lists all prompts.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`list_tools`](Self::list_tools).
    pub async fn list_prompts(&self) -> Result<Vec<Prompt>, Error> {
        self.list("prompts/list", "prompts").await
    }

    /// Gets a prompt. `arguments` serializes to an object of strings, or to `null` for none.
    ///
    /// # Errors
    ///
    /// Returns an [`Error`] if the request fails.
    pub async fn get_prompt(
        &self,
        name: &str,
        arguments: impl Serialize,
    ) -> Result<GetPromptResult, Error> {
        let (method, params) = ("prompts/get", Params::call(name, arguments)?);
        self.inner.perform(method, &params, &RequestOptions::default()).await?.parse(method)
    }

    /// Requests completions for an argument of a prompt or a resource template.
    ///
    /// # Errors
    ///
    /// Returns an [`Error`] if the request fails.
    pub async fn complete(&self, params: &CompleteRequestParams) -> Result<CompleteResult, Error> {
        self.request("completion/complete", params).await?.parse("completion/complete")
    }

    /// Subscribes to changes of a resource; [`events`](Self::events) delivers the notifications. A renewed
    /// session subscribes again. Only for versions with a handshake; 2026-07-28 has [`listen`](Self::listen).
    ///
    /// # Errors
    ///
    /// Returns an [`Error`] if the request fails.
    pub async fn subscribe(&self, uri: &str) -> Result<(), Error> {
        self.request("resources/subscribe", &json!({ "uri": uri })).await?;
        let mut restorable = self.inner.restorable.lock().unwrap_or_else(PoisonError::into_inner);
        // Stored after the answer: a refused subscription must not be repeated to a new session.
        restorable.subscriptions.insert(uri.to_owned());
        Ok(())
    }

    /// Ends the subscription to a resource.
    ///
    /// # Errors
    ///
    /// Returns an [`Error`] if the request fails.
    pub async fn unsubscribe(&self, uri: &str) -> Result<(), Error> {
        // Forgotten first: a renewal during the request must not subscribe again.
        {
            let mut restorable =
                self.inner.restorable.lock().unwrap_or_else(PoisonError::into_inner);
            restorable.subscriptions.remove(uri);
        }
        self.request("resources/unsubscribe", &json!({ "uri": uri })).await.map(|_| ())
    }

    /// Subscribes, in 2026-07-28, to the notifications that `filter` names; [`events`](Self::events) delivers
    /// them. Resolves when the server ends the subscription. Dropping the future ends it too.
    ///
    /// # Errors
    ///
    /// Returns an [`Error`] if the request fails.
    pub async fn listen(&self, filter: &SubscriptionFilter) -> Result<(), Error> {
        // A subscription lasts as long as the server keeps its stream.
        let no_timeout = RequestOptions::default().with_timeout(None);
        let params = json!({ "notifications": filter });
        self.request_with("subscriptions/listen", &params, &no_timeout).await.map(|_| ())
    }

    /// Sets the minimum level of the server's log messages, which [`events`](Self::events) delivers. Only for
    /// versions with a handshake.
    ///
    /// # Errors
    ///
    /// Returns an [`Error`] if the request fails.
    pub async fn set_level(&self, level: LoggingLevel) -> Result<(), Error> {
        self.request("logging/setLevel", &json!({ "level": level })).await?;
        let mut restorable = self.inner.restorable.lock().unwrap_or_else(PoisonError::into_inner);
        // The same: a level that the server refused is none to restore.
        restorable.level = Some(level);
        Ok(())
    }

    /// Checks that the server responds. Sends `server/discover` in 2026-07-28, which has no `ping`.
    ///
    /// # Errors
    ///
    /// Returns an [`Error`] if the request fails.
    pub async fn ping(&self) -> Result<(), Error> {
        // Versions without a handshake have no ping, and answer this instead.
        let method = if self.version().has_handshake() { "ping" } else { "server/discover" };
        self.request(method, &()).await.map(|_| ())
    }

    async fn ask<T: DeserializeOwned>(&self, method: &str, params: Value) -> Result<T, Error> {
        self.request(method, &params).await?.parse(method)
    }

    /// Lists all items of a paginated method. `key` names the member of the result with the items, which can be
    /// of any type, including raw JSON.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`list_tools`](Self::list_tools).
    pub async fn list<T: DeserializeOwned>(
        &self,
        method: &str,
        key: &str,
    ) -> Result<Vec<T>, Error> {
        self.list_pages(method, key, |_| {}).await
    }

    /// Collects the items of all pages. Calls `see` with each page's result.
    async fn list_pages<T: DeserializeOwned>(
        &self,
        method: &str,
        key: &str,
        mut see: impl FnMut(&str),
    ) -> Result<Vec<T>, Error> {
        let source = self.inner.secret_source();
        let unexpected =
            |reason: &str| super::call::unexpected(method, reason).hidden(&source.secrets());
        let mut bytes = 0;
        let mut items = Vec::new();
        let mut seen = HashSet::new();
        let mut params = Params::default();
        for _ in 0..self.inner.settings.max_pages {
            let page = self.inner.perform(method, &params, &RequestOptions::default()).await?;
            bytes += page.get().len();
            if bytes > MAX_LIST_BYTES {
                return Err(unexpected("the list is longer than 64 MiB"));
            }
            see(page.get());
            let fields: HashMap<String, Box<RawValue>> = page.parse(method)?;
            let listed = fields.get(key).map_or("null", |it| it.get());
            // Some servers omit an empty list or write it as null.
            let listed = super::lenient::read::<Option<Vec<T>>>(method, listed);
            let listed = listed.map_err(|error| unexpected(&format!("{key}: {error}")))?;
            items.extend(listed.unwrap_or_default());
            let cursor =
                fields.get("nextCursor").and_then(|it| serde_json::from_str(it.get()).ok());
            let Some(Some(cursor)) = cursor else { return Ok(items) };
            let cursor: String = cursor;
            // A hostile server could repeat a cursor forever.
            if !seen.insert(cursor.clone()) {
                return Err(unexpected("a cursor repeats, so the list would never end"));
            }
            params = Params::new(&json!({ "cursor": cursor }))?;
        }
        Err(unexpected(&format!("more than {} pages", self.inner.settings.max_pages)))
    }
}
