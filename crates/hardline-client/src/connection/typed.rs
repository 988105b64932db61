//! The methods of the protocol, with rmcp's types.

use std::collections::{HashMap, HashSet};
use std::sync::PoisonError;

use hardline_transport::client::Kind;
use rmcp::model::{
    CallToolResult, CompleteRequestParams, CompleteResult, GetPromptResult, LoggingLevel, Prompt,
    ReadResourceResult, Resource, ResourceTemplate, SubscriptionFilter, Tool,
};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::message::Params;
use super::{Connection, Options, tools};
use crate::Error;

/// How much all pages of a list may be.
const MAX_LIST_BYTES: usize = 64 << 20;

/// Progress that a server reports about a request.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Progress {
    /// How far it is.
    pub progress: f64,
    /// How far it goes, if that is known.
    pub total: Option<f64>,
    /// What it does. Unescaped.
    pub message: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Page {
    pub(super) next_cursor: Option<String>,
}

impl Connection {
    /// Lists all tools, on however many pages they come. Over HTTP, tools of 2026-07-28 whose headers
    /// are not valid are left out, as the protocol wants.
    ///
    /// # Errors
    ///
    /// [`Error`]: see there.
    pub async fn list_tools(&self) -> Result<Vec<Tool>, Error> {
        self.list_tools_as(|tool: &Tool| tool.name.to_string()).await
    }

