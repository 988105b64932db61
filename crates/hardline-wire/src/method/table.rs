//! The method table.

use super::Sender::{Both, Client, Server};
use super::{Capability, Method, MethodKind, Owner, Sender};
use crate::version::Version::{
    self, V2024_11_05, V2025_03_26, V2025_06_18, V2025_11_25, V2026_07_28,
};

#[rustfmt::skip]
pub(super) static TABLE: &[Method] = &[
    request("completion/complete", Client).until(V2024_11_05),
    request("completion/complete", Client).needs(Owner::Server, "completions").since(V2025_03_26),
    request("elicitation/create", Server).needs(Owner::Client, "elicitation").since(V2025_06_18).until(V2025_11_25),
    request("initialize", Client).until(V2025_11_25),
    request("logging/setLevel", Client).needs(Owner::Server, "logging").until(V2025_11_25),
    request("ping", Both).until(V2025_11_25),
    request("prompts/get", Client).needs(Owner::Server, "prompts"),
    request("prompts/list", Client).needs(Owner::Server, "prompts"),
    request("resources/list", Client).needs(Owner::Server, "resources"),
    request("resources/read", Client).needs(Owner::Server, "resources"),
    request("resources/subscribe", Client).needs(Owner::Server, "resources.subscribe").until(V2025_11_25),
    request("resources/templates/list", Client).needs(Owner::Server, "resources"),
    request("resources/unsubscribe", Client).needs(Owner::Server, "resources.subscribe").until(V2025_11_25),
    request("roots/list", Server).needs(Owner::Client, "roots").until(V2025_11_25),
    request("sampling/createMessage", Server).needs(Owner::Client, "sampling").until(V2025_11_25),
    request("server/discover", Client).since(V2026_07_28),
    request("subscriptions/listen", Client).since(V2026_07_28),
    request("tasks/cancel", Both).needs(Owner::Receiver, "tasks.cancel").since(V2025_11_25).until(V2025_11_25),
    request("tasks/get", Both).needs(Owner::Receiver, "tasks").since(V2025_11_25).until(V2025_11_25),
    request("tasks/list", Both).needs(Owner::Receiver, "tasks.list").since(V2025_11_25).until(V2025_11_25),
    request("tasks/result", Both).needs(Owner::Receiver, "tasks").since(V2025_11_25).until(V2025_11_25),
    request("tools/call", Client).needs(Owner::Server, "tools"),
    request("tools/list", Client).needs(Owner::Server, "tools"),
    notification("notifications/cancelled", Both),
    notification("notifications/elicitation/complete", Server).needs(Owner::Client, "elicitation.url").since(V2025_11_25).until(V2025_11_25),
    notification("notifications/initialized", Client).until(V2025_11_25),
    notification("notifications/message", Server).needs(Owner::Server, "logging"),
    notification("notifications/progress", Both).until(V2025_11_25),
    notification("notifications/progress", Server).since(V2026_07_28),
    notification("notifications/prompts/list_changed", Server).needs(Owner::Server, "prompts.listChanged"),
    notification("notifications/resources/list_changed", Server).needs(Owner::Server, "resources.listChanged"),
    notification("notifications/resources/updated", Server).needs(Owner::Server, "resources.subscribe"),
    notification("notifications/roots/list_changed", Client).needs(Owner::Client, "roots.listChanged").until(V2025_11_25),
    notification("notifications/subscriptions/acknowledged", Server).since(V2026_07_28),
    notification("notifications/tasks/status", Both).needs(Owner::Sender, "tasks").since(V2025_11_25).until(V2025_11_25),
    notification("notifications/tools/list_changed", Server).needs(Owner::Server, "tools.listChanged"),
    embedded("sampling/createMessage").needs(Owner::Client, "sampling"),
    embedded("elicitation/create").needs(Owner::Client, "elicitation"),
    embedded("roots/list").needs(Owner::Client, "roots"),
    request("tasks/get", Client).since(V2026_07_28).of_extension(TASKS),
    request("tasks/update", Client).since(V2026_07_28).of_extension(TASKS),
    request("tasks/cancel", Client).since(V2026_07_28).of_extension(TASKS),
    notification("notifications/tasks", Server).since(V2026_07_28).of_extension(TASKS),
];

const fn request(name: &'static str, sender: Sender) -> Method {
    let (since, until) = (V2024_11_05, None);
    let (capability, extension) = (None, None);
    Method { name, kind: MethodKind::Request, sender, capability, extension, since, until }
}

const fn notification(name: &'static str, sender: Sender) -> Method {
    Method { kind: MethodKind::Notification, ..request(name, sender) }
}

const fn embedded(name: &'static str) -> Method {
    let method = request(name, Server).since(V2026_07_28);
    Method { kind: MethodKind::EmbeddedRequest, ..method }
}

const TASKS: &str = "io.modelcontextprotocol/tasks";

impl Method {
    const fn until(self, last: Version) -> Self {
        Self { until: Some(last), ..self }
    }

    const fn since(self, since: Version) -> Self {
        Self { since, ..self }
    }

    const fn needs(self, owner: Owner, path: &'static str) -> Self {
        Self { capability: Some(Capability { owner, path }), ..self }
    }

    const fn of_extension(self, name: &'static str) -> Self {
        Self { extension: Some(name), ..self }
    }
}
