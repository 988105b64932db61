//! Opens the login page in a browser.
//!
//! The address comes from an untrusted server. It reaches the browser as an [`AuthorizationUrl`], which is
//! always a web address of printable ASCII, and as one argument of a program, never through a shell.

use std::fmt;
use std::process::{Child, Stdio};

use reqwest::Url;

use crate::address::is_loopback;
use crate::error::{AuthError, shown};

/// Limit on the length of an address.
const MAX_URL_BYTES: usize = 16 << 10;
/// Punctuation allowed in addresses. Legitimate ones percent-encode quotes, backslashes, pipes and the like.
const PLAIN: &[u8] = b"-._~:/?#[]@!&*+,;=%";

/// An address that may be opened in a browser: `https://`, or `http://` on this machine.
#[derive(Clone, Eq, PartialEq)]
pub struct AuthorizationUrl(Url);

impl AuthorizationUrl {
    /// Validates an address.
    ///
    /// # Errors
    ///
    /// Returns [`AuthError::Metadata`] if it is not a plain web address.
    pub fn new(text: &str) -> Result<Self, AuthError> {
        let refuse = |why: &str| {
            Err(AuthError::Metadata(format!(
                "the server wants a page to be opened that {why}: {}",
                shown(text)
            )))
        };
        if text.len() > MAX_URL_BYTES {
            return refuse("has too long an address");
        }
        // Checked before parsing: the parser would silently encode some of these characters.
        if !is_plain(text) {
            return refuse("has characters in its address that do not belong there");
        }
        let Ok(url) = Url::parse(text) else { return refuse("has no address") };
        let is_page = match url.scheme() {
            "https" => true,
            // Test and development servers on this machine have no certificate.
            "http" => is_loopback(&url),
            _ => false,
        };
        // `https://bank.example@evil.example/` would show a misleading name to the user.
        let has_user = !url.username().is_empty() || url.password().is_some();
        if !is_page || has_user || url.host_str().is_none_or(str::is_empty) {
            return refuse("is not an https:// page");
        }
        Ok(Self(url))
    }

    /// Returns the address. Its query contains no secrets, only values that are valid for one login.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

impl fmt::Debug for AuthorizationUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&crate::fetch::shown_url(&self.0))
    }
}

/// Returns true if the text contains only characters of legitimate addresses.
pub(crate) fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || PLAIN.contains(&byte))
}

/// Opens pages.
pub trait Browser: fmt::Debug + Send + Sync + 'static {
    /// Opens a page without waiting for its result.
    ///
    /// # Errors
    ///
    /// Returns the reason as text. The login continues, because the user may open the address by hand.
    fn open(&self, url: &AuthorizationUrl) -> Result<(), String>;
}

/// The browser that `$BROWSER` names, except on Windows, or else the system's default browser.
///
/// `$BROWSER` is a list of commands separated by colons; the first that can be started is used. A command is
/// split at blanks. The address replaces `%s` in its words, or is appended. The browser gets no terminal,
/// so it must open its own window.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct SystemBrowser;

impl SystemBrowser {
    /// Creates the browser.
    pub fn new() -> Self {
        Self
    }
}

impl Browser for SystemBrowser {
    fn open(&self, url: &AuthorizationUrl) -> Result<(), String> {
        // Windows has no convention for this variable, and its paths contain colons.
        let wanted = if cfg!(windows) { None } else { std::env::var("BROWSER").ok() };
        let mut child = start(url, wanted.as_deref().unwrap_or_default())?;
        // Waits for the opener in the background, so that it does not stay behind as a zombie.
        std::thread::spawn(move || child.wait());
        Ok(())
    }
}

/// Opens nothing. For programs that show the address to the user instead
/// ([`on_authorization_url`](crate::AuthSettings::on_authorization_url)).
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct NoBrowser;

impl NoBrowser {
    /// Creates the browser.
    pub fn new() -> Self {
        Self
    }
}

impl Browser for NoBrowser {
    fn open(&self, _url: &AuthorizationUrl) -> Result<(), String> {
        Ok(())
    }
}

/// Starts the first opener that can be started.
#[expect(
    clippy::disallowed_methods,
    reason = "a browser is not a server: it may outlive this process and needs no cleanup"
)]
fn start(url: &AuthorizationUrl, wanted: &str) -> Result<Child, String> {
    let mut reasons = Vec::new();
    for Opener { program, arguments } in openers(url, wanted) {
        let mut command = std::process::Command::new(program);
        // Standard output may be the MCP protocol; a chatty browser must not write to it.
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        match command.spawn() {
            Ok(child) => return Ok(child),
            Err(error) => reasons.push(format!("{}: {error}", shown(program))),
        }
    }
    Err(reasons.join("; "))
}

/// A program that opens a page, and its arguments.
#[derive(Debug, Eq, PartialEq)]
struct Opener<'a> {
    program: &'a str,
    arguments: Vec<String>,
}

