//! Selects the files and servers that a command processes.

use std::collections::HashSet;
use std::env;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::builder::PossibleValuesParser;

use super::client::{ALL_PLACES, CLIENTS, System, expand};
use super::server::{Keys, ServerEntry};

/// Options that select files and servers.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct Selection {
    /// Only this client; can be repeated. Default: every client that is found
    #[arg(
        long = "client",
        value_name = "NAME",
        value_parser = PossibleValuesParser::new(CLIENTS.iter().map(|client| client.id))
    )]
    clients: Vec<String>,

    /// Only this file, of any client; can be repeated
    #[arg(long = "config", value_name = "PATH")]
    configs: Vec<PathBuf>,

    /// Only servers with this name; can be repeated
    #[arg(long = "server", value_name = "NAME")]
    pub(super) servers: Vec<String>,

    /// Process the files of the project in the current directory (.mcp.json, .cursor/mcp.json,
    /// .vscode/mcp.json …) instead of the user's own
    #[arg(long)]
    project: bool,
}

/// A file to process.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    /// Client that owns the file; unknown for a file from `--config`.
    pub(crate) client: Option<&'static str>,
    pub(crate) path: PathBuf,
    pub(crate) places: &'static [Keys],
    /// True if a missing file is an error.
    pub(crate) is_named: bool,
}

impl Selection {
    /// Selects servers by name in all files.
    pub(crate) fn of_servers(names: impl Iterator<Item = String>) -> Self {
        Self { servers: names.collect(), ..Self::default() }
    }

    /// Returns the files, each once. They may not exist.
    pub(crate) fn targets(&self) -> Result<Vec<Target>> {
        let mut targets: Vec<_> = self
            .configs
            .iter()
            .map(|path| Target {
                client: None,
                path: path.clone(),
                places: &ALL_PLACES,
                is_named: true,
            })
            .collect();
        // A named file replaces the search, unless clients or the project are named as well.
        if self.configs.is_empty() || self.project || !self.clients.is_empty() {
            targets.extend(self.known()?);
        }
        // Two clients can share a file through a link; it must be processed once.
        let mut seen = HashSet::new();
        targets.retain(|target| {
            seen.insert(fs::canonicalize(&target.path).unwrap_or_else(|_| target.path.clone()))
        });
        Ok(targets)
    }

    /// Returns the names of selected clients without a file.
    pub(crate) fn missing<'a>(
        &'a self,
        targets: &'a [Target],
    ) -> impl Iterator<Item = &'static str> {
        let asked = CLIENTS.iter().filter(|client| self.clients.iter().any(|id| id == client.id));
        asked
            .map(|client| client.name)
            .filter(|name| !targets.iter().any(|it| it.client == Some(*name) && it.path.exists()))
    }

    /// Returns true if a server is selected.
    pub(crate) fn has(&self, server: &ServerEntry) -> bool {
        self.servers.is_empty() || self.servers.contains(&server.name)
    }

    fn known(&self) -> Result<Vec<Target>> {
        let is_asked = |id: &str| self.clients.is_empty() || self.clients.iter().any(|it| it == id);
        let clients = CLIENTS.iter().filter(|client| is_asked(client.id));
        let mut targets = Vec::new();
        if self.project {
            let folder = env::current_dir().context("cannot find the current directory")?;
            for client in clients {
                let files = client.project_files(&folder);
                targets.extend(files.into_iter().map(|file| Target::of(client.name, file)));
            }
            return Ok(targets);
        }
        let system =
            System::own().context("HOME is not set, so the files of clients cannot be found")?;
        for client in clients {
            let files = client.files(&system).into_iter().flat_map(|(path, places)| {
                expand(&path).into_iter().map(move |path| (path, places))
            });
            targets.extend(files.map(|file| Target::of(client.name, file)));
        }
        Ok(targets)
    }
}

impl Target {
    fn of(client: &'static str, (path, places): (PathBuf, &'static [Keys])) -> Self {
        Self { client: Some(client), path, places, is_named: false }
    }
}
