//! Restarts of the server: each start is judged like the first, by the files that are there then.

use std::cell::RefCell;
use std::collections::HashSet;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use hardline_guard::policy::Policy;
use hardline_guard::{Action, Found, Rule};
use hardline_proxy::launch::known::Programs;
use hardline_proxy::redact::redact_text;
use hardline_proxy::relay::Refused;
use hardline_proxy::wrap::{Launcher, WrapError};
use hardline_transport::process::Command;

use super::desk::Desk;
use super::start::{Identity, Server, identify};

/// Launches the server and its restarts.
pub(super) struct Starter<'a> {
    pub(super) command: &'a [OsString],
    pub(super) name: &'a str,
    pub(super) policy: &'a Policy,
    pub(super) desk: &'a RefCell<Desk>,
    /// Command of the first start, which was judged before the session.
    pub(super) first: Option<Command>,
    /// Findings and problems that were already reported.
    pub(super) told: HashSet<(Rule, String)>,
    pub(super) memory: &'a Memory,
}

/// Executables of earlier starts.
#[derive(Debug)]
pub(super) struct Memory {
    /// File of known executables. `None` if there is no state directory or nothing is compared.
    pub(super) file: Option<PathBuf>,
    /// True if executables are compared.
    pub(super) compares: bool,
    /// Executables of this session.
    pub(super) own: RefCell<Programs>,
}

impl Starter<'_> {
    /// Reports findings about a start. Returns the reason for a refusal if one of them blocks it.
    fn take<'f>(
        &mut self,
        now: Duration,
        found: impl IntoIterator<Item = &'f Found>,
    ) -> Result<(), Refused> {
        let mut refused = None;
        for found in found {
            let (rule, detail) = (found.finding.rule, found.finding.detail.clone());
            // A server that dies repeatedly has the same findings at every start: report them once.
            if self.told.insert((rule, detail.clone())) {
                self.desk.borrow_mut().found(now, found);
            }
            if Action::Block <= found.action {
                refused.get_or_insert((rule, detail));
            }
        }
        let Some((rule, detail)) = refused else { return Ok(()) };
        let advice = advice(rule, self.name);
        // The client and its model see the reason, and it quotes the command line.
        let mut reason = format!("{detail}; {advice}");
        redact_text(&mut reason);
        Err(Refused::new(rule, reason))
    }

    /// Compares the executable with the last start and stores it.
    fn identify(&mut self, now: Duration, server: &Server) -> Result<(), Refused> {
        let known = self.memory.own.borrow().clone();
        let file = self.memory.file.clone();
        let identity = identify(&server.start, self.policy, self.name, file, known);
        let found = identity.found.iter().filter(|_| self.memory.compares);
        let was_told = self.told.len();
        let outcome = self.take(now, found);
        // A refused start is retried often, so it is stored only with a new finding.
        if outcome.is_ok() || was_told < self.told.len() {
            self.desk.borrow_mut().launch(now, &identity.launch);
        }
        if let Some(trouble) = &identity.trouble
            && self.told.insert((Rule::LaunchChanged, trouble.clone()))
        {
            self.desk.borrow_mut().trouble(now, trouble);
        }
        if outcome.is_ok() {
            self.memory.keep(self.name, &identity);
        } else {
            self.memory.refuse(self.name, &identity);
        }
        outcome
    }
}

impl Launcher for Starter<'_> {
    fn launch(&mut self, now: Duration) -> Result<Command, WrapError> {
        if let Some(first) = self.first.take() {
            return Ok(first);
        }
        let server = Server::new(self.command, self.name, self.policy)?;
        self.take(now, &server.found).map_err(WrapError::Refused)?;
        self.identify(now, &server).map_err(WrapError::Refused)?;
        Ok(server.command)
    }
}

impl Memory {
    /// Stores an executable that was started.
    pub(super) fn keep(&self, name: &str, identity: &Identity) {
        if let Some(program) = &identity.program {
            self.own.borrow_mut().insert(name, program.clone());
        }
    }

    /// Stores an executable whose start was refused.
    fn refuse(&self, name: &str, identity: &Identity) {
        if let Some(program) = &identity.program {
            self.own.borrow_mut().insert_refused(name, program.clone());
        }
    }
}

/// Returns the next step for the user after a refused start.
pub(super) fn advice(rule: Rule, name: &str) -> String {
    match rule {
        Rule::LaunchChanged => {
            format!("if the change is intended, run `hardline pin approve {name}` to allow it")
        }
        _ => format!("`hardline scan --explain {rule}` describes how to allow it"),
    }
}
