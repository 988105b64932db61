//! Methods of the protocol: their senders, versions and required capabilities.
//!
//! The table has the methods of the specification and its tasks extension. Other parties may define
//! more: a method that is not in the table is unknown, not forbidden. A test compares the table with
//! a copy of the specification's facts.

mod table;

use crate::version::Version;
use table::TABLE;

/// A method in a range of versions with the same rules.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Method {
    /// Name on the wire.
    pub name: &'static str,
    /// Form in which it is sent.
    pub kind: MethodKind,
    /// Side that may send it.
    pub sender: Sender,
    /// Capability that must be declared before it may be sent.
    pub capability: Option<Capability>,
    /// Extension that defines it; `None` for the core protocol.
    pub extension: Option<&'static str>,
    /// First version that defines the method.
    since: Version,
    /// Last version that defines it; `None` while no version has removed it.
    until: Option<Version>,
}

/// Form in which a method is sent.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum MethodKind {
    /// A message that needs an answer.
    Request,
    /// A message that needs no answer.
    Notification,
    /// Part of the `inputRequests` of a result; the answer is sent in the next call.
    EmbeddedRequest,
}

/// Side that may send a method.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "a connection has two ends")]
pub enum Sender {
    /// The client only.
    Client,
    /// The server only.
    Server,
    /// Both sides.
    Both,
}

/// A capability that one side declares.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Capability {
    /// Side that declares it.
    pub owner: Owner,
    /// Path among that side's capabilities: `resources.subscribe` is the member `subscribe` of the
    /// member `resources`.
    pub path: &'static str,
}

/// Side that declares a capability.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "a connection has two ends, a message as well")]
pub enum Owner {
    /// The client.
    Client,
    /// The server.
    Server,
    /// The sender of the message.
    Sender,
    /// The receiver of the message.
    Receiver,
}

/// Returns the message `name` as `version` defines it.
pub fn find(name: &str, version: Version) -> Option<&'static Method> {
    // Since 2026-07-28, some requests exist only inside results.
    named(name).find(|it| it.is_in(version) && it.kind != MethodKind::EmbeddedRequest)
}

/// Returns the request `name` as results of `version` embed it.
pub fn find_embedded(name: &str, version: Version) -> Option<&'static Method> {
    named(name).find(|it| it.is_in(version) && it.kind == MethodKind::EmbeddedRequest)
}

/// Returns true if any version defines `name`.
pub fn is_known(name: &str) -> bool {
    named(name).next().is_some()
}

/// Returns the entries of the table with this name: one for each range of versions.
pub fn named(name: &str) -> impl Iterator<Item = &'static Method> {
    // Every message looks its method up, and most names of one length end with different letters.
    let is_alike =
        move |it: &str| it.len() == name.len() && it.as_bytes().last() == name.as_bytes().last();
    TABLE.iter().filter(move |it| is_alike(it.name) && it.name == name)
}

/// Returns all entries of the table.
pub fn all() -> impl Iterator<Item = &'static Method> {
    TABLE.iter()
}

impl Method {
    /// Returns the first version that has the method in this form.
    pub fn first_version(&self) -> Version {
        self.since
    }

    /// Returns true if `version` has the method in this form.
    pub fn is_in(&self, version: Version) -> bool {
        self.since <= version && self.until.is_none_or(|last| version <= last)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Returns our table as a set of lines, one for each method and version.
    fn ours() -> BTreeSet<String> {
        let line = |method: &Method, version| {
            let kind = match method.kind {
                MethodKind::Request => "request",
                MethodKind::Notification => "notification",
                MethodKind::EmbeddedRequest => "embedded_request",
            };
            let direction = match method.sender {
                Sender::Client => "client_to_server",
                Sender::Server => "server_to_client",
                Sender::Both => "both",
            };
            let capability = method.capability.map(|Capability { owner, path }| {
                format!("{}.{path}", format!("{owner:?}").to_lowercase())
            });
            format!(
                "{version} {} {kind} {direction} {capability:?} {:?}",
                method.name, method.extension
            )
        };
        let versions = |method: &'static Method| {
            Version::ALL.into_iter().filter(|it| method.is_in(*it)).map(move |it| line(method, it))
        };
        all().flat_map(versions).collect()
    }

    fn theirs() -> BTreeSet<String> {
        let rows: serde_json::Value =
            serde_json::from_str(include_str!("../../data/methods.json")).unwrap();
        let lines = |row: &serde_json::Value| {
            let text = |key: &str| row[key].as_str().map(str::to_owned);
            let (name, kind, direction) =
                (text("method").unwrap(), text("kind").unwrap(), text("direction").unwrap());
            let (capability, extension) = (text("capability"), text("extension"));
            let version = |key: &str| row[key].as_str().map(|it| it.parse::<Version>().unwrap());
            let (since, until) = (version("since").unwrap(), version("until"));
            let is_in = move |it: &Version| since <= *it && until.is_none_or(|until| *it <= until);
            Version::ALL.into_iter().filter(is_in).map(move |version| {
                format!("{version} {name} {kind} {direction} {capability:?} {extension:?}")
            })
        };
        rows.as_array().unwrap().iter().flat_map(lines).collect()
    }

    #[test]
    fn the_table_states_the_facts() {
        assert_eq!(ours(), theirs());
    }

    #[test]
    fn no_version_defines_a_message_twice() {
        for version in Version::ALL {
            let messages: Vec<_> = all()
                .filter(|it| it.is_in(version) && it.kind != MethodKind::EmbeddedRequest)
                .map(|it| it.name)
                .collect();
            let distinct: BTreeSet<_> = messages.iter().collect();
            assert_eq!(messages.len(), distinct.len(), "{version}");
        }
    }

    #[test]
    fn finds_a_method_as_its_version_has_it() {
        let sampling = "sampling/createMessage";
        assert_eq!(find(sampling, Version::V2025_11_25).unwrap().sender, Sender::Server);
        assert_eq!(find(sampling, Version::V2026_07_28), None);
        assert!(find_embedded(sampling, Version::V2026_07_28).is_some());
        assert_eq!(find("tasks/get", Version::V2025_11_25).unwrap().extension, None);
        assert!(find("tasks/get", Version::V2026_07_28).unwrap().extension.is_some());
        assert!(is_known("ping") && !is_known("eth_getBalance"));
    }
}
