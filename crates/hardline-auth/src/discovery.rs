//! Discovers the authorization server of a server, and its endpoints.
//!
//! 1. The server's own metadata (RFC 9728), at the URL in its challenge or at the well-known locations, names
//!    the authorization server and the resource that tokens are for.
//! 2. The authorization server's metadata (RFC 8414 or OpenID Connect) names the endpoints.
//! 3. A server without metadata follows 2025-03-26: it is its own authorization server, with metadata at its
//!    root or with the default endpoints of that version.
//!
//! All metadata is checked: the server's must describe this server, the authorization server's must describe
//! the requested issuer, and every endpoint must be a URL to which secrets may be sent.

use reqwest::Url;
use serde::Deserialize;
use serde_json::Value;

use crate::address::is_loopback;
use crate::browser::is_plain;
use crate::challenge::Challenge;
use crate::error::{AuthError, metadata, shown};
use crate::fetch::{Fetcher, origin, shown_url};

/// Limit on the length of a URL in metadata.
const MAX_URL_BYTES: usize = 2048;

/// The information needed to request a token.
#[derive(Clone, Debug)]
pub(crate) struct Discovered {
    /// Issuer as it writes its own name; `None` without metadata.
    pub(crate) issuer: Option<String>,
    /// Resource that tokens are for, exactly as the server's metadata writes it.
    pub(crate) resource: String,
    /// Scopes in the server's metadata.
    pub(crate) scopes: Option<Vec<String>>,
    /// True if the server's metadata declares support for DPoP-bound tokens.
    pub(crate) takes_dpop: bool,
    pub(crate) authorization_endpoint: Option<Url>,
    pub(crate) token_endpoint: Url,
    pub(crate) registration_endpoint: Option<Url>,
    pub(crate) revocation_endpoint: Option<Url>,
    /// Capabilities that the authorization server declares.
    pub(crate) abilities: Abilities,
}

/// The capabilities that an authorization server declares in its metadata.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Abilities {
    pub(crate) scopes_supported: Vec<String>,
    pub(crate) code_challenge_methods_supported: Option<Vec<String>>,
    pub(crate) token_endpoint_auth_methods_supported: Option<Vec<String>>,
    pub(crate) client_id_metadata_document_supported: bool,
    pub(crate) authorization_response_iss_parameter_supported: bool,
    pub(crate) dpop_signing_alg_values_supported: Vec<String>,
}

/// The server's own metadata (RFC 9728).
#[derive(Debug, Deserialize)]
struct Resource {
    resource: Option<String>,
    #[serde(default)]
    authorization_servers: Vec<String>,
    scopes_supported: Option<Vec<String>>,
    #[serde(default)]
    dpop_bound_access_tokens_required: bool,
    #[serde(default)]
    dpop_signing_alg_values_supported: Vec<String>,
}

/// The endpoints in an authorization server's metadata (RFC 8414).
#[derive(Debug, Deserialize)]
struct ServerMetadata {
    issuer: Option<String>,
    authorization_endpoint: Option<String>,
    token_endpoint: Option<String>,
    registration_endpoint: Option<String>,
    revocation_endpoint: Option<String>,
}

/// Discovers the authorization server of `server`. If it names several, prefers `known`.
pub(crate) async fn discover(
    fetcher: &Fetcher,
    server: &Url,
    challenge: &Challenge,
    known: Option<&str>,
) -> Result<Discovered, AuthError> {
    let Some(resource) = find_resource(fetcher, server, challenge).await? else {
        return legacy(fetcher, server, challenge).await;
    };
    let named = match &resource.resource {
        Some(named) => checked_resource(server, named)?,
        // RFC 9728 requires `resource`, but some servers omit it.
        None => canonical(server),
    };
    // The issuer in use is preferred: a server with several must not force a new login each time.
    let issuer = issuer(server, &resource, known);
    let takes_dpop = resource.dpop_bound_access_tokens_required
        || !resource.dpop_signing_alg_values_supported.is_empty();
    // The first document wins. RFC 8414 comes before OpenID Connect, as the specification orders them.
    for url in metadata_urls(&parse(server, &issuer, "authorization server")?) {
        if let Some(document) = fetcher.document(&url).await? {
            let mut found = read(server, &document, &issuer, named)?;
            found.scopes = resource.scopes_supported;
            found.takes_dpop = takes_dpop;
            return Ok(found);
        }
    }
    Err(metadata(format!(
        "the server names the authorization server {}, which has no metadata (RFC 8414 or OpenID Connect)",
        shown(&issuer)
    )))
}

