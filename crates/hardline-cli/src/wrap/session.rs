//! Runs a session, from the first start of its server to its end.

use std::cell::RefCell;
use std::io::{self, IsTerminal};
use std::time::Duration;

use hardline_guard::policy::Policy;
use hardline_guard::{Action, Direction, Rule};
use hardline_proxy::launch::known;
use hardline_proxy::relay::Settings;
use hardline_proxy::wrap::{Outcome, WrapError};
use hardline_transport::process::write_stderr;
use tokio::time::Instant;

use super::desk::{Desk, Watcher};
use super::start::{self, Server};
use super::starter::{Memory, Starter, advice};
use super::{Args, report};

/// Time that a finished session waits for the hash of its executable.
const LAST_LOOK: Duration = Duration::from_secs(2);

/// Runs the session. Returns `None` if the policy forbids the server's start.
pub(super) async fn session(
    args: &Args,
    name: &str,
    policy: &Policy,
    settings: Settings,
    server: &Server,
    desk: &RefCell<Desk>,
) -> Result<Option<Outcome>, WrapError> {
    for found in &server.found {
        desk.borrow_mut().found(Duration::ZERO, found);
    }
    if let Some(changes) = server.confined.describe() {
        desk.borrow_mut().confined(Duration::ZERO, &changes);
    }
    if let Some(found) = server.found.iter().find(|found| Action::Block <= found.action) {
        let rule = found.finding.rule;
        report::write(format!(
            "hardline: {name} was not started because of {rule}: {}\n{}",
            found.finding.detail,
            advice(rule, name)
        ));
        return Ok(None);
    }
    let (begun, patience) = (Instant::now(), LAST_LOOK);
    let compares = !args.no_pins && !args.danger_no_guard;
    let file = args.state().filter(|_| compares).map(|state| state.join(known::FILE_NAME));
    let memory = Memory { file, compares, own: RefCell::default() };
    // Owns all its data, because it may run on a blocking thread: an executable can be large.
    let look = {
        let (start, policy, name) = (server.start.clone(), policy.clone(), name.to_owned());
        let file = memory.file.clone();
        move || start::identify(&start, &policy, &name, file, known::Programs::default())
    };
    let tell = |identity: start::Identity| {
        memory.keep(name, &identity);
        let mut desk = desk.borrow_mut();
        desk.launch(Duration::ZERO, &identity.launch);
        if let Some(found) = &identity.found {
            desk.found(begun.elapsed(), found);
        }
        if let Some(trouble) = &identity.trouble {
            desk.trouble(begun.elapsed(), trouble);
        }
    };
    let action = policy.action(Rule::LaunchChanged, Some(name), None, Direction::ServerToClient);
    let mut looking = None;
    // A changed executable may be blocked, so the comparison must finish before the start.
    if Action::Block <= action {
        let identity = look();
        let is_blocked = identity.found.as_ref().is_some_and(|found| Action::Block <= found.action);
        let detail = identity.found.as_ref().map(|found| found.finding.detail.clone());
        tell(identity);
        if is_blocked {
            let (detail, advice) = (detail.unwrap_or_default(), advice(Rule::LaunchChanged, name));
            report::write(format!("hardline: {name} was not started: {detail}\n{advice}"));
            return Ok(None);
        }
    } else if Action::Allow < action || desk.borrow().audit.is_some() {
        // Nothing depends on the result, so the session does not wait for it.
        looking = Some(tokio::task::spawn_blocking(look));
    }
    if io::stdin().is_terminal() {
        let hint = "an MCP proxy: waiting for JSON-RPC, one message per line, until Ctrl-D";
        write_stderr(format!("hardline: {hint}"));
    }
    let mut watcher = Watcher(desk);
    // Restarts must not repeat what was already reported.
    let told = server.found.iter().map(|it| (it.finding.rule, it.finding.detail.clone()));
    let mut starter = Starter {
        command: &args.command,
        name,
        policy,
        desk,
        first: Some(server.command.clone()),
        told: told.collect(),
        memory: &memory,
    };
    let run = hardline_proxy::wrap::run(settings, &mut starter, &mut watcher);
    let watch = async {
        if let Some(looking) = looking
            && let Ok(identity) = looking.await
        {
            tell(identity);
        }
    };
    let mut watch = std::pin::pin!(watch);
    let mut run = std::pin::pin!(run);
    let outcome = tokio::select! {
        // The end of the session is checked first, so that it is not delayed by the hash.
        biased;
        outcome = &mut run => {
            // A session can end before its executable is hashed; the audit log still needs the
            // hash.
            let _ = tokio::time::timeout(patience, watch).await;
            return outcome.map(Some);
        }
        () = &mut watch => run.await,
    };
    outcome.map(Some)
}
