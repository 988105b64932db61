//! `hardline prompts`: lists the prompts of servers, or gets one.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anstyle::Style;
use anyhow::{Context, Result, bail};
use hardline_client::connection::RawResult;
use hardline_client::{Connection, Error};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::listing::{self, Listing};
use super::print::{self, name};
use super::save::{self, Folder};
use super::target::{TargetArgs, Which};
use super::tree::Tree;
use super::{Format, ShowArgs, all, arguments, first_line, session, write};
use crate::terminal::table::{self, Cell, Layout, Table};

/// List the prompts of MCP servers, or get one
///
/// Without SERVER, connects to all configured servers concurrently and lists their prompts: name,
/// arguments (required ones have a star) and description. With PROMPT, gets one and shows its
/// messages.
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "hardline prompts [OPTIONS] [SERVER] [PROMPT] [JSON]\n       \
    hardline prompts [OPTIONS] [PROMPT] [JSON] --url <URL>\n       \
    hardline prompts [OPTIONS] [PROMPT] [JSON] -- <CMD>...",
    after_help = "Exit status: 0 if the prompts were listed or shown, 1 if the server failed, or all servers did, 2 for\n\
    wrong use or a mistake in the configuration of the named server; 128 plus the signal number if a\n\
    signal ended this command.\n\n\
    Examples:\n  \
    hardline prompts\n  \
    hardline prompts github review '{\"number\": \"12\"}'\n  \
    hardline prompts greet '{\"name\": \"Ada\"}' -- hardline demo-server"
)]
pub(crate) struct PromptsArgs {
    /// Name of the server in the configuration; leave it out with --url and --
    server: Option<String>,

    /// Name of a prompt to get
    prompt: Option<String>,

    /// Arguments of the prompt: a JSON object of strings, @FILE with one, or - for standard input
    #[arg(value_name = "JSON")]
    arguments: Option<String>,

    #[command(flatten)]
    target: TargetArgs,

    /// Directory for images and audio of the messages; default: the temporary directory
    #[arg(long, value_name = "DIR")]
    save: Option<PathBuf>,

    #[command(flatten)]
    show: ShowArgs,
}

/// Columns for one server and for many.
const ONE: Layout = Layout::cut(&["PROMPT", "ARGUMENTS", "DESCRIPTION"], 2);
const MANY: Layout = Layout::cut(&["SERVER", "PROMPT", "ARGUMENTS", "DESCRIPTION"], 3);

/// Fields of a prompt that are shown.
#[derive(Debug, Deserialize)]
struct Shown {
    name: String,
    description: Option<String>,
    #[serde(default)]
    arguments: Vec<Argument>,
}

#[derive(Debug, Deserialize)]
struct Argument {
    name: String,
    #[serde(default)]
    required: bool,
}

/// Result of `prompts/get`.
#[derive(Debug, Deserialize)]
struct Got {
    #[serde(default)]
    messages: Vec<Message>,
}

#[derive(Debug, Deserialize)]
struct Message {
    #[serde(default)]
    role: String,
    #[serde(default)]
    content: Value,
}

/// JSON of prompts, as a server wrote them.
#[derive(Debug)]
struct Listed(Vec<Box<RawValue>>);

pub(crate) fn run(args: &PromptsArgs) -> Result<ExitCode> {
    // With --url or --, the first word is not a server but the prompt.
    let words = [&args.server, &args.prompt, &args.arguments];
    let words: Vec<String> = words.into_iter().flatten().cloned().collect();
    let (which, rest) = args.target.choose(&words)?;
    let params = match rest {
        [] => None,
        [prompt] => Some(params(prompt, None)?),
        [prompt, arguments] => Some(params(prompt, Some(arguments))?),
        _ => {
            bail!("a server from --url or -- has no name: write `hardline prompts [PROMPT] [JSON]`")
        }
    };
    if params.is_some() {
        // Saving is prepared before the request, which cannot be undone.
        save::prepare(args.save.as_deref(), args.show.format)?;
    }
    session::run(&args.target, async |context| match (which, params) {
        (Which::Given(server) | Which::Named(server), Some(params)) => {
            let request = ("prompts/get", params.as_str());
            match listing::fetch::<Got>(&context, &server, request, "prompts").await {
                Ok((got, result)) => show(args, &got, &result),
                Err(code) => Ok(code),
            }
        }
        (which, _) => listing::list::<Listed>(&context, &args.target, &args.show, which).await,
    })
}

