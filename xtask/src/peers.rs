//! Our client on real servers: those of the official SDKs and of rmcp, over standard streams and over
//! HTTP, and the reference server `server-everything`, also over the HTTP+SSE of 2024-11-05.
//!
//! The servers are in `tests/peers`; rmcp's is the example `peer_server`. Their packages are those
//! of the previous steps, and one list of our own. The checks are in the example `check_server`. At
//! the end a manager uses all servers at once while they are killed at random: the example
//! `manage_servers`.

use std::env::consts::EXE_SUFFIX;
use std::ffi::OsString;
use std::fs::{self, File};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::thread;
use std::time::{Duration, Instant};

use crate::environment::{self, copy};
use crate::process::{command, root, show, target};
use crate::step::StepOutcome;

/// Time limit for all checks of one server.
const MAX_RUN: Duration = Duration::from_secs(60);
/// Time limit for a server until it listens.
const MAX_START: Duration = Duration::from_secs(20);
/// Time for which the servers of a manager are killed, and the limit for that whole run.
const MANAGED_SECONDS: &str = "60";
const MAX_MANAGED: Duration = Duration::from_secs(300);
const POLL: Duration = Duration::from_millis(20);

/// Newest version with a handshake that the servers speak. Changes with their packages.
const OLD: &str = "2025-11-25";
/// Newest version without one that the servers speak. Changes with their packages.
const NEW: &str = "2026-07-28";

/// Runs all checks, or says what is missing.
pub(crate) fn run() -> StepOutcome {
    if cfg!(not(unix)) {
        return StepOutcome::Skipped(
            "the servers are started as processes, which works on Unix only".into(),
        );
    }
    if let Some(missing) = environment::missing(&["node", "npm", "python3"]) {
        return StepOutcome::Skipped(missing);
    }
    let build = ["build", "--package", "hardline", "--locked"];
    let build = &mut command("cargo", &build);
    build.args(["--example", "check_server", "--example", "peer_server"]);
    build.args(["--example", "manage_servers", "--features", "client"]);
    show(build).and_then(|()| set_up()).and_then(|servers| run_all(&servers)).into()
}

/// A server that can be started.
struct Server {
    name: &'static str,
    program: PathBuf,
    /// The script, if the program is an interpreter.
    script: Option<PathBuf>,
    /// True if the server has everything that is checked.
    is_complete: bool,
    runs: &'static [Run],
}

/// One run of all checks.
struct Run {
    /// Arguments of the server.
    transport: &'static str,
    reach: Reach,
    /// Version to ask for, if not the newest.
    speak: Option<&'static str>,
    /// Version that must be negotiated.
    expect: &'static str,
}

