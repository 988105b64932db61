//! `hardline pin`: shows pinned tools, instructions and executables, and approves changes.

mod approve;
mod diff;
mod forget;
mod list;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use clap::{Subcommand, ValueEnum};
use hardline_guard::pin::{Difference, Lock};
use hardline_proxy::launch::known::{self, Programs};
use hardline_proxy::pins::PinStore;
use hardline_wire::excerpt::Excerpt;

use crate::place;

/// Timeout for the lock on pin files that a running session writes.
const PATIENCE: Duration = Duration::from_secs(5);
/// Limit on a name that is shown, in bytes.
const NAME_BYTES: usize = 80;

/// Show pinned tools, and approve changes
///
/// The first time a server lists its tools, they are pinned: name, description, schemas,
/// annotations.
/// So are its instructions, which hosts show to the model, and the executable that it is started
/// with. From then on, Hardline reports every change. Under the profile strict, it hides changed
/// and
/// new tools until they are approved here.
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
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    #[command(visible_alias = "show")]
    List(list::Args),
    Diff(diff::Args),
    Approve(approve::Args),
    Forget(forget::Args),
}

/// Location of the pins.
#[derive(Debug, clap::Args)]
struct Place {
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
    place: Place,

    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

impl Query {
    /// Reads the pins and the names of the selected servers.
    fn read(&self) -> Result<(Pins, Vec<String>)> {
        let pins = self.place.files()?.read()?;
        let servers = match &self.server {
            Some(server) => {
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

    /// Only these tools
    tools: Vec<String>,

    #[command(flatten)]
    place: Place,
}

/// How to print.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
enum Format {
    /// For people
    Text,
    /// One JSON document
    Json,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    match &args.command {
        Command::List(args) => list::run(args),
        Command::Diff(args) => diff::run(args),
        Command::Approve(args) => approve::run(args),
        Command::Forget(args) => forget::run(args),
    }
}

/// The servers of which something waits for approval, as `hardline pin diff` shows it.
pub(crate) fn waiting() -> Result<Vec<String>> {
    let pins = Place { lock: None }.files()?.read()?;
    let servers = pins.servers().into_iter().filter(|server| diff::has_any(&pins, server));
    Ok(servers.map(str::to_owned).collect())
}

/// The files that pins are in.
struct Files {
    state: PathBuf,
    lock: PinStore,
    listed: PinStore,
    programs: PathBuf,
}

impl Place {
    fn files(&self) -> Result<Files> {
        let state = place::state();
        let state = state.context("neither XDG_STATE_HOME nor HOME says where the pins are")?;
        let lock = match &self.lock {
            Some(path) => PinStore::at(path),
            None => PinStore::in_state(&state),
        };
        let listed = lock.listed(&state);
        Ok(Files { lock, listed, programs: state.join(known::FILE_NAME), state })
    }
}

/// What is in them.
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
    /// The servers that anything is known of, sorted.
    fn servers(&self) -> Vec<&str> {
        let programs = self.programs.iter().map(|(server, _)| server);
        let mut all: Vec<&str> =
            self.lock.servers().chain(self.listed.servers()).chain(programs).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Differences between what a server said last and what was pinned: its instructions first.
    fn differences(&self, server: &str) -> Vec<Difference> {
        let mut found = Vec::new();
        if let Some(listed) = self.listed.instructions(server) {
            found.extend(self.lock.compare_instructions(server, listed));
        }
        if !self.listed.has_list(server) {
            return found;
        }
        let listed: Vec<_> = self.listed.tools(server).cloned().collect();
        if self.lock.has_list(server) {
            found.extend(self.lock.compare(server, &listed));
            return found;
        }
        // No list of it is pinned: all of it is new.
        let mut empty = Lock::new();
        // A server without tools always fits.
        let _ = empty.pin(server, []);
        found.extend(empty.compare(server, &listed));
        found
    }

    /// Fails if nothing is known of a server, and says of which something is.
    fn check(&self, server: &str) -> Result<()> {
        if self.servers().contains(&server) {
            return Ok(());
        }
        let names: Vec<String> = self.servers().into_iter().map(shown).collect();
        let known = match names.is_empty() {
            true => "nothing is pinned yet: start a server with `hardline wrap`".to_owned(),
            false => format!("there are {}", names.join(", ")),
        };
        Err(anyhow!("nothing is known of a server `{}`; {known}", shown(server)))
    }
}

/// A name that somebody else chose, escaped and cut.
fn shown(name: &str) -> String {
    Excerpt::new(name.as_bytes(), NAME_BYTES).to_string()
}
