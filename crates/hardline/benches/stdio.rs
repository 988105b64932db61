//! Cost of a call over standard streams: one echo server on three transports.
//!
//! The benchmark starts itself as a server, once for each transport: Hardline's, rmcp's `stdio()`
//! and rmcp's `stdio_pipes()`. They take turns, and the ratio within one run counts. `cargo bench
//! -p hardline` prints a table with the goal of each row, and exits with status 1 if a goal is
//! missed. With `-- --test` everything runs once and goals are ignored.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    reason = "a benchmark prints, starts processes and may panic"
)]

#[path = "../tests/echo/mod.rs"]
mod echo;

use std::cell::RefCell;
use std::fs;
use std::process::{Command, ExitCode};

use hardline_testkit::echo::EchoServer;
use hardline_testkit::measure::{Candidate, Effort, run};
use rustix::thread::{CpuSet, sched_setaffinity};

const SIZES: [(&str, usize); 3] = [("200 B", 200), ("10 KB", 10_000), ("1 MB", 1_000_000)];
const TRANSPORTS: [&str; 3] = ["hardline", "stdio", "pipes"];
/// Number of calls in one measured step with 64 in flight.
const BURST: usize = 256;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    if let Some(at) = arguments.iter().position(|it| it == "--serve") {
        return echo::serve(&arguments[at + 1]);
    }
    let once = arguments.iter().any(|it| it == "--test");
    let effort = if once { Effort::ONCE } else { Effort::FULL };
    println!("One `echo` call over pipes, calls a second (one in flight: all on one core):\n");
    println!(
        "| text, in flight | Hardline | rmcp `stdio()` | ratio | rmcp `stdio_pipes()` | ratio |"
    );
    println!("|---|---|---|---|---|---|");
    let mut missed = 0;
    for in_flight in [1, 64] {
        for (name, size) in SIZES {
            missed += measure(effort, name, size, in_flight);
        }
    }
    missed += resident(once);
    if once {
        println!("ran once: no goal counts");
        return ExitCode::SUCCESS;
    }
    println!("\n{missed} goals missed");
    if missed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Prints one row. Returns the number of missed goals.
fn measure(effort: Effort, name: &str, size: usize, in_flight: usize) -> u32 {
    pin(in_flight == 1);
    let servers: Vec<_> =
        TRANSPORTS.iter().map(|it| (*it, RefCell::new(server(it, size)))).collect();
    let candidates = servers.iter().map(|(name, server)| {
        Candidate::new(name, move || match in_flight {
            1 => server.borrow_mut().call(),
            _ => server.borrow_mut().burst(BURST, in_flight),
        })
    });
    let outcome = run(effort, candidates.collect());
    let calls = if in_flight == 1 { 1.0 } else { BURST as f64 };
    let speed = |transport| calls / outcome.seconds(transport);
    let goal = match (size, in_flight) {
        (200, 1) => 2.5,
        (200, 64) => 4.0,
        _ => 0.0,
    };
    let (stdio, pipes) = (outcome.speed("hardline", "stdio"), outcome.speed("hardline", "pipes"));
    println!(
        "| {name}, {in_flight} | {:.0} | {:.0} | {} | {:.0} | {} |",
        speed("hardline"),
        speed("stdio"),
        mark(stdio, goal),
        speed("pipes"),
        mark(pipes, 0.95),
    );
    u32::from(stdio < goal) + u32::from(pipes < 0.95)
}

fn mark(ratio: f64, goal: f64) -> String {
    match (goal == 0.0, ratio < goal) {
        (true, _) => format!("{ratio:.2}"),
        (_, false) => format!("{ratio:.2} (goal {goal})"),
        (_, true) => format!("**{ratio:.2}** (goal {goal} missed)"),
    }
}

/// Prints the memory of an idle server. Returns the number of missed goals.
fn resident(once: bool) -> u32 {
    let mut server = server("hardline", 200);
    server.call();
    let status = fs::read_to_string(format!("/proc/{}/status", server.id()));
    let Ok(status) = status else { return 0 };
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap_or_default();
    let kilobytes: f64 =
        line.split_whitespace().nth(1).and_then(|it| it.parse().ok()).unwrap_or(0.0);
    println!(
        "\nResident memory of the server at rest: {:.1} MB (goal: under 8)",
        kilobytes / 1024.0
    );
    u32::from(!once && kilobytes > 8.0 * 1024.0)
}

/// Pins this process, and those it starts from now on, to one core, or lifts that again.
fn pin(to_one: bool) {
    let mut cores = CpuSet::new();
    let count = if to_one { 1 } else { std::thread::available_parallelism().map_or(1, Into::into) };
    // The last core usually handles the fewest interrupts.
    let all = if to_one { 1..2 } else { 0..count.max(2) };
    all.for_each(|core| cores.set(core));
    let _ = sched_setaffinity(None, &cores);
}

/// Starts this program as a server.
fn server(transport: &str, size: usize) -> EchoServer {
    let mut command = Command::new(std::env::current_exe().unwrap());
    let text = "lorem ipsum ".repeat(size.div_ceil(12));
    let arguments = format!(r#"{{"text":"{}"}}"#, text.split_at(size).0);
    EchoServer::start(command.args(["--serve", transport]), &arguments)
}
