//! The known clients, and the files in which each stores its servers.
//!
//! All of this is data, so that tests can examine the paths of every platform on any platform. A
//! new client is a new entry in [`CLIENTS`], a row of `dialects!` in `hardline_client::config`, and
//! rows in docs/configs.md.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use super::server::Keys;
use crate::directory;
use Root::{Claude, Codex, Config, Editor, Extension, Home, Local, Xdg};

/// A program that starts servers.
#[derive(Debug)]
pub(crate) struct Client {
    /// Name on the command line.
    pub(crate) id: &'static str,
    /// Name for people.
    pub(crate) name: &'static str,
    /// Files of a user: root directory, rest of the path (a directory `*` matches any), and the
    /// keys that lead to servers.
    files: &'static [(Root, &'static str, &'static [Keys])],
    /// Files of a project, relative to its directory.
    project_files: &'static [(&'static str, &'static [Keys])],
}

/// Root directory of a path.
#[derive(Clone, Copy, Debug)]
enum Root {
    Home,
    /// Configuration directory of this platform.
    Config,
    /// The same for programs that use `~/.config` on macOS too.
    Xdg,
    /// `%LOCALAPPDATA%`; Windows only.
    Local,
    /// `CLAUDE_CONFIG_DIR`, or the home directory.
    Claude,
    /// `CODEX_HOME`, or `~/.codex`.
    Codex,
    /// User directory of each edition of VS Code.
    Editor,
    /// Storage directory of extensions in each editor that is based on VS Code.
    Extension,
}

const MCP_SERVERS: &[Keys] = &[&["mcpServers"]];
const CLAUDE_CODE: &[Keys] = &[&["mcpServers"], &["projects", "*", "mcpServers"]];
const SERVERS: &[Keys] = &[&["servers"]];
const SETTINGS: &[Keys] = &[&["mcp", "servers"], &["mcp.servers"]];
const CONTEXT_SERVERS: &[Keys] = &[&["context_servers"]];
const CODEX: &[Keys] = &[&["mcp_servers"]];

const EDITIONS: &[&str] = &["Code", "Code - Insiders", "VSCodium"];
const EDITORS: &[&str] = &["Code", "Code - Insiders", "VSCodium", "Cursor", "Windsurf"];

pub(crate) const CLIENTS: &[Client] = &[
    Client {
        id: "claude-desktop",
        name: "Claude Desktop",
        files: &[
            (Config, "Claude/claude_desktop_config.json", MCP_SERVERS),
            // Programs from the Windows store have a directory of their own.
            (
                Local,
                "Packages/Claude_pzs8sxrjxfjjc/LocalCache/Roaming/Claude/claude_desktop_config.json",
                MCP_SERVERS,
            ),
        ],
        project_files: &[],
    },
    Client {
        id: "claude-code",
        name: "Claude Code",
        files: &[(Claude, ".claude.json", CLAUDE_CODE)],
        project_files: &[(".mcp.json", MCP_SERVERS)],
    },
    Client {
        id: "cursor",
        name: "Cursor",
        files: &[(Home, ".cursor/mcp.json", MCP_SERVERS)],
        project_files: &[(".cursor/mcp.json", MCP_SERVERS)],
    },
    Client {
        id: "vscode",
        name: "VS Code",
        files: &[
            (Editor, "mcp.json", SERVERS),
            // Older versions have the servers in the settings.
            (Editor, "settings.json", SETTINGS),
            (Editor, "profiles/*/mcp.json", SERVERS),
        ],
        project_files: &[(".vscode/mcp.json", SERVERS), (".vscode/settings.json", SETTINGS)],
    },
    Client {
        id: "windsurf",
        name: "Windsurf",
        files: &[
            (Home, ".codeium/windsurf/mcp_config.json", MCP_SERVERS),
            (Home, ".codeium/mcp_config.json", MCP_SERVERS),
        ],
        project_files: &[],
    },
    Client {
        id: "zed",
        name: "Zed",
        files: &[(Xdg, "zed/settings.json", CONTEXT_SERVERS)],
        project_files: &[(".zed/settings.json", CONTEXT_SERVERS)],
    },
    Client {
        id: "gemini-cli",
        name: "Gemini CLI",
        files: &[(Home, ".gemini/settings.json", MCP_SERVERS)],
        project_files: &[(".gemini/settings.json", MCP_SERVERS)],
    },
    Client {
        id: "codex",
        name: "Codex",
        files: &[(Codex, "config.toml", CODEX)],
        project_files: &[(".codex/config.toml", CODEX)],
    },
    Client {
        id: "cline",
        name: "Cline",
        files: &[
            (Extension, "saoudrizwan.claude-dev/settings/cline_mcp_settings.json", MCP_SERVERS),
            (Home, ".cline/data/settings/cline_mcp_settings.json", MCP_SERVERS),
        ],
        project_files: &[],
    },
    Client {
        id: "roo",
        name: "Roo Code",
        files: &[
            (Extension, "rooveterinaryinc.roo-cline/settings/mcp_settings.json", MCP_SERVERS),
            // Roo Code is a fork of Cline, and first kept its file name.
            (Extension, "rooveterinaryinc.roo-cline/settings/cline_mcp_settings.json", MCP_SERVERS),
        ],
        project_files: &[(".roo/mcp.json", MCP_SERVERS)],
    },
    Client {
        id: "lm-studio",
        name: "LM Studio",
        files: &[
            (Home, ".lmstudio/mcp.json", MCP_SERVERS),
            // The directory of older versions.
            (Home, ".cache/lm-studio/mcp.json", MCP_SERVERS),
        ],
        project_files: &[],
    },
];

