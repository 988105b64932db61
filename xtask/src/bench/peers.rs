//! `cargo xtask bench peers`: `hardline wrap` beside the guards and proxies of other authors that can be
//! installed from PyPI and crates.io.
//!
//! Versions and configurations are in `tests/bench-peers`; the programs are installed in
//! `target/bench-peers`. A program that cannot be installed has a line with the reason instead of
//! figures. `crates/hardline-cli/benches/wrap/peers.rs` starts and measures the programs.
//!
//! The comparison is no step of `cargo xtask test`, because it installs many packages.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use super::PAGE;
use crate::environment;
use crate::page;
use crate::process::{command, root, target};
use crate::tool;

const START: &str = "<!-- peers: written by `cargo xtask bench peers --save` -->";
const END: &str = "<!-- end of peers -->";

/// Amount of work, and use of the outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// A few calls of each program, with a build that is not optimized.
    Test,
    Print,
    /// Also writes the tables to the page.
    Save,
}

/// A program of another author. Its name is that of its package, and of its folder.
struct Peer {
    name: &'static str,
    registry: Registry,
    /// The program, and its arguments as the benchmark reads them. `{config:FILE}` names a file in the
    /// folder.
    command: &'static [&'static str],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Registry {
    PyPi,
    CratesIo,
}

const PEERS: &[Peer] = &[
    Peer {
        name: "agent-aegis",
        registry: Registry::PyPi,
        command: &[
            "aegis-mcp-proxy",
            "--log-level",
            "ERROR",
            "--policy",
            "{config:policy.yaml}",
            "--server-name",
            "s",
            "--wrap",
            "{server}",
        ],
    },
    Peer {
        name: "fastmcp",
        registry: Registry::PyPi,
        command: &["fastmcp", "run", "{config:mcp.json}", "--no-banner", "--log-level", "ERROR"],
    },
    Peer {
        name: "mcp-filter",
        registry: Registry::PyPi,
        command: &[
            "mcp-filter",
            "run",
            "--transport",
            "stdio",
            "--stdio-command",
            "{program}",
            "--stdio-arg=--answer",
            "--allow-pattern",
            ".*",
            "--no-token-estimates",
            "--log-level",
            "ERROR",
        ],
    },
    Peer {
        name: "mcp-firewall",
        registry: Registry::PyPi,
        command: &["mcp-firewall", "wrap", "--config", "{config:config.yaml}", "--", "{server}"],
    },
    Peer {
        name: "mcp-warden",
        registry: Registry::PyPi,
        command: &["mcp-warden", "both", "--", "{server}"],
    },
    Peer {
        name: "mcp-watchdog",
        registry: Registry::PyPi,
        command: &["mcp-watchdog", "--", "{server}"],
    },
    Peer {
        name: "kvlar-cli",
        registry: Registry::CratesIo,
        command: &[
            "kvlar",
            "proxy",
            "--stdio",
            "--policy",
            "{config:policy.yaml}",
            "--",
            "{server}",
        ],
    },
    Peer {
        name: "mcp-aegis",
        registry: Registry::CratesIo,
        command: &["aegis", "run", "--config", "{config:aegis.toml}"],
    },
    Peer {
        name: "mcp-armor",
        registry: Registry::CratesIo,
        command: &["mcp-armor", "wrap", "--", "{server}"],
    },
    Peer {
        name: "mcp-guard",
        registry: Registry::CratesIo,
        command: &["mcp-guard", "--config", "{config:mcp-guard.toml}", "serve"],
    },
    Peer {
        name: "mcp-sentinel",
        registry: Registry::CratesIo,
        command: &["mcp-sentinel", "run", "--", "{server}"],
    },
    Peer {
        name: "mcp-shield",
        registry: Registry::CratesIo,
        command: &["gateway", "{config:gateway.yml}"],
    },
    Peer {
        name: "turbomcp-proxy",
        registry: Registry::CratesIo,
        command: &[
            "turbomcp-proxy",
            "serve",
            "--backend",
            "stdio",
            "--cmd",
            "{program}",
            "--args=--answer",
            "--frontend",
            "stdio",
        ],
    },
    Peer {
        name: "vellaveto-proxy",
        registry: Registry::CratesIo,
        command: &["vellaveto-proxy", "--protect", "shield", "--", "{server}"],
    },
];

