//! `hardline wrap`: a guarded relay in front of a server.

mod check;
mod launcher;
mod name;
mod observer;
mod policy;
mod report;
mod server_start;
mod session;

use std::cell::RefCell;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result, bail};
use bytesize::ByteSize;
use clap::builder::NonEmptyStringValueParser;
use hardline_guard::launch::is_variable;
use hardline_guard::policy::{Policy, Switches};
use hardline_guard::tools::{Glob, PinKeeper};
use hardline_guard::{Action, Direction, Rule};
use hardline_proxy::audit::{self, AuditWriter, Options, Output, SessionStart};
use hardline_proxy::launch::LaunchId;
use hardline_proxy::pins::{PinFile, PinStore};
use hardline_proxy::record::Recorder;
use hardline_proxy::relay::{RelaySettings, Restart};
use hardline_proxy::wrap::{SessionOutcome, WrapError};
use hardline_transport::process::{
    adopt_orphans, deny_foreign_access, end_descendants, flush_stderr,
};
use hardline_wire::limits::Limits;
use tokio::time::Instant;

use crate::argument::read_size;
use crate::duration;
use crate::policy::PolicyArgs;

pub(crate) use check::{Directories, check};
use observer::WrapObserver;
use report::{Level, Report};
use server_start::ServerStart;
use session::session;

/// Put a guard in front of an MCP server
///
/// Starts the server and relays messages between it and the client that started this command.
/// Messages that are fine pass byte for byte. Broken or malicious ones are repaired, sanitized or
/// blocked, and every request gets an answer. A server that dies is restarted in the same session.
///
/// Standard output carries the protocol. Standard error carries reports, the server's own standard
/// error, and lines from the server's standard output that are not messages.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit status: that of the server (128 plus the signal number if a signal ended it); 128 plus the\n\
    signal number if a signal ended this command; 1 if the policy closed the session or forbids the\n\
    start; 127 if the server cannot be started; 2 for wrong use.\n\n\
    Examples:\n  \
    hardline wrap -- npx -y @modelcontextprotocol/server-filesystem ~/work\n  \
    hardline wrap --profile strict --name git -- uvx mcp-server-git\n  \
    In a client's configuration:\n    \
    {\"mcpServers\": {\"git\": {\"command\": \"hardline\", \"args\": [\"wrap\", \"--\", \"uvx\", \"mcp-server-git\"]}}}"
)]
pub(crate) struct WrapArgs {
    #[command(flatten)]
    policy: PolicyArgs,

    /// Name of the server in the policy and in messages; default: derived from the command
    #[arg(long, value_name = "NAME")]
    name: Option<String>,

    /// Largest message, such as 16MiB; larger ones get an error as their answer
    #[arg(long, value_name = "SIZE", value_parser = read_size)]
    max_frame: Option<ByteSize>,

    /// Burst of notifications that the server may send, and the time in which that many are allowed
    /// again, such as 256/2s
    #[arg(long, value_name = "COUNT[/TIME]", value_parser = read_burst)]
    burst: Option<(u32, Duration)>,

    /// Allow JSON-RPC inside content, for servers of documentation about MCP
    #[arg(long)]
    allow_jsonrpc: bool,

    /// Let the client see and call only tools that match; * matches any run of characters. Can be
    /// repeated
    #[arg(long, value_name = "PATTERN", help_heading = "Tools", value_parser = NonEmptyStringValueParser::new())]
    allow_tool: Vec<String>,

    /// Hide tools that match, and refuse calls to them. Can be repeated
    #[arg(long, value_name = "PATTERN", help_heading = "Tools", value_parser = NonEmptyStringValueParser::new())]
    deny_tool: Vec<String>,

    /// Let the client see and call only tools with the annotation readOnlyHint
    #[arg(long, help_heading = "Tools")]
    read_only: bool,

    /// Lock file for pinned tools and instructions, or a directory with one lock file per server;
    /// default: a directory in the state directory
    #[arg(long, value_name = "PATH", help_heading = "Tools")]
    lock: Option<PathBuf>,

