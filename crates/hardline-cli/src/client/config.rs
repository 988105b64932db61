//! Collects servers from configuration files: those that were named, or those in the known places.
//!
//! The known places, in order of precedence: Hardline's own `mcp.json` in its configuration
//! directory, the files of every client of the user, in the order of [`CLIENTS`], and the project
//! files in the current directory. Project files may be written by others, whose servers would run
//! programs on this machine and receive its variables. So a server from a project file is used only
//! by name.
//!
//! Invariants:
//! - No two servers have the same name. The first definition of a name keeps it. Later ones get the
//!   client's id as a suffix, as in `github@cursor`, and a number if that is taken too, as in
//!   `github@cursor-2`. For a named file, the suffix is the file name, as in `github@work.json`. An
//!   invalid definition keeps its name too: a user who asks for it gets the mistake, not another
//!   server.
//! - Equal definitions with the same name and the same working directory are one server, that of
//!   the first file.
//! - A named file that cannot be read is an error; any other is a warning.

use std::collections::{HashMap, HashSet};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;
use hardline_client::config::{self, ConfigError, Dialect, Problem, ServerConfig};

use crate::directory;
use crate::install::client::{CLIENTS, System, expand};

/// Name of Hardline's own file.
const OWN_FILE: &str = "mcp.json";

/// Result of reading configuration files.
#[derive(Debug, Default)]
#[non_exhaustive]
pub(crate) struct Servers {
    /// Servers with unique names, including disabled ones, in order of precedence.
    pub(crate) servers: Vec<ServerConfig>,
    /// The same for project files in the current directory; used only by name.
    pub(crate) project: Vec<ServerConfig>,
    /// Servers with invalid entries.
    pub(crate) wrong: Vec<Wrong>,
    /// Other mistakes, to be printed as warnings.
    pub(crate) warnings: Vec<ConfigError>,
    /// Files that were read.
    pub(crate) files: Vec<PathBuf>,
}

/// A server with an invalid entry.
#[derive(Debug)]
pub(crate) struct Wrong {
    /// Unique name.
    pub(crate) name: String,
    /// First mistake that makes it unusable.
    pub(crate) mistake: ConfigError,
    /// True if the user named its file, so that the mistake is an error.
    pub(crate) is_asked_for: bool,
}

