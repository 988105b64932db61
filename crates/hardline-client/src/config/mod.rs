//! Servers as people already have them in their configuration files.
//!
//! [`read`] takes the files of the known clients as these clients do, and files of nobody in particular:
//!
//! ```
//! use hardline_client::config::{self, Dialect, Fixed};
//!
//! let text = br#"{"mcpServers": {"docs": {"url": "https://${HOST:-docs.example}/mcp"}}}"#;
//! let file = config::parse("mcp.json".as_ref(), text, Dialect::Generic)?;
//! let [server] = &*file.servers else { panic!("one server") };
//! assert_eq!(server.describe(), "https://${HOST:-docs.example}/mcp");
//! let resolved = server.resolve(&Fixed::new().with("HOST", "localhost:8080"))?;
//! # Ok::<_, config::ConfigError>(())
//! ```
//!
//! | where | whose |
//! |---|---|
//! | `mcpServers` | Claude Desktop, Claude Code, Cursor, Windsurf, Gemini CLI, Cline, Roo Code, LM Studio, and most others |
//! | `projects.DIRECTORY.mcpServers` | Claude Code, in the directory and in the root of its repository |
//! | `servers`, `mcp.servers` | VS Code |
//! | `context_servers` | Zed |
//! | `[mcp_servers.NAME]` | Codex |
//! | the file itself, if nothing of that is in it | what is shown in many a README |
//!
//! JSON may have comments, trailing commas and a byte order mark. What the words mean is the
//! [`Dialect`]'s: which variables are put in, and what `timeout` counts (milliseconds in
//! [`Dialect::Generic`], as most have it). Numbers and booleans in `env` and `headers` are taken as they
//! are written, with a warning, and `null` in them is a mistake (neither in VS Code); a key that is `null`
//! elsewhere is as good as none.
//!
//! Invariants:
//! - A broken server hides no other.
//! - No value of a variable, of `env` or of a header is in an error, in a description or in `Debug`.
//! - What a variable holds is not looked at for variables again.

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
mod mistakes;
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
pub use resolve::{Resolved, Way};
pub use server::ServerConfig;
pub use variables::{Fixed, Process, Variables};

/// Largest file that is read: 4 MiB. Clients keep more than servers in some of them, and whatever is
/// larger is an error.
pub const MAX_FILE_BYTES: usize = 4 << 20;

/// What a configuration file has in it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct File {
    /// Where it is.
    pub path: PathBuf,
    /// Whose it is.
    pub dialect: Dialect,
    /// The servers that can be used, in the order of the file. Disabled ones are among them.
    pub servers: Vec<ServerConfig>,
    /// What is wrong, in the order of the file, at most a hundred: servers that are left out
    /// ([`is_fatal`](ConfigError::is_fatal)), and what is just ignored.
    pub mistakes: Vec<ConfigError>,
}

/// Reads a file, as the client that it belongs to by its name would.
///
/// # Errors
///
/// [`ConfigError`], if it cannot be read or makes no sense as a whole. What is wrong with single servers
/// is in [`File::mistakes`].
pub fn read(path: &Path) -> Result<File, ConfigError> {
    read_as(path, Dialect::of(path))
}

/// Reads a file as one client would.
///
/// # Errors
///
/// As [`read`].
pub fn read_as(path: &Path, dialect: Dialect) -> Result<File, ConfigError> {
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
    #[expect(clippy::disallowed_methods, reason = "it is taken no further than the limit")]
    file.take(MAX_FILE_BYTES as u64 + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    parse(path, &bytes, dialect)
}

/// Reads what is in a file. `path` is where it is, and is not looked at.
///
/// # Errors
///
/// As [`read`].
pub fn parse(path: &Path, bytes: &[u8], dialect: Dialect) -> Result<File, ConfigError> {
    parse_in(path, bytes, dialect, env::current_dir().ok().as_deref())
}

/// The same for another current directory, which decides which projects of Claude Code count.
///
/// # Errors
///
/// As [`read`].
pub fn parse_in(
    path: &Path,
    bytes: &[u8],
    dialect: Dialect,
    directory: Option<&Path>,
) -> Result<File, ConfigError> {
    let wrong = |position, problem| {
        let place = Place { file: path.into(), position, ..Place::default() };
        ConfigError::new(place, problem)
    };
    if MAX_FILE_BYTES < bytes.len() {
        return Err(wrong(None, Problem::TooLarge { max_bytes: MAX_FILE_BYTES }));
    }
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
            let name = if format == Format::Json { "JSON" } else { "TOML" };
            wrong(Some((line, column)), Problem::Syntax(error::show(message.as_bytes()), name))
        }
    })?;
    let (servers, mistakes) = find::servers(path, &document, dialect, directory)?;
    Ok(File { path: path.to_owned(), dialect, servers, mistakes })
}
