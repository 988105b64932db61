//! Stress test of a manager: real servers in one configuration are killed and restarted at random
//! during a steady stream of calls.
//!
//! ```sh
//! manage_servers --seconds 60 --seed 1 --server rmcp target/debug/examples/peer_server \
//!     --server python python3 tests/peers/server.py
//! ```
//!
//! Each server is used twice: started by the manager, and over HTTP. `cargo xtask test peers` runs
//! it with servers of all SDKs. It checks that:
//!
//! - Every call ends, with an answer or with an error that says what happened.
//! - No call is carried out twice, and every answered call was carried out.
//! - The tools of a server stay listed while it is down.
//! - The manager does not connect more often than its schedule allows.
//! - At the end no process is left.

#[cfg(unix)]
mod calls;
#[cfg(unix)]
mod fleet;
#[cfg(unix)]
mod random;

use std::error::Error;

#[cfg(not(unix))]
fn main() -> Result<(), Box<dyn Error>> {
    Err("this example starts processes, which works on Unix only".into())
}

#[cfg(unix)]
#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let (programs, seconds, seed) = arguments()?;
    say(&format!("{} servers, {seconds} s, seed {seed}", 2 * programs.len()))?;
    let folder = std::env::temp_dir().join(format!("hardline-manage-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let outcome = run(&programs, std::time::Duration::from_secs(seconds), seed, &folder).await;
    std::fs::remove_dir_all(&folder)?;
    outcome
}

#[cfg(unix)]
async fn run(
    programs: &[fleet::Program],
    time: std::time::Duration,
    seed: u64,
    folder: &std::path::Path,
) -> Result<(), Box<dyn Error>> {
    use hardline::client::manager::{ConfiguredServer, Manager, ManagerSettings};

    let mut fleet = fleet::Fleet::start(programs, folder)?;
    let manager = Manager::new(ManagerSettings::default());
    for server in hardline::client::config::read(&fleet.config)?.servers {
        let quiet = hardline::process::Stderr::tail_only();
        manager.add_configured(
            ConfiguredServer::new(server).prepare(move |it| it.stderr(quiet.clone())),
        )?;
    }
    // The HTTP servers need a moment until they listen.
    for name in &fleet.names {
        manager.connection(name).await?;
    }
    manager.listed().await;
    let outcome = calls::run(&manager, &mut fleet, time, seed, folder).await;
    manager.close().await;
    drop(fleet);
    let left = fleet::children()?;
    if !left.is_empty() {
        return Err(format!("processes are left: {left:?}").into());
    }
    outcome
}

#[cfg(unix)]
fn arguments() -> Result<(Vec<fleet::Program>, u64, u64), Box<dyn Error>> {
    let (mut programs, mut seconds, mut seed) = (Vec::<fleet::Program>::new(), 60, 1);
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--seconds" => seconds = words.next().ok_or("--seconds needs a number")?.parse()?,
            "--seed" => seed = words.next().ok_or("--seed needs a number")?.parse()?,
            "--server" => {
                let name = words.next().ok_or("--server needs a name and a command")?;
                programs.push(fleet::Program { name, command: Vec::new() });
            }
            _ => programs.last_mut().ok_or("--server must come first")?.command.push(word),
        }
    }
    Ok((programs, seconds, seed))
}

#[cfg(unix)]
fn say(line: &str) -> std::io::Result<()> {
    use std::io::Write;

    writeln!(std::io::stdout(), "{line}")
}
