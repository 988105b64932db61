//! What servers log, for whoever wants to see it.

use hardline_client::connection::Notification;
use hardline_client::manager::{Manager, ManagerEvent};
use hardline_client::{Connection, ServerEvent};
use hardline_wire::excerpt::Excerpt;
use serde_json::Value;

use super::print::name;
use super::progress::Line;
use crate::terminal::complain;

/// How much of a message is shown.
const MAX_BYTES: usize = 2000;

/// Shows what a server logs from now on, as long as it is connected to. The server is asked for it, if it
/// wants to be.
pub(super) async fn show(server: &str, connection: &Connection, line: &Line) {
    let (server, line) = (name(server), line.clone());
    let mut events = connection.events();
    tokio::spawn(async move {
        while let Some(event) = events.recv().await {
            if let ServerEvent::Closed(_) = event {
                return;
            }
            tell(&server, &event, &line);
        }
    });
    if connection.server().capabilities.logging.is_some() && connection.version().has_handshake() {
        let params = serde_json::json!({ "level": "info" });
        // One that says no logs what it likes.
        let _ = connection.request("logging/setLevel", &params).await;
    }
}

/// Shows what all servers of a manager log, at the level that each has by itself.
pub(super) fn show_all(manager: &Manager, line: &Line) {
    let (mut events, line) = (manager.events(), line.clone());
    tokio::spawn(async move {
        while let Some(event) = events.recv().await {
            if let ManagerEvent::Server { server, event } = event {
                tell(&name(&server), &event, &line);
            }
        }
    });
}

/// Shows an event, if it is a message for the log. The server's name is fit for a terminal.
fn tell(server: &str, event: &ServerEvent, line: &Line) {
    if let ServerEvent::Notification(it) = event
        && &*it.method == "notifications/message"
    {
        line.clear();
        complain(&describe(server, it));
    }
}

fn describe(server: &str, notification: &Notification) -> String {
    let params = notification.params.as_ref();
    let params: Value =
        params.and_then(|it| serde_json::from_str(it.get()).ok()).unwrap_or_default();
    let field = |name: &str| params.get(name).and_then(Value::as_str).map(self::name);
    let level = field("level").unwrap_or_else(|| "log".to_owned());
    let logger = field("logger").map(|it| format!(" {it}")).unwrap_or_default();
    let data = match params.get("data") {
        Some(Value::String(text)) => text.clone(),
        Some(data) => data.to_string(),
        None => String::new(),
    };
    format!("[{server}{logger}] {level}: {}", Excerpt::new(data.as_bytes(), MAX_BYTES))
}
