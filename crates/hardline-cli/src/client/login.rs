//! `hardline login` and `hardline logout`: OAuth logins of servers.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, anyhow, bail};
use hardline_auth::{Auth, AuthSettings, LoginStatus, NoBrowser, SystemBrowser};
use hardline_client::config::{ProcessVariables, Resolved};

use super::print::name;
use super::server::{Kind, Server};
use super::target::ServerArgs;
use super::{credentials, session};
use crate::duration;
use crate::terminal::{complain, tell};

/// Log in to an MCP server, in a browser
///
/// Opens the page of the authorization server in a browser, and waits for the answer on a loopback
/// address. The tokens are stored in the system's keyring, or else in a file that only you can
/// read. All commands then use and refresh them. No other command ever opens a browser.
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "hardline login [OPTIONS] <SERVER>\n       hardline login [OPTIONS] --url <URL>",
    after_help = "Exit status: 0 after a login, 1 if it failed, 2 for wrong use or a mistake in the configuration of\n\
    the server; 128 plus the signal number if a signal ended this command.\n\n\
    Examples:\n  \
    hardline login github\n  \
    hardline login --url https://example.com/mcp\n  \
    hardline login github --no-browser"
)]
pub(crate) struct LoginArgs {
    #[command(flatten)]
    server: ServerArgs,

    /// Do not open a browser: print the address, to open it by hand
    #[arg(long)]
    no_browser: bool,

    /// Time limit for the login in the browser, such as 30s or 10m; default: 5m
    #[arg(long, value_name = "TIME", value_parser = duration::read_or_none)]
    timeout: Option<Duration>,
}

/// Delete the login to an MCP server
///
/// Deletes the stored tokens, and asks the authorization server to revoke them.
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "hardline logout [OPTIONS] <SERVER>\n       hardline logout [OPTIONS] --url <URL>",
    after_help = "Exit status: 0 if no login is left, 1 if that failed, 2 for wrong use.\n\n\
    Examples:\n  \
    hardline logout github\n  \
    hardline logout --url https://example.com/mcp"
)]
pub(crate) struct LogoutArgs {
    #[command(flatten)]
    server: ServerArgs,
}

pub(crate) fn run(args: &LoginArgs) -> Result<ExitCode> {
    // Zero means the default, because a login cannot wait forever.
    let wait = args.timeout.filter(|it| !it.is_zero());
    let (auth, label) = auth(&args.server, |settings| {
        let settings = if args.no_browser {
            settings.with_browser(Arc::new(NoBrowser::new()))
        } else {
            settings.with_browser(Arc::new(SystemBrowser::new()))
        };
        let settings = match wait {
            Some(wait) => settings.with_login_wait(wait),
            None => settings,
        };
        let is_by_hand = args.no_browser;
        // Printed in any case: a browser may fail to open without an error.
        settings.on_authorization_url(move |url| {
            let how = if is_by_hand { "open" } else { "if no browser opens, open" };
            tell(&format!("to log in, {how} {}", url.as_str()));
        })
    })?;
    session::plain(async move {
        match auth.login().await {
            Ok(status) => {
                tell(&format!("logged in to {label}{}", describe(&status)));
                Ok(ExitCode::SUCCESS)
            }
            Err(error) => {
                complain(&format!("cannot log in to {label}: {error}"));
                Ok(ExitCode::from(1))
            }
        }
    })
}

pub(crate) fn logout(args: &LogoutArgs) -> Result<ExitCode> {
    let (auth, label) = auth(&args.server, |settings| settings)?;
    session::plain(async move {
        match auth.logout().await {
            Ok(true) => tell(&format!("logged out of {label}")),
            Ok(false) => tell(&format!("there was no login to {label}")),
            Err(error) => {
                complain(&format!("cannot log out of {label}: {error}"));
                return Ok(ExitCode::from(1));
            }
        }
        Ok(ExitCode::SUCCESS)
    })
}

/// Returns the OAuth client for the server, and the server's name.
fn auth(
    args: &ServerArgs,
    change: impl FnOnce(AuthSettings) -> AuthSettings,
) -> Result<(Auth, String)> {
    if let Some(url) = &args.url {
        let settings = change(credentials::settings());
        // A query may contain a token, so it is not shown.
        let label = name(url.split(['?', '#']).next().unwrap_or_default());
        return Ok((credentials::auth(url, settings)?, label));
    }
    let Server { name: server, kind, .. } = args.server()?;
    let label = name(&server);
    let configured = match &kind {
        Kind::Configured(configured) => configured.server(),
        Kind::Wrong(reason) => bail!("{reason}"),
        _ => bail!("name a server: `hardline login SERVER`"),
    };
    if configured.has_authorization() {
        let file = configured.file().display();
        bail!(
            "{label} already has a token: the header Authorization in {file}; remove it to log in"
        );
    }
    let settings = change(credentials::settings_of(configured)?);
    let (resolved, secrets) = configured.resolve_with_secrets(&ProcessVariables::new());
    // The error may quote a header or a variable.
    let hidden = |error: &dyn std::fmt::Display| anyhow!("{}", secrets.hide(&error.to_string()));
    match resolved.map_err(|error| hidden(&error))? {
        Resolved::Url { config, .. } => {
            let auth = credentials::auth(config.url(), settings);
            Ok((auth.map_err(|error| hidden(&error))?, label))
        }
        _ => bail!(
            "{label} is started by a command and needs no login; its secrets are in its `env`"
        ),
    }
}

fn describe(status: &LoginStatus) -> String {
    let issuer = status.issuer.as_ref().map(|it| format!(" by {}", name(it))).unwrap_or_default();
    let scopes = if status.scopes.is_empty() {
        String::new()
    } else {
        format!(", for {}", name(&status.scopes.join(" ")))
    };
    format!("{issuer}{scopes}")
}