/// All places in which some client looks for servers, each once.
pub(crate) static ALL_PLACES: LazyLock<Vec<Keys>> = LazyLock::new(|| {
    let of_client = |client: &Client| {
        let of_user = client.files.iter().map(|(.., places)| *places);
        let of_projects = client.project_files.iter().map(|(_, places)| *places);
        of_user.chain(of_projects).flatten().copied().collect::<Vec<_>>()
    };
    let mut all = Vec::new();
    for keys in CLIENTS.iter().flat_map(of_client) {
        if !all.contains(&keys) {
            all.push(keys);
        }
    }
    all
});

impl Client {
    /// Returns the possible files of a user. They may not exist.
    pub(crate) fn files(&self, system: &System<'_>) -> Vec<(PathBuf, &'static [Keys])> {
        let files = self.files.iter().flat_map(|&(root, rest, keys)| {
            system.roots(root).into_iter().map(move |root| (root.join(rest), keys))
        });
        files.collect()
    }

    /// Returns the possible files of a project. They may not exist.
    pub(crate) fn project_files(&self, folder: &Path) -> Vec<(PathBuf, &'static [Keys])> {
        self.project_files.iter().map(|&(path, keys)| (folder.join(path), keys)).collect()
    }
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Platform {
    Linux,
    MacOs,
    Windows,
}

/// Platform and directories that paths depend on.
pub(crate) struct System<'a> {
    platform: Platform,
    home: PathBuf,
    /// Returns the directory in an environment variable.
    variable: &'a dyn Fn(&str) -> Option<PathBuf>,
}

impl System<'static> {
    /// Returns the running system. `None` if no variable names the user's home.
    pub(crate) fn own() -> Option<Self> {
        let platform = match env::consts::OS {
            "windows" => Platform::Windows,
            "macos" => Platform::MacOs,
            // Other Unix systems follow the XDG conventions too.
            _ => Platform::Linux,
        };
        // A relative path would depend on the directory in which the command runs.
        let variable =
            &|name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        Some(Self { platform, home: directory::home()?, variable })
    }
}

impl System<'_> {
    fn roots(&self, root: Root) -> Vec<PathBuf> {
        let Self { platform, home, variable } = self;
        let one = match root {
            Home => Some(home.clone()),
            Config => Some(self.config()),
            Xdg if *platform == Platform::MacOs => Some(home.join(".config")),
            Xdg => Some(self.config()),
            Local if *platform == Platform::Windows => {
                Some(variable("LOCALAPPDATA").unwrap_or_else(|| home.join("AppData/Local")))
            }
            Local => None,
            Claude => Some(variable("CLAUDE_CONFIG_DIR").unwrap_or_else(|| home.clone())),
            Codex => Some(variable("CODEX_HOME").unwrap_or_else(|| home.join(".codex"))),
            Editor => return self.each(EDITIONS, "User"),
            Extension => return self.each(EDITORS, "User/globalStorage"),
        };
        one.into_iter().collect()
    }

    fn each(&self, editors: &[&str], rest: &str) -> Vec<PathBuf> {
        editors.iter().map(|editor| self.config().join(editor).join(rest)).collect()
    }

    fn config(&self) -> PathBuf {
        let Self { platform, home, variable } = self;
        match platform {
            Platform::Linux => variable("XDG_CONFIG_HOME").unwrap_or_else(|| home.join(".config")),
            Platform::MacOs => home.join("Library/Application Support"),
            Platform::Windows => {
                variable("APPDATA").unwrap_or_else(|| home.join("AppData/Roaming"))
            }
        }
    }
}

/// Expands a path with a directory `*` to all matching paths.
pub(crate) fn expand(path: &Path) -> Vec<PathBuf> {
    let parts: Vec<_> = path.components().collect();
    let Some(star) = parts.iter().position(|part| part.as_os_str() == "*") else {
        return vec![path.to_owned()];
    };
    let (before, rest) = parts.split_at(star);
    let before: PathBuf = before.iter().collect();
    let rest: PathBuf = rest.iter().skip(1).collect();
    let mut found: Vec<_> =
        fs::read_dir(before).into_iter().flatten().flatten().map(|it| it.path()).collect();
    // A fixed order keeps the output the same on every run.
    found.sort();
    found.into_iter().map(|folder| folder.join(&rest)).collect()
}

#[cfg(test)]
mod tests;
