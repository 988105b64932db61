//! Reads server entries from the configuration files of MCP clients.
//!
//! [`read`] understands the files of the known clients in the way that these clients do, and generic files:
//!
//! ```
//! use hardline_client::config::{self, Dialect, FixedVariables};
//!
//! let text = br#"{"mcpServers": {"docs": {"url": "https://${HOST:-docs.example}/mcp"}}}"#;
//! let file = config::parse("mcp.json".as_ref(), text, Dialect::Generic)?;
//! let [server] = &*file.servers else { panic!("one server") };
//! assert_eq!(server.describe(), "https://${HOST:-docs.example}/mcp");
//! let resolved = server.resolve(&FixedVariables::new().with("HOST", "localhost:8080"))?;
//! # Ok::<_, config::ConfigError>(())
//! ```
//!
//! | location of the servers | clients |
//! |---|---|
//! | `mcpServers` | Claude Desktop, Claude Code, Cursor, Gemini CLI, and most others |
//! | `projects.DIRECTORY.mcpServers` | Claude Code, for the current directory and the root of its repository |
//! | `servers`, `mcp.servers` | VS Code |
//! | `context_servers` | Zed |
//! | `[mcp_servers.NAME]` | Codex |
//! | top level, if none of these keys is present | snippets from READMEs |
//!
//! JSON may contain comments, trailing commas and a byte order mark. The [`Dialect`] decides which variables
//! are expanded and in which unit `timeout` is given (milliseconds in [`Dialect::Generic`], as in most
//! clients). Numbers and booleans in `env` and `headers` are accepted with a warning, and `null` there is an
//! error; VS Code accepts both silently. Everywhere else a `null` value counts as an absent key.
//!
//! Invariants:
//! - A broken entry does not hide other servers.
//! - Errors, descriptions and `Debug` output never contain the value of a variable, of `env` or of a header.
//! - Variables are expanded once: `${…}` inside a variable's value stays as it is.

mod describe;
mod dialect;
pub mod document;
mod entry;
mod error;
mod find;
mod fingerprint;
mod keys;
#[cfg(unix)]
mod launch;
mod oauth;
mod resolve;
mod secrets;
mod server;
mod template;
mod variables;

use std::env;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use document::{Document, DocumentError, Format};
use error::Place;

pub use dialect::Dialect;
pub use error::{ConfigError, Problem};
pub use oauth::OAuthConfig;
pub use resolve::{HttpTransport, Resolved};
pub use server::ServerConfig;
pub use variables::{FixedVariables, ProcessVariables, Variables};

/// Limit on the size of a configuration file: 4 MiB. Some clients store more than servers in theirs. A
/// larger file is an error.
pub const MAX_FILE_BYTES: usize = 4 << 20;

/// The contents of a configuration file.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ConfigFile {
    /// Path of the file.
    pub path: PathBuf,
    /// Dialect in which the file was read.
    pub dialect: Dialect,
    /// Usable servers in file order, including disabled ones.
    pub servers: Vec<ServerConfig>,
    /// Problems in file order, at most a hundred: servers that were left out
    /// ([`is_fatal`](ConfigError::is_fatal)), and values that were ignored.
    pub mistakes: Vec<ConfigError>,
}

/// Reads a file in the dialect of the client to which its name and directory belong.
///
/// # Errors
///
/// Returns a [`ConfigError`] if the file cannot be read or is invalid as a whole. Problems with single
/// servers are in [`ConfigFile::mistakes`].
pub fn read(path: &Path) -> Result<ConfigFile, ConfigError> {
    read_as(path, Dialect::of(path))
}

/// Reads a file in the given dialect.
///
/// # Errors
///
/// Returns the same errors as [`read`].
pub fn read_as(path: &Path, dialect: Dialect) -> Result<ConfigFile, ConfigError> {
    let wrong =
        |problem| ConfigError::new(Place { file: path.into(), ..Place::default() }, problem);
    let unreadable = |error: std::io::Error| {
        wrong(match error.kind() {
            ErrorKind::NotFound => Problem::NoFile,
            ErrorKind::IsADirectory => Problem::Directory,
            _ => Problem::Unreadable(error.to_string()),
        })
    };
    let file = hardline_transport::file::open(path).map_err(unreadable)?;
    let mut bytes = Vec::new();
    #[expect(clippy::disallowed_methods, reason = "bounded by take()")]
    file.take(MAX_FILE_BYTES as u64 + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    parse(path, &bytes, dialect)
}

/// Parses the contents of a file. `path` is used for the format and in errors; the file is not accessed.
///
/// # Errors
///
/// Returns the same errors as [`read`].
pub fn parse(path: &Path, bytes: &[u8], dialect: Dialect) -> Result<ConfigFile, ConfigError> {
    parse_in(path, bytes, dialect, env::current_dir().ok().as_deref())
}

/// Like [`parse`], with another current directory, which selects the project of a Claude Code file.
///
/// # Errors
///
/// Returns the same errors as [`read`].
pub fn parse_in(
    path: &Path,
    bytes: &[u8],
    dialect: Dialect,
    directory: Option<&Path>,
) -> Result<ConfigFile, ConfigError> {
    let wrong = |position, problem| {
        let place = Place { file: path.into(), position, ..Place::default() };
        ConfigError::new(place, problem)
    };
    if bytes.len() > MAX_FILE_BYTES {
        return Err(wrong(None, Problem::TooLarge { max_bytes: MAX_FILE_BYTES }));
    }
    // A known client has one format; only a generic file has to be guessed.
    let format = match dialect {
        Dialect::Generic => Format::of(path, bytes),
        Dialect::Codex => Format::Toml,
        _ => Format::Json,
    };
    let document = Document::parse(bytes, format).map_err(|error| match error {
        DocumentError::Utf16 => wrong(None, Problem::Encoding("UTF-16")),
        DocumentError::NotUtf8 { line, column } => {
            wrong(Some((line, column)), Problem::Encoding("not UTF-8"))
        }
        DocumentError::Syntax { line, column, message } => {
            // The advice names the format, because users mix up both.
            let name = if format == Format::Json { "JSON" } else { "TOML" };
            wrong(Some((line, column)), Problem::Syntax(error::show(message.as_bytes()), name))
        }
    })?;
    let (servers, mistakes) = find::servers(path, &document, dialect, directory)?;
    Ok(ConfigFile { path: path.to_owned(), dialect, servers, mistakes })
}
