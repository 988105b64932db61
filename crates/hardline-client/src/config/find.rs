//! Finds the servers in a parsed file.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::dialect::project;
use super::document::{Document, Member, Node, Value};
use super::entry::{Entry, found, join};
use super::error::{Mistakes, Place};
use super::keys;
use super::template::Scope;
use super::{ConfigError, Dialect, Problem, ServerConfig};

/// An object whose members are servers.
struct Group<'n> {
    node: &'n Node,
    key: String,
    dialect: Dialect,
    folder: Option<PathBuf>,
    /// Names that the file disables outside of their entries.
    disabled: HashSet<&'n str>,
}

/// Returns the servers of a file in text order, and the problems with others.
pub(super) fn servers(
    path: &Path,
    document: &Document,
    dialect: Dialect,
    directory: Option<&Path>,
) -> Result<(Vec<ServerConfig>, Vec<ConfigError>), ConfigError> {
    let mut search = Search { path, document, dialect, mistakes: Mistakes::default() };
    let Some(root) = &document.root else {
        // An empty file is normal for a client that has no servers yet, but not for `--config FILE`.
        if dialect == Dialect::Generic {
            return Err(search.error(None, None, Problem::NoServers));
        }
        return Ok((Vec::new(), Vec::new()));
    };
    if root.members().is_none() {
        let help = "write {\"mcpServers\": {…}}";
        let problem = Problem::Kind { expected: "an object", found: found(root), help };
        return Err(search.error(None, Some(root), problem));
    }
    let groups = search.groups(root, directory)?;
    let inputs: Arc<[_]> = inputs(root).into();
    let mut servers: Vec<(usize, ServerConfig)> = Vec::new();
    let mut seen = HashSet::new();
    for group in &groups {
        let members = group.node.members().unwrap_or_default();
        let twice = search.duplicates(group, members);
        for Member { key: name, node, key_range, .. } in members {
            // `groups` has the more specific groups first, so a name found earlier wins.
            if twice.contains(&**name) || !seen.insert(name) {
                continue;
            }
            let scope = Arc::new(Scope {
                file: path.to_owned(),
                server: name.clone(),
                dialect: group.dialect,
                folder: group.folder.clone(),
                inputs: Arc::clone(&inputs),
            });
            let key = join(&group.key, name);
            let mistakes = &mut search.mistakes;
            let entry = Entry { document, scope, key, mistakes, is_broken: false };
            if let Some(mut server) = entry.read(node) {
                // A file can disable a server by its name, outside of the entry.
                server.is_disabled |= group.disabled.contains(&**name);
                servers.push((key_range.start, server));
            }
        }
    }
    // Groups were visited by precedence; users expect the order of the file.
    servers.sort_by_key(|(start, _)| *start);
    let servers = servers.into_iter().map(|(_, server)| server).collect();
    Ok((servers, search.mistakes.into_vec()))
}

struct Search<'a> {
    path: &'a Path,
    document: &'a Document,
    dialect: Dialect,
    mistakes: Mistakes,
}

