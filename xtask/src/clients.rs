//! Real clients against `hardline demo-server`: the official SDKs, as their users run them.
//!
//! Each is set up once, under `target/clients`, in the versions that `tests/clients` pins, and again
//! only when those change. Each runs twice: on the server itself, and on a shim that sends the server
//! malformed lines in mid-session, which the client must not notice and the server must answer.
//! rmcp's own client is a test of `hardline-cli`.

use std::env::consts::EXE_SUFFIX;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use crate::process::{capture, command, root, show, target, works};
use crate::step::Outcome;

/// The clients end themselves after 60 s; this is for one that does not.
const MAX_RUN: Duration = Duration::from_secs(90);
const POLL: Duration = Duration::from_millis(20);

/// Runs everything, or says what is missing.
pub(crate) fn run() -> Outcome {
    let needed = ["node", "npm", "python3"];
    let missing: Vec<_> = needed.into_iter().filter(|it| !works(it, &["--version"])).collect();
    if !missing.is_empty() {
        return Outcome::Skipped(format!("not installed: {}", missing.join(", ")));
    }
    let build = ["build", "--package", "hardline-cli", "--locked"];
    let is_ready = show(&mut command("cargo", &build)).and_then(|()| set_up());
    is_ready.and_then(|clients| run_all(&clients)).into()
}

/// A client that is ready to run.
struct Client {
    name: &'static str,
    program: PathBuf,
    script: PathBuf,
    /// The protocol eras it speaks.
    modes: &'static [&'static str],
}

fn set_up() -> Result<Vec<Client>, String> {
    Ok(vec![
        typescript("typescript-1", &["legacy"])?,
        typescript("typescript-2", &["legacy", "modern"])?,
        python("python", &["legacy", "modern"])?,
    ])
}

fn run_all(clients: &[Client]) -> Result<(), String> {
    let mut failed = Vec::new();
    for client in clients {
        for mode in client.modes {
            for is_shimmed in [false, true] {
                let how = if is_shimmed { ", with malformed lines sent in between" } else { "" };
                println!("\n--- {}, {mode}{how}", client.name);
                if let Err(reason) = client.run(mode, is_shimmed) {
                    println!("{reason}");
                    failed.push(format!("{} {mode}{how}", client.name));
                }
            }
        }
    }
    if failed.is_empty() { Ok(()) } else { Err(format!("failed: {}", failed.join("; "))) }
}

impl Client {
    fn run(&self, mode: &str, is_shimmed: bool) -> Result<(), String> {
        let server = target().join("debug").join(format!("hardline{EXE_SUFFIX}"));
        let shim = source("shim.py");
        let report = folder(self.name).join(format!("shim-report-{mode}.json"));
        let mut client = command(&self.program.to_string_lossy(), &[]);
        client.arg(&self.script).arg(mode);
        if !is_shimmed {
            return finish(client.arg(server).arg("demo-server"));
        }
        remove(&report)?;
        client.env("HARDLINE_SHIM_REPORT", &report).arg("python3").arg(&shim).arg("run");
        finish(client.arg(server).arg("demo-server"))?;
        finish(command("python3", &[]).arg(&shim).arg("check").arg(&report))
    }
}

fn typescript(name: &'static str, modes: &'static [&'static str]) -> Result<Client, String> {
    let folder = folder(name);
    for file in ["package.json", "package-lock.json", "client.mjs"] {
        copy(&source(name).join(file), &folder.join(file))?;
    }
    copy(&source("checks.mjs"), &folder.join("checks.mjs"))?;
    let lock = folder.join("package-lock.json");
    once(&folder, &lock, capture(&mut command("node", &["--version"])).1, || {
        let install = ["ci", "--no-audit", "--no-fund", "--loglevel=error"];
        show(command("npm", &install).current_dir(&folder))
            .map_err(|error| format!("{name} could not be fetched from the npm registry ({error})"))
    })?;
    Ok(Client { name, program: "node".into(), script: folder.join("client.mjs"), modes })
}

fn python(name: &'static str, modes: &'static [&'static str]) -> Result<Client, String> {
    let folder = folder(name);
    let environment = folder.join("venv");
    let program = environment.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" });
    let requirements = source(name).join("requirements.txt");
    once(&folder, &requirements, capture(&mut command("python3", &["--version"])).1, || {
        show(command("python3", &["-m", "venv", "--clear"]).arg(&environment)).map_err(
            |error| {
                format!(
                    "python3 cannot make a virtual environment; is its venv installed? ({error})"
                )
            },
        )?;
        let install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r"];
        show(command(&program.to_string_lossy(), &install).arg(&requirements)).map_err(|error| {
            format!("{name}'s packages could not be fetched from the index ({error})")
        })
    })?;
    Ok(Client { name, program, script: source(name).join("client.py"), modes })
}

/// Installs unless that was done before, with the same list of versions and the same runtime.
fn once(
    folder: &Path,
    versions: &Path,
    runtime: String,
    install: impl FnOnce() -> Result<(), String>,
) -> Result<(), String> {
    fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let wanted = fs::read_to_string(versions)
        .map_err(|error| format!("{}: {error}", versions.display()))?
        + &runtime;
    let stamp = folder.join("installed");
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    remove(&stamp)?;
    install()?;
    fs::write(&stamp, wanted).map_err(|error| format!("{}: {error}", stamp.display()))
}

/// Runs a command to its end, which must come in time, and shows what it prints.
fn finish(command: &mut Command) -> Result<(), String> {
    let mut child = command.spawn().map_err(|error| format!("{command:?}: {error}"))?;
    let start = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(status)) => return Err(format!("it ended with {status}")),
            Ok(None) if start.elapsed() < MAX_RUN => thread::sleep(POLL),
            outcome => {
                let killed = child.kill().and_then(|()| child.wait());
                return Err(format!("it did not end in {MAX_RUN:?}: {outcome:?}, {killed:?}"));
            }
        }
    }
}

fn source(name: &str) -> PathBuf {
    root().join("tests/clients").join(name)
}

fn folder(name: &str) -> PathBuf {
    target().join("clients").join(name)
}

fn copy(from: &Path, to: &Path) -> Result<(), String> {
    let folder = to.parent().unwrap_or(to);
    fs::create_dir_all(folder)
        .and_then(|()| fs::copy(from, to))
        .map(drop)
        .map_err(|error| format!("{} to {}: {error}", from.display(), to.display()))
}

fn remove(file: &Path) -> Result<(), String> {
    match fs::remove_file(file) {
        Err(error) if file.exists() => Err(format!("{}: {error}", file.display())),
        _ => Ok(()),
    }
}
