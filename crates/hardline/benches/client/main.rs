//! Cost of a call for a client: Hardline's, rmcp's and the TypeScript SDK's, over standard streams
//! and over HTTP.
//!
//! The server is this program started again. It does as little as possible, so that the client is
//! measured. The clients take turns, and the ratio within one run counts. The TypeScript client is
//! measured if `HARDLINE_TYPESCRIPT` names a directory with the SDK installed, which `cargo xtask
//! bench` sets up; otherwise its columns are empty. A second table compares Hardline's client with its
//! guard and without.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    clippy::cast_precision_loss,
    reason = "a benchmark prints, starts processes and may panic"
)]

mod clients;
mod guarded;
mod server;

use std::process::ExitCode;
use std::time::Duration;

use clients::Clients;
use rustix::thread::{CpuSet, sched_setaffinity};

const SIZES: [(&str, usize); 2] = [("200 B", 200), ("100 KB", 100_000)];
const ROUNDS: usize = 7;

/// Result of one round of calls.
#[derive(Clone, Copy, Debug)]
struct Round {
    calls_per_second: f64,
    /// Median time of a call.
    p50: Duration,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    match arguments.iter().position(|it| it == "--serve") {
        Some(at) if arguments[at + 1] == "stdio" => return server::stdio(),
        Some(_) => return server::http(),
        None => {}
    }
    // Selects the rows whose name contains the argument, as in `-- "http, 100 KB"`.
    let filter = arguments.iter().skip(1).find(|it| !it.starts_with('-'));
    let once = arguments.iter().any(|it| it == "--test");
    let typescript = std::env::var("HARDLINE_TYPESCRIPT").ok().filter(|_| !once);
    println!(
        "One `tools/call` that sends a text and gets it back, calls a second and p50 (one in flight: all \
         on one core; each client has one thread):\n"
    );
    println!("| transport, text, in flight | Hardline | rmcp | ratio | TypeScript | ratio |");
    println!("|---|---|---|---|---|---|");
    let mut missed = 0;
    for transport in ["stdio", "http"] {
        for (name, size) in SIZES {
            for in_flight in [1, 64] {
                let label = format!("{transport}, {name}, {in_flight}");
                if filter.is_some_and(|filter| !label.contains(filter.as_str())) {
                    continue;
                }
                pin(in_flight == 1);
                let mut clients = Clients::start(transport, typescript.as_deref());
                missed += row(&label, &mut clients, size, in_flight, once);
            }
        }
    }
    missed += guarded::run(once, filter.map_or("", |it| it));
    if once {
        println!("ran once: no goal counts");
        return ExitCode::SUCCESS;
    }
    println!("\n{missed} goals missed");
    if missed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Measures the clients in turn and prints one row. Returns the number of missed goals.
fn row(label: &str, clients: &mut Clients, size: usize, in_flight: usize, once: bool) -> u32 {
    let calls = match (once, size, in_flight) {
        (true, ..) => in_flight,
        (_, 200, 1) => 2000,
        (_, 200, _) => 12_800,
        (_, _, 1) => 300,
        _ => 1280,
    };
    let mut best: Vec<Option<Round>> = vec![None; clients.all.len()];
    for round in 0..if once { 1 } else { ROUNDS } {
        for (client, best) in clients.all.iter_mut().zip(&mut best) {
            let measured = client.round(size, in_flight, calls);
            // The first round is the warm-up.
            if round > 0 || once {
                *best = Some(best.map_or(measured, |best| best.better(measured)));
            }
        }
    }
    let hardline = best[0].unwrap();
    let mut missed = 0;
    let mut cells = vec![hardline.to_string()];
    for other in [best.get(1), best.get(2)] {
        match other.copied().flatten() {
            Some(other) => {
                let ratio = hardline.calls_per_second / other.calls_per_second;
                let p50 = other.p50.as_secs_f64() / hardline.p50.as_secs_f64();
                let is_ahead = 1.0 <= ratio && 1.0 <= p50;
                missed += u32::from(!is_ahead);
                let mark = if is_ahead { "(goal 1)" } else { "(**missed**: 1)" };
                cells.push(other.to_string());
                cells.push(format!("{ratio:.2}, p50 {p50:.2} {mark}"));
            }
            None => cells.extend(["–".to_owned(), "–".to_owned()]),
        }
    }
    println!("| {label} | {} |", cells.join(" | "));
    missed
}

impl Round {
    /// Computes the result from the time of each call and the total time.
    fn new(mut times: Vec<Duration>, all: Duration) -> Self {
        times.sort_unstable();
        let calls_per_second = times.len() as f64 / all.as_secs_f64();
        Self { calls_per_second, p50: times[times.len() / 2] }
    }

    fn better(self, other: Self) -> Self {
        Self {
            calls_per_second: self.calls_per_second.max(other.calls_per_second),
            p50: self.p50.min(other.p50),
        }
    }
}

impl std::fmt::Display for Round {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let p50 = self.p50.as_secs_f64() * 1e6;
        write!(formatter, "{:.0}, {p50:.0} µs", self.calls_per_second)
    }
}

/// Pins this process, and those it starts from now on, to one core, or lifts that again.
fn pin(to_one: bool) {
    let mut cores = CpuSet::new();
    let count = std::thread::available_parallelism().map_or(1, Into::into).max(2);
    // The last core usually handles the fewest interrupts.
    let all = if to_one { 1..2 } else { 0..count };
    all.for_each(|core| cores.set(core));
    let _ = sched_setaffinity(None, &cores);
}
