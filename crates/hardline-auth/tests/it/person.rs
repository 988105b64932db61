//! A person with a browser, for the server of [`hardline_testkit::oauth`].

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};

use hardline_auth::{AuthorizationUrl, Browser};
use hardline_testkit::http::Request;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// Returns the fields of a form that was sent.
pub(crate) fn form(request: &Request) -> HashMap<String, String> {
    query(&format!("http://x/?{}", request.body))
}

pub(crate) fn query(url: &str) -> HashMap<String, String> {
    let url = reqwest::Url::parse(url).unwrap();
    url.query_pairs().map(|(name, value)| (name.into_owned(), value.into_owned())).collect()
}

/// A person in front of a browser, scripted by the test.
pub(crate) struct Person {
    /// Requests that the browser sends to the loopback address, in order. `STATE` stands for the login's.
    answers: Vec<String>,
    pub(crate) opened: Mutex<Vec<String>>,
    pub(crate) pages: Arc<Mutex<Vec<String>>>,
}

impl Person {
    pub(crate) fn new(answers: &[&str]) -> Arc<Self> {
        let answers = answers.iter().map(|it| (*it).to_owned()).collect();
        let opened = Mutex::default();
        Arc::new(Self { answers, opened, pages: Arc::default() })
    }

    /// Creates a person who agrees.
    pub(crate) fn agreeing() -> Arc<Self> {
        Self::new(&["GET /callback?code=the-code&state=STATE HTTP/1.1"])
    }

    pub(crate) fn opened(&self) -> Vec<String> {
        self.opened.lock().unwrap().clone()
    }
}

impl fmt::Debug for Person {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Person")
    }
}

impl Browser for Person {
    fn open(&self, url: &AuthorizationUrl) -> Result<(), String> {
        self.opened.lock().unwrap().push(url.as_str().to_owned());
        let query = query(url.as_str());
        let back = reqwest::Url::parse(&query["redirect_uri"]).unwrap();
        let port = back.port().unwrap();
        let answers: Vec<_> =
            self.answers.iter().map(|it| it.replace("STATE", &query["state"])).collect();
        let pages = Arc::clone(&self.pages);
        tokio::spawn(async move {
            for answer in answers {
                let page = visit(port, &answer).await;
                pages.lock().unwrap().push(page);
            }
        });
        Ok(())
    }
}

/// Sends a request to the loopback address and returns the response.
pub(crate) async fn visit(port: u16, line: &str) -> String {
    let Ok(mut stream) = TcpStream::connect(("127.0.0.1", port)).await else {
        return "gone".to_owned();
    };
    let request = format!("{line}\r\nHost: 127.0.0.1:{port}\r\n\r\n");
    let _ = stream.write_all(request.as_bytes()).await;
    let mut page = Vec::new();
    let mut chunk = [0; 1024];
    while let Ok(count @ 1..) = stream.read(&mut chunk).await {
        page.extend_from_slice(&chunk[..count]);
    }
    String::from_utf8_lossy(&page).into_owned()
}
