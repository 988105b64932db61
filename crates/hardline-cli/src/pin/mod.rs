//! `hardline pin`: shows pinned tools, instructions and executables, and approves changes.

mod approve;
mod diff;
mod difference;
mod forget;
mod list;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use clap::Subcommand;
use hardline_guard::pin::Lock;
use hardline_proxy::launch::known::{self, Programs};
use hardline_proxy::pins::PinStore;
use hardline_wire::excerpt::Excerpt;

use crate::argument::Format;
use crate::directory;

/// Timeout for the lock on pin files that a running session writes.
const PATIENCE: Duration = Duration::from_secs(5);
/// Limit on a name that is shown, in bytes.
const NAME_BYTES: usize = 80;

/// Show pinned tools, and approve changes
///
/// The first time a server lists its tools, they are pinned: name, description, schemas,
/// annotations. So are its instructions, which hosts show to the model, and the executable that it
/// is started with. From then on, Hardline reports every change. Under the profile strict, it hides
/// changed and new tools until they are approved here.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit status: 0 on success; 1 if diff found a difference; 2 for wrong use or\n\
    files that cannot be read.\n\n\
    Examples:\n  \
    hardline pin list\n  \
    hardline pin diff\n  \
    hardline pin approve github\n  \
    hardline pin approve github create_issue\n  \
    hardline pin approve github --instructions\n  \
    hardline pin forget github --lock ./hardline.lock"
)]
pub(crate) struct PinArgs {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    #[command(visible_alias = "show")]
    List(list::PinListArgs),
    Diff(diff::PinDiffArgs),
    Approve(approve::PinApproveArgs),
    Forget(forget::PinForgetArgs),
}

/// Location of the pins.
#[derive(Debug, clap::Args)]
struct PinsArg {
    /// Lock file or directory of the pins; default: the directory in the state directory
    #[arg(long, value_name = "PATH")]
    lock: Option<PathBuf>,
}

/// Selection and output format of a listing.
#[derive(Debug, clap::Args)]
struct Query {
    /// Only this server
    server: Option<String>,

    #[command(flatten)]
    pins: PinsArg,

    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

impl Query {
    /// Reads the pins and the names of the selected servers.
    fn read(&self) -> Result<(Pins, Vec<String>)> {
        let pins = self.pins.files()?.read()?;
        let servers = match &self.server {
            Some(server) => {
                // A misspelled name would otherwise look like a server without pins.
                pins.check(server)?;
                vec![server.clone()]
            }
            None => pins.servers().into_iter().map(str::to_owned).collect(),
        };
        Ok((pins, servers))
    }
}

/// Server and tools that a command changes.
#[derive(Debug, clap::Args)]
struct Choice {
    /// Name of the server
    server: String,

    /// Names of tools; default: all
    tools: Vec<String>,

    #[command(flatten)]
    pins: PinsArg,
}

pub(crate) fn run(args: &PinArgs) -> Result<ExitCode> {
    match &args.command {
        Command::List(args) => list::run(args),
        Command::Diff(args) => diff::run(args),
        Command::Approve(args) => approve::run(args),
        Command::Forget(args) => forget::run(args),
    }
}

/// Returns the servers with changes that wait for approval, as `hardline pin diff` shows them.
pub(crate) fn waiting() -> Result<Vec<String>> {
    let pins = PinsArg { lock: None }.files()?.read()?;
    let servers = pins.servers().into_iter().filter(|server| diff::has_any(&pins, server));
    Ok(servers.map(str::to_owned).collect())
}

/// Files that store pins.
struct Files {
    state: PathBuf,
    lock: PinStore,
    listed: PinStore,
    programs: PathBuf,
}

impl PinsArg {
    fn files(&self) -> Result<Files> {
        let state = directory::state();
        let state =
            state.context("cannot find the pins: neither XDG_STATE_HOME nor HOME is set")?;
        let lock = match &self.lock {
            Some(path) => PinStore::at(path),
            None => PinStore::in_state(&state),
        };
        // The last lists are always in the state directory, even with --lock.
        let listed = lock.listed(&state);
        Ok(Files { lock, listed, programs: state.join(known::FILE_NAME), state })
    }
}

/// Contents of the pin files.
struct Pins {
    lock: Lock,
    listed: Lock,
    programs: Programs,
}

impl Files {
    fn read(&self) -> Result<Pins> {
        Ok(Pins {
            lock: self.lock.read_all()?,
            listed: self.listed.read_all()?,
            programs: Programs::read(&self.programs)?,
        })
    }
}

impl Pins {
    /// Returns all known servers, sorted.
    fn servers(&self) -> Vec<&str> {
        let programs = self.programs.iter().map(|(server, _)| server);
        let mut all: Vec<&str> =
            self.lock.servers().chain(self.listed.servers()).chain(programs).collect();
        // Most servers have pins, a last list and an executable.
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Fails if a server is unknown, and lists the known ones.
    fn check(&self, server: &str) -> Result<()> {
        if self.servers().contains(&server) {
            return Ok(());
        }
        let names: Vec<String> = self.servers().into_iter().map(shown).collect();
        let known = if names.is_empty() {
            "nothing is pinned yet: start a server with `hardline wrap`".to_owned()
        } else {
            format!("known servers: {}", names.join(", "))
        };
        Err(anyhow!("unknown server `{}`; {known}", shown(server)))
    }
}

/// Escapes and cuts a name that comes from a client's configuration or a peer.
fn shown(name: &str) -> String {
    Excerpt::new(name.as_bytes(), NAME_BYTES).to_string()
}
