//! What servers list, for all of them or for one, and single things of one server: the same for resources and
//! prompts.

use std::future::Future;
use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::Result;
use hardline_client::connection::RawResult;
use hardline_client::{Connection, Error, Options};
use hardline_wire::encode::code;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::all::{self, PATIENCE};
use super::server::Server;
use super::session::Desk;
use super::target::{TargetArgs, Which};
use super::{Format, ShowArgs, write};
use crate::terminal::complain;

/// Something that servers have lists of.
pub(super) trait Listing: Sized + Send + 'static {
    /// Asks a server for all of it.
    fn list(connection: Connection) -> impl Future<Output = Result<Self, Error>> + Send;

    /// The members of a JSON object that have it, as the server wrote it.
    fn json(&self) -> String;

    /// Writes tables of what servers have. One that is the only one has no name.
    fn text(
        out: &mut dyn Write,
        lists: &[(Option<String>, &Self)],
        is_colored: bool,
    ) -> io::Result<()>;
}

/// Lists what there is.
pub(super) async fn list<T: Listing>(
    desk: &Desk,
    target: &TargetArgs,
    show: &ShowArgs,
    which: Which,
) -> Result<ExitCode> {
    match which {
        Which::Given(server) | Which::Named(server) => one::<T>(desk, show, &server).await,
        Which::All(servers) => {
            let answers = all::ask(desk, servers, target.patience(PATIENCE), T::list).await;
            let is_written = write(show.color, |out, is_colored| match show.format {
                Format::Json => all::json(out, &answers, T::json),
                Format::Text => {
                    let lists = answers.iter();
                    let lists = lists.filter_map(|it| Some((Some(it.label()), it.items.as_ref()?)));
                    match &*lists.collect::<Vec<_>>() {
                        // Nobody knows what there is.
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

async fn one<T: Listing>(desk: &Desk, show: &ShowArgs, server: &Server) -> Result<ExitCode> {
    let listed = async { T::list(desk.connect(server).await?).await };
    let listed = match desk.wait(|| server.connecting(), listed).await {
        Ok(listed) => listed,
        Err(error) => return Ok(desk.fail(server, &error)),
    };
    let is_written = write(show.color, |out, is_colored| match show.format {
        Format::Json => writeln!(out, "{{{}}}", listed.json()),
        Format::Text => T::text(out, &[(None, &listed)], is_colored),
    })?;
    Ok(ExitCode::from(u8::from(!is_written)))
}

/// Asks one server for one thing. What went wrong is told, with the command that lists what there is.
pub(super) async fn fetch<T: DeserializeOwned>(
    desk: &Desk,
    server: &Server,
    (method, params): (&str, &str),
    command: &str,
) -> Result<(T, RawResult), ExitCode> {
    let fetched = async {
        let connection = desk.wait(|| server.connecting(), desk.connect(server)).await?;
        let line = desk.line.clone();
        let options = Options::default().on_progress(move |progress| line.show(&progress));
        let request = connection.request_json(method, params, &options);
        let result = desk.attend(&server.label(), request).await?;
        Ok((result.parse::<T>(method)?, result))
    };
    let fetched: Result<_, Error> = fetched.await;
    desk.line.clear();
    fetched.map_err(|error| {
        let hint = match &error {
            Error::Rpc(it) if it.code == code::INVALID_PARAMS && command == "prompts" => {
                let list = server.suggest(command, &[]);
                format!("; {list} lists its prompts and their arguments")
            }
            Error::Rpc(_) => format!("; {} lists what there is", server.suggest(command, &[])),
            error => desk.hint(server, error),
        };
        complain(&format!("{error}{hint}"));
        ExitCode::from(1)
    })
}

/// Lists with a method that not all servers have: one that does not know it has nothing.
pub(super) async fn optional(
    connection: &Connection,
    method: &str,
    key: &str,
) -> Result<Vec<Box<RawValue>>, Error> {
    match connection.list(method, key).await {
        Err(Error::Rpc(error)) if error.code == code::METHOD_NOT_FOUND => Ok(Vec::new()),
        listed => listed,
    }
}
