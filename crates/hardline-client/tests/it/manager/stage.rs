//! Servers that a test scripts, for any number of connections.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hardline_client::manager::{Connect, Manager, ManagerEvent, ManagerSettings, ServerState};
use hardline_client::{Connection, ConnectionSettings, Error, TransportError, Versions};
use hardline_transport::client::BoxFuture;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::peer::{Peer, text};

/// The outcome of a connection attempt.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Plan {
    Live,
    Refuse,
    Login,
    /// The attempt hangs.
    Hang,
    /// The connection opens and ends right away.
    Flap,
}

/// A scripted server. Clones share its state.
#[derive(Clone, Debug)]
pub(super) struct Stage(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    plan: Mutex<Plan>,
    is_remote: bool,
    attempts: Mutex<Vec<Instant>>,
    /// The tools, as JSON.
    tools: Mutex<Vec<Value>>,
    /// Number of runs of each tool, by name.
    runs: Mutex<HashMap<String, u64>>,
    /// Connections with a lower number have ended.
    killed: watch::Sender<u64>,
    opened: AtomicU64,
    /// Signals that the server should report a changed tool list.
    changed: watch::Sender<u64>,
}

impl Stage {
    pub(super) fn new(plan: Plan, is_remote: bool) -> Self {
        let tools = ["echo", "die", "hang"].map(tool);
        Self(Arc::new(Inner {
            plan: Mutex::new(plan),
            is_remote,
            attempts: Mutex::default(),
            tools: Mutex::new(tools.into()),
            runs: Mutex::default(),
            killed: watch::Sender::new(0),
            opened: AtomicU64::new(0),
            changed: watch::Sender::new(0),
        }))
    }

    pub(super) fn local() -> Self {
        Self::new(Plan::Live, false)
    }

    pub(super) fn plan(&self, plan: Plan) {
        *self.0.plan.lock().unwrap() = plan;
    }

    /// Ends the current connection, as the death of a process does.
    pub(super) fn kill(&self) {
        self.0.killed.send_replace(self.0.opened.load(Ordering::SeqCst));
    }

    pub(super) fn set_tools(&self, tools: Vec<Value>) {
        *self.0.tools.lock().unwrap() = tools;
        self.0.changed.send_modify(|count| *count += 1);
    }

    pub(super) fn runs(&self, tool: &str) -> u64 {
        self.0.runs.lock().unwrap().get(tool).copied().unwrap_or(0)
    }

    pub(super) fn attempts(&self) -> usize {
        self.0.attempts.lock().unwrap().len()
    }

    /// Returns the times between attempts, in milliseconds.
    pub(super) fn gaps(&self) -> Vec<u128> {
        let attempts = self.0.attempts.lock().unwrap();
        attempts.windows(2).map(|it| (it[1] - it[0]).as_millis()).collect()
    }

    async fn open(
        &self,
        settings: ConnectionSettings,
        is_flapping: bool,
    ) -> Result<Connection, Error> {
        let (stream, peer) = Peer::pair();
        let number = self.0.opened.fetch_add(1, Ordering::SeqCst) + 1;
        tokio::spawn(self.clone().play(peer, number, is_flapping));
        Connection::open(stream, settings.with_versions(Versions::WithHandshake)).await
    }

    async fn play(self, mut peer: Peer, number: u64, is_flapping: bool) {
        peer.greet().await;
        if is_flapping {
            return;
        }
        let mut killed = self.0.killed.subscribe();
        let mut changed = self.0.changed.subscribe();
        loop {
            let message = tokio::select! {
                biased;
                () = async { drop(killed.wait_for(|last| number <= *last).await) } => return,
                _ = changed.changed() => None,
                message = peer.receive() => match message {
                    None => return,
                    message => message,
                },
            };
            let Some(message) = message else {
                let method = "notifications/tools/list_changed";
                peer.send(json!({ "jsonrpc": "2.0", "method": method })).await;
                continue;
            };
            match message["method"].as_str().unwrap() {
                "tools/list" => {
                    let tools = self.0.tools.lock().unwrap().clone();
                    peer.result(&message, json!({ "tools": tools })).await;
                }
                "tools/call" => {
                    let name = message["params"]["name"].as_str().unwrap();
                    *self.0.runs.lock().unwrap().entry(name.to_owned()).or_default() += 1;
                    match name {
                        _ if name.starts_with("die") && self.runs(name) == 1 => return,
                        "hang" => {}
                        _ => peer.result(&message, text(name)).await,
                    }
                }
                "resources/read" => {
                    let uri = &message["params"]["uri"];
                    let contents = json!([{ "uri": uri, "text": "hello" }]);
                    peer.result(&message, json!({ "contents": contents })).await;
                }
                "ping" => peer.result(&message, json!({})).await,
                _ => {}
            }
        }
    }
}

impl Connect for Stage {
    fn connect(&self, settings: ConnectionSettings) -> BoxFuture<'_, Result<Connection, Error>> {
        Box::pin(async move {
            self.0.attempts.lock().unwrap().push(Instant::now());
            let plan = *self.0.plan.lock().unwrap();
            match plan {
                Plan::Live | Plan::Flap => self.open(settings, plan == Plan::Flap).await,
                Plan::Refuse => {
                    Err(TransportError::Unreachable("no server is listening".into()).into())
                }
                Plan::Login => Err(TransportError::Login("run `hardline login`".into()).into()),
                Plan::Hang => std::future::pending().await,
            }
        })
    }

    fn is_remote(&self) -> bool {
        self.0.is_remote
    }

    fn fingerprint(&self) -> Option<String> {
        Some("stage".into())
    }
}

/// Returns a tool definition.
pub(super) fn tool(name: &str) -> Value {
    json!({ "name": name, "inputSchema": { "type": "object" } })
}

/// Creates a manager with these servers.
pub(super) fn manager(servers: &[(&str, &Stage)]) -> Manager {
    let manager = Manager::new(ManagerSettings::default());
    for (name, stage) in servers {
        manager.add(name, Arc::new((*stage).clone())).unwrap();
    }
    manager
}

/// Waits until a server's state satisfies `is`.
pub(super) async fn until(
    manager: &Manager,
    server: &str,
    is: impl Fn(&ServerState) -> bool,
) -> ServerState {
    let mut events = manager.events();
    let wait = async {
        loop {
            let state = manager.status(server).unwrap().state;
            if is(&state) {
                return state;
            }
            while let Some(event) = events.recv().await {
                if let ManagerEvent::State { server: it, .. } = &event
                    && &**it == server
                {
                    break;
                }
                if let ManagerEvent::Missed(_) = event {
                    break;
                }
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(3600), wait).await.expect("it never is")
}
