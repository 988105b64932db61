//! What can be wrong with a configuration.
//!
//! Invariants:
//! - No value that came from a variable, and no value of `env` or `headers`, is in an error.
//! - What a file says is shown escaped and shortened.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use hardline_wire::excerpt::Excerpt;
use thiserror::Error;

/// Longest piece of a file that is shown.
const MAX_SHOWN_BYTES: usize = 200;

/// A mistake in a configuration: which file, which server, which key, what is wrong and what to do.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
#[error("{}", self.shown())]
pub struct ConfigError {
    place: Box<Place>,
    problem: Problem,
}

/// Where a mistake is.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct Place {
    pub(super) file: PathBuf,
    /// Line and column, from 1.
    pub(super) position: Option<(usize, usize)>,
    pub(super) server: Option<String>,
    /// All keys from the top of the file, as `mcpServers.github.args[2]`.
    pub(super) key: Option<String>,
}

/// What is wrong.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
#[non_exhaustive]
pub enum Problem {
    /// The file cannot be read.
    #[error("cannot read it: {0}")]
    Unreadable(String),
    /// There is no such file.
    #[error("there is no such file; check the path")]
    NoFile,
    /// It is no file.
    #[error("this is a directory; give the configuration file in it")]
    Directory,
    /// The file is too large to be a configuration.
    #[error("the file is larger than {max_bytes} bytes; this is no configuration of servers")]
    TooLarge {
        /// The most that is read.
        max_bytes: usize,
    },
    /// It is written in another encoding.
    #[error("this is {0}; save the file as UTF-8")]
    Encoding(&'static str),
    /// The text is neither JSON nor TOML.
    #[error("{0}; correct the {1} here")]
    Syntax(String, &'static str),
    /// No servers where there could be some.
    #[error("there are no servers in it; put them under \"mcpServers\": {{\"name\": {{…}}}}")]
    NoServers,
    /// A key that nobody knows. Not fatal.
    #[error("unknown key, which is ignored{}", meant(.suggestion.as_deref()))]
    UnknownKey {
        /// The known one that is most like it.
        suggestion: Option<String>,
    },
    /// A key is there twice: programs disagree on which counts.
    #[error("the key is there twice; take one of them out")]
    Duplicate,
    /// Two servers of one name.
    #[error("there are two servers of this name; rename or take out one of them")]
    DuplicateServer,
    /// A server without a name.
    #[error("the server has no name; write one between the quotes")]
    EmptyName,
    /// A value of another kind than the key has.
    #[error("{expected} expected, {found} found; {help}")]
    Kind {
        /// What belongs here.
        expected: &'static str,
        /// What is here.
        found: &'static str,
        /// What to do.
        help: &'static str,
    },
    /// A value that is taken although it is not a string. Not fatal.
    #[error("a string expected, {found} found, which is taken as it is written; put it in quotes")]
    Unquoted {
        /// What is here.
        found: &'static str,
    },
    /// A list that is too long.
    #[error("there are more than {max} values here; take some out")]
    TooMany {
        /// The most there may be.
        max: usize,
    },
    /// Both a command and an address.
    #[error(
        "both a command and {0} are given; a server is started or reached, so take one of them out"
    )]
    CommandAndUrl(&'static str),
    /// Several addresses.
    #[error("both {0} and {1} are given; take one of them out")]
    TwoUrls(&'static str, &'static str),
    /// Neither a command nor an address.
    #[error("neither a command nor a url is given; add one of them")]
    NoServer,
    /// Something that only its client can start. Not fatal: there is nothing to correct.
    #[error("{0} starts this server by means of its own; it is left out here")]
    ClientOnly(&'static str),
    /// The command is empty.
    #[error("the command is empty; name the program to start")]
    EmptyCommand,
    /// A kind of server that is not known.
    #[error("unknown type {0}; it is one of stdio, http and sse")]
    UnknownType(String),
    /// A kind of server that the other keys contradict.
    #[error("type {kind} needs {needs}, and there is {found}; change one of them")]
    TypeContradicts {
        /// What `type` says.
        kind: String,
        /// The key that belongs to it.
        needs: &'static str,
        /// The key that is there.
        found: &'static str,
    },
    /// A key that only the other kind of server has. Not fatal.
    #[error("this is for servers {0} and is ignored; take it out")]
    OtherKind(&'static str),
    /// Something that the client does and we do not. Not fatal.
    #[error("this is not supported here and is ignored; {0}")]
    Ignored(&'static str),
    /// The address is none.
    #[error("{0}; write it as https://example.com/mcp")]
    Url(String),
    /// A header that cannot be sent.
    #[error("{0}; correct or take out this header")]
    Header(String),
    /// A character that no argument, variable or path can have.
    #[error("a NUL character, which no program can be given; take it out")]
    Nul,
    /// The name of an environment variable that none can have.
    #[error(
        "this cannot be the name of an environment variable; it may not be empty or have a \"=\""
    )]
    VariableName,
    /// A time that is none.
    #[error("{0} is not a time; give a number of {1} above zero")]
    Time(String, &'static str),
    /// A number that cannot be what it should.
    #[error("{0} is not a port; give a number from 1 to 65535")]
    Port(String),
    /// A variable that is not set and has no default.
    #[error("the variable {name} is not set; {help}")]
    MissingVariable {
        /// Its name.
        name: String,
        /// What to do.
        help: String,
    },
    /// Something in `${…}` that only the client knows.
    #[error(
        "${{{0}}} is known to the client alone; write the value here, or as a variable of the environment"
    )]
    Unsupported(String),
    /// A default with a reference in it.
    #[error(
        "the default of {0} holds a ${{…}} itself, which is not put in; write a plain default, or ${{{0}}} alone"
    )]
    Nested(String),
    /// A file of variables that cannot be read.
    #[error("cannot read the variables in {path}: {reason}; correct the path or the file")]
    EnvFile {
        /// The file.
        path: String,
        /// Why not.
        reason: String,
    },
    /// Where a relative path begins cannot be found out.
    #[error("cannot find out {0}; write a whole path")]
    Where(&'static str),
    /// There are more mistakes than are worth telling. Not fatal.
    #[error("there are more mistakes, which are not told; correct these first")]
    MoreMistakes,
    /// Servers are started on Unix alone.
    #[error("servers can be started on Unix alone so far; use one with a url")]
    NoProcesses,
}

impl ConfigError {
    pub(super) fn new(place: Place, problem: Problem) -> Self {
        Self { place: Box::new(place), problem }
    }

    /// The file.
    pub fn file(&self) -> &Path {
        &self.place.file
    }

    /// The server, unescaped, if it is one server's mistake.
    pub fn server(&self) -> Option<&str> {
        self.place.server.as_deref()
    }

    /// All keys from the top of the file, as `mcpServers.github.args[2]`. Unescaped.
    pub fn key(&self) -> Option<&str> {
        self.place.key.as_deref()
    }

    /// The line and the column, both from 1, where that is known.
    pub fn position(&self) -> Option<(usize, usize)> {
        self.place.position
    }

    /// What is wrong.
    pub fn problem(&self) -> &Problem {
        &self.problem
    }

    /// Whether the server, or the whole file if it is no server's, cannot be used.
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

/// A piece of a file, fit for a terminal.
pub(super) fn show(bytes: &[u8]) -> String {
    Excerpt::new(bytes, MAX_SHOWN_BYTES).to_string()
}

fn meant(suggestion: Option<&str>) -> String {
    match suggestion {
        Some(key) => format!("; did you mean {key}?"),
        None => "; take it out if it was meant for Hardline".to_owned(),
    }
}