    /// Do not compare tools, instructions and the executable with earlier sessions
    #[arg(long, conflicts_with = "lock", help_heading = "Tools")]
    no_pins: bool,

    /// Give the server only basic environment variables, such as PATH, HOME and LANG
    #[arg(long, help_heading = "Start")]
    clean_env: bool,

    /// With --clean-env: also pass this variable; * matches any run of characters. Can be repeated
    #[arg(long, value_name = "NAME", help_heading = "Start", value_parser = read_variable)]
    env: Vec<String>,

    /// Audit database, or off; default: audit.db in the state directory
    #[arg(long, value_name = "PATH|off", help_heading = "Audit and recording")]
    audit: Option<PathBuf>,

    /// Also store the text of messages in the audit database, with secrets redacted
    #[arg(long, help_heading = "Audit and recording")]
    audit_bodies: bool,

    /// Record every line of the session in a file, with secrets redacted, for scan and replay
    #[arg(long, value_name = "FILE", help_heading = "Audit and recording")]
    record: Option<PathBuf>,

    /// Directory of the audit database, the pins and the hashes of executables; default: the state
    /// directory. install writes it into each entry, so that no variable can redirect it
    #[arg(long, value_name = "DIR", help_heading = "Directories")]
    state_dir: Option<PathBuf>,

    /// Directory of policy.toml; default: the configuration directory
    #[arg(long, value_name = "DIR", help_heading = "Directories")]
    config_dir: Option<PathBuf>,

    /// Restart policy for the server: on-failure, always or never
    #[arg(long, value_name = "WHEN", default_value = "on-failure", value_parser = read_restart)]
    restart: Restart,

    /// Time limit for a request, such as 30s; then it fails and is cancelled at the server
    #[arg(long, value_name = "TIME", value_parser = duration::read)]
    request_timeout: Option<Duration>,

    /// Detail of the reports on standard error
    #[arg(long, value_enum, value_name = "LEVEL", default_value_t = Level::Info)]
    log: Level,

    /// Inspect nothing and change nothing: no protection at all
    #[arg(long)]
    danger_no_guard: bool,

    /// Server command and its arguments
    #[arg(last = true, required = true, value_name = "CMD")]
    command: Vec<OsString>,
}

/// Time that the last processes of the server get to end after the session, before they are killed.
const LAST_PROCESSES: Duration = Duration::from_secs(1);

pub(crate) fn run(args: &WrapArgs) -> Result<ExitCode> {
    let name = args.name.clone().unwrap_or_else(|| name::of(&args.command));
    let (policy, warning) = args.policy(&name)?;
    let launch = policy.settings(Some(&name)).launch();
    if !args.env.is_empty() && !launch.is_env_clean() && launch.programs().is_none() {
        bail!(
            "--env extends a clean environment: give --clean-env too; without it, the server gets all variables"
        );
    }
    let server = match ServerStart::new(&args.command, &name, &policy) {
        Ok(server) => server,
        Err(error) => return Ok(unstartable(&WrapError::from(error))),
    };
    let report = Report::new(&name, args.log);
    let unlisted = (0, Duration::ZERO);
    // The audit log opens last, so that a start that fails before leaves no session in it.
    let mut observer = WrapObserver { report, audit: None, recorder: args.recorder()?, unlisted };
    let pins = args.pins(&name, &policy, &server, &mut observer)?;
    observer.audit = args.audit(&name, &policy, &server, &mut observer);
    // The warning needs the audit log, so it is reported last.
    warning.into_iter().for_each(|warning| observer.trouble(Duration::ZERO, &warning));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.context("cannot start the runtime")?;

    let settings = args.relay_settings(&name, &policy, pins);
    let begun = Instant::now();
    let observer = RefCell::new(observer);
    // Both are additional protection, and a system that lacks them can still run the server. A server
    // that kills its keeper then ends with its standard input.
    let _ = deny_foreign_access();
    let _ = adopt_orphans();
    // Servers may leave processes behind; none may outlive the session.
    let outcome = runtime.block_on(session(args, &name, &policy, settings, &server, &observer));
    end_descendants(LAST_PROCESSES);
    let outcome_text = match &outcome {
        Ok(Some(SessionOutcome::Server(code))) => format!("the server ended with {code}"),
        Ok(Some(SessionOutcome::Signal(number))) => format!("ended by signal {number}"),
        Ok(Some(_)) => "closed".to_owned(),
        Ok(None) => "not started: the policy forbids it".to_owned(),
        Err(error) => format!("not started: {error}"),
    };
    observer.into_inner().close(begun.elapsed(), &outcome_text);
    // Standard error may be a full pipe that is never read.
    runtime.block_on(async {
        let _ = tokio::time::timeout(Duration::from_secs(1), flush_stderr()).await;
    });
    // A blocking thread may still hash the executable; do not wait for it.
    runtime.shutdown_background();
    match outcome {
        Ok(Some(SessionOutcome::Server(code))) => Ok(ExitCode::from(code.to_le_bytes()[0])),
        Ok(Some(SessionOutcome::Signal(number))) => {
            Ok(ExitCode::from((128 + number).to_le_bytes()[0]))
        }
        Ok(_) => Ok(ExitCode::from(1)),
        Err(error @ WrapError::Spawn(_)) => Ok(unstartable(&error)),
        Err(error) => Err(error.into()),
    }
}

