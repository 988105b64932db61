//! Connections with a guard on them.

mod honest;
mod line;
mod messages;
mod process;
mod session;

use std::sync::{Arc, Mutex};

use hardline_client::guard::{GuardEvent, GuardSettings, lines};
use hardline_client::{Connection, ConnectionSettings, Error, Versions};
use hardline_guard::Rule;
use hardline_guard::policy::{Policy, Profile};
use hardline_transport::EndpointSettings;
use hardline_transport::client::LineTransport;
use serde_json::json;

use crate::peer::Peer;

/// The position of the guard.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Place {
    Lines,
    Messages,
}

const BOTH: [Place; 2] = [Place::Lines, Place::Messages];

/// The notes that the observer received.
#[derive(Clone, Default)]
struct Notes(Arc<Mutex<Vec<String>>>);

impl Notes {
    fn observed(&self, policy: Policy) -> GuardSettings {
        let notes = self.clone();
        GuardSettings::new(policy).for_server("peer").with_observer(move |event| {
            let note = match event {
                GuardEvent::Found(found) => {
                    format!("{} {}", found.finding.rule, found.action.name())
                }
                GuardEvent::Noise(line) => format!("noise {}", String::from_utf8_lossy(line)),
                other => format!("{other:?}"),
            };
            notes.0.lock().unwrap().push(note);
        })
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

fn strict() -> Policy {
    Policy::profile(Profile::Strict)
}

/// Creates a guarded stream, and the server at its other end.
fn guarded_stream(guard: &GuardSettings, buffer: usize) -> (Arc<LineTransport>, Peer) {
    let (ours, theirs) = tokio::io::duplex(buffer);
    let (input, output) = tokio::io::split(ours);
    let (input, output) = lines(input, output, guard);
    (Arc::new(LineTransport::new(input, output, EndpointSettings::default())), Peer::new(theirs))
}

/// Opens a guarded connection with a server of 2025-11-25.
async fn greeted(
    place: Place,
    policy: Policy,
    settings: ConnectionSettings,
) -> (Connection, Peer, Notes) {
    let notes = Notes::default();
    let guard = notes.observed(policy);
    let settings = settings.with_versions(Versions::WithHandshake);
    let (stream, mut peer, settings) = match place {
        Place::Lines => {
            let (stream, peer) = guarded_stream(&guard, 1 << 20);
            (stream, peer, settings)
        }
        Place::Messages => {
            let (stream, peer) = Peer::pair();
            (stream, peer, settings.with_guard(guard))
        }
    };
    let opening = tokio::spawn(Connection::open(stream, settings));
    peer.greet().await;
    let connection = opening.await.unwrap().unwrap();
    assert_eq!(notes.take(), [""; 0]);
    (connection, peer, notes)
}

/// Calls the tool `echo` and returns its text.
async fn call(connection: Connection) -> Result<String, Error> {
    let result = connection.call_tool("echo", json!({})).await?;
    Ok(serde_json::to_value(result).unwrap()["content"][0]["text"].as_str().unwrap().to_owned())
}

#[track_caller]
fn assert_blocked<T: std::fmt::Debug>(outcome: &Result<T, Error>, rule: Rule) {
    let error = outcome.as_ref().unwrap_err().rpc().unwrap_or_else(|| panic!("{outcome:?}"));
    assert_eq!(error.code, -32603, "{error:?}");
    assert_eq!(error.data.as_ref().unwrap()["hardline"]["rule"], rule.name(), "{error:?}");
}
