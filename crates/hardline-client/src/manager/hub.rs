//! What all servers of a manager share: the list of them, the catalog, and whoever listens.

use std::sync::{Arc, PoisonError, RwLock};

use tokio::sync::watch;
use tokio::time::Instant;

use super::catalog::{Catalog, Freshness, List};
use super::member::{Known, Member, Tools};
use super::settings::ManagerSettings;
use super::state::{ManagerEvent, State, StateChange};
use crate::ServerEvent;
use crate::board::Board;

pub(super) struct Hub {
    pub(super) settings: ManagerSettings,
    /// In the order in which they were added.
    members: RwLock<Vec<Arc<Member>>>,
    pub(super) catalog: watch::Sender<Arc<Catalog>>,
    pub(super) events: Board<ManagerEvent>,
    pub(super) states: Board<StateChange>,
}

impl Hub {
    pub(super) fn new(settings: ManagerSettings) -> Self {
        Self {
            settings,
            members: RwLock::default(),
            catalog: watch::Sender::default(),
            events: Board::default(),
            states: Board::default(),
        }
    }

    pub(super) fn members(&self) -> Vec<Arc<Member>> {
        self.members.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn find(&self, name: &str) -> Option<Arc<Member>> {
        let members = self.members.read().unwrap_or_else(PoisonError::into_inner);
        members.iter().find(|it| &*it.name == name).cloned()
    }

    /// Adds a server, if there is none of that name.
    pub(super) fn insert(&self, member: Arc<Member>) -> bool {
        let mut members = self.members.write().unwrap_or_else(PoisonError::into_inner);
        let is_new = members.iter().all(|it| it.name != member.name);
        if is_new {
            members.push(member);
        }
        is_new
    }

    pub(super) fn remove(&self, name: &str) -> Option<Arc<Member>> {
        let removed = {
            let mut members = self.members.write().unwrap_or_else(PoisonError::into_inner);
            let index = members.iter().position(|it| &*it.name == name)?;
            members.remove(index)
        };
        self.join();
        Some(removed)
    }

    pub(super) fn post(&self, member: &Member, event: ServerEvent) {
        let server = Arc::clone(&member.name);
        self.events.post(ManagerEvent::Server { server, event });
    }

    pub(super) fn set_state(&self, member: &Member, state: State, next: Option<Instant>) {
        member.change(|known| {
            known.state = state.clone();
            known.next = next;
        });
        tracing::debug!(server = %member.shown(), ?state, "changed");
        self.states.post(StateChange::Changed { server: Arc::clone(&member.name), state });
    }

    pub(super) fn set_tools(&self, member: &Member, tools: Tools) {
        self.join_with(member, |known| {
            known.tools = Some(tools);
            known.list_failure = None;
        });
    }

    pub(super) fn set_freshness(&self, member: &Member, freshness: Freshness) {
        self.join_with(member, |known| {
            if let Some(tools) = &mut known.tools {
                tools.freshness = tools.freshness.max(freshness);
            }
            known.list_failure = None;
        });
    }

    /// Changes what is known of a server, and the catalog with it: whoever sees the one sees the other.
    fn join_with(&self, member: &Member, change: impl FnOnce(&mut Known)) {
        // What is joined last is what was known last, as only one is here at a time.
        self.catalog.send_modify(|catalog| {
            member.prepare(change);
            *catalog = Arc::new(self.joined());
        });
        member.announce();
        self.events.post(ManagerEvent::CatalogChanged);
    }

    /// Makes the catalog anew.
    fn join(&self) {
        self.catalog.send_modify(|catalog| *catalog = Arc::new(self.joined()));
        self.events.post(ManagerEvent::CatalogChanged);
    }

    fn joined(&self) -> Catalog {
        let lists: Vec<_> = self
            .members()
            .iter()
            .filter_map(|it| {
                let tools = it.known().tools.clone()?;
                Some((Arc::clone(&it.name), it.connect.program(), tools))
            })
            .collect();
        Catalog::join(lists.iter().map(|(server, program, tools)| List {
            server,
            program: program.as_deref(),
            freshness: tools.freshness,
            tools: &tools.list,
        }))
    }
}