fn show(args: &PromptsArgs, got: &Got, result: &RawResult) -> Result<ExitCode> {
    let mut folder = Folder::new(args.save.as_deref(), "prompt");
    let is_written = write(args.show.color, |out, is_colored| {
        if args.show.format == Format::Json {
            // Programs get the result as it came, except for characters that hide something.
            return writeln!(out, "{}", crate::json::escaped(result.get()));
        }
        let bold = if is_colored { Style::new().bold() } else { Style::new() };
        for message in &got.messages {
            writeln!(out, "{bold}{}:{bold:#}", name(&message.role))?;
            // The protocol has one block per message; some servers send a list.
            let blocks = match &message.content {
                Value::Array(blocks) => blocks.as_slice(),
                block => std::slice::from_ref(block),
            };
            for block in blocks {
                print::block(out, block, &mut folder)?;
            }
        }
        print::left_out(out, &folder)
    })?;
    let is_saved = folder.tell();
    Ok(ExitCode::from(u8::from(!is_written || !is_saved)))
}

/// Returns the parameters. All arguments of prompts must be strings.
fn params(prompt: &str, given: Option<&str>) -> Result<String> {
    // Checked before connecting: a mistake should not start a server.
    let arguments = arguments::read(given)?;
    let tree = Tree::read(&arguments).context("cannot parse the arguments")?;
    if let Some((key, value)) = tree.members().iter().find(|(_, it)| it.as_str().is_none()) {
        bail!(
            "arguments of prompts must be strings: write {} as \"{}\"",
            name(key),
            name(&value.flat())
        );
    }
    let prompt = serde_json::to_string(prompt)?;
    Ok(format!(r#"{{"name":{prompt},"arguments":{arguments}}}"#))
}

impl Listing for Listed {
    async fn list(connection: Connection) -> Result<Self, Error> {
        Ok(Self(listing::optional(&connection, "prompts/list", "prompts").await?))
    }

    fn json(&self) -> String {
        all::json_list("prompts", self.0.iter().map(|it| it.get()))
    }

    fn text(
        out: &mut dyn Write,
        lists: &[(Option<String>, &Self)],
        is_colored: bool,
    ) -> io::Result<()> {
        // For one server, a column with its name would repeat what the user gave.
        let is_many = lists.iter().any(|(server, _)| server.is_some());
        let mut table = Table::new(if is_many { MANY } else { ONE }, is_colored);
        for (server, prompts) in lists {
            prompts.0.iter().for_each(|it| table.push(row(server.as_deref(), it)));
        }
        if table.is_empty() {
            return writeln!(out, "No prompts.");
        }
        table.write(out, table::width())
    }
}

fn row(server: Option<&str>, prompt: &RawValue) -> Vec<Cell> {
    let mut row: Vec<Cell> = server.into_iter().map(Cell::firm).collect();
    // An item that is not understood is still shown, as its JSON.
    let Ok(shown) = serde_json::from_str::<Shown>(prompt.get()) else {
        row.extend([Cell::new("?"), Cell::new(""), Cell::new(prompt.get())]);
        return row;
    };
    // A star marks an argument that the server requires.
    let star = |it: &Argument| format!("{}{}", it.name, if it.required { "*" } else { "" });
    row.extend([
        Cell::firm(&shown.name).style(Style::new().bold()),
        Cell::new(shown.arguments.iter().map(star).collect::<Vec<_>>().join(" ")),
        Cell::new(first_line(shown.description.as_deref())),
    ]);
    row
}
