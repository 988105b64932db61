//! State shared by all servers of a manager: the members, the catalog, and the event channels.

use std::sync::{Arc, PoisonError, RwLock};

use tokio::sync::watch;
use tokio::time::Instant;

use super::AddServerError;
use super::catalog::{Catalog, Freshness, List};
use super::member::{Member, Snapshot, Tools};
use super::settings::ManagerSettings;
use super::state::{ManagerEvent, ServerState};
use crate::ServerEvent;
use crate::broadcast::Broadcast;

pub(super) struct Hub {
    pub(super) settings: ManagerSettings,
    /// All servers, in the order in which they were added.
    members: RwLock<Vec<Arc<Member>>>,
    pub(super) catalog: watch::Sender<Arc<Catalog>>,
    pub(super) events: Broadcast<ManagerEvent>,
}

impl Hub {
    pub(super) fn new(settings: ManagerSettings) -> Self {
        Self {
            settings,
            members: RwLock::default(),
            catalog: watch::Sender::default(),
            events: Broadcast::default(),
        }
    }

    pub(super) fn members(&self) -> Vec<Arc<Member>> {
        self.members.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn find(&self, name: &str) -> Option<Arc<Member>> {
        let members = self.members.read().unwrap_or_else(PoisonError::into_inner);
        members.iter().find(|it| &*it.name == name).cloned()
    }

    /// Adds a server, unless there is one of that name already.
    pub(super) fn insert(&self, member: Arc<Member>) -> Result<(), AddServerError> {
        let mut members = self.members.write().unwrap_or_else(PoisonError::into_inner);
        if members.iter().any(|it| it.name == member.name) {
            return Err(AddServerError::NameTaken(member.display_name()));
        }
        members.push(member);
        Ok(())
    }

    pub(super) fn remove(&self, name: &str) -> Option<Arc<Member>> {
        // The catalog is rebuilt from the members, so the write lock must end before that.
        let removed = {
            let mut members = self.members.write().unwrap_or_else(PoisonError::into_inner);
            let index = members.iter().position(|it| &*it.name == name)?;
            members.remove(index)
        };
        self.update_catalog();
        Some(removed)
    }

    pub(super) fn publish(&self, member: &Member, event: ServerEvent) {
        let server = Arc::clone(&member.name);
        self.events.send(ManagerEvent::Server { server, event });
    }

    pub(super) fn set_state(&self, member: &Member, state: ServerState, next: Option<Instant>) {
        member.change(|snapshot| {
            snapshot.state = state.clone();
            snapshot.next = next;
        });
        tracing::debug!(server = %member.display_name(), ?state, "changed");
        self.events.send(ManagerEvent::State { server: Arc::clone(&member.name), state });
    }

    pub(super) fn set_tools(&self, member: &Member, tools: Tools) {
        self.update_catalog_with(member, |snapshot| {
            snapshot.tools = Some(tools);
            snapshot.list_failure = None;
        });
    }

    pub(super) fn set_freshness(&self, member: &Member, freshness: Freshness) {
        self.update_catalog_with(member, |snapshot| {
            if let Some(tools) = &mut snapshot.tools {
                // A cached list must not turn into a stale one: the server has never confirmed it.
                tools.freshness = tools.freshness.max(freshness);
            }
            snapshot.list_failure = None;
        });
    }

    /// Changes a member's snapshot and rebuilds the catalog, so that a caller never sees one without the other.
    fn update_catalog_with(&self, member: &Member, change: impl FnOnce(&mut Snapshot)) {
        // `send_modify` holds the catalog's lock, so concurrent updates cannot overwrite each other.
        self.catalog.send_modify(|catalog| {
            member.change_silently(change);
            *catalog = Arc::new(self.build_catalog());
        });
        member.announce();
        self.events.send(ManagerEvent::CatalogChanged);
    }

    /// Rebuilds the catalog.
    fn update_catalog(&self) {
        self.catalog.send_modify(|catalog| *catalog = Arc::new(self.build_catalog()));
        self.events.send(ManagerEvent::CatalogChanged);
    }

    fn build_catalog(&self) -> Catalog {
        // Collected first, so that no member is locked while the lists are joined.
        let lists: Vec<_> = self
            .members()
            .iter()
            .filter_map(|it| {
                let tools = it.snapshot().tools.clone()?;
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
