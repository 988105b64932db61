//! `hardline resources`: lists the resources of servers, or reads one.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anstyle::Style;
use anyhow::{Result, bail};
use bytesize::ByteSize;
use hardline_client::connection::RawResult;
use hardline_client::{Connection, Error};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::listing::{self, Listing};
use super::print::{self, name};
use super::save::{self, Folder};
use super::server::Server;
use super::session::{self, RunContext};
use super::target::{TargetArgs, Which};
use super::visible::visible;
use super::{Format, ShowArgs, all, first_line, write};
use crate::terminal::Color;
use crate::terminal::table::{self, Cell, Layout, Table};

/// List the resources of MCP servers, or read one
///
/// Without SERVER, connects to all configured servers concurrently and lists their resources and
/// resource templates. With URI, reads a resource: prints text, and saves other content to a file.
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "hardline resources [OPTIONS] [SERVER] [URI]\n       \
    hardline resources [OPTIONS] [URI] --url <URL>\n       \
    hardline resources [OPTIONS] [URI] -- <CMD>...",
    after_help = "Exit status: 0 if the resources were listed or read, 1 if the server failed, or all servers did,\n\
    2 for wrong use or a mistake in the configuration of the named server; 128 plus the signal number\n\
    if a signal ended this command.\n\n\
    Examples:\n  \
    hardline resources\n  \
    hardline resources docs\n  \
    hardline resources docs file:///manual.pdf --output manual.pdf\n  \
    hardline resources demo://greeting -- hardline demo-server"
)]
pub(crate) struct ResourcesArgs {
    /// Name of the server in the configuration; leave it out with --url and --
    server: Option<String>,

    /// URI of a resource to read
    uri: Option<String>,

    #[command(flatten)]
    target: TargetArgs,

    /// Write the content unchanged to this file, which must not exist; `-` is standard output
    #[arg(long, short, value_name = "FILE", conflicts_with_all = ["format", "save"])]
    output: Option<PathBuf>,

    /// Directory for content that is not text; default: the temporary directory
    #[arg(long, value_name = "DIR")]
    save: Option<PathBuf>,

    #[command(flatten)]
    show: ShowArgs,
}

/// Columns of resources and of templates, for one server and for many.
const ONE: (Layout, Layout) = (
    Layout::cut(&["URI", "NAME", "TYPE", "SIZE", "DESCRIPTION"], 4),
    Layout::cut(&["TEMPLATE", "NAME", "TYPE", "DESCRIPTION"], 3),
);
const MANY: (Layout, Layout) = (
    Layout::cut(&["SERVER", "URI", "NAME", "TYPE", "SIZE", "DESCRIPTION"], 5),
    Layout::cut(&["SERVER", "TEMPLATE", "NAME", "TYPE", "DESCRIPTION"], 4),
);

/// Resources and templates of a server, as it wrote them.
#[derive(Debug)]
struct Listed {
    resources: Vec<Box<RawValue>>,
    templates: Vec<Box<RawValue>>,
}

/// Fields of a resource or a template that are shown.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Shown {
    #[serde(alias = "uriTemplate")]
    uri: String,
    #[serde(default)]
    name: String,
    description: Option<String>,
    mime_type: Option<String>,
    size: Option<u64>,
}

