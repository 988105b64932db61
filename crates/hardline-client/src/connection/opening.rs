//! How a session begins: which era the server is of, and the greeting of that era.
//!
//! A server is asked with `server/discover`. Its answer settles it; so does the one error that only a
//! server of the new era gives. Any other error, or silence, means `initialize`: no decision hangs on a
//! single error code. A server that is slow rather than old may answer both, and then what it says to
//! `initialize` counts, as that is what it took last.

use std::sync::{Arc, PoisonError};

use hardline_transport::client::{Answer, Notice, Outcome, Request, TransportError};
use hardline_wire::encode::code;
use hardline_wire::excerpt::Excerpt;
use hardline_wire::version::Version;
use rmcp::model::{Implementation, ServerCapabilities};
use serde::Deserialize;

use super::message::{self, Params};
use super::session::{Session, request_meta};
use super::{Inner, ServerInfo, call, lenient, tools};
use crate::settings::Era;
use crate::{Error, RpcError, Versions};

/// The newest version with a handshake.
const NEWEST_WITH_HANDSHAKE: Version = Version::V2025_11_25;
/// The newest version without.
const NEWEST: Version = Version::V2026_07_28;

/// What asking a server came to.
enum Finding {
    /// It speaks a version without a handshake.
    Stateless(Box<ServerInfo>),
    /// It is greeted with `initialize` and this version.
    Handshake(Version),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Discovered {
    supported_versions: Vec<String>,
    #[serde(default)]
    capabilities: ServerCapabilities,
    #[serde(default, deserialize_with = "lenient::if_it_fits")]
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
    #[serde(default, deserialize_with = "lenient::if_it_fits")]
    server_info: Option<Implementation>,
    #[serde(default, deserialize_with = "lenient::if_it_fits")]
    instructions: Option<String>,
}

#[derive(Deserialize)]
struct Supported {
    supported: Vec<String>,
}

impl Inner {
    /// Opens the session. `name` is what the server's era is remembered by.
    pub(super) async fn open(self: &Arc<Self>, name: Option<&str>) -> Result<(), Error> {
        let remembered = name.and_then(|name| self.settings.eras.find(name));
        let info = match self.settings.versions {
            Versions::Only(version) if version.has_handshake() => self.greet(version).await?,
            Versions::WithHandshake => self.greet(NEWEST_WITH_HANDSHAKE).await?,
            Versions::Any if remembered == Some(Era::Handshake) => {
                match self.greet(NEWEST_WITH_HANDSHAKE).await {
                    // What was remembered may not be true any more.
                    Err(Error::Rpc(_) | Error::Transport(TransportError::Http(_))) => {
                        self.detect().await?
                    }
                    outcome => outcome?,
                }
            }
            Versions::Any => self.detect().await?,
            Versions::Only(version) => match self.ask(version).await? {
                Ok(answer) => match self.judge(&answer, version)? {
                    Finding::Stateless(info) => *info,
                    Finding::Handshake(_) => return Err(only(version)),
                },
                Err(error) => return Err(error.into()),
            },
        };
        if let Some(name) = name {
            let stateless = !info.version.has_handshake();
            let era = if stateless { Era::Stateless } else { Era::Handshake };
            self.settings.eras.remember(name, era);
        }
        self.settle(info).await
    }

    /// Tells the transport and the server what was agreed, and makes it the session.
    pub(super) async fn settle(&self, info: ServerInfo) -> Result<(), Error> {
        let version = info.version;
        self.transport.agree(version).await;
        if version.has_handshake() {
            let line = message::notification("notifications/initialized", None, "");
            self.transport.notify(Notice::notification(line)).await?;
        }
        let mut session = self.session.write().unwrap_or_else(PoisonError::into_inner);
        *session = Arc::new(Session::new(session.generation + 1, info, &self.settings));
        Ok(())
    }

    /// Finds out which era the server is of, and greets it.
    async fn detect(self: &Arc<Self>) -> Result<ServerInfo, Error> {
        let asking = self.ask(NEWEST);
        tokio::pin!(asking);
        let asked = tokio::time::timeout(self.settings.probe, &mut asking).await;
        let Ok(asked) = asked else {
            // Slow, or old and silent. Both are under way now; the greeting is what counts.
            let greeting = self.greet(NEWEST_WITH_HANDSHAKE);
            tokio::pin!(greeting);
            let mut answer = None;
            let refused = loop {
                tokio::select! {
                    biased;
                    asked = &mut asking, if answer.is_none() => answer = Some(asked),
                    greeted = &mut greeting => match greeted {
                        Ok(info) => return Ok(info),
                        Err(Error::Rpc(error)) if is_too_new(&error) => return Ok(unknown(NEWEST)),
                        Err(error) => break error,
                    },
                }
            };
            let asked = answer.and_then(|it| self.judge(&it.ok()?.ok()?, NEWEST).ok());
            return match asked {
                Some(Finding::Stateless(info)) => Ok(*info),
                _ => Err(refused),
            };
        };
        let finding = match asked? {
            Ok(answer) => self.judge(&answer, NEWEST)?,
            // Whoever must log in, or cannot be reached, need not be asked in another way.
            Err(error) if is_final(&error) => return Err(error.into()),
            Err(_) => Finding::Handshake(NEWEST_WITH_HANDSHAKE),
        };
        match finding {
            Finding::Stateless(info) => Ok(*info),
            Finding::Handshake(version) => match self.greet(version).await {
                Err(Error::Rpc(error)) if is_too_new(&error) => Ok(unknown(NEWEST)),
                outcome => outcome,
            },
        }
    }

