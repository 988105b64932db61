//! The measured clients.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use hardline::client::{Connection, ConnectionSettings};
use hardline::process::Environment;
use rmcp::ServiceExt;
use rmcp::model::CallToolRequestParams;
use rmcp::service::{RoleClient, RunningService};
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::transport::{StreamableHttpClientTransport, TokioChildProcess};
use serde_json::json;
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

use crate::Round;

/// A client that makes calls.
pub(crate) trait Client {
    /// Makes `calls` calls, several at once.
    fn round(&mut self, size: usize, in_flight: usize, calls: usize) -> Round;
}

/// All clients, and the HTTP server that they share.
pub(crate) struct Clients {
    pub(crate) all: Vec<Box<dyn Client>>,
    _server: Option<HttpServer>,
}

impl Clients {
    pub(crate) fn start(transport: &str, typescript: Option<&str>) -> Self {
        let server = (transport == "http").then(HttpServer::start);
        let url = server.as_ref().map(|it| format!("http://127.0.0.1:{}/mcp", it.port));
        let mut all: Vec<Box<dyn Client>> =
            vec![Box::new(Hardline::start(url.as_deref())), Box::new(Rmcp::start(url.as_deref()))];
        if let Some(folder) = typescript {
            all.push(Box::new(TypeScript::start(folder, url.as_deref())));
        }
        Self { all, _server: server }
    }
}

pub(crate) fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

/// Makes calls from as many tasks as calls are in flight.
pub(crate) fn measure<F>(
    runtime: &Runtime,
    in_flight: usize,
    calls: usize,
    call: impl Fn() -> F + Clone + Send + 'static,
) -> Round
where
    F: Future<Output = ()> + Send,
{
    let start = Instant::now();
    let times = runtime.block_on(async {
        let mut tasks = JoinSet::new();
        for _ in 0..in_flight {
            let call = call.clone();
            tasks.spawn(async move {
                let mut times = Vec::new();
                for _ in 0..calls / in_flight {
                    let start = Instant::now();
                    call().await;
                    times.push(start.elapsed());
                }
                times
            });
        }
        tasks.join_all().await.concat()
    });
    Round::new(times, start.elapsed())
}

struct Hardline {
    runtime: Runtime,
    connection: Connection,
}

impl Hardline {
    fn start(url: Option<&str>) -> Self {
        let runtime = runtime();
        let connection = runtime.block_on(async {
            match url {
                Some(url) => Connection::connect(url, ConnectionSettings::default()).await,
                None => {
                    let this = std::env::current_exe().unwrap();
                    let command = hardline::process::Command::new(this, Environment::Base);
                    let command = command.args(["--serve", "stdio"]);
                    Connection::spawn(&command, ConnectionSettings::default()).await
                }
            }
        });
        Self { runtime, connection: connection.unwrap() }
    }
}

impl Client for Hardline {
    fn round(&mut self, size: usize, in_flight: usize, calls: usize) -> Round {
        let (connection, text) = (self.connection.clone(), Arc::<str>::from("x".repeat(size)));
        measure(&self.runtime, in_flight, calls, move || {
            let (connection, text) = (connection.clone(), Arc::clone(&text));
            async move {
                let result = connection.call_tool("echo", json!({ "text": &*text })).await.unwrap();
                assert_eq!(result.content[0].as_text().unwrap().text.len(), text.len());
            }
        })
    }
}

impl Drop for Hardline {
    fn drop(&mut self) {
        self.runtime.block_on(self.connection.close());
    }
}

struct Rmcp {
    runtime: Runtime,
    client: Option<RunningService<RoleClient, ()>>,
}

impl Rmcp {
    fn start(url: Option<&str>) -> Self {
        let runtime = runtime();
        let client = runtime.block_on(async {
            match url {
                Some(url) => {
                    // The same HTTP client as Hardline's.
                    let http =
                        hardline::transport::http::client_builder().unwrap().build().unwrap();
                    let config = StreamableHttpClientTransportConfig::with_uri(url);
                    let transport = StreamableHttpClientTransport::with_client(http, config);
                    ().serve(transport).await.unwrap()
                }
                None => {
                    let this = std::env::current_exe().unwrap();
                    let mut command = tokio::process::Command::new(this);
                    command.args(["--serve", "stdio"]);
                    ().serve(TokioChildProcess::new(command).unwrap()).await.unwrap()
                }
            }
        });
        Self { runtime, client: Some(client) }
    }
}

impl Client for Rmcp {
    fn round(&mut self, size: usize, in_flight: usize, calls: usize) -> Round {
        let peer = self.client.as_ref().unwrap().peer().clone();
        let text = Arc::<str>::from("x".repeat(size));
        measure(&self.runtime, in_flight, calls, move || {
            let (peer, text) = (peer.clone(), Arc::clone(&text));
            async move {
                let arguments = json!({ "text": &*text }).as_object().unwrap().clone();
                let params = CallToolRequestParams::new("echo").with_arguments(arguments);
                let result = peer.call_tool(params).await.unwrap();
                assert_eq!(result.content[0].as_text().unwrap().text.len(), text.len());
            }
        })
    }
}

impl Drop for Rmcp {
    fn drop(&mut self) {
        let client = self.client.take().unwrap();
        let _ = self.runtime.block_on(client.cancel());
    }
}

/// A Node process that receives commands on its standard input.
struct TypeScript {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl TypeScript {
    fn start(folder: &str, url: Option<&str>) -> Self {
        let this = std::env::current_exe().unwrap();
        let mut child = Command::new("node")
            .args(["--no-warnings", "--input-type=module", "--eval", include_str!("worker.mjs")])
            .arg(url.unwrap_or_else(|| this.to_str().unwrap()))
            .current_dir(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self { child, input, output }
    }
}

impl Client for TypeScript {
    fn round(&mut self, size: usize, in_flight: usize, calls: usize) -> Round {
        writeln!(self.input.as_mut().unwrap(), "{size} {in_flight} {calls}").unwrap();
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        let mut numbers = line.split_whitespace().map(|it| it.parse::<f64>().unwrap());
        let (seconds, p50) = (numbers.next().unwrap(), numbers.next().unwrap());
        Round { calls_per_second: calls as f64 / seconds, p50: Duration::from_secs_f64(p50) }
    }
}

impl Drop for TypeScript {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.child.wait();
    }
}

/// The HTTP server.
struct HttpServer {
    child: Child,
    port: u16,
}

impl HttpServer {
    fn start() -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--serve", "http"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        Self { child, port: line.trim().parse().unwrap() }
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}
