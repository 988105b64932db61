//! The servers: their configuration, and starting and killing them.

use std::fs;
use std::io;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::{Map, json};

/// A server that can be started with `stdio` or `http`.
pub(super) struct Program {
    pub(super) name: String,
    pub(super) command: Vec<String>,
}

pub(super) struct Fleet {
    pub(super) config: PathBuf,
    /// All names: `NAME-stdio` and `NAME-http`.
    pub(super) names: Vec<String>,
    listening: Vec<Listening>,
}

/// An HTTP server, which this program starts itself.
struct Listening {
    name: String,
    command: Vec<String>,
    port: u16,
    child: Option<Child>,
}

impl Fleet {
    /// Starts the HTTP servers and writes the configuration.
    pub(super) fn start(programs: &[Program], folder: &Path) -> io::Result<Self> {
        let (mut servers, mut listening) = (Map::new(), Vec::new());
        for program in programs {
            let (first, rest) = program.command.split_first().ok_or(io::ErrorKind::InvalidInput)?;
            let args: Vec<_> = rest.iter().map(String::as_str).chain(["stdio"]).collect();
            servers.insert(
                format!("{}-stdio", program.name),
                json!({ "command": first, "args": args }),
            );
            let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
            let name = format!("{}-http", program.name);
            servers.insert(name.clone(), json!({ "url": format!("http://127.0.0.1:{port}/mcp") }));
            let mut one = Listening { name, command: program.command.clone(), port, child: None };
            one.start()?;
            listening.push(one);
        }
        let config = folder.join("mcp.json");
        let names = servers.keys().cloned().collect();
        fs::write(&config, json!({ "mcpServers": servers }).to_string())?;
        Ok(Self { config, names, listening })
    }

    /// Kills a server. An HTTP server stays down until `restart`.
    pub(super) fn kill(&mut self, name: &str) -> io::Result<()> {
        if let Some(server) = self.listening.iter_mut().find(|it| it.name == name) {
            return server.kill();
        }
        // The manager starts stdio servers as children of this process too, beside the HTTP
        // servers.
        let ours: Vec<u32> =
            self.listening.iter().filter_map(|it| Some(it.child.as_ref()?.id())).collect();
        for (pid, command) in children()? {
            if !ours.contains(&pid) && command.contains(&self.mark(name)) {
                let pid = rustix::process::Pid::from_raw(pid.cast_signed())
                    .ok_or(io::ErrorKind::NotFound)?;
                // The process may have exited meanwhile.
                let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
            }
        }
        Ok(())
    }

    /// Returns the part of a server's command line that no other server has.
    fn mark(&self, name: &str) -> String {
        let of = name.strip_suffix("-stdio").unwrap_or(name);
        let same = self.listening.iter().find(|it| it.name.strip_suffix("-http") == Some(of));
        same.and_then(|it| it.command.last()).cloned().unwrap_or_default()
    }

    /// Restarts an HTTP server. Does nothing for others, which the manager restarts.
    pub(super) fn restart(&mut self, name: &str) -> io::Result<()> {
        match self.listening.iter_mut().find(|it| it.name == name) {
            Some(server) => server.start(),
            None => Ok(()),
        }
    }
}

impl Listening {
    fn start(&mut self) -> io::Result<()> {
        self.kill()?;
        let (first, rest) = self.command.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        #[expect(clippy::disallowed_methods, reason = "the process is ended in `kill`")]
        let mut command = Command::new(first);
        command.args(rest).arg("http").env("PORT", self.port.to_string());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        self.child = Some(command.spawn()?);
        Ok(())
    }

    fn kill(&mut self) -> io::Result<()> {
        if let Some(mut child) = self.child.take() {
            child.kill()?;
            child.wait()?;
        }
        Ok(())
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        let _ = self.kill();
    }
}

/// Returns the child processes of this process, with their command lines.
pub(super) fn children() -> io::Result<Vec<(u32, String)>> {
    let own = std::process::id().to_string();
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let Some(pid) = entry?.file_name().to_str().and_then(|it| it.parse().ok()) else {
            continue;
        };
        let Ok(stat) = fs::read_to_string(format!("/proc/{pid}/stat")) else { continue };
        let parent = stat.rsplit(')').next().and_then(|it| it.split_whitespace().nth(1));
        if parent == Some(&own) {
            let command = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            found.push((pid, String::from_utf8_lossy(&command).replace('\0', " ")));
        }
    }
    Ok(found)
}
