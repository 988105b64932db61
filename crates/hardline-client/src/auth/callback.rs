//! The loopback address that a browser comes back to.
//!
//! Anybody on this machine can connect, and any page in the browser can make it send requests here. So
//! only a request that knows the login's `state` decides anything; all others are answered and forgotten,
//! whatever they send and however slowly. What a request says is never repeated in an answer.

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

use super::error::{AuthError, shown};
use super::secret::Secret;

const PATH: &str = "/callback";
/// How much of a request is read.
const MAX_HEAD_BYTES: usize = 16 << 10;
/// How long a connection may take to say what it wants.
const HEAD_WAIT: Duration = Duration::from_secs(5);
/// How many connections are listened to at once. For a further one, the oldest is let go that has not yet
/// said what it wants.
const MAX_CONNECTIONS: usize = 32;

/// A loopback address that waits for the end of one login.
#[derive(Debug)]
pub(super) struct Callback {
    listener: TcpListener,
    port: u16,
}

/// What the end of a login must look like.
#[derive(Clone, Debug)]
pub(super) struct Expected {
    pub(super) state: Secret,
    /// The issuer that was asked, if it has a name.
    pub(super) issuer: Option<String>,
    /// Whether it promised to say its name.
    pub(super) says_issuer: bool,
}

impl Callback {
    /// Begins to listen, on any port if it is 0.
    pub(super) async fn bind(port: u16) -> Result<Self, AuthError> {
        let failed = |error| {
            AuthError::Login(format!("cannot listen on 127.0.0.1:{port} for the browser: {error}"))
        };
        let listener = TcpListener::bind(("127.0.0.1", port)).await.map_err(failed)?;
        let port = listener.local_addr().map_err(failed)?.port();
        Ok(Self { listener, port })
    }

    /// The address that the browser is to come back to.
    pub(super) fn redirect_uri(&self) -> String {
        format!("http://127.0.0.1:{}{PATH}", self.port)
    }

    /// Waits for the code that the authorization server gives the browser.
    pub(super) async fn wait(
        self,
        expected: Expected,
        wait: Duration,
    ) -> Result<Secret, AuthError> {
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
                reason: format!("nobody logged in within {} s", wait.as_secs()),
            }),
        }
    }
}

type Outcome = Result<Secret, AuthError>;

async fn serve(listener: TcpListener, expected: Arc<Expected>, sender: mpsc::Sender<Outcome>) {
    let mut connections = JoinSet::new();
    // In the order in which they came.
    let mut silent: VecDeque<(Arc<AtomicBool>, AbortHandle)> = VecDeque::new();
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            // Out of descriptors, most likely.
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        while connections.try_join_next().is_some() {}
        silent
            .retain(|(has_asked, task)| !has_asked.load(Ordering::Acquire) && !task.is_finished());
        while MAX_CONNECTIONS <= connections.len() {
            if let Some((_, task)) = silent.pop_front() {
                task.abort();
            }
            // Whoever has asked is answered in bounded time.
            connections.join_next().await;
        }
        let (expected, sender) = (Arc::clone(&expected), sender.clone());
        let has_asked = Arc::new(AtomicBool::new(false));
        let asked = Arc::clone(&has_asked);
        let task = connections.spawn(async move {
            if let Some(outcome) = converse(stream, &expected, &asked).await {
                let _ = sender.send(outcome).await;
            }
        });
        silent.push_back((has_asked, task));
    }
}

/// Answers one request. `Some` if it ends the login.
async fn converse(
    mut stream: TcpStream,
    expected: &Expected,
    has_asked: &AtomicBool,
) -> Option<Outcome> {
    let head = tokio::time::timeout(HEAD_WAIT, read_head(&mut stream)).await.ok()??;
    has_asked.store(true, Ordering::Release);
    let (reply, outcome) = judge(&head, expected);
    let writing = async {
        stream.write_all(reply.text().as_bytes()).await?;
        stream.shutdown().await
    };
    // Whether the page is shown does not matter.
    let _ = tokio::time::timeout(HEAD_WAIT, writing).await;
    outcome
}