/// A file that may have servers.
#[derive(Clone, Debug)]
struct Source {
    path: PathBuf,
    /// Suffix for server names that are already taken.
    suffix: String,
    dialect: Dialect,
    origin: Origin,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Origin {
    /// Named on the command line.
    Named,
    /// Hardline's own file.
    Own,
    /// A client's file; only mistakes that make a server unusable are reported.
    Client,
    /// A client's project file in the current directory.
    Project,
}

/// Reads the named files, or the known places if none is named.
///
/// # Errors
///
/// A named file cannot be read or is invalid as a whole.
pub(crate) fn servers(named: &[PathBuf]) -> Result<Servers> {
    let sources = match named {
        [] => known(),
        _ => named.iter().map(|path| Source::named(path)).collect(),
    };
    Ok(gather(&sources)?)
}

/// Returns the path of Hardline's own file, which may not exist.
pub(crate) fn own_file() -> Option<PathBuf> {
    Some(directory::config()?.join(OWN_FILE))
}

/// Returns the known places, which may not exist.
fn known() -> Vec<Source> {
    let mut sources = Vec::new();
    // Pushed first: Hardline's own file has the highest precedence.
    if let Some(path) = own_file() {
        let (dialect, suffix) = (Dialect::Generic, "hardline".to_owned());
        sources.push(Source { path, suffix, dialect, origin: Origin::Own });
    }
    if let Some(system) = System::own() {
        for client in CLIENTS {
            let files = client.files(&system).into_iter().flat_map(|(path, _)| expand(&path));
            sources.extend(files.map(|path| Source::of_client(client.id, path)));
        }
    }
    if let Ok(folder) = env::current_dir() {
        for client in CLIENTS {
            let files = client.project_files(&folder).into_iter();
            let files = files.map(|(path, _)| Source::of_client(client.id, path));
            // Pushed last: a project must not take the name of a user's server.
            sources.extend(files.map(|source| Source { origin: Origin::Project, ..source }));
        }
    }
    sources
}

fn gather(sources: &[Source]) -> Result<Servers, ConfigError> {
    let mut all = Servers::default();
    let (mut seen, mut taken) = (HashSet::new(), HashSet::new());
    let mut definitions: HashMap<String, HashSet<String>> = HashMap::new();
    for source in sources {
        // Two clients can share a file through a link; it must be read once.
        let whole = fs::canonicalize(&source.path).unwrap_or_else(|_| source.path.clone());
        if !seen.insert(whole) {
            continue;
        }
        let file = match config::read_as(&source.path, source.dialect) {
            Ok(file) => file,
            // The user asked for this file, so its absence is an error.
            Err(error) if source.origin == Origin::Named => return Err(error),
            // Most known places do not exist on any given machine.
            Err(error) if *error.problem() == Problem::NoFile => continue,
            Err(error) => {
                all.warnings.push(error);
                continue;
            }
        };
        all.files.push(source.path.clone());
        for mistake in file.mistakes {
            all.tell(mistake, source, &mut taken)?;
        }
        for server in file.servers {
            // Clients often share copies of the same entry.
            let known = definitions.entry(server.name().to_owned()).or_default();
            // The fingerprint includes the working directory, so equal entries of two projects
            // differ.
            if known.insert(server.fingerprint()) {
                let server = with_own_name(server, &source.suffix, &mut taken);
                match source.origin {
                    Origin::Project => all.project.push(server),
                    _ => all.servers.push(server),
                }
            }
        }
    }
    Ok(all)
}

impl Servers {
    fn tell(
        &mut self,
        mistake: ConfigError,
        source: &Source,
        taken: &mut HashSet<String>,
    ) -> Result<(), ConfigError> {
        match (source.origin, mistake.is_fatal(), mistake.server()) {
            // The file as a whole is unusable.
            (Origin::Named, true, None) => return Err(mistake),
            (_, true, Some(name)) => {
                // The first mistake makes the server wrong; further ones are warnings.
                let is_same =
                    |it: &ConfigError| it.server() == Some(name) && it.file() == mistake.file();
                if self.wrong.iter().any(|it| is_same(&it.mistake)) {
                    self.warnings.push(mistake);
                } else {
                    let name = own_name(name, &source.suffix, taken);
                    let is_asked_for = source.origin == Origin::Named;
                    self.wrong.push(Wrong { name, mistake, is_asked_for });
                }
            }
            // Clients know keys that Hardline does not, so harmless mistakes in their files are
            // ignored.
            (Origin::Client | Origin::Project, false, _) => {}
            _ => self.warnings.push(mistake),
        }
        Ok(())
    }
}

/// Gives a server a unique name.
fn with_own_name(server: ServerConfig, suffix: &str, taken: &mut HashSet<String>) -> ServerConfig {
    let own = own_name(server.name(), suffix, taken);
    if own == server.name() { server } else { server.renamed(own) }
}

fn own_name(name: &str, suffix: &str, taken: &mut HashSet<String>) -> String {
    let mut own = name.to_owned();
    let mut number = 1_u64;
    while !taken.insert(own.clone()) {
        own = match number {
            1 => format!("{name}@{suffix}"),
            _ => format!("{name}@{suffix}-{number}"),
        };
        number += 1;
    }
    own
}

impl Source {
    fn named(path: &Path) -> Self {
        let suffix = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let (path, dialect) = (path.to_owned(), Dialect::of(path));
        Self { path, suffix, dialect, origin: Origin::Named }
    }

