//! Lists items of one server or of all servers, and fetches single items. Shared by resources and
//! prompts.

use std::future::Future;
use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::Result;
use hardline_client::connection::RawResult;
use hardline_client::{Connection, Error, RequestOptions};
use hardline_wire::encode::code;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::all::{self, PATIENCE};
use super::server::Server;
use super::session::RunContext;
use super::target::{TargetArgs, Which};
use super::{Format, ShowArgs, write};
use crate::terminal::complain;

/// Items that servers list.
pub(super) trait Listing: Sized + Send + 'static {
    /// Asks a server for all items.
    fn list(connection: Connection) -> impl Future<Output = Result<Self, Error>> + Send;

    /// Returns the items as members of a JSON object, as the server wrote them.
    fn json(&self) -> String;

    /// Writes tables of the servers' items. A single server has no name.
    fn text(
        out: &mut dyn Write,
        lists: &[(Option<String>, &Self)],
        is_colored: bool,
    ) -> io::Result<()>;
}

/// Lists the items of the selected servers.
pub(super) async fn list<T: Listing>(
    context: &RunContext,
    target: &TargetArgs,
    show: &ShowArgs,
    which: Which,
) -> Result<ExitCode> {
    match which {
        Which::Given(server) | Which::Named(server) => one::<T>(context, show, &server).await,
        Which::All(servers) => {
            let answers = all::ask(context, servers, target.patience(PATIENCE), T::list).await;
            let is_written = write(show.color, |out, is_colored| match show.format {
                Format::Json => all::json(out, &answers, T::json),
                Format::Text => {
                    let lists = answers.iter();
                    let lists = lists.filter_map(|it| Some((Some(it.label()), it.items.as_ref()?)));
                    match &*lists.collect::<Vec<_>>() {
                        // No server answered; `tell` prints the reasons.
                        [] => Ok(()),
                        lists => T::text(out, lists, is_colored),
                    }
                }
            })?;
            let code = all::tell(&answers);
            Ok(if is_written { code } else { ExitCode::from(1) })
        }
    }
}

async fn one<T: Listing>(
    context: &RunContext,
    show: &ShowArgs,
    server: &Server,
) -> Result<ExitCode> {
    let listed = async { T::list(context.connect(server).await?).await };
    let listed = match context.wait(|| server.connecting(), listed).await {
        Ok(listed) => listed,
        Err(error) => return Ok(context.fail(server, &error)),
    };
    let is_written = write(show.color, |out, is_colored| match show.format {
        Format::Json => writeln!(out, "{{{}}}", listed.json()),
        Format::Text => T::text(out, &[(None, &listed)], is_colored),
    })?;
    Ok(ExitCode::from(u8::from(!is_written)))
}

/// Asks one server for one item. After an error, suggests the command that lists the items.
pub(super) async fn fetch<T: DeserializeOwned>(
    context: &RunContext,
    server: &Server,
    (method, params): (&str, &str),
    command: &str,
) -> Result<(T, RawResult), ExitCode> {
    let fetched = async {
        let connection = context.wait(|| server.connecting(), context.connect(server)).await?;
        let line = context.line.clone();
        let options = RequestOptions::default().on_progress(move |progress| line.show(&progress));
        let request = connection.request_json(method, params, &options);
        let result = context.attend(&server.label(), request).await?;
        Ok((result.parse::<T>(method)?, result))
    };
    let fetched: Result<_, Error> = fetched.await;
    // An error would otherwise follow the progress on its line.
    context.line.clear();
    fetched.map_err(|error| {
        let hint = match &error {
            // For prompts, the arguments are the likely mistake.
            Error::Rpc(it) if it.code == code::INVALID_PARAMS && command == "prompts" => {
                let list = server.suggest(command, &[]);
                format!("; {list} lists its prompts and their arguments")
            }
            Error::Rpc(_) => format!("; {} lists its {command}", server.suggest(command, &[])),
            error => context.hint(server, error),
        };
        complain(&format!("{error}{hint}"));
        ExitCode::from(1)
    })
}

/// Lists items with an optional method. A server that does not know the method has no items.
pub(super) async fn optional(
    connection: &Connection,
    method: &str,
    key: &str,
) -> Result<Vec<Box<RawValue>>, Error> {
    match connection.list(method, key).await {
        // A server that has none need not implement the method.
        Err(Error::Rpc(error)) if error.code == code::METHOD_NOT_FOUND => Ok(Vec::new()),
        listed => listed,
    }
}
