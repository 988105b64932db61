//! Opening the page on which a person logs in.
//!
//! The address comes from a stranger. It reaches a browser as an [`AuthorizationUrl`], which cannot be
//! anything but a web address of printable ASCII, and as one argument of a program, never of a shell.

use std::fmt;
use std::process::{Child, Stdio};

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

/// The browser that the system opens pages with, or the one that `$BROWSER` names, except on Windows: a list
/// of commands with colons between them, of which the first that can be started is used. The words of a
/// command are what stands between blanks. The address takes the place of `%s` in them, or comes last.
/// It must have a window of its own, as it is given no terminal.
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
    fn open(&self, url: &AuthorizationUrl) -> Result<(), String> {
        let wanted = if cfg!(windows) { None } else { std::env::var("BROWSER").ok() };
        let mut child = start(url, wanted.as_deref().unwrap_or_default())?;
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

/// Starts the first program that opens the page.
#[expect(
    clippy::disallowed_methods,
    reason = "a browser is no server: it outlives us, and nothing of it is ours to clean up"
)]
fn start(url: &AuthorizationUrl, wanted: &str) -> Result<Child, String> {
    let mut reasons = Vec::new();
    for Opener { program, arguments } in openers(url, wanted) {
        let mut command = std::process::Command::new(program);
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        match command.spawn() {
            Ok(child) => return Ok(child),
            Err(error) => reasons.push(format!("{}: {error}", shown(program))),
        }
    }
    Err(reasons.join("; "))
}

/// A program that opens a page, and what it is given.
#[derive(Debug, Eq, PartialEq)]
struct Opener<'a> {
    program: &'a str,
    arguments: Vec<String>,
}

/// What can open a page, in the order in which it is tried: what is wanted, and then the system's own.
fn openers<'a>(url: &AuthorizationUrl, wanted: &'a str) -> Vec<Opener<'a>> {
    let url = url.as_str();
    let wanted = wanted.split(':').filter_map(|command| {
        let mut words = command.split_ascii_whitespace();
        let program = words.next()?;
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
    let (program, first) = match () {
        () if cfg!(target_os = "macos") => ("open", None),
        () if cfg!(windows) => ("rundll32", Some("url.dll,FileProtocolHandler")),
        () => ("xdg-open", None),
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
    fn the_first_that_can_be_started_is_given_the_address() {
        use std::os::unix::fs::PermissionsExt as _;

        let dir = tempfile::tempdir().unwrap();
        let (script, told) = (dir.path().join("browser"), dir.path().join("told"));
        let text = "#!/bin/sh\nfile=$1; shift; printf '%s\\n' \"$@\" > \"$file\"\n";
        std::fs::write(&script, text).unwrap();
        std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
        let url = AuthorizationUrl::new("https://a.example/?a=1&b=2;c").unwrap();
        let (script, file) = (script.display(), told.display());
        let wanted = format!("/nowhere/at-all:{script} {file} a%sb c:/nowhere/either");
        let mut child = start(&url, &wanted).unwrap();
        assert!(child.wait().unwrap().success());
        let expected = format!("a{}b\nc\n", url.as_str());
        assert_eq!(std::fs::read_to_string(&told).unwrap(), expected);
    }
}
