//! Opening the page on which a person logs in.
//!
//! The address comes from a stranger. It reaches a browser as an [`AuthorizationUrl`], which cannot be
//! anything but a web address of printable ASCII, and as one argument of a program, never of a shell.

use std::fmt;
use std::process::Stdio;

use reqwest::Url;

use super::address::is_loopback;
use super::error::{AuthError, shown};

/// The longest address that is opened.
const MAX_URL_BYTES: usize = 16 << 10;
/// What stands in addresses. Quotes, backslashes, pipes and the like are percent-encoded in honest ones.
const PLAIN: &[u8] = b"-._~:/?#[]@!&*+,;=%";

/// An address that may be opened in a browser: `https://`, or `http://` on this machine.
#[derive(Clone, Eq, PartialEq)]
pub struct AuthorizationUrl(Url);

impl AuthorizationUrl {
    /// Checks an address.
    ///
    /// # Errors
    ///
    /// [`AuthError::Metadata`], if it is anything but a plain web address.
    pub fn new(text: &str) -> Result<Self, AuthError> {
        let refuse = |why: &str| {
            Err(AuthError::Metadata(format!(
                "the server wants a page to be opened that {why}: {}",
                shown(text)
            )))
        };
        if MAX_URL_BYTES < text.len() {
            return refuse("has too long an address");
        }
        if !is_plain(text) {
            return refuse("has characters in its address that do not belong there");
        }
        let Ok(url) = Url::parse(text) else { return refuse("has no address") };
        let is_page = match url.scheme() {
            "https" => true,
            "http" => is_loopback(&url),
            _ => false,
        };
        let has_user = !url.username().is_empty() || url.password().is_some();
        if !is_page || has_user || url.host_str().is_none_or(str::is_empty) {
            return refuse("is not an https:// page");
        }
        Ok(Self(url))
    }

    /// The address. Its query holds nothing that is secret, but what belongs to one login alone.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

impl fmt::Debug for AuthorizationUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&super::fetch::shown_url(&self.0))
    }
}

/// Whether a text has nothing in it that honest addresses do not have.
pub(super) fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || PLAIN.contains(&byte))
}

/// Opens pages.
pub trait Browser: fmt::Debug + Send + Sync + 'static {
    /// Opens a page, and does not wait for what becomes of it.
    ///
    /// # Errors
    ///
    /// Why it cannot, in words. The login goes on: whoever was shown the address can open it.
    fn open(&self, url: &AuthorizationUrl) -> Result<(), String>;
}

/// The browser that the system opens pages with.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct SystemBrowser;

impl SystemBrowser {
    /// That browser.
    pub fn new() -> Self {
        Self
    }
}

impl Browser for SystemBrowser {
    #[expect(
        clippy::disallowed_methods,
        reason = "a browser is no server: it outlives us, and nothing of it is ours to clean up"
    )]
    fn open(&self, url: &AuthorizationUrl) -> Result<(), String> {
        let (program, arguments) = command(url);
        let mut command = std::process::Command::new(program);
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().map_err(|error| format!("{program}: {error}"))?;
        // The opener ends soon, and is no zombie after that.
        std::thread::spawn(move || child.wait());
        Ok(())
    }
}

/// No browser at all: for whoever shows the address to a person instead
/// ([`on_authorization_url`](super::AuthSettings::on_authorization_url)).
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct NoBrowser;

impl NoBrowser {
    /// None.
    pub fn new() -> Self {
        Self
    }
}

impl Browser for NoBrowser {
    fn open(&self, _url: &AuthorizationUrl) -> Result<(), String> {
        Ok(())
    }
}

/// The program that opens a page, and what it is given.
fn command(url: &AuthorizationUrl) -> (&'static str, Vec<&str>) {
    let url = url.as_str();
    if cfg!(target_os = "macos") {
        ("open", vec![url])
    } else if cfg!(windows) {
        ("rundll32", vec!["url.dll,FileProtocolHandler", url])
    } else {
        ("xdg-open", vec![url])
    }
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
        let (_, arguments) = command(&url);
        assert_eq!(arguments.last(), Some(&url.as_str()));
    }
}
