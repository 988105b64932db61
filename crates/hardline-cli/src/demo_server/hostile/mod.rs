//! `hardline demo-server --hostile`: a server that attacks its client.
//!
//! Each attack is a tool, so that a client triggers it by a call; [`attack`] has the table. It
//! writes plain lines, because no MCP library would send most of this.
//!
//! It does no real harm: it plants only text, opens no file, and ends with its standard input, or
//! ten minutes later if not reading is the attack.

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
use server::HostileServer;

#[cfg(unix)]
pub(crate) use tool::{ECHO, LATER};

const CHUNK: usize = 64 << 10;

/// Serves until standard input ends. With `attack`, every call triggers that attack.
pub(super) fn run(attack: Option<&'static Attack>) -> Result<ExitCode> {
    match serve(&mut HostileServer::new(attack), &mut io::stdin().lock(), &mut io::stdout()) {
        Ok(code) => Ok(ExitCode::from(code)),
        // The client is gone.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(ExitCode::SUCCESS),
        Err(error) => Err(error).context("cannot serve"),
    }
}

/// Prints the name, the rule and the description of each attack.
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

fn serve(server: &mut HostileServer, input: &mut dyn Read, out: &mut dyn Write) -> io::Result<u8> {
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
            // An overlong line is handled as an empty one, which is no message.
            if let Next::End(code) = server.handle(line.whole().unwrap_or_default(), out)? {
                return Ok(code);
            }
        }
    }
}
