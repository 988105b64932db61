//! Measures a manager with two hundred servers, half of them dead or hanging: the time until the others are
//! usable, and the cost of all of them at rest.
//!
//! `cargo bench -p hardline-client` prints the table with the goals and exits with status 1 if one is missed.
//! With `-- --test` the goals do not count, but the assertions do.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a benchmark prints, asks the time, and stops at what cannot be"
)]

use std::process::ExitCode;

#[cfg(not(target_os = "linux"))]
fn main() -> ExitCode {
    println!("this is measured on Linux alone\n\n0 goals missed");
    ExitCode::SUCCESS
}

#[cfg(target_os = "linux")]
fn main() -> ExitCode {
    let once = std::env::args().any(|it| it == "--test");
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let rows = runtime.unwrap().block_on(fleet::measure(once));
    println!("## 200 servers in one manager, 100 of them dead or hanging\n");
    println!("| what | measured | goal |\n|---|---|---|");
    let mut missed = 0;
    for (what, measured, goal, unit) in rows {
        let mark = if measured > goal { " (missed)" } else { "" };
        missed += usize::from(measured > goal);
        println!("| {what} | {measured:.2} {unit}{mark} | {goal} {unit} |");
    }
    if once {
        println!("ran once: no goal counts");
        return ExitCode::SUCCESS;
    }
    println!("\n{missed} goals missed");
    if missed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

#[cfg(target_os = "linux")]
mod fleet {
    use std::fs;
    use std::net::TcpListener;
    use std::path::Path;
    use std::time::{Duration, Instant};

    use hardline_client::config::{self, Dialect};
    use hardline_client::manager::{ConfiguredServer, Freshness, Manager, ManagerSettings};
    use hardline_client::{Error, RequestOptions};
    use hardline_testkit::http::Server;
    use hardline_transport::process::Stderr;
    use serde_json::{Value, json};

    /// Number of servers of each of the eight kinds.
    const OF_EACH: usize = 25;
    /// Time limit for the servers that work, well before the 60 s after which a hanging one fails.
    const PATIENCE: Duration = Duration::from_secs(40);

    /// A minimal server that works.
    const SCRIPT: &str = r#"
while read -r line; do
    id=${line#*\"id\":}; id=${id%%[,\}]*}
    case "$line" in
        *'"initialize"'*) result='{"protocolVersion":"2025-11-25","capabilities":{"tools":{}}}' ;;
        *'"tools/list"'*) result='{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}' ;;
        *'"tools/call"'*) result='{"content":[]}' ;;
        *notifications*) continue ;;
        *) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"?"}}\n' "$id"; continue ;;
    esac
    printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
