//! Shows the log messages of servers, for `--verbose`.

use std::collections::HashMap;
use std::sync::Arc;

use hardline_client::connection::ServerNotification;
use hardline_client::manager::{Manager, ManagerEvent};
use hardline_client::{Connection, ServerEvent};
use hardline_transport::Secrets;
use hardline_wire::excerpt::Excerpt;

use super::print::name;
use super::progress::Line;
use super::server::Server;
use super::tree::Tree;
use crate::terminal::complain;

/// Limit on a shown message, in bytes.
const MAX_BYTES: usize = 2000;

/// Shows the log messages of a server while it is connected. Asks the server for them, if it
/// supports that.
pub(super) async fn show(server: &Server, connection: &Connection, line: &Line) {
    let (line, secrets) = (line.clone(), server.secrets());
    let server = name(&server.name);
    let mut events = connection.events();
    tokio::spawn(async move {
        while let Some(event) = events.recv().await {
            if let ServerEvent::Closed(_) = event {
                return;
            }
            tell(&server, &event, &line, &secrets);
        }
    });
    if connection.server().capabilities.logging.is_some() && connection.version().has_handshake() {
        let params = serde_json::json!({ "level": "info" });
        // A server that refuses keeps its own level.
        let _ = connection.request("logging/setLevel", &params).await;
    }
}

/// Shows the log messages of all servers of a manager, at each server's own level.
pub(super) fn show_all(manager: &Manager, servers: &[Server], line: &Line) {
    let (mut events, line) = (manager.events(), line.clone());
    let secrets: HashMap<Arc<str>, Secrets> =
        servers.iter().map(|it| (Arc::clone(&it.name), it.secrets())).collect();
    tokio::spawn(async move {
        while let Some(event) = events.recv().await {
            if let ManagerEvent::Server { server, event } = event {
                let secrets = secrets.get(&server).cloned().unwrap_or_default();
                tell(&name(&server), &event, &line, &secrets);
            }
        }
    });
}

/// Shows an event if it is a log message, without these secrets. The server's name is already
/// escaped.
fn tell(server: &str, event: &ServerEvent, line: &Line, secrets: &Secrets) {
    if let ServerEvent::Notification(it) = event
        && &*it.method == "notifications/message"
    {
        line.clear();
        complain(&secrets.hide(&it.hide(&describe(server, it))));
    }
}

fn describe(server: &str, notification: &ServerNotification) -> String {
    let params = notification.params.as_ref().and_then(|it| Tree::read(it.get()));
    let member = |name: &str| params.as_ref()?.get(name);
    let field = |name: &str| member(name).and_then(Tree::as_str).map(self::name);
    let level = field("level").unwrap_or_else(|| "log".to_owned());
    let logger = field("logger").map(|it| format!(" {it}")).unwrap_or_default();
    let data = member("data");
    let data = data.map(|it| it.as_str().map_or_else(|| it.flat(), str::to_owned));
    let data = data.unwrap_or_default();
    format!("[{server}{logger}] {level}: {}", Excerpt::new(data.as_bytes(), MAX_BYTES))
}