/// Way to reach a server.
enum Reach {
    Stdio,
    /// A URL that the server prints.
    Printed,
    /// This path on the port that the environment sets.
    Port(&'static str),
}

const ONE_ERA: &[Run] = &[
    Run { transport: "stdio", reach: Reach::Stdio, speak: None, expect: OLD },
    Run { transport: "http", reach: Reach::Printed, speak: None, expect: OLD },
];

const BOTH_ERAS: &[Run] = &[
    Run { transport: "stdio", reach: Reach::Stdio, speak: None, expect: NEW },
    Run { transport: "stdio", reach: Reach::Stdio, speak: Some(OLD), expect: OLD },
    Run { transport: "http", reach: Reach::Printed, speak: None, expect: NEW },
    Run { transport: "http", reach: Reach::Printed, speak: Some(OLD), expect: OLD },
];

const EVERYTHING: &[Run] = &[
    Run { transport: "stdio", reach: Reach::Stdio, speak: None, expect: OLD },
    Run { transport: "streamableHttp", reach: Reach::Port("mcp"), speak: None, expect: OLD },
    Run { transport: "sse", reach: Reach::Port("sse"), speak: None, expect: OLD },
];

fn set_up() -> Result<Vec<Server>, String> {
    // Node resolves packages relative to the directory of the module.
    let first = target().join("clients/typescript-1");
    environment::npm(&first, &root().join("tests/clients/typescript-1"))?;
    copy(&source("typescript-1.mjs"), &first.join("peer.mjs"))?;
    copy(&source("tools.mjs"), &first.join("tools.mjs"))?;
    let second = target().join("peers/typescript-2");
    environment::npm(&second, &source("typescript-2"))?;
    copy(&source("typescript-2/server.mjs"), &second.join("peer.mjs"))?;
    copy(&source("tools.mjs"), &second.join("tools.mjs"))?;
    let python = target().join("clients/python");
    let python = environment::python(&python, &root().join("tests/clients/python"))?;
    let everything = target().join("servers/node");
    environment::npm(&everything, &root().join("tests/servers/node"))?;
    let everything =
        everything.join("node_modules/@modelcontextprotocol/server-everything/dist/index.js");

    let server = |name, program: &Path, script, runs| Server {
        name,
        program: program.to_path_buf(),
        script,
        // The reference server has other tools, so not every check applies to it.
        is_complete: name != "server-everything",
        runs,
    };
    let node = Path::new("node");
    Ok(vec![
        server("typescript-1", node, Some(first.join("peer.mjs")), ONE_ERA),
        server("typescript-2", node, Some(second.join("peer.mjs")), BOTH_ERAS),
        server("python", &python, Some(source("server.py")), BOTH_ERAS),
        server("rmcp", &example("peer_server"), None, BOTH_ERAS),
        server("server-everything", node, Some(everything), EVERYTHING),
    ])
}

fn run_all(servers: &[Server]) -> Result<(), String> {
    let mut failed = Vec::new();
    for server in servers {
        for run in server.runs {
            let name = format!("{}, {}, {}", server.name, run.transport, run.expect);
            println!("\n--- {name}");
            if let Err(reason) = server.check(run) {
                println!("{reason}");
                failed.push(name);
            }
        }
    }
    println!("\n--- all servers in one manager, killed at random");
    if let Err(reason) = manage(servers) {
        println!("{reason}");
        failed.push("the manager".to_owned());
    }
    if failed.is_empty() { Ok(()) } else { Err(format!("failed: {}", failed.join("; "))) }
}

fn manage(servers: &[Server]) -> Result<(), String> {
    let mut manager = command(&example("manage_servers").to_string_lossy(), &[]);
    manager.args(["--seconds", MANAGED_SECONDS]);
    // The manager's test needs the tool `mark`, which only the complete servers have.
    for server in servers.iter().filter(|it| it.is_complete) {
        manager.args(["--server", server.name]).arg(&server.program).args(&server.script);
    }
    environment::finish(&mut manager, MAX_MANAGED)
}

impl Server {
    fn check(&self, run: &Run) -> Result<(), String> {
        let mut check = command(&example("check_server").to_string_lossy(), &[]);
        check.args(["--expect", run.expect]);
        check.args(run.speak.iter().flat_map(|version| ["--speak", version]));
        check.args(self.is_complete.then_some("--all"));
        let words = self.script.iter().map(|it| it.as_os_str().to_owned());
        let words = words.chain([OsString::from(run.transport)]);
        if matches!(run.reach, Reach::Stdio) {
            check.arg("--").arg(&self.program).args(words);
            return environment::finish(&mut check, MAX_RUN);
        }
        let mut server = command(&self.program.to_string_lossy(), &[]);
        let listening = Listening::start(server.args(words), self.name, &run.reach)?;
        let outcome = environment::finish(check.arg("--url").arg(&listening.url), MAX_RUN);
        outcome.map_err(|error| format!("{error}\nthe server printed:\n{}", listening.printed()))
    }
}

/// A server that listens. Ended on drop.
struct Listening {
    child: Child,
    url: String,
    log: PathBuf,
}

impl Listening {
    fn start(server: &mut Command, name: &str, reach: &Reach) -> Result<Self, String> {
        let failed = |error: std::io::Error| format!("{name}: {error}");
        let log = target().join("peers").join(format!("{name}.log"));
        let output = File::create(&log).map_err(failed)?;
        server.stdout(output.try_clone().map_err(failed)?).stderr(output);
        // Finds a free port; the listener is closed again before the server starts.
        let address = TcpListener::bind("127.0.0.1:0").and_then(|it| it.local_addr());
        let address = address.map_err(failed)?;
        server.env("PORT", address.port().to_string());
        let child = server.spawn().map_err(failed)?;
        let mut listening = Self { child, url: String::new(), log };
        let start = Instant::now();
        while start.elapsed() < MAX_START {
            let printed = listening.printed();
            let line = printed.lines().find_map(|line| line.strip_prefix("listening on "));
            match reach {
                Reach::Port(path) if TcpStream::connect(address).is_ok() => {
                    listening.url = format!("http://{address}/{path}");
                    return Ok(listening);
                }
                Reach::Printed if let Some(url) = line => {
                    listening.url = url.to_owned();
                    return Ok(listening);
                }
                _ => thread::sleep(POLL),
            }
            // Checked after the output, so that a server which ends at once is still explained by
            // it.
            if let Ok(Some(status)) = listening.child.try_wait() {
                return Err(format!("{name} ended with {status}:\n{printed}"));
            }
        }
        Err(format!("{name} does not listen after {MAX_START:?}:\n{}", listening.printed()))
    }

    fn printed(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        let ended = self.child.kill().and_then(|()| self.child.wait());
        if let Err(error) = ended {
            println!("cannot end a server: {error}");
        }
    }
}

fn example(name: &str) -> PathBuf {
    target().join("debug/examples").join(format!("{name}{EXE_SUFFIX}"))
}

fn source(name: &str) -> PathBuf {
    root().join("tests/peers").join(name)
}
