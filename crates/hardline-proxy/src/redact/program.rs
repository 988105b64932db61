//! Programs that are given secrets in options whose names do not say so.

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

/// An option that a secret belongs to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Opt {
    /// How many bytes it is itself: what follows in the same word is its value.
    pub(super) length: usize,
    /// Whether the value is a name, a colon and the secret.
    has_name: bool,
    /// Whether the value may be the next word.
    pub(super) is_apart: bool,
}

impl Program {
    /// The program of this name.
    pub(super) fn of(name: &[u8]) -> Option<Self> {
        Some(match name {
            b"curl" => Self::Curl,
            b"mysql" | b"mysqldump" | b"mysqladmin" | b"mysqlimport" | b"mariadb"
            | b"mariadb-dump" => Self::Mysql,
            b"sshpass" => Self::Sshpass,
            _ => return None,
        })
    }

    /// The option that a word of its command line is or begins with.
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
    /// From where on a value is secret.
    pub(super) fn secret_in(self, value: &[u8]) -> Option<usize> {
        let start = match self.has_name {
            true => value.iter().position(|byte| *byte == b':')? + 1,
            false => 0,
        };
        let secret = value.get(start..)?;
        let is_number = secret.iter().all(u8::is_ascii_digit) && self.has_name;
        (!is_placeholder(secret) && !is_done(value) && !is_number).then_some(start)
    }
}

/// The words of a command line so far, as far as they say something of the next one.
#[derive(Debug, Default)]
pub(super) struct Command {
    program: Option<Program>,
    next: Next,
}

#[derive(Clone, Copy, Debug, Default)]
enum Next {
    #[default]
    Anything,
    /// What an option is given whose name says that it is a secret.
    Secret,
    Value(Opt),
}

impl Command {
    /// Takes a word. Returns from where on it is a secret.
    pub(super) fn word(&mut self, word: &str) -> Option<usize> {
        let bytes = word.as_bytes();
        match std::mem::take(&mut self.next) {
            Next::Secret if !word.starts_with('-') => return Some(0),
            Next::Value(option) => return option.secret_in(bytes),
            Next::Secret | Next::Anything => {}
        }
        let name = word.trim_start_matches('-');
        if name.len() == word.len() {
            let name = bytes.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
            self.program = Program::of(name).or(self.program);
            return None;
        }
        if key::is_secret(name.as_bytes()) {
            self.next = Next::Secret;
        }
        let option = self.program?.option(bytes)?;
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
