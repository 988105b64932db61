//! Cost of the guard for a client: calls with it and without it, for each kind of text.

use std::sync::Arc;

use hardline::client::guard::GuardSettings;
use hardline::client::{Connection, ConnectionSettings};
use hardline::guard::policy::Policy;
use hardline::process::{Command, Environment};
use hardline_testkit::text::{KINDS, Kind};
use serde_json::value::RawValue;
use tokio::runtime::Runtime;

use crate::clients::{measure, runtime};
use crate::{ROUNDS, Round, pin};

const SIZES: [(&str, usize, usize); 3] =
    [("200 B", 200, 6400), ("10 KB", 10_000, 2560), ("100 KB", 100_000, 640)];
/// Smallest speed with the guard, as a part of the speed without it.
const LEAST_GUARDED: f64 = 0.85;

/// Measures all rows whose name contains `filter`. Returns the number of missed goals.
pub(crate) fn run(once: bool, filter: &str) -> u32 {
    println!(
        "\nThe same client over standard streams, with its guard and without, calls a second:\n"
    );
    println!("| text, in flight | guard | no guard | ratio |");
    println!("|---|---|---|---|");
    let mut missed = 0;
    for (size_name, size, calls) in SIZES {
        for kind in KINDS {
            for in_flight in [1, 64] {
                let label = format!("{}, {size_name}, {in_flight}", kind.name);
                if !format!("guard, {label}").contains(filter) {
                    continue;
                }
                let calls = if once { in_flight } else { calls };
                missed += row(&label, kind, size, in_flight, calls);
            }
        }
        if once {
            break;
        }
    }
    missed
}

fn row(label: &str, kind: Kind, size: usize, in_flight: usize, calls: usize) -> u32 {
    pin(in_flight == 1);
    let guard = GuardSettings::new(Policy::default());
    let mut clients = [
        Client::start(ConnectionSettings::default().with_guard(guard)),
        Client::start(ConnectionSettings::default()),
    ];
    let content = format!("{{{}}}", kind.members(size));
    let mut best: [Option<Round>; 2] = [None; 2];
    for _ in 0..ROUNDS {
        for (client, best) in clients.iter_mut().zip(&mut best) {
            let measured = client.round(&content, in_flight, calls);
            *best = Some(best.map_or(measured, |best| best.better(measured)));
        }
    }
    let [with, without] = best.map(|it| it.unwrap().calls_per_second);
    let ratio = with / without;
    let is_missed = ratio < LEAST_GUARDED;
    let shown = if is_missed {
        format!("**{ratio:.2}** (missed: {LEAST_GUARDED})")
    } else {
        format!("{ratio:.2} (goal {LEAST_GUARDED})")
    };
    println!("| {label} | {with:.0} | {without:.0} | {shown} |");
    u32::from(is_missed)
}

struct Client {
    runtime: Runtime,
    connection: Connection,
}

impl Client {
    fn start(settings: ConnectionSettings) -> Self {
        let runtime = runtime();
        let this = std::env::current_exe().unwrap();
        let command = Command::new(this, Environment::Base).args(["--serve", "stdio"]);
        let connection = runtime.block_on(Connection::spawn(&command, settings)).unwrap();
        Self { runtime, connection }
    }

    /// Makes calls whose results are `content`.
    fn round(&mut self, content: &str, in_flight: usize, calls: usize) -> Round {
        let content = Arc::new(RawValue::from_string(content.to_owned()).unwrap());
        let connection = self.connection.clone();
        measure(&self.runtime, in_flight, calls, move || {
            let (connection, content) = (connection.clone(), Arc::clone(&content));
            async move {
                let result = connection.call_tool("echo", &*content).await.unwrap();
                assert!(!result.content.is_empty() || result.structured_content.is_some());
            }
        })
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.runtime.block_on(self.connection.close());
    }
}