/// Returns true if the server still names this issuer, or if its metadata is unavailable.
pub(crate) async fn still_names(
    fetcher: &Fetcher,
    server: &Url,
    challenge: &Challenge,
    known: &str,
) -> bool {
    match find_resource(fetcher, server, challenge).await {
        Ok(Some(resource)) => is_same_issuer(&issuer(server, &resource, Some(known)), known),
        // In doubt the issuer stays: an outage must not log the user out.
        Ok(None) | Err(_) => true,
    }
}

async fn find_resource(
    fetcher: &Fetcher,
    server: &Url,
    challenge: &Challenge,
) -> Result<Option<Resource>, AuthError> {
    // The hint comes from the server, so it is checked like every other URL before it is fetched.
    let hinted = challenge.resource_metadata.as_deref();
    let hinted = hinted.map(|it| parse(server, it, "resource metadata")).transpose()?;
    // The path first: several servers may share one origin.
    let path = server.path().trim_end_matches('/');
    let places =
        [path, ""].map(|path| at(server, &format!("/.well-known/oauth-protected-resource{path}")));
    let mut asked: Vec<Url> = Vec::new();
    for url in hinted.into_iter().chain(places) {
        // A server at the root has the same well-known location twice.
        if asked.contains(&url) {
            continue;
        }
        if let Some(document) = fetcher.document(&url).await? {
            let read = serde_json::from_value(document);
            return read.map(Some).map_err(|_| {
                metadata(format!("the server's metadata at {} cannot be read", shown_url(&url)))
            });
        }
        asked.push(url);
    }
    Ok(None)
}

/// Returns the authorization server to use, as the server names it.
fn issuer(server: &Url, resource: &Resource, known: Option<&str>) -> String {
    let named = &resource.authorization_servers;
    let is_known = |it: &&String| known.is_some_and(|known| is_same_issuer(it, known));
    let chosen = named.iter().find(is_known).or_else(|| named.first());
    // Metadata without an authorization server means that the server is its own.
    chosen.cloned().unwrap_or_else(|| origin(server))
}

/// Discovers a server of 2025-03-26, which has no metadata of its own.
async fn legacy(
    fetcher: &Fetcher,
    server: &Url,
    challenge: &Challenge,
) -> Result<Discovered, AuthError> {
    let (issuer, named) = (origin(server), canonical(server));
    // Version 2025-03-26 has the metadata at the root of the origin.
    for url in metadata_urls(&at(server, "/")) {
        if let Some(document) = fetcher.document(&url).await? {
            return read(server, &document, &issuer, named);
        }
    }
    // The server neither asked for a token nor has metadata: guessing endpoints would send a login
    // nowhere.
    if let Some(status) = challenge.unchallenged {
        return Err(AuthError::Unwanted { status });
    }
    let endpoint = |path| parse(server, at(server, path).as_str(), "endpoint");
    Ok(Discovered {
        issuer: None,
        resource: named,
        scopes: None,
        takes_dpop: false,
        authorization_endpoint: Some(endpoint("/authorize")?),
        token_endpoint: endpoint("/token")?,
        registration_endpoint: Some(endpoint("/register")?),
        revocation_endpoint: None,
        abilities: Abilities {
            // Such a server declares nothing, so S256 is worth trying.
            code_challenge_methods_supported: Some(vec!["S256".to_owned()]),
            ..Abilities::default()
        },
    })
}

