//! Reads the entry of one server.
//!
//! Checks everything that does not depend on the values of variables. An entry with a fatal problem yields
//! no server, but all of its problems are reported, not just the first.

mod option;
mod value;

use std::sync::Arc;

use hardline_transport::http::{Headers, HttpSettings};

use super::document::{Document, Member, Node, Value};
use super::error::{Mistakes, show};
use super::server::{CommandConfig, HeaderConfig, Kind, ServerConfig, UrlConfig};
use super::template::{Scope, Template};
use super::{Dialect, HttpTransport, Problem, keys};
use value::value;

pub(in crate::config) use value::{found, join};

/// The state of reading one entry.
pub(in crate::config) struct Entry<'a> {
    pub(in crate::config) document: &'a Document,
    pub(in crate::config) scope: Arc<Scope>,
    /// Path of keys from the top of the file to the entry.
    pub(in crate::config) key: String,
    pub(in crate::config) mistakes: &'a mut Mistakes,
    /// True once a fatal problem was found.
    pub(in crate::config) is_broken: bool,
}

impl Entry<'_> {
    /// Reads the entry. Returns `None` after a fatal problem.
    pub(in crate::config) fn read(mut self, node: &Node) -> Option<ServerConfig> {
        if self.scope.server.trim().is_empty() {
            // Reported in addition to the other problems, so that one run shows all of them.
            self.report(&self.key.clone(), node, Problem::EmptyName);
        }
        let Some(members) = node.members() else {
            let key = self.key.clone();
            self.wrong_kind(&key, node, "an object", "write {\"command\": …} or {\"url\": …} here");
            return None;
        };
        self.check_keys(node, members);
        let kind = self.kind(node);
        let server = ServerConfig {
            is_disabled: self.read_disabled(node),
            timeout: self.timeout(node),
            oauth: self.oauth(node),
            scope: Arc::clone(&self.scope),
            alias: None,
            kind: kind?,
        };
        (!self.is_broken).then_some(server)
    }

    fn check_keys(&mut self, node: &Node, members: &[Member]) {
        if let Some(twice) = node.duplicate() {
            self.report(&self.path(&twice.key), &twice.node, Problem::Duplicate);
        }
        for member in members.iter().filter(|member| !keys::is_known(&member.key)) {
            // A full list drops the report anyway, and comparing words is slow.
            let suggestion = if self.mistakes.is_full() {
                None
            } else {
                keys::nearest(&member.key).map(str::to_owned)
            };
            self.report(&self.path(&member.key), &member.node, Problem::UnknownKey { suggestion });
        }
        for (key, help) in [
            ("headersHelper", "put the headers that it gives into headers"),
            ("tcp", "use httpUrl or url"),
        ] {
            if let Some(node) = value(node, key) {
                self.report(&self.path(key), node, Problem::Ignored(help));
            }
        }
    }

    fn kind(&mut self, node: &Node) -> Option<Kind> {
        let command = value(node, "command");
        let mut urls = keys::ADDRESSES.iter().filter_map(|key| Some((*key, value(node, key)?)));
        // Some programs write every key and leave the unused ones empty.
        let is_empty = |node: &Node| node.as_str().is_some_and(|text| text.trim().is_empty());
        let (first, second) = (urls.next(), urls.next());
        // The key that counts is the one that is not empty.
        let url = first.filter(|(_, url)| command.is_none() || !is_empty(url));
        let command = command.filter(|command| url.is_none() || !is_empty(command));
        // Gemini CLI has two keys for addresses, and an entry may have both.
        if let (Some((first, _)), Some((second, other))) = (first, second)
            && self.scope.dialect != Dialect::GeminiCli
        {
            self.report(&self.path(second), other, Problem::TwoUrls(first, second));
        }
        let transport =
            self.transport(node, command.map(|_| "command").or(url.map(|(key, _)| key)));
        match (command, url) {
            (Some(_), Some((key, url))) => {
                self.report(&self.path(key), url, Problem::CommandAndUrl(key));
                None
            }
            (Some(command), None) => {
                self.warn_inapplicable(node, &keys::OF_URLS, "at an address");
                self.command(node, command).map(Kind::Command)
            }
            (None, Some((key, url))) => {
                self.warn_inapplicable(node, &keys::OF_COMMANDS, "that are started");
                self.url(node, key, url, transport).map(Kind::Url)
            }
            (None, None) => {
                let is_extension = value(node, "settings").or(value(node, "source")).is_some();
                let problem = match self.scope.dialect {
                    Dialect::Zed if is_extension => Problem::ClientOnly("Zed"),
                    _ => Problem::NoServer,
                };
                self.report(&self.key.clone(), node, problem);
                None
            }
        }
    }

    /// Reads the transport from `type`. Reports a contradiction with `found`, the key that locates the server.
    fn transport(&mut self, node: &Node, found: Option<&'static str>) -> HttpTransport {
        let given = keys::TYPES.iter().find_map(|key| Some((*key, value(node, key)?)));
        let Some((key, given)) = given else { return HttpTransport::Any };
        let Some(text) = self.string(&self.path(key), given) else { return HttpTransport::Any };
        // Clients spell the same word with a hyphen, an underscore or neither.
        let word = text.to_ascii_lowercase().replace(['-', '_'], "");
        let transport = match &*word {
            "stdio" | "local" => None,
            "http" if self.scope.dialect.falls_back_to_sse() => Some(HttpTransport::Any),
            "http" | "streamablehttp" | "streamable" | "httpstream" => {
                Some(HttpTransport::Streamable)
            }
            "sse" => Some(HttpTransport::Sse),
            "remote" => Some(HttpTransport::Any),
            _ => {
                let problem = Problem::UnknownType(show(text.as_bytes()));
                self.report(&self.path(key), given, problem);
                return HttpTransport::Any;
            }
        };
        let needs = if transport.is_some() { "url" } else { "command" };
        if let Some(found) = found
            && transport.is_some() == (found == "command")
        {
            let kind = show(text.as_bytes());
            self.report(&self.path(key), given, Problem::TypeContradicts { kind, needs, found });
        }
        transport.unwrap_or_default()
    }

    fn command(&mut self, node: &Node, command: &Node) -> Option<CommandConfig> {
        // Older files of Zed have the program, its arguments and its environment in one object.
        let (holder, program, prefix) = match &command.value {
            Value::Object(_) => match value(command, "path") {
                Some(program) => (command, program, "command."),
                None => {
                    self.wrong_kind(&self.path("command"), command, "a string", "name the program");
                    return None;
                }
            },
            _ => (node, command, ""),
        };
        let name = if prefix.is_empty() { "command" } else { "command.path" };
        let program = self.template(&self.path(name), program)?;
        if program.text.trim().is_empty() {
            self.report(&self.path(name), command, Problem::EmptyCommand);
        }
        let args = self.args(holder, &self.path(&format!("{prefix}args")));
        let env =
            value(holder, "env").map(|env| self.map(&self.path(&format!("{prefix}env")), env));
        let env = env.unwrap_or_default();
        for (name, template) in &env {
            if name.is_empty() || name.contains(['=', '\0']) {
                self.report_at(&template.key, template.position, Problem::VariableName);
            }
        }
        Some(CommandConfig {
            program,
            args,
            env,
            passed: self.passed(node),
            cwd: self.optional(node, "cwd"),
            env_file: self.optional(node, "envFile"),
        })
    }

    fn args(&mut self, holder: &Node, key: &str) -> Vec<Template> {
        let Some(node) = value(holder, "args") else { return Vec::new() };
        let Value::Array(items) = &node.value else {
            self.wrong_kind(key, node, "a list of strings", "write it as [\"first\", \"second\"]");
            return Vec::new();
        };
        self.check_count(key, node, items.len());
        let mut args = Vec::new();
        for (index, item) in items.iter().enumerate().take(value::MAX_ITEMS) {
            args.extend(self.template(&format!("{key}[{index}]"), item));
        }
        args
    }

    /// Reads the names of the variables that Codex passes on.
    fn passed(&mut self, node: &Node) -> Vec<String> {
        let Some(list) = value(node, "env_vars") else { return Vec::new() };
        let key = self.path("env_vars");
        let Value::Array(items) = &list.value else {
            self.wrong_kind(&key, list, "a list of names", "write it as [\"NAME\"]");
            return Vec::new();
        };
        let mut names = Vec::new();
        for (index, item) in items.iter().enumerate() {
            // An item is a name, or an object with a name.
            let name = item.member("name").map_or(item, |member| &member.node);
            names.extend(self.string(&format!("{key}[{index}]"), name));
        }
        names
    }

    fn url(
        &mut self,
        node: &Node,
        key: &str,
        url: &Node,
        transport: HttpTransport,
    ) -> Option<UrlConfig> {
        let dialect = self.scope.dialect;
        let template = self.template(&self.path(key), url)?;
        if !template.has_variables(dialect)
            && let Err(error) = HttpSettings::new(&template.text)
        {
            self.report(&self.path(key), url, Problem::Url(error.to_string()));
        }
        let mut headers = Vec::new();
        for (key, is_variable) in
            [("headers", false), ("http_headers", false), ("env_http_headers", true)]
        {
            let Some(given) = value(node, key) else { continue };
            for (name, value) in self.map(&self.path(key), given) {
                headers.push((name, HeaderConfig { prefix: "", value, is_variable }));
            }
        }
        if let Some(value) = self.optional(node, "bearer_token_env_var") {
            let header = HeaderConfig { prefix: "Bearer ", value, is_variable: true };
            headers.push(("Authorization".to_owned(), header));
        }
        // Header names are case-insensitive, so `node.duplicate` does not find all repetitions.
        let mut names = std::collections::HashSet::new();
        for (name, HeaderConfig { value, is_variable, .. }) in &headers {
            // The value of a variable is not known yet, so only the name of its header is checked.
            let is_plain = !is_variable && !value.has_variables(dialect);
            let sample = if is_plain { &*value.text } else { "" };
            if let Err(error) = Headers::new().with(name, sample) {
                self.report_at(&value.key, value.position, Problem::Header(error.to_string()));
            } else if !names.insert(name.trim().to_ascii_lowercase()) {
                self.report_at(&value.key, value.position, Problem::Duplicate);
            }
        }
        // `httpUrl`, from Gemini CLI, means Streamable HTTP; the other keys leave the transport open.
        let transport = if key == "httpUrl" && transport == HttpTransport::Any {
            HttpTransport::Streamable
        } else {
            transport
        };
        Some(UrlConfig { url: template, headers, transport })
    }

    /// Reports keys that only apply to servers of the other kind, unless they are empty.
    fn warn_inapplicable(&mut self, node: &Node, keys: &[&str], whose: &'static str) {
        let is_empty = |node: &Node| match &node.value {
            Value::Object(members) => members.is_empty(),
            Value::Array(items) => items.is_empty(),
            Value::String(text) => text.is_empty(),
            Value::Other(_) => false,
        };
        for key in keys {
            // Programs that write every key leave the unused ones empty.
            if let Some(node) = value(node, key).filter(|node| !is_empty(node)) {
                self.report(&self.path(key), node, Problem::OtherKind(whose));
            }
        }
    }
}
