//! Which files and which servers a command is about.

use std::collections::HashSet;
use std::env;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::builder::PossibleValuesParser;

use super::client::{CLIENTS, System, expand};
use super::server::{ALL_PLACES, Keys, Server};

/// Which files and servers.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct Selection {
    /// Only this client; can be given several times. Without it, every client that is found
    #[arg(
        long = "client",
        value_name = "NAME",
        value_parser = PossibleValuesParser::new(CLIENTS.iter().map(|client| client.id))
    )]
    clients: Vec<String>,

    /// This file, whichever client it is of; can be given several times
    #[arg(long = "config", value_name = "PATH")]
    configs: Vec<PathBuf>,

    /// Only servers of this name; can be given several times
    #[arg(long = "server", value_name = "NAME")]
    pub(super) servers: Vec<String>,

    /// The files of the project in the current directory (.mcp.json, .cursor/mcp.json, .vscode/mcp.json
    /// …) instead of the user's own
    #[arg(long)]
    project: bool,
}

/// A file to look at.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    /// The client whose file it is; of a file that was named, nobody knows.
    pub(crate) client: Option<&'static str>,
    pub(crate) path: PathBuf,
    pub(crate) places: &'static [Keys],
    /// Whether it is wrong if it does not exist.
    pub(crate) is_named: bool,
}

impl Selection {
    /// Servers of these names, wherever they are.
    pub(crate) fn of_servers(names: impl Iterator<Item = String>) -> Self {
        Self { servers: names.collect(), ..Self::default() }
    }

    /// The files, there or not, each once.
    pub(crate) fn targets(&self) -> Result<Vec<Target>> {
        let mut targets: Vec<_> = self
            .configs
            .iter()
            .map(|path| Target {
                client: None,
                path: path.clone(),
                places: ALL_PLACES,
                is_named: true,
            })
            .collect();
        // A file that was named is all that was asked for, unless more is asked for by name.
        if self.configs.is_empty() || self.project || !self.clients.is_empty() {
            targets.extend(self.known()?);
        }
        let mut seen = HashSet::new();
        targets.retain(|target| {
            seen.insert(fs::canonicalize(&target.path).unwrap_or_else(|_| target.path.clone()))
        });
        Ok(targets)
    }

    /// The names of the clients that were asked for and have no file.
    pub(crate) fn missing<'a>(
        &'a self,
        targets: &'a [Target],
    ) -> impl Iterator<Item = &'static str> {
        let asked = CLIENTS.iter().filter(|client| self.clients.iter().any(|id| id == client.id));
        asked
            .map(|client| client.name)
            .filter(|name| !targets.iter().any(|it| it.client == Some(*name) && it.path.exists()))
    }

    /// Whether a server is one that was asked for.
    pub(crate) fn has(&self, server: &Server) -> bool {
        self.servers.is_empty() || self.servers.contains(&server.name)
    }

    fn known(&self) -> Result<Vec<Target>> {
        let is_asked = |id: &str| self.clients.is_empty() || self.clients.iter().any(|it| it == id);
        let clients = CLIENTS.iter().filter(|client| is_asked(client.id));
        let mut targets = Vec::new();
        if self.project {
            let folder = env::current_dir().context("cannot find out the current directory")?;
            for client in clients {
                let files = client.project_files(&folder);
                targets.extend(files.into_iter().map(|file| Target::of(client.name, file)));
            }
            return Ok(targets);
        }
        let system = System::own().context("HOME is not set, so no client can be found")?;
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
