//! A scripted HTTP/1.1 server on its own socket, which can break every rule.
//!
//! It runs on its own thread, so that a test may pause its clock. A script is an async closure that
//! receives each request and writes any response, byte by byte if needed. A panic in a script does
//! not fail the test, so a test checks [`Server::requests`] instead:
//!
//! ```
//! # use hardline_testkit::http::Server;
//! let server = Server::start(async |it| {
//!     let answer = format!(r#"{{"jsonrpc":"2.0","id":{},"result":{{}}}}"#, it.id());
//!     it.json(&answer).await;
//! });
//! assert!(server.url("/mcp").starts_with("http://127.0.0.1:"));
//! ```

mod exchange;
mod request;

use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{oneshot, watch};
use tokio::task::LocalSet;

pub use exchange::Exchange;
pub use request::Request;

/// A server that runs until it is dropped.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    log: Arc<Log>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// Requests and connections so far.
#[derive(Debug, Default)]
struct Log {
    requests: Mutex<Vec<Request>>,
    /// Number of requests; each is counted before its script runs.
    count: watch::Sender<usize>,
    /// Number of connections, and how many of them have ended.
    connections: watch::Sender<(usize, usize)>,
}

impl Server {
    /// Starts a server that passes each request to `script`.
    pub fn start(script: impl AsyncFn(&mut Exchange) + Send + 'static) -> Self {
        let log = Arc::new(Log::default());
        let (stop, stopped) = oneshot::channel();
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port is free");
        listener.set_nonblocking(true).expect("a socket can be made not to block");
        let address = listener.local_addr().expect("a listener has an address");
        let seen = Arc::clone(&log);
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            // The script's future need not be `Send`, so it stays on this thread.
            let set = LocalSet::new();
            let accepting = accept(listener, seen, Rc::new(script));
            runtime.expect("a runtime can be made").block_on(set.run_until(async {
                tokio::select! {
                    _ = stopped => {}
                    result = accepting => panic!("the scripted server cannot accept: {result:?}"),
                }
            }));
        });
        Self { address, log, stop: Some(stop), thread: Some(thread) }
    }

    /// Returns a URL on the server.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Returns the requests so far.
    pub fn requests(&self) -> Vec<Request> {
        self.log.requests.lock().expect("no script panics with the log").clone()
    }

    /// Returns the requests with this HTTP method so far.
    pub fn requests_with(&self, method: &str) -> Vec<Request> {
        self.requests().into_iter().filter(|it| it.method == method).collect()
    }

    /// Returns the number of connections so far.
    pub fn connections(&self) -> usize {
        self.log.connections.borrow().0
    }

    /// Waits until there were `count` requests.
    pub async fn wait_for_requests(&self, count: usize) {
        let mut counts = self.log.count.subscribe();
        counts.wait_for(|it| count <= *it).await.expect("the log lives as long as the server");
    }

    /// Waits until there was a connection and none is open.
    pub async fn wait_for_silence(&self) {
        let mut counts = self.log.connections.subscribe();
        let is_silent = |(made, ended): &(usize, usize)| *made > 0 && made == ended;
        counts.wait_for(is_silent).await.expect("the log lives as long as the server");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

async fn accept(
    listener: std::net::TcpListener,
    log: Arc<Log>,
    script: Rc<impl AsyncFn(&mut Exchange) + 'static>,
) -> io::Result<()> {
    let listener = TcpListener::from_std(listener)?;
    loop {
        let (stream, _) = listener.accept().await?;
        log.connections.send_modify(|(made, _)| *made += 1);
        let (log, script) = (Arc::clone(&log), Rc::clone(&script));
        tokio::task::spawn_local(async move {
            converse(stream, &log, &*script).await;
            log.connections.send_modify(|(_, ended)| *ended += 1);
        });
    }
}

/// Passes the requests of one connection to the script, one after another.
async fn converse(stream: TcpStream, log: &Log, script: &impl AsyncFn(&mut Exchange)) {
    // Without it, small chunks would be merged or delayed.
    let _ = stream.set_nodelay(true);
    let mut stream = Some(stream);
    let mut unread = Vec::new();
    while let Some(mut open) = stream.take() {
        let Ok(Some(request)) = request::read(&mut open, &mut unread).await else { return };
        let index = {
            let mut requests = log.requests.lock().expect("no script panics with the log");
            requests.push(request.clone());
            requests.len() - 1
        };
        // Counted before the script runs, so that a test can wait for an unanswered request.
        log.count.send_replace(index + 1);
        let mut exchange = Exchange::new(open, request, index);
        script(&mut exchange).await;
        stream = exchange.into_stream();
    }
}