    /// The same as JSON, each as the server wrote it.
    ///
    /// # Errors
    ///
    /// [`Error`]: see there.
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
        let has_headers =
            !self.version().has_handshake() && self.inner.transport.kind() == Kind::Http;
        let mut listed: Vec<T> = self
            .list_pages("tools/list", "tools", |result| {
                if has_headers {
                    invalid.extend(tools::invalid(result));
                }
            })
            .await?;
        if !invalid.is_empty() {
            listed.retain(|tool| !invalid.contains(name(tool).as_str()));
        }
        Ok(listed)
    }

    /// Calls a tool. `arguments` is an object, or `null` for none.
    ///
    /// A tool that says that it failed gives a result that says so (`is_error`), no error.
    ///
    /// # Errors
    ///
    /// [`Error`]: see there.
    pub async fn call_tool(&self, name: &str, arguments: Value) -> Result<CallToolResult, Error> {
        self.call_tool_with(name, arguments, &Options::default()).await
    }

    /// The same, with options.
    ///
    /// # Errors
    ///
    /// [`Error`]: see there.
    pub async fn call_tool_with(
        &self,
        name: &str,
        arguments: Value,
        options: &Options,
    ) -> Result<CallToolResult, Error> {
        let params = match arguments {
            Value::Null => Params::tool(name, None),
            Value::Object(arguments) => Params::tool(name, Some(arguments)),
            _ => return Err(Error::Params("a tool's arguments are an object".into())),
        };
        self.inner.perform("tools/call", params, options).await?.parse("tools/call")
    }

    /// Lists all resources.
    ///
    /// # Errors
    ///
    /// [`Error`]: see there.
    pub async fn list_resources(&self) -> Result<Vec<Resource>, Error> {
        self.list("resources/list", "resources").await
    }

    /// Lists all templates of resources.
    ///
    /// # Errors
    ///
    /// [`Error`]: see there.
    pub async fn list_resource_templates(&self) -> Result<Vec<ResourceTemplate>, Error> {
        self.list("resources/templates/list", "resourceTemplates").await
    }

    /// Reads a resource.
    ///
    /// # Errors
    ///
    /// [`Error`]: see there.
    pub async fn read_resource(&self, uri: &str) -> Result<ReadResourceResult, Error> {
        self.ask("resources/read", json!({ "uri": uri })).await
    }

    /// Lists all prompts.
    ///
    /// # Errors
    ///
    /// [`Error`]: see there.
    pub async fn list_prompts(&self) -> Result<Vec<Prompt>, Error> {
        self.list("prompts/list", "prompts").await
    }

    /// Gets a prompt. `arguments` is an object of strings, or `null` for none.
    ///
    /// # Errors
    ///
    /// [`Error`]: see there.
    pub async fn get_prompt(&self, name: &str, arguments: Value) -> Result<GetPromptResult, Error> {
        let params = match arguments {
            Value::Null => json!({ "name": name }),
            arguments => json!({ "name": name, "arguments": arguments }),
        };
        self.ask("prompts/get", params).await
    }

    /// Asks how an argument of a prompt or a resource template could go on.
    ///
    /// # Errors
    ///
    /// [`Error`]: see there.
    pub async fn complete(&self, params: &CompleteRequestParams) -> Result<CompleteResult, Error> {
        self.request("completion/complete", params).await?.parse("completion/complete")
    }

    /// Asks to be told when a resource changes; [`events`](Self::events) tells. In a session that has to
    /// be opened again, the server is asked again. For versions with a handshake; 2026-07-28 has
    /// [`listen`](Self::listen).
    ///
    /// # Errors
    ///
    /// [`Error`]: see there.
    pub async fn subscribe(&self, uri: &str) -> Result<(), Error> {
        self.request("resources/subscribe", &json!({ "uri": uri })).await?;
        let mut memory = self.inner.memory.lock().unwrap_or_else(PoisonError::into_inner);
        memory.subscriptions.insert(uri.to_owned());
        Ok(())
    }

    /// Asks not to be told any more.
    ///
    /// # Errors
    ///
    /// [`Error`]: see there.
    pub async fn unsubscribe(&self, uri: &str) -> Result<(), Error> {
        {
            let mut memory = self.inner.memory.lock().unwrap_or_else(PoisonError::into_inner);
            memory.subscriptions.remove(uri);
        }
        self.request("resources/unsubscribe", &json!({ "uri": uri })).await.map(|_| ())
    }

    /// Listens, in 2026-07-28, to what the filter names, until the server ends it: then this resolves.
    /// [`events`](Self::events) has what comes. Dropping the future ends it too.
    ///
    /// # Errors
    ///
    /// [`Error`]: see there.
    pub async fn listen(&self, filter: &SubscriptionFilter) -> Result<(), Error> {
        let endless = Options::default().with_timeout(std::time::Duration::ZERO);
        let params = json!({ "notifications": filter });
        self.request_with("subscriptions/listen", &params, &endless).await.map(|_| ())
    }

    /// Sets from which level on the server reports what it does; [`events`](Self::events) has the
    /// reports. For versions with a handshake.
    ///
    /// # Errors
    ///
    /// [`Error`]: see there.
    pub async fn set_level(&self, level: LoggingLevel) -> Result<(), Error> {
        self.request("logging/setLevel", &json!({ "level": level })).await?;
        let mut memory = self.inner.memory.lock().unwrap_or_else(PoisonError::into_inner);
        memory.level = Some(level);
        Ok(())
    }

    /// Asks whether the server is there. 2026-07-28 has no `ping`: there `server/discover` is asked.
    ///
    /// # Errors
    ///
    /// [`Error`]: see there.
    pub async fn ping(&self) -> Result<(), Error> {
        let method = if self.version().has_handshake() { "ping" } else { "server/discover" };
        self.request(method, &()).await.map(|_| ())
    }

    async fn ask<T: DeserializeOwned>(&self, method: &str, params: Value) -> Result<T, Error> {
        self.request(method, &params).await?.parse(method)
    }

    /// Lists with any method that gives a list in pages, under `key`: as whatever the items are, JSON text
    /// too.
    ///
    /// # Errors
    ///
    /// [`Error`]: see there.
    pub async fn list<T: DeserializeOwned>(
        &self,
        method: &str,
        key: &str,
    ) -> Result<Vec<T>, Error> {
        self.list_pages(method, key, |_| {}).await
    }

    /// Takes the items of all pages, and shows each page.
    async fn list_pages<T: DeserializeOwned>(
        &self,
        method: &str,
        key: &str,
        mut see: impl FnMut(&str),
    ) -> Result<Vec<T>, Error> {
        let hidden = self.inner.hidden();
        let unexpected =
            |reason: &str| super::call::unexpected(method, reason).hidden(&hidden.secrets());
        let mut bytes = 0;
        let mut items = Vec::new();
        let mut seen = HashSet::new();
        let mut params = Params::default();
        for _ in 0..self.inner.settings.max_pages {
            let page = self.inner.perform(method, params, &Options::default()).await?;
            bytes += page.get().len();
            if MAX_LIST_BYTES < bytes {
                return Err(unexpected("the list is longer than 64 MiB"));
            }
            see(page.get());
            let fields: HashMap<String, Box<RawValue>> = page.parse(method)?;
            let listed = fields.get(key).map_or("null", |it| it.get());
            // An empty list may be left out, or be null.
            let listed = super::lenient::read::<Option<Vec<T>>>(method, listed);
            let listed = listed.map_err(|error| unexpected(&format!("{key}: {error}")))?;
            items.extend(listed.unwrap_or_default());
            let cursor =
                fields.get("nextCursor").and_then(|it| serde_json::from_str(it.get()).ok());
            let Some(Some(cursor)) = cursor else { return Ok(items) };
            let cursor: String = cursor;
            if !seen.insert(cursor.clone()) {
                return Err(unexpected("a cursor comes back, so the list has no end"));
            }
            params = Params::new(&json!({ "cursor": cursor }))?;
        }
        Err(unexpected(&format!("more than {} pages", self.inner.settings.max_pages)))
    }
}
