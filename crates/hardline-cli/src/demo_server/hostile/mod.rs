//! `hardline demo-server --hostile`: a server that does to its client what servers have no business doing.
//!
//! Each attack is a tool of its own, so that a client triggers it by a call; the table of them is
//! [`attack`]. Written on nothing but lines, as no library of MCP would send most of this.
//!
//! It harms nobody: what it plants are words, it opens no file, and it ends with its standard input, or
//! ten minutes later where not reading that is the attack.

pub(crate) mod attack;

mod call;
mod planted;
mod server;
mod tool;

use std::io::{self, ErrorKind, Read, Write};
use std::process::ExitCode;

use anyhow::{Context, Result};
use hardline_wire::limits::Limits;
use hardline_wire::line::LineFramer;

use attack::{Attack, Next};
use server::Server;

#[cfg(unix)]
pub(crate) use tool::{ECHO, LATER};

const CHUNK: usize = 64 << 10;

/// Serves until standard input ends. If `attack` is given, that is what every call gets.
pub(super) fn run(attack: Option<&'static Attack>) -> Result<ExitCode> {
    match serve(&mut Server::new(attack), &mut io::stdin().lock(), &mut io::stdout()) {
        Ok(code) => Ok(ExitCode::from(code)),
        // The client is gone.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(ExitCode::SUCCESS),
        Err(error) => Err(error).context("cannot serve"),
    }
}

/// Prints the attacks: what each is called, which rule speaks, what it does.
pub(super) fn list() -> Result<ExitCode> {
    let mut text = String::new();
    for attack in attack::all().chain(attack::alone()) {
        let rule = attack.rule.map_or("-", |rule| rule.name());
        text.push_str(&format!("{:<26}{rule}\n    {}\n", attack.name, attack.what));
    }
    match io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(error).context("cannot write to standard output")
        }
        _ => Ok(ExitCode::SUCCESS),
    }
}

fn serve(server: &mut Server, input: &mut dyn Read, out: &mut dyn Write) -> io::Result<u8> {
    let mut framer = LineFramer::new(&Limits::default());
    let mut buffer = vec![0; CHUNK];
    loop {
        let read = match input.read(&mut buffer) {
            Ok(0) => return Ok(0),
            Ok(read) => read,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let mut chunk = buffer.get(..read).unwrap_or_default();
        while let Some(line) = framer.next_line(&mut chunk) {
            if let Next::End(code) = server.handle(line.whole().unwrap_or_default(), out)? {
                return Ok(code);
            }
        }
    }
}