impl Search<'_> {
    /// Returns the groups of servers, the more specific ones first.
    fn groups<'n>(
        &mut self,
        root: &'n Node,
        directory: Option<&Path>,
    ) -> Result<Vec<Group<'n>>, ConfigError> {
        let folder = project(self.path);
        let mut groups = Vec::new();
        // First, because Claude Code prefers a project's server to the user's of the same name.
        if self.dialect == Dialect::ClaudeCode {
            groups.extend(self.claude_projects(root, directory));
        }
        for keys in self.places() {
            let Some(node) = self.descend(root, keys) else { continue };
            let dialect = match self.dialect {
                Dialect::Generic => Dialect::at_place(keys),
                dialect => dialect,
            };
            let (key, folder) = (keys.join("."), folder.clone());
            let disabled = gemini_disabled(root, node, dialect);
            groups.push(Group { node, key, dialect, folder, disabled });
        }
        if groups.is_empty() {
            groups.extend(self.bare(root, folder)?);
        }
        Ok(groups)
    }

    fn places(&self) -> &'static [&'static [&'static str]] {
        let is_settings = self.path.file_name().is_some_and(|name| name == "settings.json");
        match self.dialect {
            // The user settings nest the servers, the dedicated file does not.
            Dialect::VsCode if is_settings => &[&["mcp", "servers"], &["mcp.servers"]],
            dialect => dialect.places(),
        }
    }

    /// Returns the object at the end of the key path. Reports a value that is not an object.
    fn descend<'n>(&mut self, root: &'n Node, keys: &[&str]) -> Option<&'n Node> {
        let mut node = root;
        let mut path = String::new();
        for key in keys {
            let mut found = node.members()?.iter().filter(|member| member.key == *key);
            let first = found.next()?;
            path = join(&path, key);
            // Clients keep either the first or the last one, so neither can be trusted to be the one in
            // use.
            if let Some(second) = found.next() {
                self.report(&path, &second.node, Problem::Duplicate);
                return None;
            }
            node = &first.node;
        }
        match &node.value {
            Value::Object(_) => Some(node),
            // As in entries, a null value counts as an absent key.
            Value::Other(text) if text == "null" => None,
            _ => {
                let help = "write the servers as {\"name\": {…}}";
                let problem = Problem::Kind { expected: "an object", found: found(node), help };
                self.report(&path, node, problem);
                None
            }
        }
    }

    /// Returns the servers that Claude Code stores for the current directory or the root of its repository.
    fn claude_projects<'n>(
        &mut self,
        root: &'n Node,
        directory: Option<&Path>,
    ) -> Option<Group<'n>> {
        let directory = directory?;
        // Claude Code stores the servers of a repository under its root.
        let repository = directory.ancestors().find(|folder| folder.join(".git").exists());
        let projects = root.member("projects")?;
        for folder in [Some(directory), repository].into_iter().flatten() {
            let Some(name) = folder.to_str() else { continue };
            let Some(member) = projects.node.member(name) else { continue };
            let Some(servers) = self.descend(&member.node, &["mcpServers"]) else { continue };
            return Some(Group {
                node: servers,
                key: format!("projects.{name}.mcpServers"),
                dialect: Dialect::ClaudeCode,
                folder: Some(folder.to_owned()),
                disabled: names(&member.node, "disabledMcpServers"),
            });
        }
        None
    }

    /// Returns the top level as a group if its members look like servers.
    fn bare<'n>(
        &mut self,
        root: &'n Node,
        folder: Option<PathBuf>,
    ) -> Result<Option<Group<'n>>, ConfigError> {
        let members = root.members().unwrap_or_default();
        // A client does not read top-level servers, so they are not in use.
        if self.dialect != Dialect::Generic {
            self.misplaced(members);
            return Ok(None);
        }
        // `descend` has already reported a servers key whose value is not an object.
        let is_place = |member: &Member| {
            self.dialect.places().iter().any(|keys| keys.first() == Some(&&*member.key))
        };
        let looks_like_server = |node: &Node| {
            ["command"].iter().chain(&keys::ADDRESSES).any(|key| node.member(key).is_some())
        };
        if members.iter().any(|member| looks_like_server(&member.node)) {
            let (key, dialect) = (String::new(), Dialect::Generic);
            return Ok(Some(Group { node: root, key, dialect, folder, disabled: HashSet::new() }));
        }
        if members.iter().any(is_place) {
            return Ok(None);
        }
        Err(self.error(None, None, Problem::NoServers))
    }

    /// Reports servers under a key at which this client does not look.
    fn misplaced(&mut self, members: &[Member]) {
        let Some(right) = self.places().first().map(|keys| keys.join(".")) else { return };
        let others = ["mcpServers", "servers", "context_servers", "mcp_servers"];
        let is_settings = self.path.file_name().is_some_and(|name| name == "settings.json");
        // Settings files have many unrelated keys; `servers` there may belong to an extension.
        for member in members.iter().filter(|_| !is_settings) {
            if others.contains(&&*member.key) && !right.starts_with(&member.key) {
                let suggestion = Some(right.clone());
                self.report(&member.key, &member.node, Problem::UnknownKey { suggestion });
            }
        }
    }

    /// Reports names that occur twice in a group. Clients disagree on which of the two counts.
    fn duplicates<'n>(&mut self, group: &Group<'n>, members: &'n [Member]) -> HashSet<&'n str> {
        let mut seen = HashSet::new();
        let mut twice = HashSet::new();
        for member in members.iter().filter(|member| !seen.insert(&member.key)) {
            twice.insert(&*member.key);
            let place = Place {
                file: self.path.to_owned(),
                position: Some(self.document.place(member.key_range.start)),
                server: Some(member.key.clone()),
                key: Some(join(&group.key, &member.key)),
            };
            self.mistakes.add(place, Problem::DuplicateServer);
        }
        twice
    }

    fn report(&mut self, key: &str, node: &Node, problem: Problem) {
        let place = self.place(Some(key), Some(node));
        self.mistakes.add(place, problem);
    }

    fn error(&self, key: Option<&str>, node: Option<&Node>, problem: Problem) -> ConfigError {
        ConfigError::new(self.place(key, node), problem)
    }

    fn place(&self, key: Option<&str>, node: Option<&Node>) -> Place {
        Place {
            file: self.path.to_owned(),
            position: node.map(|node| self.document.place(node.range.start)),
            server: None,
            key: key.map(str::to_owned),
        }
    }
}

/// Returns the servers that Gemini CLI's `mcp.excluded` and `mcp.allowed` disable.
fn gemini_disabled<'n>(root: &'n Node, group: &'n Node, dialect: Dialect) -> HashSet<&'n str> {
    if dialect != Dialect::GeminiCli {
        return HashSet::new();
    }
    let Some(settings) = root.member("mcp").map(|member| &member.node) else {
        return HashSet::new();
    };
    let mut disabled = names(settings, "excluded");
    let allowed = names(settings, "allowed");
    // An empty list means that all servers are allowed.
    if !allowed.is_empty() {
        let all = group.members().unwrap_or_default().iter().map(|member| &*member.key);
        disabled.extend(all.filter(|name| !allowed.contains(name)));
    }
    disabled
}

/// Returns the strings in the list at `key`.
fn names<'n>(node: &'n Node, key: &str) -> HashSet<&'n str> {
    match node.member(key).map(|member| &member.node.value) {
        Some(Value::Array(items)) => items.iter().filter_map(Node::as_str).collect(),
        _ => HashSet::new(),
    }
}

/// Returns the default values of VS Code's inputs. Password inputs have none.
fn inputs(root: &Node) -> Vec<(String, String)> {
    let lists = [root.member("inputs"), root.member("mcp").and_then(|it| it.node.member("inputs"))];
    let mut inputs = Vec::new();
    for member in lists.into_iter().flatten() {
        let Value::Array(items) = &member.node.value else { continue };
        for item in items {
            let text = |key: &str| item.member(key).and_then(|it| it.node.as_str());
            if let (Some(id), Some(default)) = (text("id"), text("default")) {
                inputs.push((id.to_owned(), default.to_owned()));
            }
        }
    }
    inputs
}
