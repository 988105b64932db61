//! Programs whose options take secrets although the option's name does not say so.

use super::key;
use super::value::{is_done, is_placeholder};

/// A program whose options are known.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Program {
    /// `curl -u name:password`.
    Curl,
    /// `mysql -ppassword`.
    Mysql,
    /// `sshpass -p password`.
    Sshpass,
}

/// An option that takes a secret.
#[derive(Clone, Copy, Debug)]
pub(super) struct Opt {
    /// Length of the option itself; the rest of the word is its value.
    pub(super) length: usize,
    /// True if the value is a name, a colon and the secret.
    has_name: bool,
    /// True if the value may be the next word.
    pub(super) is_apart: bool,
}

impl Program {
    /// Returns the program of this name.
    pub(super) fn of(name: &[u8]) -> Option<Self> {
        Some(match name {
            b"curl" => Self::Curl,
            b"mysql" | b"mysqldump" | b"mysqladmin" | b"mysqlimport" | b"mariadb"
            | b"mariadb-dump" => Self::Mysql,
            b"sshpass" => Self::Sshpass,
            _ => return None,
        })
    }

    /// Returns the option that a word is or begins with.
    pub(super) fn option(self, word: &[u8]) -> Option<Opt> {
        let long: &[&[u8]] = match self {
            Self::Curl => &[b"--user", b"--proxy-user"],
            _ => &[],
        };
        let short: &[u8] = match self {
            Self::Curl => b"uU",
            Self::Mysql | Self::Sshpass => b"p",
        };
        let length = match word {
            [b'-', letter, ..] if short.contains(letter) => 2,
            _ if long.contains(&word) => word.len(),
            _ => return None,
        };
        let (has_name, is_apart) = (self == Self::Curl, self != Self::Mysql);
        Some(Opt { length, has_name, is_apart })
    }
}

impl Opt {
    /// Returns the start of the secret in a value.
    pub(super) fn secret_in(self, value: &[u8]) -> Option<usize> {
        // `curl --user` takes a name and a password, and the password alone is the secret.
        let start =
            if self.has_name { value.iter().position(|byte| *byte == b':')? + 1 } else { 0 };
        let secret = value.get(start..)?;
        // `-u 1000:1000` names a user and a group.
        let is_number = secret.iter().all(u8::is_ascii_digit) && self.has_name;
        (!is_placeholder(secret) && !is_done(value) && !is_number).then_some(start)
    }
}

/// State after the words of a command line so far.
#[derive(Debug, Default)]
pub(super) struct Command {
    program: Option<Program>,
    next: Next,
}

#[derive(Clone, Copy, Debug, Default)]
enum Next {
    #[default]
    Anything,
    /// The value of an option whose name says that it is a secret.
    Secret,
    Value(Opt),
}

impl Command {
    /// Examines a word. Returns the start of the secret in it.
    pub(super) fn word(&mut self, word: &str) -> Option<usize> {
        let bytes = word.as_bytes();
        match std::mem::take(&mut self.next) {
            Next::Secret if !word.starts_with('-') => return Some(0),
            Next::Value(option) => return option.secret_in(bytes),
            Next::Secret | Next::Anything => {}
        }
        let name = word.trim_start_matches('-');
        if name.len() == word.len() {
            // `sudo mysql …`: the program need not be the first word.
            let name = bytes.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
            self.program = Program::of(name).or(self.program);
            return None;
        }
        // `--api-key=1234` has its value: the next word is another argument.
        if !name.contains('=') && key::is_secret(name.as_bytes()) {
            self.next = Next::Secret;
        }
        let option = self.program?.option(bytes)?;
        // The option and its value may be one word, as in `-pSECRET`.
        if option.length < bytes.len() {
            let value = bytes.get(option.length..).unwrap_or_default();
            return option.secret_in(value).map(|start| option.length + start);
        }
        if option.is_apart {
            self.next = Next::Value(option);
        }
        None
    }
}