/// Result of `resources/read`.
#[derive(Debug, Deserialize)]
struct Read {
    contents: Vec<Content>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Content {
    #[serde(default)]
    uri: String,
    mime_type: Option<String>,
    text: Option<String>,
    blob: Option<String>,
}

pub(crate) fn run(args: &ResourcesArgs) -> Result<ExitCode> {
    let words: Vec<String> = [&args.server, &args.uri].into_iter().flatten().cloned().collect();
    let (which, rest) = args.target.choose(&words)?;
    let uri = match rest {
        [] => None,
        [uri] => Some(uri.as_str()),
        _ => bail!("a server from --url or -- has no name: write `hardline resources [URI]`"),
    };
    if uri.is_none() && args.output.is_some() {
        bail!("--output needs a resource to read: give its URI");
    }
    // Saving is prepared before the request, which cannot be undone.
    if uri.is_some() {
        save::prepare(args.save.as_deref(), args.show.format)?;
    }
    session::run(&args.target, async |context| match (which, uri) {
        (Which::Given(server) | Which::Named(server), Some(uri)) => {
            read(args, &context, &server, uri).await
        }
        (which, _) => listing::list::<Listed>(&context, &args.target, &args.show, which).await,
    })
}

async fn read(
    args: &ResourcesArgs,
    context: &RunContext,
    server: &Server,
    uri: &str,
) -> Result<ExitCode> {
    let params = serde_json::json!({ "uri": uri }).to_string();
    let request = ("resources/read", params.as_str());
    match (listing::fetch::<Read>(context, server, request, "resources").await, &args.output) {
        (Err(code), _) => Ok(code),
        (Ok((read, _)), Some(path)) => output(path, &read),
        (Ok((read, result)), None) => show(args, &read, &result),
    }
}

fn show(args: &ResourcesArgs, read: &Read, result: &RawResult) -> Result<ExitCode> {
    let mut folder = Folder::new(args.save.as_deref(), "resource");
    let is_written = write(args.show.color, |out, _| {
        if args.show.format == Format::Json {
            // Programs get the result as it came, except for characters that hide something.
            return writeln!(out, "{}", crate::json::escaped(result.get()));
        }
        for content in &read.contents {
            let mime = content.mime_type.as_deref().unwrap_or_default();
            match (&content.text, &content.blob) {
                (Some(text), _) => print::line(out, &visible(text))?,
                (None, Some(blob)) => {
                    let what = format!("resource {}", name(&content.uri));
                    if let Some(saved) = print::saved(&what, mime, blob, &mut folder) {
                        print::line(out, &saved)?;
                    }
                }
                // An item that shows nothing would look like a fault of this command.
                (None, None) => print::line(out, "[a resource without content]")?,
            }
        }
        print::left_out(out, &folder)
    })?;
    let is_saved = folder.tell();
    Ok(ExitCode::from(u8::from(!is_written || !is_saved)))
}

/// Writes the content unchanged.
fn output(path: &Path, read: &Read) -> Result<ExitCode> {
    let mut bytes = Vec::new();
    for content in &read.contents {
        match (&content.text, &content.blob) {
            (Some(text), _) => bytes.extend_from_slice(text.as_bytes()),
            (None, Some(blob)) => bytes.extend(save::decode(blob)?),
            (None, None) => {}
        }
    }
    if path.as_os_str() == "-" {
        // `Always`: the other choices strip escape sequences, and would change the bytes.
        let is_written = write(Color::Always, |out, _| out.write_all(&bytes))?;
        return Ok(ExitCode::from(u8::from(!is_written)));
    }
    save::write_new(path, &bytes)?;
    Ok(ExitCode::SUCCESS)
}

impl Listing for Listed {
    async fn list(connection: Connection) -> Result<Self, Error> {
        let resources = listing::optional(&connection, "resources/list", "resources").await?;
        let templates = connection.list("resources/templates/list", "resourceTemplates").await;
        let templates = match templates {
            // Many servers have resources but do not implement templates.
            Err(Error::Rpc(_)) => Vec::new(),
            listed => listed?,
        };
        Ok(Self { resources, templates })
    }

    fn json(&self) -> String {
        let list =
            |key, items: &[Box<RawValue>]| all::json_list(key, items.iter().map(|it| it.get()));
        let resources = list("resources", &self.resources);
        format!("{resources},{}", list("resourceTemplates", &self.templates))
    }

    fn text(
        out: &mut dyn Write,
        lists: &[(Option<String>, &Self)],
        is_colored: bool,
    ) -> io::Result<()> {
        // For one server, a column with its name would repeat what the user gave.
        let is_many = lists.iter().any(|(server, _)| server.is_some());
        let (layout, template_layout) = if is_many { MANY } else { ONE };
        let mut resources = Table::new(layout, is_colored);
        let mut templates = Table::new(template_layout, is_colored);
        for (server, listed) in lists {
            listed.resources.iter().for_each(|it| resources.push(row(server.as_deref(), it, true)));
            listed
                .templates
                .iter()
                .for_each(|it| templates.push(row(server.as_deref(), it, false)));
        }
        if resources.is_empty() && templates.is_empty() {
            return writeln!(out, "No resources.");
        }
        let both = [&resources, &templates];
        for (index, table) in both.into_iter().filter(|it| !it.is_empty()).enumerate() {
            if index > 0 {
                writeln!(out)?;
            }
            table.write(out, table::width())?;
        }
        Ok(())
    }
}

/// Returns a row of either table. Templates have no size.
fn row(server: Option<&str>, item: &RawValue, is_sized: bool) -> Vec<Cell> {
    let mut row: Vec<Cell> = server.into_iter().map(Cell::firm).collect();
    let size = |size: Option<u64>| {
        let size = size.map(|it| ByteSize::b(it).display().iec().to_string());
        is_sized.then(|| Cell::right(size.unwrap_or_default()))
    };
    // An item that is not understood is still shown, as its JSON.
    let Ok(shown) = serde_json::from_str::<Shown>(item.get()) else {
        row.extend([Cell::new("?"), Cell::new(""), Cell::new("")]);
        row.extend(size(None));
        row.push(Cell::new(item.get()));
        return row;
    };
    row.extend([
        Cell::firm(&shown.uri).style(Style::new().bold()),
        Cell::new(&shown.name),
        Cell::new(shown.mime_type.unwrap_or_default()),
    ]);
    row.extend(size(shown.size));
    row.push(Cell::new(first_line(shown.description.as_deref())));
    row
}
