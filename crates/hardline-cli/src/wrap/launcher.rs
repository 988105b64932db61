//! Starts of the server: each one, also the first, is checked against the files as they are then.

use std::cell::RefCell;
use std::collections::HashSet;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use hardline_guard::policy::Policy;
use hardline_guard::redact::redact_text;
use hardline_guard::{Action, Direction, Found, Rule};
use hardline_proxy::launch::known::Programs;
use hardline_proxy::relay::StartRefusal;
use hardline_proxy::wrap::{Launcher, WrapError};
use hardline_transport::process::Command;
use tokio::task::{JoinHandle, spawn_blocking};

use super::observer::WrapObserver;
use super::server_start::{Identity, ServerStart, identify};

/// Checks of all starts in a session.
pub(super) struct StartChecks<'a> {
    pub(super) name: &'a str,
    pub(super) policy: &'a Policy,
    pub(super) observer: &'a RefCell<WrapObserver>,
    /// File of known executables. `None` if there is no state directory or nothing is compared.
    pub(super) file: Option<PathBuf>,
    /// True if executables are compared with those of earlier starts.
    pub(super) compares: bool,
    /// Executables that this session has started or refused.
    own: RefCell<Programs>,
    /// Texts that were already reported, by their rule if they have one.
    reported: RefCell<HashSet<(Option<Rule>, String)>>,
}

/// Launches the server and its restarts.
pub(super) struct ServerLauncher<'a> {
    pub(super) command: &'a [OsString],
    pub(super) checks: &'a StartChecks<'a>,
    /// Command of the first start, which was checked before the session.
    pub(super) first: Option<Command>,
}

/// Reason why a server is not started.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) rule: Rule,
    pub(super) detail: String,
    /// True if nothing shows whether the executable has changed.
    is_unread: bool,
}

impl<'a> StartChecks<'a> {
    pub(super) fn new(
        name: &'a str,
        policy: &'a Policy,
        observer: &'a RefCell<WrapObserver>,
        file: Option<PathBuf>,
        compares: bool,
    ) -> Self {
        let (own, reported) = (RefCell::default(), RefCell::default());
        Self { name, policy, observer, file, compares, own, reported }
    }

    /// Checks the first start. Returns the comparison of the executable if it may finish later:
    /// pass its result to [`take_identity`](Self::take_identity).
    pub(super) fn check_first(
        &self,
        server: &ServerStart,
    ) -> Result<Option<JoinHandle<Identity>>, Refusal> {
        let (rule, direction) = (Rule::LaunchChanged, Direction::ServerToClient);
        let action = self.policy.action(rule, Some(self.name), None, direction);
        // A changed executable may be blocked, so the comparison must finish before the start.
        if action >= Action::Block {
            return self.check(Duration::ZERO, server).map(|()| None);
        }
        self.check_command(Duration::ZERO, server)?;
        // Nothing depends on the result, so the session does not wait for it.
        let is_wanted = action > Action::Allow || self.observer.borrow().audit.is_some();
        Ok(is_wanted.then(|| spawn_blocking(self.comparison(server))))
    }

    /// Checks a start.
    fn check(&self, now: Duration, server: &ServerStart) -> Result<(), Refusal> {
        self.check_command(now, server)?;
        let identity = self.comparison(server)();
        self.take_identity(now, now, &identity)
    }

    /// Reports the findings about the command and its environment.
    fn check_command(&self, now: Duration, server: &ServerStart) -> Result<(), Refusal> {
        let refusal = self.report(now, &server.found);
        if let Some(changes) = server.confined.describe()
            && self.record_news(None, &changes)
        {
            self.observer.borrow_mut().confined(now, &changes);
        }
        refusal.map_or(Ok(()), Err)
    }

    /// Returns the comparison of the executable with the last start. It owns its data, because it
    /// may run on another thread: an executable can be large.
    fn comparison(&self, server: &ServerStart) -> impl FnOnce() -> Identity + Send + 'static {
        let (start, policy, name) =
            (server.start.clone(), self.policy.clone(), self.name.to_owned());
        let (file, known) = (self.file.clone(), self.own.borrow().clone());
        move || identify(&start, &policy, &name, file, known)
    }

    /// Reports the result of a comparison and stores it. `started` is the time of the start.
    pub(super) fn take_identity(
        &self,
        started: Duration,
        now: Duration,
        identity: &Identity,
    ) -> Result<(), Refusal> {
        let found = identity.found.iter().filter(|_| self.compares);
        let reported = self.reported.borrow().len();
        let mut refusal = self.report(now, found);
        if let Some(refusal) = &mut refusal {
            refusal.is_unread = identity.is_unread;
        }
        let has_news = reported < self.reported.borrow().len();
        // A refused start is retried often, so it is stored only with a new finding.
        if refusal.is_none() || has_news {
            self.observer.borrow_mut().launch(started, &identity.launch);
        }
        if let Some(trouble) = &identity.trouble
            && self.record_news(Some(Rule::LaunchChanged), trouble)
        {
            self.observer.borrow_mut().trouble(now, trouble);
        }
        if let Some(program) = &identity.program {
            let mut own = self.own.borrow_mut();
            if refusal.is_none() {
                own.insert(self.name, program.clone());
            } else {
                own.insert_refused(self.name, program.clone());
            }
        }
        refusal.map_or(Ok(()), Err)
    }

    /// Reports findings about a start. Returns the reason for a refusal if one of them blocks it.
    fn report<'f>(
        &self,
        now: Duration,
        found: impl IntoIterator<Item = &'f Found>,
    ) -> Option<Refusal> {
        let mut refusal = None;
        for found in found {
            let (rule, detail) = (found.finding.rule, &found.finding.detail);
            // A server that dies repeatedly has the same findings at every start: report them once.
            if self.record_news(Some(rule), detail) {
                self.observer.borrow_mut().found(now, found);
            }
            if found.action >= Action::Block {
                let detail = || detail.clone();
                refusal.get_or_insert_with(|| Refusal { rule, detail: detail(), is_unread: false });
            }
        }
        refusal
    }

    /// Remembers a text. Returns true if it was not reported before.
    fn record_news(&self, rule: Option<Rule>, text: &str) -> bool {
        self.reported.borrow_mut().insert((rule, text.to_owned()))
    }
}

impl Launcher for ServerLauncher<'_> {
    fn launch(&mut self, now: Duration) -> Result<Command, WrapError> {
        if let Some(first) = self.first.take() {
            return Ok(first);
        }
        let server = ServerStart::new(self.command, self.checks.name, self.checks.policy)?;
        let checked = self.checks.check(now, &server);
        checked.map_err(|refusal| WrapError::Refused(refusal.for_client(self.checks.name)))?;
        Ok(server.command)
    }
}

impl Refusal {
    /// Returns the refusal as the client and its model see it.
    fn for_client(&self, name: &str) -> StartRefusal {
        // The reason quotes the command line, which may contain secrets.
        let mut reason = format!("{}; {}", self.detail, self.advice(name));
        redact_text(&mut reason);
        StartRefusal::new(self.rule, reason)
    }

    /// Returns the next step for the user.
    pub(super) fn advice(&self, name: &str) -> String {
        match self.rule {
            Rule::LaunchChanged if self.is_unread => {
                "the policy starts no server while that file cannot be read".to_owned()
            }
            Rule::LaunchChanged => {
                format!("if the change is intended, run `hardline pin approve {name}` to allow it")
            }
            rule => format!("`hardline scan --explain {rule}` describes how to allow it"),
        }
    }
}
