//! Reads the options of an entry: disabled flag, timeout and OAuth settings.

use std::time::Duration;

use super::Entry;
use super::value::value;
use crate::config::document::{Node, Value};
use crate::config::error::show;
use crate::config::{OAuthConfig, Problem};

/// Limit on a timeout: ten years. Larger values are mistakes and would overflow later.
const MAX_TIMEOUT: Duration = Duration::from_secs(10 * 365 * 24 * 3600);

impl Entry<'_> {
    /// Reads the keys that enable or disable the server. Reports values that are not boolean.
    pub(super) fn read_disabled(&mut self, node: &Node) -> bool {
        let mut is_disabled = false;
        for (key, disabling) in [("disabled", true), ("enabled", false), ("isActive", false)] {
            let Some(given) = value(node, key) else { continue };
            match &given.value {
                Value::Other(text) if text == "true" => is_disabled |= disabling,
                Value::Other(text) if text == "false" => is_disabled |= !disabling,
                _ => self.wrong_kind(&self.path(key), given, "true or false", "write one of them"),
            }
        }
        is_disabled
    }

    pub(super) fn timeout(&mut self, node: &Node) -> Option<Duration> {
        let (unit_name, unit) = self.scope.dialect.timeout_unit();
        let given = value(node, "timeout").map(|given| ("timeout", given, unit_name, unit));
        let (key, given, unit_name, unit) = given.or_else(|| {
            let given = value(node, "tool_timeout_sec")?;
            Some(("tool_timeout_sec", given, "seconds", Duration::from_secs(1)))
        })?;
        let number = match &given.value {
            // TOML allows underscores in numbers.
            Value::Other(text) => text.replace('_', "").parse::<f64>().ok(),
            _ => None,
        };
        let Some(number) = number else {
            self.wrong_kind(&self.path(key), given, "a number", "write it without quotes");
            return None;
        };
        let time = Duration::try_from_secs_f64(number * unit.as_secs_f64()).ok();
        // A timeout of zero would fail every request.
        let time = time.filter(|time| !time.is_zero() && *time <= MAX_TIMEOUT);
        if time.is_none() {
            let shown = show(self.document.slice(&given.range).as_bytes());
            self.report(&self.path(key), given, Problem::Time(shown, unit_name));
        }
        time
    }

    pub(super) fn oauth(&mut self, node: &Node) -> Option<OAuthConfig> {
        let scopes = value(node, "scopes").map(|given| self.scopes(&self.path("scopes"), given));
        let block = ["oauth", "auth"].iter().find_map(|key| Some((*key, value(node, key)?)));
        // `auth: "oauth"` only selects the method, which is the default here.
        let Some((key, block)) = block.filter(|(_, block)| block.members().is_some()) else {
            if let Some((key, block)) = block
                && block.as_str().is_some_and(|word| word != "oauth")
            {
                let help = "give a token as a header, Authorization";
                self.report(&self.path(key), block, Problem::Ignored(help));
            }
            return scopes.map(|scopes| OAuthConfig { scopes, ..OAuthConfig::new(&self.scope) });
        };
        let mut pick = |names: [&str; 3]| {
            let (name, given) = names.iter().find_map(|it| Some((*it, value(block, it)?)))?;
            self.template(&self.path(&format!("{key}.{name}")), given)
        };
        let client_id = pick(["clientId", "client_id", "CLIENT_ID"]);
        let client_secret = pick(["clientSecret", "client_secret", "CLIENT_SECRET"]);
        let own_scopes = value(block, "scopes")
            .map(|given| self.scopes(&self.path(&format!("{key}.scopes")), given));
        Some(OAuthConfig {
            client_id,
            client_secret,
            scopes: own_scopes.or(scopes).unwrap_or_default(),
            callback_port: self.port(key, block),
            ..OAuthConfig::new(&self.scope)
        })
    }

    /// Reads scopes from a list, or from a string with spaces between them.
    pub(super) fn scopes(&mut self, key: &str, node: &Node) -> Vec<String> {
        let Value::Array(items) = &node.value else {
            // OAuth itself writes scopes as one text with blanks between them.
            let words = self.string(key, node).unwrap_or_default();
            return words.split_whitespace().map(str::to_owned).collect();
        };
        let mut scopes = Vec::new();
        for (index, item) in items.iter().enumerate() {
            scopes.extend(self.string(&format!("{key}[{index}]"), item));
        }
        scopes
    }

    pub(super) fn port(&mut self, key: &str, block: &Node) -> Option<u16> {
        let given = value(block, "callbackPort").or_else(|| value(block, "callback_port"));
        if let Some(given) = given {
            let text = self.document.slice(&given.range);
            let port = text.parse().ok().filter(|port| *port > 0);
            if port.is_none() {
                let problem = Problem::Port(show(text.as_bytes()));
                self.report(&self.path(&format!("{key}.callbackPort")), given, problem);
            }
            return port;
        }
        // Gemini CLI has a complete address, such as http://localhost:7777/oauth/callback.
        let redirect = value(block, "redirectUri")?.as_str()?;
        let host = redirect.strip_prefix("http://")?.split('/').next()?;
        host.rsplit_once(':')?.1.parse().ok()
    }
}
