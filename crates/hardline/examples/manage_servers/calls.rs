//! Makes calls, kills servers, and checks the results.

use std::collections::HashMap;
use std::error::Error;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hardline::client::manager::Manager;
use hardline::client::{self, RequestOptions};
use serde_json::json;
use tokio::time::Instant;

use crate::fleet::Fleet;
use crate::random::Random;
use crate::say;

/// Number of callers per server, each with one call at a time.
const CALLERS: usize = 2;
/// Pause between two calls of one caller.
const PAUSE: Duration = Duration::from_millis(25);
/// Limit on the time of a call: the wait for the server plus the call's own timeout.
const MAX_CALL: Duration = Duration::from_secs(75);
/// Limit on the connection attempts per kill: one that fails at once, and a few until the server is
/// up.
const ATTEMPTS_PER_KILL: u64 = 6;

/// Outcomes of the calls.
#[derive(Default)]
struct Tally {
    answered: AtomicU64,
    lost: AtomicU64,
    away: AtomicU64,
    /// Lines of the answered calls.
    done: Mutex<Vec<String>>,
    wrong: Mutex<Vec<String>>,
}

pub(super) async fn run(
    manager: &Manager,
    fleet: &mut Fleet,
    time: Duration,
    seed: u64,
    folder: &Path,
) -> Result<(), Box<dyn Error>> {
    let marks = folder.join("marks");
    let tally = Arc::new(Tally::default());
    let is_over = Arc::new(AtomicBool::new(false));
    let mut callers = Vec::new();
    for name in &fleet.names {
        for caller in 0..CALLERS {
            let (manager, tally) = (manager.clone(), Arc::clone(&tally));
            let (is_over, name, marks) = (Arc::clone(&is_over), name.clone(), marks.clone());
            callers.push(tokio::spawn(async move {
                let mut number = 0_u64;
                while !is_over.load(Ordering::Relaxed) {
                    number += 1;
                    let line = format!("{name}/{caller}/{number}");
                    call(&manager, &name, &marks, line, &tally).await;
                    tokio::time::sleep(PAUSE).await;
                }
            }));
        }
    }
    let before: HashMap<_, _> = attempts(manager);
    let tools = manager.catalog().tools().len();
    let mut kills: HashMap<String, u64> = HashMap::new();
    let mut random = Random::new(seed);
    let mut next = Vec::new();
    let start = Instant::now();
    while start.elapsed() < time {
        // In random order, but each server once before any is killed again.
        if next.is_empty() {
            next.clone_from(&fleet.names);
        }
        let name = next.swap_remove(random.below(next.len()));
        fleet.kill(&name)?;
        *kills.entry(name.clone()).or_default() += 1;
        for _ in 0..random.below(20) {
            tokio::time::sleep(Duration::from_millis(100)).await;
            if manager.catalog().tools().len() != tools {
                tally.fault("the tools of a server that is away are not listed".into());
            }
        }
        // The manager restarts stdio servers itself; only HTTP servers need this.
        fleet.restart(&name)?;
        tokio::time::sleep(Duration::from_millis(random.below(1500).try_into()?)).await;
    }
    is_over.store(true, Ordering::Relaxed);
    for caller in callers {
        caller.await?;
    }
    check(&tally, &marks, &before, &attempts(manager), &kills)
}

async fn call(manager: &Manager, name: &str, marks: &Path, line: String, tally: &Tally) {
    let arguments = json!({ "file": marks, "line": line });
    let options = RequestOptions::default();
    let called = manager.call_tool_of(name, "mark", arguments, &options);
    match tokio::time::timeout(MAX_CALL, called).await {
        Ok(Ok(result)) if result.is_error != Some(true) => {
            tally.answered.fetch_add(1, Ordering::Relaxed);
            tally.done.lock().unwrap_or_else(PoisonError::into_inner).push(line);
        }
        // The server died during the call; the caller cannot know if it was carried out.
        Ok(Err(client::Error::Lost { .. })) => {
            tally.lost.fetch_add(1, Ordering::Relaxed);
        }
        Ok(Err(client::Error::Away { .. })) => {
            tally.away.fetch_add(1, Ordering::Relaxed);
        }
        Ok(other) => tally.fault(format!("{line}: {other:?}")),
        Err(_) => tally.fault(format!("{line} does not end")),
    }
}

fn check(
    tally: &Tally,
    marks: &Path,
    before: &HashMap<String, u64>,
    after: &HashMap<String, u64>,
    kills: &HashMap<String, u64>,
) -> Result<(), Box<dyn Error>> {
    let marks = std::fs::read_to_string(marks)?;
    let mut runs: HashMap<&str, u64> = HashMap::new();
    for line in marks.lines() {
        // Every call writes its own line, so a count of two is a repeated call.
        *runs.entry(line).or_default() += 1;
    }
    for (line, _) in runs.iter().filter(|(_, count)| **count > 1) {
        tally.fault(format!("{line} was carried out twice"));
    }
    for line in tally.done.lock().unwrap_or_else(PoisonError::into_inner).iter() {
        if !runs.contains_key(line.as_str()) {
            tally.fault(format!("{line} was answered, but not carried out"));
        }
    }
    for (name, after) in after {
        let attempts = after - before.get(name).copied().unwrap_or_default();
        let kills = kills.get(name).copied().unwrap_or_default();
        say(&format!("{name}: killed {kills} times, {attempts} attempts to connect"))?;
        if attempts > ATTEMPTS_PER_KILL * kills {
            tally.fault(format!("{name}: {attempts} attempts for {kills} kills"));
        }
    }
    let count = |it: &AtomicU64| it.load(Ordering::Relaxed);
    say(&format!(
        "{} calls answered, {} lost with their server, {} not made as it was away; {} carried out",
        count(&tally.answered),
        count(&tally.lost),
        count(&tally.away),
        runs.len(),
    ))?;
    let wrong = tally.wrong.lock().unwrap_or_else(PoisonError::into_inner);
    match wrong.first() {
        None if count(&tally.answered) > 0 => Ok(()),
        None => Err("no call was answered".into()),
        Some(first) => Err(format!("{} faults, the first: {first}", wrong.len()).into()),
    }
}

fn attempts(manager: &Manager) -> HashMap<String, u64> {
    manager.statuses().iter().map(|it| (it.server.to_string(), it.attempts)).collect()
}

impl Tally {
    fn fault(&self, what: String) {
        self.wrong.lock().unwrap_or_else(PoisonError::into_inner).push(what);
    }
}