fn unstartable(error: &WrapError) -> ExitCode {
    crate::terminal::complain(&error.to_string());
    ExitCode::from(127)
}

impl WrapArgs {
    fn relay_settings(
        &self,
        name: &str,
        policy: &Policy,
        pins: Option<Box<dyn PinKeeper>>,
    ) -> RelaySettings {
        let mut settings = RelaySettings::new(name, policy.clone());
        settings.restart = self.restart;
        settings.request_timeout = self.request_timeout;
        settings.pins = pins;
        settings
    }

    fn policy(&self, server: &str) -> Result<(Policy, Option<String>)> {
        let mut switches = Switches::default();
        if let Some(size) = self.max_frame {
            let bytes = usize::try_from(size.as_u64()).unwrap_or(usize::MAX);
            // Only here it is known which option has the wrong value.
            Limits::default().with_max_frame_bytes(bytes).context("--max-frame")?;
            switches.max_frame_bytes = Some(bytes);
        }
        switches.burst = self.burst;
        switches.allows_jsonrpc = self.allow_jsonrpc;
        switches.allows_everything = self.danger_no_guard;
        switches.allowed_tools = self.allow_tool.iter().map(Glob::new).collect();
        switches.denied_tools = self.deny_tool.iter().map(Glob::new).collect();
        switches.is_read_only = self.read_only;
        switches.is_env_clean = self.clean_env;
        switches.env.clone_from(&self.env);
        let (policy, warning) = self.read_policy(server)?;
        Ok((policy.with_switches(server, &switches)?, warning))
    }

    fn recorder(&self) -> Result<Option<Recorder>> {
        let Some(path) = &self.record else { return Ok(None) };
        let tell = |text| report::write(format!("[hardline] the recording {text}"));
        let recorder = Recorder::open(path, now(), tell);
        let recorder =
            recorder.with_context(|| format!("cannot record into {}", path.display()))?;
        Ok(Some(recorder))
    }

    fn audit(
        &self,
        name: &str,
        policy: &Policy,
        server: &ServerStart,
        observer: &mut WrapObserver,
    ) -> Option<AuditWriter> {
        let path = match &self.audit {
            Some(path) if path.as_os_str() == "off" => return None,
            Some(path) => path.clone(),
            None => match self.state() {
                Some(state) => state.join(audit::FILE_NAME),
                None => {
                    let trouble = "there is no audit log: neither XDG_STATE_HOME nor HOME is set; \
                                   give --audit PATH or --audit off";
                    observer.trouble(Duration::ZERO, trouble);
                    return None;
                }
            },
        };
        let mut options = Options::new(path);
        options.bodies = self.audit_bodies;
        let command = server.start.command.clone();
        let session = SessionStart::new(name, command, policy.base().name());
        let own = name.to_owned();
        let tell = move |tell| match tell {
            Output::Finding(text) => report::write(text),
            Output::Warning(text) => report::write(format!("[hardline] {own}: {text}")),
            // In one write: many single lines would exceed the queue of standard error.
            Output::Unstored(findings) => {
                let lines = findings.iter().map(|it| format!("[hardline] {own}: {it}"));
                report::write(lines.collect::<Vec<_>>().join("\n"));
            }
        };
        Some(AuditWriter::open(options, session, Box::new(tell)))
    }

