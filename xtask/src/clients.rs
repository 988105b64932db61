//! Real clients against `hardline demo-server`: the official SDKs, as their users run them.
//!
//! Each client is set up once, under `target/clients`, in the versions that `tests/clients` pins,
//! and again only when those change. Each runs twice: on the server itself, and on a shim that
//! sends malformed lines to the server during the session. The client must not notice them, and the
//! server must answer them. rmcp's own client is tested in `hardline-cli`.

use std::env::consts::EXE_SUFFIX;
use std::path::PathBuf;
use std::time::Duration;

use crate::environment::{self, copy, remove};
use crate::process::{command, root, show, target};
use crate::step::StepOutcome;

/// Time limit for a client that does not end. The clients end themselves after 60 s.
const MAX_RUN: Duration = Duration::from_secs(90);

/// Runs all clients, or says what is missing.
pub(crate) fn run() -> StepOutcome {
    if let Some(missing) = environment::missing(&["node", "npm", "python3"]) {
        return StepOutcome::Skipped(missing);
    }
    let build = ["build", "--package", "hardline-cli", "--locked"];
    // The clients run the debug build of the server.
    let is_ready = show(&mut command("cargo", &build)).and_then(|()| set_up());
    is_ready.and_then(|clients| run_all(&clients)).into()
}

/// A client that is ready to run.
pub(crate) struct Client {
    name: &'static str,
    program: PathBuf,
    script: PathBuf,
    /// Protocol eras that it supports.
    modes: &'static [&'static str],
}

/// Returns the clients, set up.
pub(crate) fn set_up() -> Result<Vec<Client>, String> {
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
                // Continues after a failure, so that one run reports all clients that fail.
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
            return environment::finish(client.arg(server).arg("demo-server"), MAX_RUN);
        }
        // A report of an earlier run would hide that this run wrote none.
        remove(&report)?;
        client.env("HARDLINE_SHIM_REPORT", &report).arg("python3").arg(&shim).arg("run");
        environment::finish(client.arg(server).arg("demo-server"), MAX_RUN)?;
        let check = &mut command("python3", &[]);
        environment::finish(check.arg(&shim).arg("check").arg(&report), MAX_RUN)
    }
}

fn typescript(name: &'static str, modes: &'static [&'static str]) -> Result<Client, String> {
    let folder = folder(name);
    environment::npm(&folder, &source(name))?;
    // Node resolves packages relative to the directory of the script.
    copy(&source(name).join("client.mjs"), &folder.join("client.mjs"))?;
    copy(&source("checks.mjs"), &folder.join("checks.mjs"))?;
    Ok(Client { name, program: "node".into(), script: folder.join("client.mjs"), modes })
}

fn python(name: &'static str, modes: &'static [&'static str]) -> Result<Client, String> {
    let program = environment::python(&folder(name), &source(name))?;
    Ok(Client { name, program, script: source(name).join("client.py"), modes })
}

fn source(name: &str) -> PathBuf {
    root().join("tests/clients").join(name)
}

fn folder(name: &str) -> PathBuf {
    target().join("clients").join(name)
}