/// Parses an authorization server's metadata, which must describe `issuer`.
fn read(
    server: &Url,
    document: &Value,
    issuer: &str,
    resource: String,
) -> Result<Discovered, AuthError> {
    let unreadable = || metadata(format!("the metadata of {} cannot be read", shown(issuer)));
    let parsed = ServerMetadata::deserialize(document).map_err(|_| unreadable())?;
    let abilities = Abilities::deserialize(document).map_err(|_| unreadable())?;
    let named = parsed.issuer.unwrap_or_default();
    // RFC 8414, section 3.3: this check prevents one issuer from impersonating another (mix-up attack).
    if !is_same_issuer(&named, issuer) {
        return Err(metadata(format!(
            "the metadata of {} says that it is about another issuer: {}",
            shown(issuer),
            shown(&named)
        )));
    }
    let optional = |text: Option<String>, what| text.map(|it| parse(server, &it, what)).transpose();
    let token = parsed.token_endpoint.ok_or_else(unreadable)?;
    Ok(Discovered {
        issuer: Some(named),
        resource,
        scopes: None,
        takes_dpop: false,
        authorization_endpoint: optional(parsed.authorization_endpoint, "authorization endpoint")?,
        token_endpoint: parse(server, &token, "token endpoint")?,
        registration_endpoint: optional(parsed.registration_endpoint, "registration endpoint")?,
        revocation_endpoint: optional(parsed.revocation_endpoint, "revocation endpoint")?,
        abilities,
    })
}

/// Returns the possible locations of an issuer's metadata, in the order of the specification.
fn metadata_urls(issuer: &Url) -> Vec<Url> {
    let path = issuer.path().trim_end_matches('/');
    let inserted = ["oauth-authorization-server", "openid-configuration"];
    let mut urls: Vec<Url> =
        inserted.iter().map(|name| at(issuer, &format!("/.well-known/{name}{path}"))).collect();
    // OpenID Connect appends the well-known path; RFC 8414 inserts it before the issuer's path.
    if !path.is_empty() {
        urls.push(at(issuer, &format!("{path}/.well-known/openid-configuration")));
    }
    urls
}

fn at(base: &Url, path: &str) -> Url {
    let mut url = base.clone();
    url.set_path(path);
    url.set_query(None);
    url.set_fragment(None);
    url
}

/// Returns the server's URL as a resource identifier, without its query, which may contain a secret.
pub(crate) fn canonical(server: &Url) -> String {
    let url = at(server, server.path());
    url.as_str().strip_suffix('/').unwrap_or(url.as_str()).to_owned()
}

