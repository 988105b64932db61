//! The server's starts after the first: each is judged as the first was, by what is there then.

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

/// Starts the server, and starts it again.
pub(super) struct Starter<'a> {
    pub(super) command: &'a [OsString],
    pub(super) name: &'a str,
    pub(super) policy: &'a Policy,
    pub(super) desk: &'a RefCell<Desk>,
    /// The first start, which was judged before the session.
    pub(super) first: Option<Command>,
    /// What the first start was told for.
    pub(super) told: HashSet<(Rule, String)>,
    pub(super) memory: &'a Memory,
}

/// The executables of before.
#[derive(Debug)]
pub(super) struct Memory {
    /// Where they are kept. `None` if there is no place for it, or nothing is to be compared.
    pub(super) file: Option<PathBuf>,
    /// Whether they are compared.
    pub(super) compares: bool,
    /// Those of this session.
    pub(super) own: RefCell<Programs>,
}

impl Starter<'_> {
    /// Takes findings about a start. Says why it may not be, if one forbids it.
    fn take<'f>(
        &mut self,
        now: Duration,
        found: impl IntoIterator<Item = &'f Found>,
    ) -> Result<(), Refused> {
        let mut refused = None;
        for found in found {
            let (rule, detail) = (found.finding.rule, found.finding.detail.clone());
            // A server that ends again and again has the same findings every time.
            if self.told.insert((rule, detail.clone())) {
                self.desk.borrow_mut().found(now, found);
            }
            if Action::Block <= found.action {
                refused.get_or_insert((rule, detail));
            }
        }
        let Some((rule, detail)) = refused else { return Ok(()) };
        let advice = advice(rule, self.name);
        // The client and its model are told it, and it repeats words of the command line.
        let mut reason = format!("{detail}; {advice}");
        redact_text(&mut reason);
        Err(Refused::new(rule, reason))
    }

    /// Looks whether the executable is the one of before, and keeps that it was started.
    fn identify(&mut self, now: Duration, server: &Server) -> Result<(), Refused> {
        let known = self.memory.own.borrow().clone();
        let file = self.memory.file.clone();
        let identity = identify(&server.start, self.policy, self.name, file, known);
        let found = identity.found.iter().filter(|_| self.memory.compares);
        let was_told = self.told.len();
        let outcome = self.take(now, found);
        // One that is refused is tried again and again.
        if outcome.is_ok() || was_told < self.told.len() {
            self.desk.borrow_mut().launch(now, &identity.launch);
        }
        if let Some(trouble) = &identity.trouble
            && self.told.insert((Rule::LaunchChanged, trouble.clone()))
        {
            self.desk.borrow_mut().trouble(now, trouble);
        }
        match outcome.is_ok() {
            true => self.memory.keep(self.name, &identity),
            false => self.memory.refuse(self.name, &identity),
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
    /// Keeps what was started.
    pub(super) fn keep(&self, name: &str, identity: &Identity) {
        if let Some(program) = &identity.program {
            self.own.borrow_mut().insert(name, program.clone());
        }
    }

    /// Keeps what was not started.
    fn refuse(&self, name: &str, identity: &Identity) {
        if let Some(program) = &identity.program {
            self.own.borrow_mut().insert_refused(name, program.clone());
        }
    }
}

/// What to do about a start that is forbidden.
pub(super) fn advice(rule: Rule, name: &str) -> String {
    match rule {
        Rule::LaunchChanged => {
            format!("if that is right, `hardline pin approve {name}` lets it start")
        }
        _ => format!("`hardline scan --explain {rule}` tells how to allow it"),
    }
}
