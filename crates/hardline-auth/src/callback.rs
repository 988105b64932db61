//! The loopback server that receives the browser's redirect at the end of a login.
//!
//! Every program on this machine can connect, and every page in the browser can send requests here. So only
//! a request with the login's `state` has an effect. Others get an answer and are forgotten, however slow
//! or malformed they are. Answers never repeat text from a request.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use reqwest::Url;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinSet};

use crate::error::{AuthError, shown};
use crate::secret::Secret;

const PATH: &str = "/callback";
/// Limit on the size of a request's head.
const MAX_HEAD_BYTES: usize = 16 << 10;
/// Time limit for receiving a request's head, and for sending the answer.
const HEAD_WAIT: Duration = Duration::from_secs(5);
/// Limit on concurrent connections. A further connection replaces the oldest one that has not sent its
/// request yet.
const MAX_CONNECTIONS: usize = 32;

/// A loopback address that waits for the redirect of one login.
#[derive(Debug)]
pub(crate) struct Callback {
    listener: TcpListener,
    port: u16,
}

/// The expected properties of the redirect.
#[derive(Clone, Debug)]
pub(crate) struct Expected {
    pub(crate) state: Secret,
    /// Issuer that the login was sent to, if its name is known.
    pub(crate) issuer: Option<String>,
    /// True if the authorization server has declared that it sends its name.
    pub(crate) says_issuer: bool,
}

impl Callback {
    /// Starts to listen on `port`, or on any free port if it is 0.
    pub(crate) async fn bind(port: u16) -> Result<Self, AuthError> {
        let failed = |error| {
            AuthError::Login(format!("cannot listen on 127.0.0.1:{port} for the browser: {error}"))
        };
        let listener = TcpListener::bind(("127.0.0.1", port)).await.map_err(failed)?;
        // With port 0, the system has chosen one.
        let port = listener.local_addr().map_err(failed)?.port();
        Ok(Self { listener, port })
    }

    /// Returns the address for the browser's redirect.
    pub(crate) fn redirect_uri(&self) -> String {
        format!("http://127.0.0.1:{}{PATH}", self.port)
    }

    /// Waits for the authorization code.
    pub(crate) async fn wait(
        self,
        expected: Expected,
        wait: Duration,
    ) -> Result<Secret, AuthError> {
        // Room for one: the first outcome ends the login.
        let (sender, mut outcomes) = mpsc::channel(1);
        let serving = serve(self.listener, Arc::new(expected), sender);
        let outcome = tokio::time::timeout(wait, async {
            tokio::select! {
                outcome = outcomes.recv() => outcome,
                () = serving => None,
            }
        });
        match outcome.await {
            Ok(Some(outcome)) => outcome,
            Ok(None) => Err(AuthError::Login("the loopback address was lost".to_owned())),
            Err(_) => Err(AuthError::Declined {
                code: String::new(),
                reason: format!("the user did not log in within {} s", wait.as_secs()),
            }),
        }
    }
}

type Outcome = Result<Secret, AuthError>;

async fn serve(listener: TcpListener, expected: Arc<Expected>, sender: mpsc::Sender<Outcome>) {
    let mut connections = JoinSet::new();
    // Connections that have not sent a request yet, oldest first.
    let mut silent: VecDeque<(Arc<AtomicBool>, AbortHandle)> = VecDeque::new();
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            // Probably out of file descriptors; retrying at once would spin.
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        while connections.try_join_next().is_some() {}
        silent
            .retain(|(has_asked, task)| !has_asked.load(Ordering::Acquire) && !task.is_finished());
        while connections.len() >= MAX_CONNECTIONS {
            // Browsers open connections ahead of use, which stay silent.
            if let Some((_, task)) = silent.pop_front() {
                task.abort();
            }
            // Connections with a complete request end within HEAD_WAIT, so this does not block for long.
            connections.join_next().await;
        }
        let (expected, sender) = (Arc::clone(&expected), sender.clone());
        let has_asked = Arc::new(AtomicBool::new(false));
        let asked = Arc::clone(&has_asked);
        let task = connections.spawn(async move {
            if let Some(outcome) = handle_connection(stream, &expected, &asked).await {
                let _ = sender.send(outcome).await;
            }
        });
        silent.push_back((has_asked, task));
    }
}