async fn read_head(stream: &mut TcpStream) -> Option<String> {
    let mut head = Vec::new();
    while !head.windows(4).any(|it| it == b"\r\n\r\n") {
        let mut chunk = [0; 2048];
        let count = stream.read(&mut chunk).await.ok().filter(|count| 0 < *count)?;
        head.extend_from_slice(chunk.get(..count)?);
        if MAX_HEAD_BYTES < head.len() {
            return None;
        }
    }
    String::from_utf8(head).ok()
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Reply {
    Done,
    Failed,
    NotThis,
    NotFound,
    NotAllowed,
}

impl Reply {
    fn text(self) -> String {
        let (status, words) = match self {
            Self::Done => ("200 OK", "You are logged in. You can close this page."),
            Self::Failed => {
                ("400 Bad Request", "The login failed. The program that asked for it says why.")
            }
            Self::NotThis => {
                ("400 Bad Request", "This does not belong to the login that is waited for.")
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

fn judge(head: &str, expected: &Expected) -> (Reply, Option<Outcome>) {
    let mut words = head.lines().next().unwrap_or_default().split(' ');
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    if method != "GET" {
        return (Reply::NotAllowed, None);
    }
    let base = Url::parse("http://127.0.0.1/").ok();
    let url = base.filter(|_| target.starts_with('/')).and_then(|base| base.join(target).ok());
    let Some(url) = url.filter(|url| url.path() == PATH) else { return (Reply::NotFound, None) };
    // A parameter that is there twice is none.
    let parameter = |name: &str| {
        let mut values = url.query_pairs().filter(|(it, _)| it == name).map(|(_, value)| value);
        let value = values.next().map(Cow::into_owned);
        value.filter(|_| values.next().is_none())
    };
    if parameter("state").as_deref() != Some(expected.state.reveal()) {
        return (Reply::NotThis, None);
    }
    let outcome = end(&parameter, expected);
    let reply = if outcome.is_ok() { Reply::Done } else { Reply::Failed };
    (reply, Some(outcome))
}

/// Reads what the authorization server says by way of the browser.
fn end(parameter: &impl Fn(&str) -> Option<String>, expected: &Expected) -> Outcome {
    // Whoever speaks is known before what is said is.
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
    fn check(line: &str, says_issuer: bool, reply: Reply, outcome: Option<Result<&str, &str>>) {
        let expected = Expected { says_issuer, ..expected() };
        let (actual, ended) = judge(&format!("{line}\r\nHost: x\r\n\r\n"), &expected);
        assert_eq!(actual, reply, "{line}");
        let ended = ended.map(|it| it.map_err(|error| error.to_string()));
        let ended =
            ended.as_ref().map(|it| it.as_ref().map(Secret::reveal).map_err(String::as_str));
        assert_eq!(ended, outcome, "{line}");
    }

    #[test]
    fn only_the_state_of_the_login_decides_anything() {
        check("GET /callback?code=c&state=s HTTP/1.1", false, Reply::Done, Some(Ok("c")));
        check("GET /callback?code=c&state=t HTTP/1.1", false, Reply::NotThis, None);
        check("GET /callback?code=c HTTP/1.1", false, Reply::NotThis, None);
        check("GET /callback?code=c&state=s&state=s HTTP/1.1", false, Reply::NotThis, None);
        check("GET /callback?error=access_denied&state=t HTTP/1.1", false, Reply::NotThis, None);
        check("GET /favicon.ico HTTP/1.1", false, Reply::NotFound, None);
        check("GET /callback/x?code=c&state=s HTTP/1.1", false, Reply::NotFound, None);
        check("OPTIONS /callback?code=c&state=s HTTP/1.1", false, Reply::NotAllowed, None);
        check("POST /callback?code=c&state=s HTTP/1.1", false, Reply::NotAllowed, None);
        check(
            "GET http://127.0.0.1/callback?code=c&state=s HTTP/1.1",
            false,
            Reply::NotFound,
            None,
        );
        check("", false, Reply::NotAllowed, None);
        check("GET", false, Reply::NotFound, None);
    }

    #[test]
    fn who_answers_must_be_who_was_asked() {
        let ok = "GET /callback?code=c&state=s&iss=https%3A%2F%2Fauth.example HTTP/1.1";
        check(ok, true, Reply::Done, Some(Ok("c")));
        check(ok, false, Reply::Done, Some(Ok("c")));
        let other = "the login failed: the answer comes from another issuer, https://auth.example/, than the one that was asked, https://auth.example";
        let line = "GET /callback?code=c&state=s&iss=https%3A%2F%2Fauth.example%2F HTTP/1.1";
        check(line, false, Reply::Failed, Some(Err(other)));
        let line =
            "GET /callback?error=access_denied&state=s&iss=https%3A%2F%2Fauth.example%2F HTTP/1.1";
        check(line, false, Reply::Failed, Some(Err(other)));
        let missing = "the login failed: the answer does not say which issuer it comes from, though the authorization server promises that";
        check("GET /callback?code=c&state=s HTTP/1.1", true, Reply::Failed, Some(Err(missing)));
    }

    #[test]
    fn what_went_wrong_is_told_without_what_could_harm_a_terminal() {
        check(
            "GET /callback?error=access_denied&error_description=%1B%5B2Jno&state=s HTTP/1.1",
            false,
            Reply::Failed,
            Some(Err("the login failed: access was denied (\\u{1b}[2Jno)")),
        );
        check(
            "GET /callback?error=%3Cscript%3E&state=s HTTP/1.1",
            false,
            Reply::Failed,
            Some(Err("the login failed: the authorization server says <script>")),
        );
        check(
            "GET /callback?state=s HTTP/1.1",
            false,
            Reply::Failed,
            Some(Err("the login failed: the answer has no code in it")),
        );
        for reply in [Reply::Done, Reply::Failed, Reply::NotThis, Reply::NotFound] {
            assert!(reply.text().contains("\r\n\r\n<!doctype html>"));
        }
    }
}