    fn of_client(id: &str, path: PathBuf) -> Self {
        let dialect = Dialect::of_client(id).unwrap_or_else(|| Dialect::of(&path));
        Self { path, suffix: id.to_owned(), dialect, origin: Origin::Client }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Home {
        folder: tempfile::TempDir,
        sources: Vec<Source>,
    }

    impl Home {
        fn new() -> Self {
            Self { folder: tempfile::tempdir().unwrap(), sources: Vec::new() }
        }

        /// Writes a file and adds it as the last source. Without a text, the file does not exist.
        fn with(mut self, id: &str, path: &str, text: &str) -> Self {
            let path = self.folder.path().join(path);
            if !text.is_empty() {
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(&path, text).unwrap();
            }
            self.sources.push(match id {
                "" => Source::named(&path),
                "hardline" => Source { origin: Origin::Own, ..Source::of_client(id, path) },
                "project" => {
                    Source { origin: Origin::Project, ..Source::of_client("cursor", path) }
                }
                _ => Source::of_client(id, path),
            });
            self
        }

        fn gather(&self) -> Servers {
            gather(&self.sources).unwrap()
        }
    }

    fn names(servers: &Servers) -> Vec<String> {
        let shown = |it: &ServerConfig| {
            let mark = if it.is_disabled() { " (disabled)" } else { "" };
            format!("{}: {}{mark}", it.name(), it.describe())
        };
        servers.servers.iter().map(shown).collect()
    }

    fn servers_of(entries: &[(&str, &str)]) -> String {
        let entries: Vec<_> = entries
            .iter()
            .map(|(name, command)| format!(r#""{name}": {{"command": "{command}"}}"#))
            .collect();
        format!(r#"{{"mcpServers": {{{}}}}}"#, entries.join(", "))
    }

    #[test]
    fn the_first_definition_has_the_name_and_others_their_clients() {
        let home = Home::new()
            .with("cursor", "p/.cursor/mcp.json", &servers_of(&[("a", "project"), ("b", "x")]))
            .with("hardline", "c/mcp.json", &servers_of(&[("a", "own"), ("c", "own")]))
            .with("cursor", ".cursor/mcp.json", &servers_of(&[("a", "user"), ("b", "x")]))
            .with("windsurf", "mcp_config.json", &servers_of(&[("a", "own"), ("a@cursor", "y")]))
            .with("cursor", "more/mcp.json", &servers_of(&[("a", "more")]));
        let found = home.gather();
        assert_eq!(
            names(&found),
            [
                "a: project",
                "b: x",
                "a@hardline: own",
                "c: own",
                "a@cursor: user",
                // The same definition in another project's directory.
                "b@cursor: x",
                "a@cursor@windsurf: y",
                "a@cursor-2: more",
            ]
        );
        assert_eq!(found.files.len(), 5);
    }

    #[test]
    fn a_definition_that_is_wrong_keeps_its_name() {
        let wrong = r#"{"mcpServers": {"a": {"command": 1}, "b": {"command": 1}}}"#;
        let found = Home::new()
            .with("hardline", "c/mcp.json", wrong)
            .with("cursor", ".cursor/mcp.json", &servers_of(&[("a", "x"), ("c", "x")]))
            .with("windsurf", "mcp_config.json", r#"{"mcpServers": {"c": {"command": 1}}}"#)
            .gather();
        assert_eq!(names(&found), ["a@cursor: x", "c: x"]);
        let wrong: Vec<&str> = found.wrong.iter().map(|it| &*it.name).collect();
        assert_eq!(wrong, ["a", "b", "c@windsurf"]);
    }

    #[test]
    fn what_a_project_brings_is_kept_apart_and_takes_nobodys_name() {
        let found = Home::new()
            .with("roo", "mcp.json", &servers_of(&[("a", "mine"), ("b", "mine")]))
            .with(
                "project",
                "p/mcp.json",
                &servers_of(&[("a", "theirs"), ("b", "mine"), ("c", "x")]),
            )
            .gather();
        assert_eq!(names(&found), ["a: mine", "b: mine"]);
        let project: Vec<&str> = found.project.iter().map(ServerConfig::name).collect();
        assert_eq!(project, ["a@cursor", "c"]);
    }

    #[test]
    fn a_file_that_is_not_there_is_no_mistake_unless_it_was_named() {
        let found = Home::new().with("cursor", ".cursor/mcp.json", "").gather();
        assert!(found.servers.is_empty() && found.warnings.is_empty() && found.files.is_empty());
        let named = Home::new().with("", "none.json", "");
        let error = gather(&named.sources).unwrap_err().to_string();
        assert!(error.ends_with("none.json: there is no such file; check the path"), "{error}");
    }

    #[test]
    fn a_broken_file_is_a_warning_unless_it_was_named() {
        let found = Home::new()
            .with("cursor", "mcp.json", "{")
            .with("roo", "b.json", &servers_of(&[("a", "x")]))
            .gather();
        assert_eq!(names(&found), ["a: x"]);
        assert_eq!(found.warnings.len(), 1);
        for text in ["{", r#"{"mcpServers": 5}"#, "{}"] {
            assert!(gather(&Home::new().with("", "x.json", text).sources).is_err(), "{text}");
        }
    }

    #[test]
    fn a_broken_server_hides_no_other() {
        let text = r#"{"mcpServers": {"bad": {"command": 1, "timeout": -1}, "odd": {"command": "x", "commnad": 1},
            "off": {"command": "y", "disabled": true}}}"#;
        let named = Home::new().with("", "x.json", text).gather();
        assert_eq!(names(&named), ["odd: x", "off: y (disabled)"]);
        assert_eq!(named.wrong.len(), 1);
        assert_eq!((named.wrong[0].name.as_str(), named.wrong[0].is_asked_for), ("bad", true));
        assert_eq!(named.warnings.len(), 2);
        let other = Home::new().with("cursor", "x.json", text).gather();
        assert_eq!((other.wrong.len(), other.warnings.len()), (1, 1));
        assert!(!other.wrong[0].is_asked_for);
        let own = Home::new().with("hardline", "x.json", text).gather();
        assert_eq!((own.wrong.len(), own.warnings.len()), (1, 2));
    }

    #[test]
    fn a_file_in_two_places_is_read_once() {
        let text = servers_of(&[("a", "x")]);
        let home = Home::new().with("cursor", "mcp.json", &text).with("roo", "mcp.json", &text);
        assert_eq!(home.gather().files.len(), 1);
    }

    #[test]
    fn the_dialect_is_that_of_the_client() {
        for client in CLIENTS {
            assert!(Dialect::of_client(client.id).is_some(), "{}", client.id);
        }
    }
}