/// Answers one request. Returns the outcome if it ends the login.
async fn handle_connection(
    mut stream: TcpStream,
    expected: &Expected,
    has_asked: &AtomicBool,
) -> Option<Outcome> {
    let head = tokio::time::timeout(HEAD_WAIT, read_head(&mut stream)).await.ok()??;
    has_asked.store(true, Ordering::Release);
    let (page, outcome) = handle_request(&head, expected);
    let writing = async {
        stream.write_all(page.text().as_bytes()).await?;
        stream.shutdown().await
    };
    // The login is decided; it does not matter if the browser shows the page.
    let _ = tokio::time::timeout(HEAD_WAIT, writing).await;
    outcome
}

async fn read_head(stream: &mut TcpStream) -> Option<String> {
    // Read by hand: a request without a body needs no HTTP library.
    let mut head = Vec::new();
    while !head.windows(4).any(|it| it == b"\r\n\r\n") {
        let mut chunk = [0; 2048];
        let count = stream.read(&mut chunk).await.ok().filter(|count| *count > 0)?;
        head.extend_from_slice(chunk.get(..count)?);
        if head.len() > MAX_HEAD_BYTES {
            return None;
        }
    }
    String::from_utf8(head).ok()
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Page {
    Done,
    Failed,
    NotThis,
    NotFound,
    NotAllowed,
}

impl Page {
    fn text(self) -> String {
        let (status, words) = match self {
            Self::Done => ("200 OK", "You are logged in. You can close this page."),
            Self::Failed => {
                ("400 Bad Request", "The login failed. The program that asked for it says why.")
            }
            Self::NotThis => {
                ("400 Bad Request", "This request does not belong to the current login.")
            }
            Self::NotFound => ("404 Not Found", "There is nothing here."),
            Self::NotAllowed => ("405 Method Not Allowed", "There is nothing here."),
        };
        let page = format!(
            "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Hardline</title><p>{words}</p></html>\n"
        );
        format!(
            "HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\n\
             Connection: close\r\nCache-Control: no-store\r\nReferrer-Policy: no-referrer\r\n\
             Content-Security-Policy: default-src 'none'\r\nX-Content-Type-Options: nosniff\r\n\r\n{page}",
            page.len()
        )
    }
}

/// Decides on a request: the page to answer with, and the outcome if it ends the login.
fn handle_request(head: &str, expected: &Expected) -> (Page, Option<Outcome>) {
    let mut words = head.lines().next().unwrap_or_default().split(' ');
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    if method != "GET" {
        return (Page::NotAllowed, None);
    }
    // Absolute-form targets are for proxies; a browser never sends one here.
    let base = Url::parse("http://127.0.0.1/").ok();
    let url = base.filter(|_| target.starts_with('/')).and_then(|base| base.join(target).ok());
    let Some(url) = url.filter(|url| url.path() == PATH) else { return (Page::NotFound, None) };
    // A repeated parameter counts as missing: another program may have read the other value.
    let parameter = |name: &str| {
        let mut values = url.query_pairs().filter(|(it, _)| it == name).map(|(_, value)| value);
        let value = values.next().map(Cow::into_owned);
        value.filter(|_| values.next().is_none())
    };
    // Without the state of this login, nothing else in the request counts.
    if parameter("state").as_deref() != Some(expected.state.reveal()) {
        return (Page::NotThis, None);
    }
    let outcome = read_redirect(&parameter, expected);
    let page = if outcome.is_ok() { Page::Done } else { Page::Failed };
    (page, Some(outcome))
}

/// Reads the authorization server's response from the parameters of the redirect.
fn read_redirect(parameter: &impl Fn(&str) -> Option<String>, expected: &Expected) -> Outcome {
    // The issuer is checked first (RFC 9207): another issuer's response must not be interpreted at all.
    match (parameter("iss"), &expected.issuer) {
        (Some(named), Some(issuer)) if named != *issuer => {
            return Err(AuthError::Login(format!(
                "the answer comes from another issuer, {}, than the one that was asked, {}",
                shown(&named),
                shown(issuer)
            )));
        }
        (None, _) if expected.says_issuer => {
            return Err(AuthError::Login(
                "the answer does not say which issuer it comes from, though the authorization server promises that"
                    .to_owned(),
            ));
        }
        _ => {}
    }
    if let Some(error) = parameter("error") {
        let description = parameter("error_description");
        let description = description.map(|it| format!(" ({})", shown(&it))).unwrap_or_default();
        let code = shown(&error);
        let reason = match error.as_str() {
            "access_denied" => format!("access was denied{description}"),
            _ => format!("the authorization server says {code}{description}"),
        };
        return Err(AuthError::Declined { code, reason });
    }
    let code = parameter("code").filter(|it| !it.is_empty());
    code.map(Secret::new).ok_or_else(|| AuthError::Login("the answer has no code in it".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expected() -> Expected {
        let issuer = Some("https://auth.example".to_owned());
        Expected { state: Secret::new("s"), issuer, says_issuer: false }
    }

    #[track_caller]
    fn check(line: &str, says_issuer: bool, page: Page, outcome: Option<Result<&str, &str>>) {
        let expected = Expected { says_issuer, ..expected() };
        let (actual, ended) = handle_request(&format!("{line}\r\nHost: x\r\n\r\n"), &expected);
        assert_eq!(actual, page, "{line}");
        let ended = ended.map(|it| it.map_err(|error| error.to_string()));
        let ended =
            ended.as_ref().map(|it| it.as_ref().map(Secret::reveal).map_err(String::as_str));
        assert_eq!(ended, outcome, "{line}");
    }

    #[test]
    fn only_the_state_of_the_login_decides_anything() {
        check("GET /callback?code=c&state=s HTTP/1.1", false, Page::Done, Some(Ok("c")));
        check("GET /callback?code=c&state=t HTTP/1.1", false, Page::NotThis, None);
        check("GET /callback?code=c HTTP/1.1", false, Page::NotThis, None);
        check("GET /callback?code=c&state=s&state=s HTTP/1.1", false, Page::NotThis, None);
        check("GET /callback?error=access_denied&state=t HTTP/1.1", false, Page::NotThis, None);
        check("GET /favicon.ico HTTP/1.1", false, Page::NotFound, None);
        check("GET /callback/x?code=c&state=s HTTP/1.1", false, Page::NotFound, None);
        check("OPTIONS /callback?code=c&state=s HTTP/1.1", false, Page::NotAllowed, None);
        check("POST /callback?code=c&state=s HTTP/1.1", false, Page::NotAllowed, None);
        check("GET http://127.0.0.1/callback?code=c&state=s HTTP/1.1", false, Page::NotFound, None);
        check("", false, Page::NotAllowed, None);
        check("GET", false, Page::NotFound, None);
    }

    #[test]
    fn the_response_must_come_from_the_expected_issuer() {
        let ok = "GET /callback?code=c&state=s&iss=https%3A%2F%2Fauth.example HTTP/1.1";
        check(ok, true, Page::Done, Some(Ok("c")));
        check(ok, false, Page::Done, Some(Ok("c")));
        let other = "the login failed: the answer comes from another issuer, https://auth.example/, than the one that was asked, https://auth.example";
        let line = "GET /callback?code=c&state=s&iss=https%3A%2F%2Fauth.example%2F HTTP/1.1";
        check(line, false, Page::Failed, Some(Err(other)));
        let line =
            "GET /callback?error=access_denied&state=s&iss=https%3A%2F%2Fauth.example%2F HTTP/1.1";
        check(line, false, Page::Failed, Some(Err(other)));
        let missing = "the login failed: the answer does not say which issuer it comes from, though the authorization server promises that";
        check("GET /callback?code=c&state=s HTTP/1.1", true, Page::Failed, Some(Err(missing)));
    }

    #[test]
    fn errors_are_escaped_for_a_terminal() {
        check(
            "GET /callback?error=access_denied&error_description=%1B%5B2Jno&state=s HTTP/1.1",
            false,
            Page::Failed,
            Some(Err("the login failed: access was denied (\\u{1b}[2Jno)")),
        );
        check(
            "GET /callback?error=%3Cscript%3E&state=s HTTP/1.1",
            false,
            Page::Failed,
            Some(Err("the login failed: the authorization server says <script>")),
        );
        check(
            "GET /callback?state=s HTTP/1.1",
            false,
            Page::Failed,
            Some(Err("the login failed: the answer has no code in it")),
        );
        for page in [Page::Done, Page::Failed, Page::NotThis, Page::NotFound] {
            assert!(page.text().contains("\r\n\r\n<!doctype html>"));
        }
    }
}
