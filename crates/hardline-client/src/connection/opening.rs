//! Opening a session: detects the server's [`Era`] and performs the handshake, if that era has one.
//!
//! The client probes with `server/discover`. A result decides, and so does the one error code that only
//! stateless servers use. Any other error, or silence, leads to `initialize`, so no decision depends on a
//! single error code. A server that is slow rather than old may answer both. Then its answer to
//! `initialize` counts, because some servers follow the last request that they received.

use std::sync::{Arc, PoisonError};

use hardline_transport::client::{
    Answer, AnswerOutcome, OneWayMessage, OutgoingRequest, TransportError,
};
use hardline_wire::encode::code;
use hardline_wire::excerpt::Excerpt;
use hardline_wire::version::Version;
use rmcp::model::{Implementation, ServerCapabilities};
use serde::Deserialize;

use super::message::{self, Params};
use super::session::{NegotiatedSession, request_meta};
use super::{Inner, ServerInfo, call, lenient, tools};
use crate::settings::Era;
use crate::{Error, Versions};

/// The newest version with a handshake.
const NEWEST_WITH_HANDSHAKE: Version = Version::LATEST_WITH_HANDSHAKE;
/// The newest version overall.
const NEWEST: Version = Version::LATEST;

/// The outcome of probing a server.
enum Discovery {
    /// The server speaks a version without a handshake.
    Stateless(Box<ServerInfo>),
    /// The client must send `initialize` with this version.
    Handshake(Version),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Discovered {
    supported_versions: Vec<String>,
    #[serde(default)]
    capabilities: ServerCapabilities,
    #[serde(default, deserialize_with = "lenient::ok_or_none")]
    instructions: Option<String>,
    #[serde(rename = "_meta", default)]
    meta: Option<serde_json::Map<String, serde_json::Value>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Initialized {
    protocol_version: String,
    #[serde(default)]
    capabilities: ServerCapabilities,
    #[serde(default, deserialize_with = "lenient::ok_or_none")]
    server_info: Option<Implementation>,
    #[serde(default, deserialize_with = "lenient::ok_or_none")]
    instructions: Option<String>,
}

#[derive(Deserialize)]
struct Supported {
    supported: Vec<String>,
}

impl Inner {
    /// Opens the session. Remembers the server's era under `name`.
    pub(super) async fn open(self: &Arc<Self>, name: Option<&str>) -> Result<(), Error> {
        let remembered = name.and_then(|name| self.settings.eras.find(name));
        let info = match self.settings.versions {
            // No probe if the settings leave no choice: it would cost a round trip, and some servers exit
            // on it.
            Versions::Only(version) if version.has_handshake() => self.initialize(version).await?,
            Versions::WithHandshake => self.initialize(NEWEST_WITH_HANDSHAKE).await?,
            Versions::Any if remembered == Some(Era::Handshake) => {
                match self.initialize(NEWEST_WITH_HANDSHAKE).await {
                    // The server may have been upgraded since its era was remembered.
                    Err(Error::Rpc(_) | Error::Transport(TransportError::Http(_))) => {
                        self.detect().await?
                    }
                    outcome => outcome?,
                }
            }
            Versions::Any => self.detect().await?,
            Versions::Only(version) => match self.discover(version).await? {
                Ok(answer) => match self.read_discovery(&answer, version)? {
                    Discovery::Stateless(info) if info.version == version => *info,
                    _ => return Err(only(version)),
                },
                Err(error) => return Err(error.into()),
            },
        };
        if let Some(name) = name {
            // Only a success is remembered; a failure may have had any reason.
            let stateless = !info.version.has_handshake();
            let era = if stateless { Era::Stateless } else { Era::Handshake };
            self.settings.eras.remember(name, era);
        }
        self.establish(info).await
    }

    /// Tells the transport and the server the agreed version, and makes the session current.
    pub(super) async fn establish(&self, info: ServerInfo) -> Result<(), Error> {
        let version = info.version;
        // HTTP must send the version header with everything after the handshake.
        self.transport.agree(version).await;
        if version.has_handshake() {
            let text = message::notification("notifications/initialized", None, "");
            self.transport.notify(OneWayMessage::notification(text)).await?;
        }
        let mut session = self.session.write().unwrap_or_else(PoisonError::into_inner);
        *session = Arc::new(NegotiatedSession::new(session.generation + 1, info, &self.settings));
        Ok(())
    }

    /// Probes the server's era, and performs the handshake if it needs one.
    async fn detect(self: &Arc<Self>) -> Result<ServerInfo, Error> {
        let probing = self.discover(NEWEST);
        tokio::pin!(probing);
        let probed = tokio::time::timeout(self.settings.probe, &mut probing).await;
        let Ok(probed) = probed else {
            // The server is slow, or old and silent. Both requests are in flight now; `initialize` decides.
            let greeting = self.initialize(NEWEST_WITH_HANDSHAKE);
            tokio::pin!(greeting);
            let mut answer = None;
            let failure = loop {
                tokio::select! {
                    // A late answer to the probe is recorded first, in case `initialize` fails at the same
                    // moment.
                    biased;
                    probed = &mut probing, if answer.is_none() => answer = Some(probed),
                    greeted = &mut greeting => match greeted {
                        Ok(info) => return Ok(info),
                        Err(error) => match refused_by_stateless(&error) {
                            Some(version) => return Ok(bare_info(version)),
                            None => break error,
                        },
                    },
                }
            };
            let probed = answer.and_then(|it| self.read_discovery(&it.ok()?.ok()?, NEWEST).ok());
            return match probed {
                Some(Discovery::Stateless(info)) => Ok(*info),
                _ => Err(failure),
            };
        };
        let discovery = match probed? {
            Ok(answer) => self.read_discovery(&answer, NEWEST)?,
            // If the server demands a login or is unreachable, `initialize` would fail in the same way.
            Err(error) if is_final(&error) => return Err(error.into()),
            Err(_) => Discovery::Handshake(NEWEST_WITH_HANDSHAKE),
        };
        match discovery {
            Discovery::Stateless(info) => Ok(*info),
            Discovery::Handshake(version) => {
                let outcome = self.initialize(version).await;
                let stateless = outcome.as_ref().err().and_then(refused_by_stateless);
                stateless.map_or(outcome, |version| Ok(bare_info(version)))
            }
        }
    }

    /// Sends `server/discover` in the format of `version`. If the server rejects that version, asks a second time
    /// in the newest one that it offers, which may be the same: some servers reject the first request of a
    /// connection and name the very version that it used.
    async fn discover(&self, version: Version) -> Result<Result<Answer, TransportError>, Error> {
        let answer = self.discover_once(version).await?;
        let offered = answer.as_ref().ok().and_then(|answer| match answer.outcome() {
            AnswerOutcome::Error { code: code::UNSUPPORTED_PROTOCOL_VERSION, data, .. } => {
                newest_stateless(known(&supported(data)), version)
            }
            _ => None,
        });
        let Some(offered) = offered else { return Ok(answer) };
        let again = self.discover_once(offered).await?;
        let is_result = |it: &Answer| matches!(it.outcome(), AnswerOutcome::Result(_));
        Ok(if again.as_ref().is_ok_and(is_result) { again } else { answer })
    }

    async fn discover_once(
        &self,
        version: Version,
    ) -> Result<Result<Answer, TransportError>, Error> {
        let id = self.new_id();
        let meta = request_meta(version, &self.settings);
        let text = message::request(id, "server/discover", &Params::new(&())?, &meta);
        let headers = tools::standard(&text);
        let request = OutgoingRequest::new(id, "server/discover", text).with_headers(headers);
        Ok(self.transport.request(request).await)
    }

    /// Interprets the answer to `server/discover`.
    fn read_discovery(&self, answer: &Answer, version: Version) -> Result<Discovery, Error> {
        match answer.outcome() {
            AnswerOutcome::Result(result) => {
                // A result of another shape is from a server that answers unknown methods somehow.
                let Ok(found) = lenient::read::<Discovered>("server/discover", result) else {
                    return Ok(Discovery::Handshake(NEWEST_WITH_HANDSHAKE));
                };
                self.choose(&found.supported_versions, version, |version| ServerInfo {
                    version,
                    implementation: found.implementation(),
                    capabilities: found.capabilities.clone(),
                    instructions: found.instructions.clone(),
                })
            }
            AnswerOutcome::Error { code: code::UNSUPPORTED_PROTOCOL_VERSION, data, .. } => {
                self.choose(&supported(data), version, bare_info)
            }
            AnswerOutcome::Error { .. } => Ok(Discovery::Handshake(NEWEST_WITH_HANDSHAKE)),
        }
    }

    /// Chooses a version from the list that a server supports: the newest without a handshake up to `wanted`, or
    /// else the newest with one.
    fn choose(
        &self,
        supported: &[String],
        wanted: Version,
        info: impl FnOnce(Version) -> ServerInfo,
    ) -> Result<Discovery, Error> {
        // A stateless version is preferred: it needs no session that could be lost.
        if let Some(version) = newest_stateless(known(supported), wanted) {
            return Ok(Discovery::Stateless(Box::new(info(version))));
        }
        match known(supported).filter(|it| it.has_handshake()).max() {
            Some(version) => Ok(Discovery::Handshake(version)),
            None => {
                let list = supported.join(", ");
                Err(Error::Version(format!(
                    "the server speaks no version of the protocol that this client knows (it says: {})",
                    Excerpt::new(list.as_bytes(), 200)
                )))
            }
        }
    }

    /// Sends `initialize` and checks the version that the server chose.
    pub(super) async fn initialize(&self, version: Version) -> Result<ServerInfo, Error> {
        let params = Params::new(&serde_json::json!({
            "protocolVersion": version.as_str(),
            "capabilities": self.settings.capabilities,
            "clientInfo": self.settings.info,
        }))?;
        let id = self.new_id();
        let text = message::request(id, "initialize", &params, "");
        let answer = self.transport.request(OutgoingRequest::new(id, "initialize", text)).await?;
        let result = call::result("initialize", &answer)?;
        let initialized: Initialized = call::parse("initialize", result)?;
        // The server may answer with a version that it prefers; only versions with a handshake are valid
        // here.
        let agreed =
            initialized.protocol_version.parse::<Version>().ok().filter(|it| it.has_handshake());
        let Some(agreed) = agreed else {
            let offered = Excerpt::new(initialized.protocol_version.as_bytes(), 40);
            return Err(Error::Version(format!(
                "the server wants to speak version {offered} of the protocol, which this client does not \
                 know with initialize"
            )));
        };
        // The protocol lets a server choose, but the settings allow just one version.
        if let Versions::Only(only_this) = self.settings.versions
            && agreed != only_this
        {
            return Err(only(only_this));
        }
        Ok(ServerInfo {
            version: agreed,
            capabilities: initialized.capabilities,
            implementation: initialized.server_info,
            instructions: initialized.instructions,
        })
    }
}

impl Discovered {
    fn implementation(&self) -> Option<Implementation> {
        let info = self.meta.as_ref()?.get("io.modelcontextprotocol/serverInfo")?;
        serde_json::from_value(info.clone()).ok()
    }
}

/// Returns the versions that an "unsupported protocol version" error lists.
fn supported(data: Option<&str>) -> Vec<String> {
    let named = data.and_then(|data| serde_json::from_str::<Supported>(data).ok());
    named.map(|it| it.supported).unwrap_or_default()
}

/// Returns those of the listed versions that this client knows.
fn known(listed: &[String]) -> impl Iterator<Item = Version> {
    listed.iter().filter_map(|it| it.parse().ok())
}

/// Returns true if another kind of request would fail in the same way.
fn is_final(error: &TransportError) -> bool {
    match error {
        TransportError::Closed(_) | TransportError::Login(_) | TransportError::Unreachable(_) => {
            true
        }
        TransportError::Http(error) => matches!(error.status, 401 | 403 | 407 | 429),
        _ => false,
    }
}

/// Returns the version of a server that refuses `initialize` as only a server without a handshake does.
fn refused_by_stateless(error: &Error) -> Option<Version> {
    let Error::Rpc(error) = error else { return None };
    let supported = error.data.as_ref().and_then(|data| data.get("supported")?.as_array());
    let texts = supported.into_iter().flatten().filter_map(serde_json::Value::as_str);
    let listed = newest_stateless(texts.filter_map(|it| it.parse().ok()), NEWEST);
    // A server that lists no version knows the first one at least.
    let first =
        || (error.code == code::METHOD_NOT_FOUND).then_some(Version::FIRST_WITHOUT_HANDSHAKE);
    listed.or_else(first)
}

/// Returns the newest version without a handshake, up to `latest`.
fn newest_stateless(known: impl Iterator<Item = Version>, latest: Version) -> Option<Version> {
    known.filter(|it| !it.has_handshake() && *it <= latest).max()
}

/// Returns server info of which only the version is known.
fn bare_info(version: Version) -> ServerInfo {
    ServerInfo {
        version,
        capabilities: ServerCapabilities::default(),
        implementation: None,
        instructions: None,
    }
}

/// Returns the error for a server that does not speak the only version that the settings allow.
fn only(version: Version) -> Error {
    Error::Version(format!(
        "the server does not speak version {} of the protocol",
        version.as_str()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chooses_the_newest_version_without_a_handshake_that_is_asked_for() {
        let check = |latest, expected| {
            assert_eq!(newest_stateless(Version::ALL.into_iter(), latest), expected, "{latest}");
        };
        check(Version::LATEST, Some(Version::LATEST));
        check(Version::V2026_07_28, Some(Version::V2026_07_28));
        check(Version::LATEST_WITH_HANDSHAKE, None);
        assert_eq!(newest_stateless([Version::V2025_11_25].into_iter(), Version::LATEST), None);
    }
}
