//! Parses the `WWW-Authenticate` header of a server that requires authorization.
//!
//! The header is a list of challenges, each a scheme with parameters. Commas separate both challenges and
//! parameters. Unknown parts are skipped, because a challenge is only a hint.

/// The combined content of all challenges in one response.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct Challenge {
    /// URL of the server's metadata.
    pub(crate) resource_metadata: Option<String>,
    /// Scopes that the token must have.
    pub(crate) scopes: Vec<String>,
    /// Error code for the token that was sent.
    pub(crate) error: Option<String>,
    /// True if the server accepts DPoP-bound tokens.
    pub(crate) wants_dpop: bool,
    /// Status of a response that was no challenge: the server required no token.
    pub(crate) unchallenged: Option<u16>,
}

/// Limit on the scopes taken from a challenge.
pub(crate) const MAX_SCOPES: usize = 64;

impl Challenge {
    pub(crate) fn parse(header: Option<&str>) -> Self {
        let mut challenge = Self::default();
        let mut is_ours = false;
        let mut rest = header.unwrap_or_default();
        while let Some(word) = next_word(&mut rest) {
            match word {
                Word::Scheme(scheme) => {
                    let is_dpop = scheme.eq_ignore_ascii_case("DPoP");
                    challenge.wants_dpop |= is_dpop;
                    // Parameters belong to the scheme before them; those of other schemes must be skipped.
                    is_ours = is_dpop || scheme.eq_ignore_ascii_case("Bearer");
                }
                Word::Parameter(name, value) if is_ours => challenge.add(name, value),
                Word::Parameter(..) => {}
            }
        }
        challenge
    }

    fn add(&mut self, name: &str, value: String) {
        let name = name.to_ascii_lowercase();
        match name.as_str() {
            "resource_metadata" => {
                self.resource_metadata.get_or_insert(value);
            }
            // The first value wins throughout, so that a proxy that appends a header cannot replace it.
            "scope" if self.scopes.is_empty() => self.scopes = scopes(&value),
            "error" => {
                self.error.get_or_insert(value);
            }
            _ => {}
        }
    }

    pub(crate) fn is(&self, error: &str) -> bool {
        self.error.as_deref() == Some(error)
    }
}

/// Parses a list of scopes separated by blanks. Drops invalid ones and repetitions.
pub(crate) fn scopes(list: &str) -> Vec<String> {
    // RFC 6749, section 3.3: a scope has no quotes and no backslashes.
    let is_scope = |it: &&str| {
        it.len() <= 256
            && it.bytes().all(|byte| byte.is_ascii_graphic() && !b"\"\\".contains(&byte))
    };
    let mut scopes: Vec<String> = Vec::new();
    for scope in list.split_ascii_whitespace().filter(is_scope) {
        // The scopes end up in a URL, which must not grow without bound.
        if scopes.len() < MAX_SCOPES && scopes.iter().all(|it| it != scope) {
            scopes.push(scope.to_owned());
        }
    }
    scopes
}

enum Word<'a> {
    Scheme(&'a str),
    Parameter(&'a str, String),
}

fn next_word<'a>(rest: &mut &'a str) -> Option<Word<'a>> {
    let is_token = |it: char| it.is_ascii_graphic() && !"=,\"".contains(it);
    // Skips separators and garbage alike, so that malformed headers cannot stop the parser.
    *rest = rest.trim_start_matches(|it| !is_token(it));
    let end = rest.find(|it| !is_token(it)).unwrap_or(rest.len());
    let (name, after) = rest.split_at_checked(end).filter(|(name, _)| !name.is_empty())?;
    let value = after.trim_start_matches([' ', '\t']).strip_prefix('=');
    let Some(value) = value else {
        *rest = after;
        return Some(Word::Scheme(name));
    };
    let value = value.trim_start_matches([' ', '\t']);
    let Some(quoted) = value.strip_prefix('"') else {
        let end = value.find([',', ' ', '\t']).unwrap_or(value.len());
        let (value, after) = value.split_at_checked(end)?;
        *rest = after;
        return Some(Word::Parameter(name, value.to_owned()));
    };
    let mut text = String::new();
    let mut chars = quoted.chars();
    loop {
        match chars.next() {
            None | Some('"') => break,
            // A quoted pair stands for its second character (RFC 9110).
            Some('\\') => text.extend(chars.next()),
            Some(char) => text.push(char),
        }
    }
    *rest = chars.as_str();
    Some(Word::Parameter(name, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(header: &str, metadata: Option<&str>, scopes: &str, error: Option<&str>, dpop: bool) {
        let expected = Challenge {
            resource_metadata: metadata.map(str::to_owned),
            scopes: scopes.split_ascii_whitespace().map(str::to_owned).collect(),
            error: error.map(str::to_owned),
            wants_dpop: dpop,
            unchallenged: None,
        };
        assert_eq!(Challenge::parse(Some(header)), expected, "{header}");
    }

    #[test]
    fn reads_challenges_as_servers_write_them() {
        check("Bearer", None, "", None, false);
        check("", None, "", None, false);
        let url = "https://a.example/x";
        check(&format!("Bearer resource_metadata=\"{url}\""), Some(url), "", None, false);
        check(&format!("bearer RESOURCE_METADATA = \"{url}\" ,"), Some(url), "", None, false);
        check(&format!("Bearer resource_metadata={url}"), Some(url), "", None, false);
        check(
            "Bearer error=\"insufficient_scope\", scope=\"a b a\", error_description=\"x, \\\"y\\\"\"",
            None,
            "a b",
            Some("insufficient_scope"),
            false,
        );
        check("Basic realm=\"x\", DPoP algs=\"ES256\", Bearer scope=a", None, "a", None, true);
        check("Basic scope=\"no\", realm=\"x\"", None, "", None, false);
    }

    #[test]
    fn survives_malformed_headers() {
        for header in
            ["=", "\"", "Bearer scope=\"a", "Bearer =\"x\"", ",,,=,", "Bearer scope", "ä=\"ö\""]
        {
            Challenge::parse(Some(header));
        }
        let long = "=".repeat(4096);
        Challenge::parse(Some(&long));
        check("Bearer scope=\"a \u{1b}[2J \\\\\"", None, "a", None, false);
    }
}