/// Installs the programs, compares them, and prints the tables.
pub(crate) fn run(extent: Extent) -> Result<(), String> {
    let mut lines = String::new();
    for peer in PEERS {
        let version = peer.version()?;
        let installed = peer.install(&version);
        if let Err(reason) = &installed {
            println!("{}: {reason}", peer.name);
        }
        lines.push_str(&peer.line(&version, installed, &source()));
    }
    let list = target().join("bench-peers/list.tsv");
    fs::write(&list, lines).map_err(|error| format!("{}: {error}", list.display()))?;
    let bench = ["bench", "--quiet", "--package", "hardline-cli", "--bench", "wrap", "--locked"];
    let mut bench = command("cargo", &bench);
    if extent == Extent::Test {
        bench.args(["--profile", "dev"]);
    }
    bench.arg("--").arg("--peers").arg(&list);
    bench.args((extent == Extent::Test).then_some("--test"));
    let output =
        bench.stderr(Stdio::inherit()).output().map_err(|error| format!("cargo bench: {error}"))?;
    let printed = String::from_utf8_lossy(&output.stdout);
    println!("{printed}");
    if !output.status.success() {
        return Err("the comparison failed, so nothing is written".into());
    }
    if extent == Extent::Save { page::save(PAGE, START, END, &printed) } else { Ok(()) }
}

impl Peer {
    /// Returns the pinned version.
    fn version(&self) -> Result<String, String> {
        let list = match self.registry {
            Registry::PyPi => source().join(self.name).join("requirements.txt"),
            Registry::CratesIo => source().join("crates.txt"),
        };
        let text =
            fs::read_to_string(&list).map_err(|error| format!("{}: {error}", list.display()))?;
        pinned(&text, self.name).ok_or_else(|| format!("{} lacks {}", list.display(), self.name))
    }

    /// Installs the program. Returns its path.
    fn install(&self, version: &str) -> Result<PathBuf, String> {
        let name = self.command.first().copied().unwrap_or_default();
        let installed = target().join("bench-peers");
        match self.registry {
            Registry::PyPi => {
                let folder = installed.join(self.name);
                let python = environment::python(&folder, &source().join(self.name))
                    .map_err(|_| "cannot be installed from PyPI".to_owned())?;
                Ok(python.with_file_name(name))
            }
            Registry::CratesIo => {
                let root = installed.join("crates");
                // cargo lists there what it has installed.
                let list = fs::read_to_string(root.join(".crates.toml")).unwrap_or_default();
                if !list.contains(&format!("\"{} {version} (", self.name)) {
                    tool::install(self.name, version, &root)
                        .map_err(|_| "cannot be installed from crates.io".to_owned())?;
                }
                Ok(root.join("bin").join(name))
            }
        }
    }

    /// Returns the line of the list for the benchmark.
    fn line(&self, version: &str, program: Result<PathBuf, String>, source: &Path) -> String {
        let program = match program {
            Ok(program) => program.display().to_string(),
            Err(reason) => return format!("{}\t{version}\t\t{reason}\n", self.name),
        };
        let mut words = vec![self.name.to_owned(), version.to_owned(), program];
        let configs = format!("{{config:{}/", source.join(self.name).display());
        words.extend(self.command.iter().skip(1).map(|it| it.replace("{config:", &configs)));
        format!("{}\n", words.join("\t"))
    }
}

/// Returns the version of a package in a list of `NAME==VERSION` lines.
fn pinned(list: &str, name: &str) -> Option<String> {
    let versions = list.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix("=="));
    versions.map(|it| it.trim().to_owned()).next()
}

fn source() -> PathBuf {
    root().join("tests/bench-peers")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_peer_has_a_pinned_version_and_its_configuration() {
        for peer in PEERS {
            assert!(peer.version().is_ok(), "{}", peer.name);
            for word in peer.command {
                let file = word.strip_prefix("{config:").and_then(|it| it.strip_suffix('}'));
                assert!(
                    file.is_none_or(|it| source().join(peer.name).join(it).is_file()),
                    "{}: {word}",
                    peer.name
                );
            }
        }
    }

    #[test]
    fn finds_the_version_of_a_package() {
        let list = "# mcp==1.0\nmcp-types==2.0\nmcp==3.0\n";
        assert_eq!(pinned(list, "mcp").as_deref(), Some("3.0"));
        assert_eq!(pinned(list, "types"), None);
    }

    #[test]
    fn a_line_of_the_list_has_a_command_or_a_reason() {
        let peer = Peer {
            name: "guard",
            registry: Registry::PyPi,
            command: &["run", "{config:a.toml}", "{server}"],
        };
        let line = peer.line("1.2", Ok("bin/run".into()), Path::new("tests"));
        assert_eq!(line, "guard\t1.2\tbin/run\t{config:tests/guard/a.toml}\t{server}\n");
        let line = peer.line("1.2", Err("is gone".into()), Path::new("tests"));
        assert_eq!(line, "guard\t1.2\t\tis gone\n");
    }
}
