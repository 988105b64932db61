//! `hardline wrap`: a guarded relay in front of a server.

mod name;
mod report;

use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result};
use bytesize::ByteSize;
use hardline_guard::policy::{Policy, Switches};
use hardline_proxy::relay::{Restart, Settings};
use hardline_proxy::wrap::{Outcome, WrapError};
use hardline_transport::process::{Command, Environment, Keeper, Stderr, flush_stderr};

use crate::policy::PolicyArgs;
use report::Report;

/// Put a guard in front of an MCP server
///
/// Starts the server and relays between it and whoever started this, byte for byte, except for what
/// is broken or planted: that is mended, made harmless or blocked, and every request gets its answer.
/// A server that dies is started again in the same session.
///
/// Standard output is the protocol. What happens is told on standard error, with the server's own
/// standard error and whatever it prints on its standard output that is no message.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit status: that of the server (128 and its number if it was ended by a signal); 128 and\n\
    the number of the signal that ended this; 1 if the session was closed by policy; 127 if the\n\
    server cannot be started; 2 for wrong use.\n\n\
    Examples:\n  \
    hardline wrap -- npx -y @modelcontextprotocol/server-filesystem ~/work\n  \
    hardline wrap --profile strict --name git -- uvx mcp-server-git\n  \
    In a client's configuration:\n    \
    {\"mcpServers\": {\"git\": {\"command\": \"hardline\", \"args\": [\"wrap\", \"--\", \"uvx\", \"mcp-server-git\"]}}}"
)]
pub(crate) struct Args {
    #[command(flatten)]
    policy: PolicyArgs,

    /// The server's name, for policy and messages; without one, it is taken from the command
    #[arg(long, value_name = "NAME")]
    name: Option<String>,

    /// Largest message, as 16MiB; a larger one is answered with an error
    #[arg(long, value_name = "SIZE")]
    max_frame: Option<ByteSize>,

    /// Notifications that the server may send at once, and in how long they are allowed again, as
    /// 256/2s
    #[arg(long, value_name = "COUNT[/TIME]", value_parser = read_burst)]
    burst: Option<(u32, Duration)>,

    /// JSON-RPC in content is what this server is about: documentation
    #[arg(long)]
    allow_jsonrpc: bool,

    /// When the server is started again: on-failure, always or never
    #[arg(long, value_name = "WHEN", default_value = "on-failure", value_parser = read_restart)]
    restart: Restart,

    /// How long a request may take, as 30s; then it fails, and is cancelled at the server
    #[arg(long, value_name = "TIME", value_parser = read_time)]
    request_timeout: Option<Duration>,

    /// Judge nothing and change nothing. Protects nobody
    #[arg(long)]
    danger_no_guard: bool,

    /// The server and its arguments
    #[arg(last = true, required = true, value_name = "CMD")]
    command: Vec<OsString>,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let name = args.name.clone().unwrap_or_else(|| name::of(&args.command));
    let policy = args.policy(&name)?;
    let mut settings = Settings::new(&name, policy);
    settings.restart = args.restart;
    settings.request_timeout = args.request_timeout;
    let command = args.server(&name)?;
    if io::stdin().is_terminal() {
        let hint = "an MCP proxy: waiting for JSON-RPC, one message a line, until Ctrl-D";
        let _ = writeln!(io::stderr(), "hardline: {hint}");
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.context("cannot start the runtime")?;
    let mut report = Report::new(&name);
    let outcome = runtime.block_on(async {
        let outcome = hardline_proxy::wrap::run(settings, &command, |note| report.take(note)).await;
        let _ = tokio::time::timeout(Duration::from_secs(1), flush_stderr()).await;
        outcome
    });
    runtime.shutdown_background();
    match outcome {
        Ok(Outcome::Server(code)) => Ok(ExitCode::from(code.to_le_bytes()[0])),
        Ok(Outcome::Signal(number)) => Ok(ExitCode::from((128 + number).to_le_bytes()[0])),
        Ok(_) => Ok(ExitCode::from(1)),
        Err(error @ WrapError::Spawn(_)) => {
            let _ = writeln!(io::stderr(), "hardline: {error}");
            Ok(ExitCode::from(127))
        }
        Err(error) => Err(error.into()),
    }
}

impl Args {
    fn policy(&self, server: &str) -> Result<Policy> {
        let mut switches = Switches::default();
        if let Some(size) = self.max_frame {
            switches.max_frame_bytes = Some(usize::try_from(size.as_u64()).unwrap_or(usize::MAX));
        }
        switches.burst = self.burst;
        switches.allows_jsonrpc = self.allow_jsonrpc;
        switches.allows_everything = self.danger_no_guard;
        self.policy.read()?.with_switches(server, &switches).context("--max-frame")
    }

    fn server(&self, name: &str) -> Result<Command> {
        let (program, rest) = self.command.split_first().context("no command was given")?;
        let command = Command::new(program, Environment::Inherit);
        let command = command.args(rest).stderr(Stderr::forward(name));
        let keeper = std::env::current_exe().map(|this| Keeper::new(this, ["keeper"]));
        // Without one, the server still ends with its standard input.
        Ok(match keeper {
            Ok(keeper) => command.keeper(keeper),
            Err(_) => command,
        })
    }
}

fn read_restart(text: &str) -> Result<Restart, String> {
    match text {
        "on-failure" => Ok(Restart::OnFailure),
        "always" => Ok(Restart::Always),
        "never" => Ok(Restart::Never),
        _ => Err("there are on-failure, always and never".into()),
    }
}

fn read_burst(text: &str) -> Result<(u32, Duration), String> {
    let (count, window) = text.split_once('/').unwrap_or((text, "2s"));
    let count: u32 = count.trim().parse().map_err(|_| "COUNT must be a number".to_owned())?;
    if count == 0 {
        return Err("COUNT must be at least 1".into());
    }
    Ok((count, read_time(window)?))
}

/// Reads a time: `500ms`, `30s`, `5m`, `1h`, or seconds.
fn read_time(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    let end = text.find(|char: char| !char.is_ascii_digit() && char != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let seconds = match unit.trim() {
        "ms" => 0.001,
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return Err("write it as 500ms, 30s, 5m or 1h".into()),
    };
    let number: f64 = number.parse().map_err(|_| "write it as 500ms, 30s, 5m or 1h".to_owned())?;
    let time = Duration::try_from_secs_f64(number * seconds);
    let time = time.map_err(|_| "too long".to_owned())?;
    if time.is_zero() { Err("must be more than nothing".into()) } else { Ok(time) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_with_their_unit() {
        assert_eq!(read_time("30s"), Ok(Duration::from_secs(30)));
        assert_eq!(read_time("250 ms"), Ok(Duration::from_millis(250)));
        assert_eq!(read_time("1.5m"), Ok(Duration::from_secs(90)));
        assert_eq!(read_time("2"), Ok(Duration::from_secs(2)));
        for text in ["", "s", "0", "-1s", "1d", "1e9h", "99999999999999999999999h"] {
            assert!(read_time(text).is_err(), "{text}");
        }
        assert_eq!(read_burst("10/500ms"), Ok((10, Duration::from_millis(500))));
        assert_eq!(read_burst("10"), Ok((10, Duration::from_secs(2))));
        assert!(read_burst("0").is_err());
    }
}
