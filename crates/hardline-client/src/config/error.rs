//! Errors in configuration files.
//!
//! Invariants:
//! - No error contains the value of a variable, of `env` or of `headers`.
//! - Text from the file is escaped and truncated.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use hardline_wire::excerpt::Excerpt;
use thiserror::Error;

/// Number of bytes of text from the file that an error quotes.
const MAX_SHOWN_BYTES: usize = 200;
/// Limit on reported problems per file, so that a file with nothing but mistakes stays cheap to read.
const MAX_MISTAKES: usize = 100;

/// An error in a configuration file: the file, the server, the key, the problem and the remedy.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
#[error("{}", self.shown())]
pub struct ConfigError {
    place: Box<Place>,
    problem: Problem,
}

/// The location of an error.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct Place {
    pub(super) file: PathBuf,
    /// Line and column, counted from 1.
    pub(super) position: Option<(usize, usize)>,
    pub(super) server: Option<String>,
    /// Path of keys from the top of the file, such as `mcpServers.github.args[2]`.
    pub(super) key: Option<String>,
}

/// A problem in a configuration file.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
#[non_exhaustive]
pub enum Problem {
    /// The file cannot be read.
    #[error("cannot read it: {0}")]
    Unreadable(String),
    /// The file does not exist.
    #[error("there is no such file; check the path")]
    NoFile,
    /// The path is a directory.
    #[error("this is a directory; give the configuration file in it")]
    Directory,
    /// The file is too large for a configuration.
    #[error("the file is larger than {max_bytes} bytes; this is no configuration of servers")]
    TooLarge {
        /// Limit on the size of a file.
        max_bytes: usize,
    },
    /// The file is not UTF-8.
    #[error("this is {0}; save the file as UTF-8")]
    Encoding(&'static str),
    /// The text is not valid JSON or TOML.
    #[error("{0}; correct the {1} here")]
    Syntax(String, &'static str),
    /// The file contains no servers.
    #[error("there are no servers in it; put them under \"mcpServers\": {{\"name\": {{…}}}}")]
    NoServers,
    /// No client knows the key. Not fatal.
    #[error("unknown key, which is ignored{}", suggestion_text(.suggestion.as_deref()))]
    UnknownKey {
        /// Most similar known key.
        suggestion: Option<String>,
    },
    /// A key occurs twice. Programs disagree on which of the two counts.
    #[error("the key is there twice; remove one of them")]
    Duplicate,
    /// Two servers have the same name.
    #[error("there are two servers of this name; rename or remove one of them")]
    DuplicateServer,
    /// The name of a server is empty.
    #[error("the server has no name; write one between the quotes")]
    EmptyName,
    /// The value has the wrong type for its key.
    #[error("{expected} expected, {found} found; {help}")]
    Kind {
        /// Expected type.
        expected: &'static str,
        /// Type of the value.
        found: &'static str,
        /// Advice for the user.
        help: &'static str,
    },
    /// A number or boolean was accepted as a string. Not fatal.
    #[error("expected a string, found {found}; it is used as written, put it in quotes")]
    Unquoted {
        /// Type of the value.
        found: &'static str,
    },
    /// A list is too long.
    #[error("there are more than {max} values here; remove some")]
    TooMany {
        /// Limit on the number of values.
        max: usize,
    },
    /// The entry has both a command and an address.
    #[error("both a command and {0} are set; remove one of them")]
    CommandAndUrl(&'static str),
    /// The entry has several addresses.
    #[error("both {0} and {1} are set; remove one of them")]
    TwoUrls(&'static str, &'static str),
    /// The entry has neither a command nor an address.
    #[error("neither a command nor a url is given; add one of them")]
    NoServer,
    /// Only the client can start the server. Not fatal, because there is nothing to correct.
    #[error("{0} starts this server in its own way, so it is skipped here")]
    ClientOnly(&'static str),
    /// The command is empty.
    #[error("the command is empty; name the program to start")]
    EmptyCommand,
    /// The type of the server is unknown.
    #[error("unknown type {0}; expected stdio, http or sse")]
    UnknownType(String),
    /// The type of the server contradicts its other keys.
    #[error("type {kind} needs {needs}, and there is {found}; change one of them")]
    TypeContradicts {
        /// Value of `type`.
        kind: String,
        /// Key that this type requires.
        needs: &'static str,
        /// Key that is present instead.
        found: &'static str,
    },
    /// The key applies only to the other kind of server. Not fatal.
    #[error("this is for servers {0} and is ignored; remove it")]
    OtherKind(&'static str),
    /// Hardline does not support this feature of the client. Not fatal.
    #[error("this is not supported here and is ignored; {0}")]
    Ignored(&'static str),
    /// The address is not a valid URL.
    #[error("{0}; write it as https://example.com/mcp")]
    Url(String),
    /// The header cannot be sent.
    #[error("{0}; correct or remove this header")]
    Header(String),
    /// The value contains a NUL character, which arguments, variables and paths cannot have.
    #[error("a NUL character, which no program can be given; remove it")]
    Nul,
    /// The name is not valid for an environment variable.
    #[error(
        "this cannot be the name of an environment variable; it may not be empty or have a \"=\""
    )]
    VariableName,
    /// The value is not a valid duration.
    #[error("{0} is not a time; give a number of {1} above zero")]
    Time(String, &'static str),
    /// The value is not a valid port.
    #[error("{0} is not a port; give a number from 1 to 65535")]
    Port(String),
    /// A variable without a default is not set.
    #[error("the variable {name} is not set; {help}")]
    MissingVariable {
        /// Name of the variable.
        name: String,
        /// Advice for the user.
        help: String,
    },
    /// Only the client can resolve this `${…}` reference.
    #[error("only the client knows ${{{0}}}; write the value here or use an environment variable")]
    Unsupported(String),
    /// The default of a variable contains another reference.
    #[error(
        "the default of {0} contains another ${{…}}, which is not expanded; write a plain default, or ${{{0}}} alone"
    )]
    Nested(String),
    /// The `envFile` cannot be read.
    #[error("cannot read the variables in {path}: {reason}; correct the path or the file")]
    EnvFile {
        /// Path of the file, as written in the configuration.
        path: String,
        /// Reason for the failure.
        reason: String,
    },
    /// The base of a relative path is unknown.
    #[error("cannot determine {0}; write an absolute path")]
    Where(&'static str),
    /// The limit on reported problems was reached. Not fatal.
    #[error("there are more mistakes, which are not listed; correct these first")]
    MoreMistakes,
    /// This platform cannot start servers; only Unix can.
    #[error("servers can be started on Unix only; use one with a url")]
    NoProcesses,
}

impl ConfigError {
    pub(super) fn new(place: Place, problem: Problem) -> Self {
        Self { place: Box::new(place), problem }
    }

    /// Returns the path of the file.
    pub fn file(&self) -> &Path {
        &self.place.file
    }

    /// Returns the name of the server, not escaped, if the error concerns a single server.
    pub fn server(&self) -> Option<&str> {
        self.place.server.as_deref()
    }

    /// Returns the path of keys from the top of the file, such as `mcpServers.github.args[2]`. Not escaped.
    pub fn key(&self) -> Option<&str> {
        self.place.key.as_deref()
    }

    /// Returns line and column, both counted from 1, if known.
    pub fn position(&self) -> Option<(usize, usize)> {
        self.place.position
    }

    /// Returns the problem.
    pub fn problem(&self) -> &Problem {
        &self.problem
    }

    /// Returns true if the server, or the whole file if the error concerns no single server, is unusable.
    pub fn is_fatal(&self) -> bool {
        !matches!(
            self.problem,
            Problem::UnknownKey { .. }
                | Problem::Unquoted { .. }
                | Problem::ClientOnly(_)
                | Problem::OtherKind(_)
                | Problem::Ignored(_)
                | Problem::MoreMistakes
        )
    }

    fn shown(&self) -> String {
        let Place { file, position, server, key } = &*self.place;
        let mut text = show(file.to_string_lossy().as_bytes());
        if let Some((line, column)) = position {
            let _ = write!(text, ":{line}:{column}");
        }
        if let Some(server) = server {
            let _ = write!(text, ": server \"{}\"", show(server.as_bytes()));
        }
        if let Some(key) = key {
            let _ = write!(text, ": {}", show(key.as_bytes()));
        }
        let _ = write!(text, ": {}", self.problem);
        text
    }
}

/// Problems in the order in which they were found.
#[derive(Debug, Default)]
pub(super) struct Mistakes(Vec<ConfigError>);

impl Mistakes {
    /// Adds a problem. Returns true if it is fatal, even if the list is full.
    pub(super) fn add(&mut self, place: Place, problem: Problem) -> bool {
        let error = ConfigError::new(place, problem);
        let is_fatal = error.is_fatal();
        if self.0.len() < MAX_MISTAKES {
            self.0.push(error);
        } else if self.0.len() == MAX_MISTAKES {
            let place = Place { file: error.file().to_owned(), ..Place::default() };
            self.0.push(ConfigError::new(place, Problem::MoreMistakes));
        }
        is_fatal
    }

    pub(super) fn is_full(&self) -> bool {
        self.0.len() >= MAX_MISTAKES
    }

    pub(super) fn into_vec(self) -> Vec<ConfigError> {
        self.0
    }
}

/// Escapes and truncates text from the file for a terminal.
pub(super) fn show(bytes: &[u8]) -> String {
    Excerpt::new(bytes, MAX_SHOWN_BYTES).to_string()
}

fn suggestion_text(suggestion: Option<&str>) -> String {
    match suggestion {
        Some(key) => format!("; did you mean {key}?"),
        None => "; remove it if it was meant for Hardline".to_owned(),
    }
}
