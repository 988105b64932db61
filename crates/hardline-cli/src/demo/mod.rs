//! `hardline demo`: plays a hostile server twice, once directly and once behind Hardline.
//!
//! Both runs are real: [`client`] starts this program as the server, with and without `hardline
//! wrap`, and one judge, [`harm`], examines the lines of both. [`scene`] has the script.

mod client;
mod harm;
mod page;
mod scene;
mod transcript;

use std::io::{self, ErrorKind};
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, Result};
use hardline_transport::process::{Command, Environment, Keeper, Stderr};

use crate::terminal::Color;
use client::Client;
use page::{Page, Totals};
use scene::ACTS;

/// Watch a hostile server attack a client, without and with Hardline
///
/// Starts a built-in server that attacks its client in a dozen ways. For each attack, shows what a
/// client receives today and what it receives behind `hardline wrap`. Installs nothing, changes
/// nothing outside, and takes a few seconds.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit status: 0 if all attacks were stopped and every request was answered once, 1 if not, 2 if\n\
    the demo could not be played.\n\n\
    More attacks, one by one: hardline demo-server --list-attacks"
)]
pub(crate) struct DemoArgs {
    /// Use of colors; `auto`: on a terminal, unless NO_COLOR is set
    #[arg(long, value_enum, value_name = "WHEN", default_value_t = Color::Auto)]
    color: Color,
}

pub(crate) fn run(args: &DemoArgs) -> Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.context("cannot start the runtime")?;
    let mut page = Page::new(args.color.choice());
    match runtime.block_on(play(&mut page)) {
        Ok(true) => Ok(ExitCode::SUCCESS),
        Ok(false) => Ok(ExitCode::from(1)),
        Err(error) => match error.downcast_ref::<io::Error>() {
            // The reader of standard output closed it, as `head` does.
            Some(it) if it.kind() == ErrorKind::BrokenPipe => Ok(ExitCode::SUCCESS),
            Some(_) => Err(error).context("cannot write to standard output"),
            None => Err(error),
        },
    }
}

/// Plays all scenes. Returns true if Hardline stopped every attack.
async fn play(page: &mut Page) -> Result<bool> {
    let started = now();
    let this = std::env::current_exe().context("cannot find this program")?;
    // The keeper ends the servers if the user interrupts the demo.
    let keeper = Keeper::new(&this, ["keeper"]);
    let base = Command::new(&this, Environment::Base).stderr(Stderr::tail_only()).keeper(keeper);
    let server = ["demo-server", "--hostile"];
    let plain = base.clone().args(server);
    // The demo writes no files and ignores the user's own policy.
    let options =
        ["wrap", "--name", "demo", "--audit", "off", "--no-pins", "--profile", "balanced"];
    let guarded = base.args(options).arg("--").arg(&this).args(server);

    let mut totals = Totals::default();
    page.begin()?;
    // One guarded session for all scenes: surviving them is part of the demo.
    let mut with = Client::start(&guarded).await.context("cannot start `hardline wrap`")?;
    let mut without = None;
    for act in ACTS {
        page.act(act.title)?;
        for scene in act.scenes {
            page.scene(totals.scenes + 1, scene)?;
            // The plain server may have died in the scene before; then a new one is needed.
            let mut client = match without.take().filter(Client::is_alive) {
                Some(client) => client,
                None => Client::start(&plain).await.context("cannot start the server")?,
            };
            // Both at once, because some scenes wait for timeouts.
            let (bare, safe) = tokio::join!(client.play(scene, false), with.play(scene, true));
            without = Some(client);
            totals.add(&bare, &safe);
            page.outcome(scene, &bare, &safe)?;
        }
    }
    totals.is_alive = with.is_alive();
    totals.time = started.elapsed();
    page.end(&totals)?;
    tokio::join!(with.close(), async {
        if let Some(client) = without {
            client.close().await;
        }
    });
    Ok(totals.is_perfect())
}

#[expect(clippy::disallowed_methods, reason = "the duration is shown")]
fn now() -> Instant {
    Instant::now()
}
