//! The `hardline` binary: arguments, files, printing, exit codes. The libraries do the work.
//!
//! Exit codes: 0 success, 1 findings or failed checks, 2 wrong use or unreadable input.

mod argument;
mod audit;
mod client;
mod completion;
#[cfg(unix)]
mod demo;
mod demo_server;
mod directory;
mod doctor;
mod duration;
mod frames;
mod install;
mod json;
#[cfg(unix)]
mod keeper;
mod man;
mod pin;
mod policy;
mod recording;
#[cfg(unix)]
mod replay;
mod scan;
mod terminal;
#[cfg(unix)]
mod wrap;

use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Parser, Subcommand};

/// A guard for MCP servers: relays their messages, and stops what is broken or hostile.
#[derive(Debug, Parser)]
#[command(
    name = "hardline",
    version,
    about = "A guard for MCP servers: relays their messages, and stops what is broken or hostile",
    after_help = "First steps:\n  \
    hardline demo                 see attacks with and without Hardline\n  \
    hardline install --dry-run    show what would change in your clients' configurations\n  \
    hardline wrap -- COMMAND      guard one server\n\n\
    hardline COMMAND --help has all options of a command, its exit status and examples."
)]
#[command(max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    #[cfg(unix)]
    Wrap(wrap::WrapArgs),
    Tools(client::tools::ToolsArgs),
    Call(client::call::CallArgs),
    Resources(client::resources::ResourcesArgs),
    Prompts(client::prompts::PromptsArgs),
    Login(client::login::LoginArgs),
    Logout(client::login::LogoutArgs),
    Pin(pin::PinArgs),
    Audit(audit::AuditArgs),
    Frames(frames::FramesArgs),
    Scan(scan::ScanArgs),
    #[cfg(unix)]
    Replay(replay::ReplayArgs),
    Install(install::InstallArgs),
    Uninstall(install::uninstall::UninstallArgs),
    Doctor(doctor::DoctorArgs),
    Policy(policy::PolicyCommandArgs),
    #[cfg(unix)]
    Demo(demo::DemoArgs),
    DemoServer(demo_server::DemoServerArgs),
    Completion(completion::CompletionArgs),
    Man(man::ManArgs),
    #[cfg(unix)]
    #[command(hide = true)]
    Keeper(keeper::KeeperArgs),
}

/// Commands that run as long as a server. They are parsed apart from the others, because the parser
/// of all options of all commands would stay in memory for the whole session.
#[cfg(unix)]
#[derive(Debug, Parser)]
#[expect(clippy::large_enum_variant, reason = "there is one, for a moment")]
enum Lasting {
    Wrap(wrap::WrapArgs),
    DemoServer(demo_server::DemoServerArgs),
    Keeper(keeper::KeeperArgs),
}

/// Parses the command line.
fn parse() -> Result<Command, clap::Error> {
    #[cfg(unix)]
    match Lasting::try_parse() {
        Ok(Lasting::Wrap(args)) => return Ok(Command::Wrap(args)),
        Ok(Lasting::DemoServer(args)) => return Ok(Command::DemoServer(args)),
        Ok(Lasting::Keeper(args)) => return Ok(Command::Keeper(args)),
        // Another command, or wrong use: the full parser below handles both.
        Err(_) => {}
    }
    Cli::try_parse().map(|cli| cli.command)
}

fn main() -> ExitCode {
    let command = match parse() {
        Ok(command) => command,
        Err(error) => return refuse(&with_better_tips(error)),
    };
    let outcome = match command {
        #[cfg(unix)]
        Command::Wrap(args) => wrap::run(&args),
        Command::Tools(args) => client::tools::run(&args),
        Command::Call(args) => client::call::run(&args),
        Command::Resources(args) => client::resources::run(&args),
        Command::Prompts(args) => client::prompts::run(&args),
        Command::Login(args) => client::login::run(&args),
        Command::Logout(args) => client::login::logout(&args),
        Command::Pin(args) => pin::run(&args),
        Command::Audit(args) => audit::run(&args),
        Command::Frames(args) => frames::run(&args),
        Command::Scan(args) => scan::run(&args),
        #[cfg(unix)]
        Command::Replay(args) => replay::run(&args),
        Command::Install(args) => install::run(&args),
        Command::Uninstall(args) => install::uninstall::run(&args),
        // The keeper reports its own errors, so it returns an exit code and no error.
        Command::Doctor(args) => doctor::run(&args),
        Command::Policy(args) => policy::run(&args),
        #[cfg(unix)]
        Command::Demo(args) => demo::run(&args),
        Command::DemoServer(args) => demo_server::run(&args),
        Command::Completion(args) => completion::run(&args),
        Command::Man(args) => man::run(&args),
        #[cfg(unix)]
        Command::Keeper(args) => Ok(keeper::run(args)),
    };
    outcome.unwrap_or_else(|error| {
        let source = error.root_cause().downcast_ref::<io::Error>();
        if source.is_some_and(|it| it.kind() == io::ErrorKind::BrokenPipe) {
            // The reader of standard output closed it, as `head` does. That is not an error.
            return ExitCode::SUCCESS;
        }
        terminal::complain(&format!("{error:#}"));
        ExitCode::from(2)
    })
}

/// Improves clap's tips for an unknown option of a command that takes a server after `--`.
///
/// clap suggests to pass the option as a value after `--`, but there it would start a server.
fn with_better_tips(mut error: clap::Error) -> clap::Error {
    const CLIENT: [&str; 4] = ["tools", "call", "resources", "prompts"];
    let command = std::env::args_os().nth(1).unwrap_or_default();
    let command = command.to_string_lossy();
    if error.kind() != ErrorKind::UnknownArgument || !CLIENT.contains(&&*command) {
        return error;
    }
    let mut tips = match error.remove(ContextKind::Suggested) {
        Some(ContextValue::StyledStrs(tips)) => tips,
        _ => Vec::new(),
    };
    tips.retain(|it| !it.to_string().contains(" as a value, use "));
    let unknown = error.get(ContextKind::InvalidArg);
    // Many tools have --json, so users try it first.
    if matches!(unknown, Some(ContextValue::String(it)) if it == "--json") {
        error.remove(ContextKind::SuggestedArg);
        tips = vec!["did you mean --format json?".into()];
    }
    if !tips.is_empty() {
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
    }
    error
}

/// Prints a clap error or a help text. Arguments can contain control characters, and clap repeats
/// them.
fn refuse(error: &clap::Error) -> ExitCode {
    // A failed write is ignored: there is no other stream to report it on.
    let is_odd = |arg: OsString| arg.to_string_lossy().contains(terminal::is_obeyed);
    let _ = if std::env::args_os().any(is_odd) {
        // No colors: clap's escape sequences could not be told from those in the arguments.
        let message = error.render().to_string();
        write!(io::stderr(), "{}", terminal::harmless(&message))
    } else {
        error.print()
    };
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
}