/// Returns the openers in the order of preference: those in `wanted`, then the system's own.
fn openers<'a>(url: &AuthorizationUrl, wanted: &'a str) -> Vec<Opener<'a>> {
    let url = url.as_str();
    // The variable lists commands in the order in which they are tried.
    let wanted = wanted.split(':').filter_map(|command| {
        let mut words = command.split_ascii_whitespace();
        let program = words.next()?;
        // Without `%s`, the address is appended, as for every other program.
        let mut has_place = false;
        let mut arguments: Vec<String> = words
            .map(|word| {
                has_place |= word.contains("%s");
                word.replace("%s", url)
            })
            .collect();
        if !has_place {
            arguments.push(url.to_owned());
        }
        Some(Opener { program, arguments })
    });
    let (program, first) = if cfg!(target_os = "macos") {
        ("open", None)
    } else if cfg!(windows) {
        ("rundll32", Some("url.dll,FileProtocolHandler"))
    } else {
        ("xdg-open", None)
    };
    let arguments = first.into_iter().chain([url]).map(str::to_owned).collect();
    wanted.chain([Opener { program, arguments }]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_web_addresses_are_opened() {
        for good in [
            "https://auth.example/authorize?a=b%20c&d=https%3A%2F%2Fx",
            "http://127.0.0.1:8080/authorize",
            "http://[::1]/authorize",
            "http://localhost/authorize?x=1",
        ] {
            assert_eq!(AuthorizationUrl::new(good).unwrap().as_str(), good);
        }
        for bad in [
            "javascript:alert(1)",
            "file:///etc/passwd",
            "data:text/html,x",
            "http://auth.example/authorize",
            "http://localhost.evil.example/",
            "https://user@auth.example/",
            "https://",
            "ftp://auth.example/",
            "smb://auth.example/share",
            "vscode://x",
            "-x",
            "--help",
            "https://auth.example/$(calc)",
            "https://auth.example/`calc`",
            "https://auth.example/|calc",
            "https://auth.example/\"&calc&\"",
            "https://auth.example/'x'",
            "https://auth.example/a b",
            "https://auth.example/\r\nx",
            "https://auth.example/\u{1b}[2J",
            "https://auth.example/^x",
            "https://auth.example\\@evil.example/",
            "https://аuth.example/",
            "",
        ] {
            assert!(AuthorizationUrl::new(bad).is_err(), "{bad}");
        }
        assert!(
            AuthorizationUrl::new(&format!("https://a.example/{}", "a".repeat(20_000))).is_err()
        );
    }

    #[test]
    fn the_address_is_one_argument() {
        let url = AuthorizationUrl::new("https://a.example/?a=1&b=2;c").unwrap();
        let openers = openers(&url, "");
        let [own] = openers.as_slice() else { panic!("{openers:?}") };
        assert_eq!(own.arguments.last().map(String::as_str), Some(url.as_str()));
    }

    #[test]
    fn a_list_of_commands_is_split_at_colons_and_blanks_and_nowhere_else() {
        let url = AuthorizationUrl::new("https://a.example/?a=%20s&b=%s").unwrap();
        let check = |wanted: &str, expected: &[&[&str]]| {
            let openers = openers(&url, wanted);
            let (own, wanted) = openers.split_last().unwrap();
            assert!(own.program != "firefox" && own.arguments.len() <= 2);
            let words = |it: &Opener<'_>| {
                [it.program.to_owned()].into_iter().chain(it.arguments.clone()).collect()
            };
            let actual: Vec<Vec<String>> = wanted.iter().map(words).collect();
            let expected: Vec<Vec<String>> = expected
                .iter()
                .map(|it| it.iter().map(|it| it.replace("URL", url.as_str())).collect())
                .collect();
            assert_eq!(actual, expected);
        };
        check("", &[]);
        check(" : :: ", &[]);
        check("firefox", &[&["firefox", "URL"]]);
        check(
            "firefox:/opt/x  --new  %s -q",
            &[&["firefox", "URL"], &["/opt/x", "--new", "URL", "-q"]],
        );
        check("x --url=%s", &[&["x", "--url=URL"]]);
        check("x 'a b' $(c);d", &[&["x", "'a", "b'", "$(c);d", "URL"]]);
    }

    #[cfg(unix)]
    #[test]
    fn the_first_opener_that_starts_gets_the_address() {
        use std::os::unix::fs::PermissionsExt as _;

        let dir = tempfile::tempdir().unwrap();
        let (script, record) = (dir.path().join("browser"), dir.path().join("record"));
        let text = "#!/bin/sh\nfile=$1; shift; printf '%s\\n' \"$@\" > \"$file\"\n";
        std::fs::write(&script, text).unwrap();
        std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
        let url = AuthorizationUrl::new("https://a.example/?a=1&b=2;c").unwrap();
        let (script, file) = (script.display(), record.display());
        let wanted = format!("/nowhere/at-all:{script} {file} a%sb c:/nowhere/either");
        let mut child = start(&url, &wanted).unwrap();
        assert!(child.wait().unwrap().success());
        let expected = format!("a{}b\nc\n", url.as_str());
        assert_eq!(std::fs::read_to_string(&record).unwrap(), expected);
    }
}