    /// Asks which versions the server speaks, in the way of `version`, once more if it refuses to say
    /// and yet names that version.
    async fn ask(&self, version: Version) -> Result<Result<Answer, TransportError>, Error> {
        let asked = self.ask_once(version).await?;
        let is_offered = asked.as_ref().is_ok_and(|answer| match answer.outcome() {
            Outcome::Error { code: code::UNSUPPORTED_PROTOCOL_VERSION, data, .. } => {
                supported(data).iter().any(|it| it == version.as_str())
            }
            _ => false,
        });
        if !is_offered {
            return Ok(asked);
        }
        let again = self.ask_once(version).await?;
        let is_told = |it: &Answer| matches!(it.outcome(), Outcome::Result(_));
        Ok(if again.as_ref().is_ok_and(is_told) { again } else { asked })
    }

    async fn ask_once(&self, version: Version) -> Result<Result<Answer, TransportError>, Error> {
        let id = self.new_id();
        let meta = request_meta(version, &self.settings);
        let line = message::request(id, "server/discover", &Params::new(&())?, &meta);
        let headers = tools::standard(&line);
        let request = Request::new(id, "server/discover", line).with_headers(headers);
        Ok(self.transport.request(request).await)
    }

    /// Reads the answer to `server/discover`.
    fn judge(&self, answer: &Answer, version: Version) -> Result<Finding, Error> {
        match answer.outcome() {
            Outcome::Result(result) => {
                let Ok(found) = lenient::read::<Discovered>("server/discover", result) else {
                    return Ok(Finding::Handshake(NEWEST_WITH_HANDSHAKE));
                };
                self.choose(&found.supported_versions, version, |version| ServerInfo {
                    version,
                    implementation: found.implementation(),
                    capabilities: found.capabilities.clone(),
                    instructions: found.instructions.clone(),
                })
            }
            Outcome::Error { code: code::UNSUPPORTED_PROTOCOL_VERSION, data, .. } => {
                self.choose(&supported(data), version, unknown)
            }
            Outcome::Error { .. } => Ok(Finding::Handshake(NEWEST_WITH_HANDSHAKE)),
        }
    }

    /// Picks the newest version of those that a server says it speaks.
    fn choose(
        &self,
        supported: &[String],
        wanted: Version,
        info: impl FnOnce(Version) -> ServerInfo,
    ) -> Result<Finding, Error> {
        let known = || supported.iter().filter_map(|it| it.parse::<Version>().ok());
        if known().any(|it| it == wanted) {
            return Ok(Finding::Stateless(Box::new(info(wanted))));
        }
        match known().filter(|it| it.has_handshake()).max() {
            Some(version) => Ok(Finding::Handshake(version)),
            None => {
                let list = supported.join(", ");
                Err(Error::Version(format!(
                    "the server speaks no version of the protocol that this client knows (it says: {})",
                    Excerpt::new(list.as_bytes(), 200)
                )))
            }
        }
    }

    /// Opens a session with `initialize`.
    pub(super) async fn greet(&self, version: Version) -> Result<ServerInfo, Error> {
        let params = Params::new(&serde_json::json!({
            "protocolVersion": version.as_str(),
            "capabilities": self.settings.capabilities,
            "clientInfo": self.settings.info,
        }))?;
        let id = self.new_id();
        let line = message::request(id, "initialize", &params, "");
        let answer = self.transport.request(Request::new(id, "initialize", line)).await?;
        let result = call::result("initialize", &answer)?;
        let told: Initialized = call::parse("initialize", result)?;
        let agreed = told.protocol_version.parse::<Version>().ok().filter(|it| it.has_handshake());
        let Some(agreed) = agreed else {
            let told = Excerpt::new(told.protocol_version.as_bytes(), 40);
            return Err(Error::Version(format!(
                "the server wants to speak version {told} of the protocol, which this client does not \
                 know with initialize"
            )));
        };
        if let Versions::Only(only_this) = self.settings.versions
            && agreed != only_this
        {
            return Err(only(only_this));
        }
        Ok(ServerInfo {
            version: agreed,
            capabilities: told.capabilities,
            implementation: told.server_info,
            instructions: told.instructions,
        })
    }
}

impl Discovered {
    fn implementation(&self) -> Option<Implementation> {
        let info = self.meta.as_ref()?.get("io.modelcontextprotocol/serverInfo")?;
        serde_json::from_value(info.clone()).ok()
    }
}

/// The versions that a refusal names.
fn supported(data: Option<&str>) -> Vec<String> {
    let named = data.and_then(|data| serde_json::from_str::<Supported>(data).ok());
    named.map(|it| it.supported).unwrap_or_default()
}

/// Whether asking in another way would end the same.
fn is_final(error: &TransportError) -> bool {
    match error {
        TransportError::Closed(_) | TransportError::Login(_) | TransportError::Unreachable(_) => {
            true
        }
        TransportError::Http(error) => matches!(error.status, 401 | 403 | 407 | 429),
        _ => false,
    }
}

/// Whether a server that does not tell its versions refuses `initialize` as one that has none.
fn is_too_new(error: &RpcError) -> bool {
    let supported = error.data.as_ref().and_then(|data| data.get("supported")?.as_array());
    let knows_newest = supported.is_some_and(|it| it.iter().any(|it| it == NEWEST.as_str()));
    error.code == code::METHOD_NOT_FOUND || knows_newest
}

/// A server of which only the version is known.
fn unknown(version: Version) -> ServerInfo {
    ServerInfo {
        version,
        capabilities: ServerCapabilities::default(),
        implementation: None,
        instructions: None,
    }
}

fn only(version: Version) -> Error {
    Error::Version(format!(
        "the server does not speak version {} of the protocol",
        version.as_str()
    ))
}