/// Checks that metadata describes this server, or a resource that contains it.
fn checked_resource(server: &Url, named: &str) -> Result<String, AuthError> {
    let is_part = |url: Url| {
        let (whole, part) = (url.path().trim_end_matches('/'), server.path());
        let rest = part.strip_prefix(whole);
        url.origin() == server.origin()
            && url.fragment().is_none()
            // A prefix must end at a path segment: `/mcp` does not contain `/mcp-admin`.
            && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    if named.len() <= MAX_URL_BYTES && Url::parse(named).is_ok_and(is_part) {
        return Ok(named.to_owned());
    }
    Err(metadata(format!(
        "the metadata describes another server, {}; tokens would be issued for that one",
        shown(named)
    )))
}

/// Compares issuers as strings, except that a trailing slash of an empty path makes no difference.
fn is_same_issuer(one: &str, other: &str) -> bool {
    let bare = |it: &str| -> Option<String> {
        let url = Url::parse(it).ok()?;
        let is_root = url.path() == "/" && url.query().is_none();
        // Only for an empty path are both spellings the same URL; elsewhere the slash is significant.
        is_root.then(|| it.strip_suffix('/').unwrap_or(it).to_owned())
    };
    one == other || bare(one).is_some_and(|one| Some(one) == bare(other))
}

/// Parses a URL from metadata, and checks that secrets may be sent to it.
pub(crate) fn parse(server: &Url, text: &str, what: &str) -> Result<Url, AuthError> {
    let refuse = |why: &str| Err(metadata(format!("the {what} {} {why}", shown(text))));
    if text.len() > MAX_URL_BYTES || !is_plain(text) {
        return refuse("is no URL");
    }
    let Ok(url) = Url::parse(text) else { return refuse("is no URL") };
    // Plain http is tolerable only if the secret never leaves this machine.
    let is_local = is_loopback(&url) && is_loopback(server);
    match url.scheme() {
        "https" => {}
        "http" if is_local => {}
        "http" => return refuse("is not encrypted: it must begin with https://"),
        _ => return refuse("does not begin with https://"),
    }
    if !url.username().is_empty() || url.password().is_some() || url.fragment().is_some() {
        return refuse("has a user, a password or a fragment in it");
    }
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    #[test]
    fn metadata_is_looked_for_in_the_order_of_the_specification() {
        let urls = |text| metadata_urls(&url(text)).iter().map(Url::to_string).collect::<Vec<_>>();
        assert_eq!(
            urls("https://a.example"),
            [
                "https://a.example/.well-known/oauth-authorization-server",
                "https://a.example/.well-known/openid-configuration",
            ]
        );
        assert_eq!(
            urls("https://a.example/t/1/"),
            [
                "https://a.example/.well-known/oauth-authorization-server/t/1",
                "https://a.example/.well-known/openid-configuration/t/1",
                "https://a.example/t/1/.well-known/openid-configuration",
            ]
        );
    }

    #[test]
    fn metadata_must_be_about_the_server() {
        let server = url("https://a.example/mcp/x?key=1");
        for good in [
            "https://a.example",
            "https://a.example/",
            "https://A.example/mcp",
            "https://a.example/mcp/x",
        ] {
            assert_eq!(checked_resource(&server, good).unwrap(), good);
        }
        for bad in [
            "https://b.example/mcp/x",
            "http://a.example/mcp/x",
            "https://a.example:8443/mcp",
            "https://a.example/mcp/xy",
            "https://a.example/mc",
            "https://a.example/mcp#x",
            "mcp",
        ] {
            assert!(checked_resource(&server, bad).is_err(), "{bad}");
        }
        assert_eq!(canonical(&server), "https://a.example/mcp/x");
        assert_eq!(canonical(&url("https://a.example")), "https://a.example");
    }

    #[test]
    fn issuers_are_not_normalized() {
        assert!(is_same_issuer("https://a.example", "https://a.example/"));
        assert!(!is_same_issuer("https://a.example/t", "https://a.example/t/"));
        assert!(!is_same_issuer("https://a.example", "https://A.example"));
        assert!(!is_same_issuer("https://a.example:443", "https://a.example"));
        assert!(!is_same_issuer("", "https://a.example"));
    }

    #[test]
    fn endpoints_are_urls_that_secrets_may_be_sent_to() {
        let public = url("https://mcp.example/");
        let local = url("http://127.0.0.1:1/mcp");
        for bad in [
            "javascript:alert(1)",
            "file:///etc/passwd",
            "http://auth.example/token",
            "http://127.0.0.1/token",
            "https://user:pass@auth.example/",
            "https://auth.example/#x",
            "https://auth.example/$(calc) x",
            "https://auth.example/\n",
            "//auth.example",
            "-x",
            "",
        ] {
            assert!(parse(&public, bad, "endpoint").is_err(), "{bad}");
        }
        assert!(parse(&public, &format!("https://a.example/{}", "a".repeat(3000)), "x").is_err());
        assert!(parse(&public, "https://auth.example/token?tenant=1", "x").is_ok());
        assert!(parse(&local, "http://localhost:2/token", "x").is_ok());
        assert!(parse(&local, "http://auth.example/token", "x").is_err());
    }
}