"#;

    /// Name, measured value, upper limit, and unit.
    pub(super) type Row = (&'static str, f64, f64, &'static str);

    pub(super) async fn measure(once: bool) -> [Row; 4] {
        let directory = tempfile::tempdir().unwrap();
        let script = directory.path().join("server.sh");
        fs::write(&script, SCRIPT).unwrap();
        let living = Server::start(async |it| match it.rpc_method().as_str() {
            "initialize" => {
                let version = r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{}}}"#;
                it.answer(version).await;
            }
            "tools/list" => {
                it.answer(r#"{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}"#).await;
            }
            "tools/call" => it.answer(r#"{"content":[]}"#).await,
            "" => it.status(405).await,
            name if name.starts_with("notifications/") => it.status(202).await,
            _ => it.status(404).await,
        });
        let hanging = Server::start(async |it| it.wait_for_close().await);
        let wrong = Server::start(async |it| it.status(500).await);
        // Bound, but never accepts a connection.
        let deaf = TcpListener::bind("127.0.0.1:0").unwrap();
        let refusing = {
            let closed = TcpListener::bind("127.0.0.1:0").unwrap();
            format!("http://{}/mcp", closed.local_addr().unwrap())
        };
        let deaf = format!("http://{}/mcp", deaf.local_addr().unwrap());
        let mut servers = serde_json::Map::new();
        for n in 0..OF_EACH {
            let mut add = |name: &str, server: Value| servers.insert(format!("{name}-{n}"), server);
            add("living-a", json!({ "command": "/bin/sh", "args": [script] }));
            add("dead", json!({ "command": "/nonexistent/server" }));
            add("living-b", json!({ "command": "/bin/sh", "args": [script] }));
            add("hanging", json!({ "command": "/bin/sleep", "args": ["1000"] }));
            add("living-c", json!({ "url": living.url(&format!("/c{n}")) }));
            add("refusing", json!({ "url": if n % 2 == 0 { &refusing } else { &deaf } }));
            add("living-d", json!({ "url": living.url(&format!("/d{n}")) }));
            let url = if n % 2 == 0 { hanging.url("/mcp") } else { wrong.url("/mcp") };
            add("silent", json!({ "url": url }));
        }
        let text = json!({ "mcpServers": servers }).to_string();
        let file = config::parse(Path::new("mcp.json"), text.as_bytes(), Dialect::Generic).unwrap();
        assert_eq!((file.servers.len(), file.mistakes.len()), (8 * OF_EACH, 0));

        let start = Instant::now();
        let manager = Manager::new(ManagerSettings::default());
        for server in file.servers {
            let server = ConfiguredServer::new(server).prepare(|it| it.stderr(Stderr::tail_only()));
            manager.add_configured(server).unwrap();
        }
        let names: Vec<String> =
            manager.statuses().iter().map(|it| it.server.to_string()).collect();
        let calls: Vec<_> = names
            .into_iter()
            .filter(|name| name.starts_with("living"))
            .map(|name| {
                let manager = manager.clone();
                tokio::spawn(async move {
                    let called = manager
                        .call_tool_of(&name, "t", json!({}), &RequestOptions::default())
                        .await;
                    called.map(drop).map_err(|error| format!("{name}: {error}"))
                })
            })
            .collect();
        assert_eq!(calls.len(), 4 * OF_EACH);
        let all = async {
            for call in calls {
                call.await.unwrap().unwrap();
            }
        };
        tokio::time::timeout(PATIENCE, all).await.expect("the living wait for the dead");
        let usable = start.elapsed();
        let is_current = |freshness| freshness == Freshness::Current;
        let listed = async {
            while manager.catalog().tools().iter().filter(|it| is_current(it.freshness)).count()
                < 4 * OF_EACH
            {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(PATIENCE, listed).await.expect("not all are listed");

        // At rest only retries run, and those at long intervals.
        let rest = Duration::from_secs(if once { 1 } else { 10 });
        tokio::time::sleep(rest).await;
        let (ticks, attempts) = (ticks(), attempts(&manager));
        tokio::time::sleep(rest).await;
        let (ticks, attempts) = (self::ticks() - ticks, self::attempts(&manager) - attempts);
        let kilobytes = peak();

        let called =
            manager.call_tool_of("dead-0", "t", json!({}), &RequestOptions::default()).await;
        assert!(matches!(called, Err(Error::Away { .. })), "{called:?}");
        let children = children();
        assert!(children.len() >= 2 * OF_EACH, "{}", children.len());
        manager.close().await;
        let left: Vec<_> = children
            .iter()
            .filter(|it| is_running(it))
            .map(|it| {
                (
                    it,
                    fs::read_to_string(format!("/proc/{it}/stat")),
                    fs::read_to_string(format!("/proc/{it}/cmdline")),
                )
            })
            .collect();
        assert!(left.is_empty(), "{left:?}");
        [
            ("the living are usable after", usable.as_secs_f64(), 2.0, "s"),
            ("processor time at rest", ticks as f64 / rest.as_secs_f64(), 1.0, "%"),
            (
                "attempts to connect at rest, all servers",
                attempts as f64 / rest.as_secs_f64(),
                10.0,
                "/s",
            ),
            ("memory, at most", kilobytes as f64 / 1024.0, 64.0, "MB"),
        ]
    }

    fn attempts(manager: &Manager) -> u64 {
        manager.statuses().iter().map(|it| it.attempts).sum()
    }

    /// Returns the CPU time of this process, in hundredths of a second.
    fn ticks() -> u64 {
        let stat = fs::read_to_string("/proc/self/stat").unwrap();
        let fields = stat.rsplit(')').next().unwrap();
        fields.split_whitespace().skip(11).take(2).map(|it| it.parse::<u64>().unwrap()).sum()
    }

    /// Returns the peak memory of this process, in kilobytes.
    fn peak() -> usize {
        let status = fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }

    /// Returns the child processes of this process.
    fn children() -> Vec<String> {
        let own = std::process::id().to_string();
        let all = fs::read_dir("/proc")
            .unwrap()
            .filter_map(|it| it.unwrap().file_name().into_string().ok());
        all.filter(|pid| parent(pid).as_deref() == Some(&own)).collect()
    }

    fn parent(pid: &str) -> Option<String> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        stat.rsplit(')').next()?.split_whitespace().nth(1).map(str::to_owned)
    }

    fn is_running(pid: &str) -> bool {
        parent(pid).is_some_and(|parent| parent == std::process::id().to_string())
    }
}