    fn pins(
        &self,
        name: &str,
        policy: &Policy,
        server: &ServerStart,
        observer: &mut WrapObserver,
    ) -> Result<Option<Box<dyn PinKeeper>>> {
        if self.no_pins || self.danger_no_guard {
            return Ok(None);
        }
        let state = self.state();
        let store = match (&self.lock, &state) {
            (Some(path), _) => PinStore::at(path),
            (None, Some(state)) => PinStore::in_state(state),
            (None, None) => {
                let trouble = "tools are not pinned: neither XDG_STATE_HOME nor HOME is set; \
                               give --lock FILE or --no-pins";
                observer.trouble(Duration::ZERO, trouble);
                return Ok(None);
            }
        };
        let listed = state.as_ref().map(|state| store.listed(state));
        match PinFile::for_server(store, listed, name) {
            Ok(mut pins) => {
                if let Some(state) = &state {
                    let arguments = self.command.get(1..).unwrap_or_default();
                    let launch = LaunchId::new(&server.start.program, arguments);
                    pins = pins.with_launch(state, launch);
                }
                if let Some(path) = &self.lock {
                    pins = pins.with_lock_path(path);
                }
                Ok(Some(Box::new(pins)))
            }
            Err(error) => {
                let rule = Rule::ToolChanged;
                let action = policy.action(rule, Some(name), None, Direction::ServerToClient);
                // A user who gave a lock file, or blocks changed tools, relies on the pins.
                if self.lock.is_some() || action >= Action::Block {
                    bail!("{error}");
                }
                observer.trouble(Duration::ZERO, &format!("tools cannot be compared: {error}"));
                Ok(None)
            }
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "a recording has its start time")]
fn now() -> SystemTime {
    SystemTime::now()
}

fn read_restart(text: &str) -> Result<Restart, String> {
    match text {
        "on-failure" => Ok(Restart::OnFailure),
        "always" => Ok(Restart::Always),
        "never" => Ok(Restart::Never),
        _ => Err("expected on-failure, always or never".into()),
    }
}

fn read_variable(name: &str) -> Result<String, String> {
    if is_variable(name) {
        return Ok(name.to_owned());
    }
    let what = "expected the name of a variable to pass on, without a value";
    Err(format!("{what}: set it in the environment of this command and give --env NAME"))
}

fn read_burst(text: &str) -> Result<(u32, Duration), String> {
    let (count, window) = text.split_once('/').unwrap_or((text, "2s"));
    let count: u32 = count.trim().parse().map_err(|_| "COUNT must be a number".to_owned())?;
    if count == 0 {
        return Err("COUNT must be at least 1".into());
    }
    Ok((count, duration::read(window)?))
}

#[cfg(test)]
mod tests {
    use clap::Args as _;

    use super::*;

    #[test]
    fn the_page_in_docs_names_every_option() {
        let page = include_str!("../../../../docs/wrap.md");
        let command = WrapArgs::augment_args(clap::Command::new("wrap"));
        for option in command.get_arguments().filter_map(clap::Arg::get_long) {
            // Another option may begin with the same word.
            let is_named =
                [" ", "`", "\n"].iter().any(|end| page.contains(&format!("--{option}{end}")));
            assert!(is_named, "--{option} is not in docs/wrap.md");
        }
    }

    #[test]
    fn bursts_have_a_count_and_a_time() {
        assert_eq!(read_burst("10/500ms"), Ok((10, Duration::from_millis(500))));
        assert_eq!(read_burst("10"), Ok((10, Duration::from_secs(2))));
        assert!(read_burst("0").is_err());
    }
}
