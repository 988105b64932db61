//! Dialects: the meaning of the same keys in the files of different clients.

use std::path::{Path, PathBuf};
use std::time::Duration;

/// The client whose file format applies. It decides which variables are expanded, and the unit of `timeout`.
///
/// | dialect | expanded variables | in | `timeout` |
/// |---|---|---|---|
/// | [`Generic`](Self::Generic) | `${VAR}`, `${VAR:-default}`, `${env:VAR}`, `${workspaceFolder}` … | all values | ms |
/// | [`ClaudeDesktop`](Self::ClaudeDesktop) | none | – | ms |
/// | [`ClaudeCode`](Self::ClaudeCode) | `${VAR}`, `${VAR:-default}` | all values | ms |
/// | [`Cursor`](Self::Cursor) | `${env:VAR}`, `${userHome}`, `${workspaceFolder}`, `${workspaceFolderBasename}`, `${pathSeparator}`, `${/}` | all values | ms |
/// | [`VsCode`](Self::VsCode) | the same, and `${input:id}`, `${cwd}` | all values | ms |
/// | [`Windsurf`](Self::Windsurf) | `${env:VAR}` | all values | ms |
/// | [`Zed`](Self::Zed) | none | – | s |
/// | [`GeminiCli`](Self::GeminiCli) | `$VAR`, `${VAR}`, `${VAR:-default}` | all values | ms |
/// | [`Codex`](Self::Codex) | none; `env_vars` and the like name some | – | s |
/// | [`Cline`](Self::Cline) | `${env:VAR}` | all values | s |
/// | [`Roo`](Self::Roo) | `${env:VAR}`, `${workspaceFolder}` | all values | s |
/// | [`LmStudio`](Self::LmStudio) | none | – | ms |
///
/// "All values" are those of `command`, `args`, `env`, `cwd`, `envFile`, the address and `headers`.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum Dialect {
    /// No particular client, as in Hardline's own `mcp.json`.
    #[default]
    Generic,
    /// Claude Desktop: `claude_desktop_config.json`.
    ClaudeDesktop,
    /// Claude Code: `.claude.json` and `.mcp.json`.
    ClaudeCode,
    /// Cursor: `.cursor/mcp.json`.
    Cursor,
    /// VS Code: `.vscode/mcp.json`, and `mcp.json` and `settings.json` of a user.
    VsCode,
    /// Windsurf: `mcp_config.json`.
    Windsurf,
    /// Zed: `settings.json`.
    Zed,
    /// Gemini CLI: `.gemini/settings.json`.
    GeminiCli,
    /// Codex: `.codex/config.toml`.
    Codex,
    /// Cline: `cline_mcp_settings.json`.
    Cline,
    /// Roo Code: `.roo/mcp.json`, and `mcp_settings.json` of a user.
    Roo,
    /// LM Studio: `.lmstudio/mcp.json`.
    LmStudio,
}

/// The meaning of the text between the braces of `${…}`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Reference<'t> {
    /// An environment variable, and the value to use if it is not set.
    Variable { name: &'t str, default: Option<&'t str> },
    /// User input that the client would prompt for.
    Input(&'t str),
    /// A directory or a character that needs no lookup.
    Builtin(Builtin),
    /// A reference that only the client can resolve.
    Unsupported,
    /// Not a reference: the text stays as it is.
    Literal,
}

/// The built-in references.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Builtin {
    Home,
    Folder,
    FolderName,
    Separator,
    CurrentDirectory,
}

impl Dialect {
    /// Returns the dialect of a file, by its name and directories.
    pub fn of(path: &Path) -> Self {
        let lower = |text: &std::ffi::OsStr| text.to_string_lossy().to_ascii_lowercase();
        let name = path.file_name().map(lower).unwrap_or_default();
        let folders: Vec<_> = path.parent().into_iter().flat_map(Path::iter).map(lower).collect();
        let is_in = |folder: &str| folders.iter().any(|it| it == folder);
        let parent = folders.last().map(String::as_str).unwrap_or_default();
        match (&*name, parent) {
            ("claude_desktop_config.json", _) => Self::ClaudeDesktop,
            (".claude.json" | ".mcp.json", _) => Self::ClaudeCode,
            // Roo Code is a fork of Cline and first kept its file name.
            ("cline_mcp_settings.json", _) if is_in("rooveterinaryinc.roo-cline") => Self::Roo,
            ("cline_mcp_settings.json", _) => Self::Cline,
            ("mcp_settings.json", _) => Self::Roo,
            // Other tools use this file name too, so the directory decides.
            ("mcp_config.json", _) if is_in(".codeium") => Self::Windsurf,
            ("mcp.json", ".roo") => Self::Roo,
            ("mcp.json", ".cursor") => Self::Cursor,
            ("mcp.json", ".lmstudio" | "lm-studio") => Self::LmStudio,
            ("settings.json", ".gemini") => Self::GeminiCli,
            ("settings.json", "zed" | ".zed") => Self::Zed,
            ("config.toml", _) => Self::Codex,
            // VS Code, its variants and forks all have a `User` directory.
            ("mcp.json" | "settings.json", ".vscode" | "user") => Self::VsCode,
            ("mcp.json", _) if is_in("profiles") && is_in("user") => Self::VsCode,
            _ => Self::Generic,
        }
    }

    /// Returns the dialect of the client with this id, such as `claude-code`.
    pub fn of_client(id: &str) -> Option<Self> {
        Some(match id {
            "claude-desktop" => Self::ClaudeDesktop,
            "claude-code" => Self::ClaudeCode,
            "cursor" => Self::Cursor,
            "vscode" => Self::VsCode,
            "windsurf" => Self::Windsurf,
            "zed" => Self::Zed,
            "gemini-cli" => Self::GeminiCli,
            "codex" => Self::Codex,
            "cline" => Self::Cline,
            "roo" => Self::Roo,
            "lm-studio" => Self::LmStudio,
            _ => return None,
        })
    }

    /// Returns the display name of the client.
    pub(super) fn client(self) -> &'static str {
        match self {
            Self::Generic => "the client",
            Self::ClaudeDesktop => "Claude Desktop",
            Self::ClaudeCode => "Claude Code",
            Self::Cursor => "Cursor",
            Self::VsCode => "VS Code",
            Self::Windsurf => "Windsurf",
            Self::Zed => "Zed",
            Self::GeminiCli => "Gemini CLI",
            Self::Codex => "Codex",
            Self::Cline => "Cline",
            Self::Roo => "Roo Code",
            Self::LmStudio => "LM Studio",
        }
    }

    /// Returns the key paths at which the client looks for servers.
    pub(super) fn places(self) -> &'static [&'static [&'static str]] {
        match self {
            Self::Generic => &[
                &["mcpServers"],
                &["servers"],
                &["mcp", "servers"],
                &["mcp.servers"],
                &["context_servers"],
                &["mcp_servers"],
            ],
            Self::VsCode => &[&["servers"]],
            Self::Zed => &[&["context_servers"]],
            Self::Codex => &[&["mcp_servers"]],
            _ => &[&["mcpServers"]],
        }
    }

    /// Returns the unit of `timeout`, as a word and as a duration.
    pub(super) fn timeout_unit(self) -> (&'static str, Duration) {
        match self {
            Self::Codex | Self::Cline | Self::Roo | Self::Zed => {
                ("seconds", Duration::from_secs(1))
            }
            _ => ("milliseconds", Duration::from_millis(1)),
        }
    }

    /// Returns true if variables without braces, as `$VAR`, are expanded.
    pub(super) fn has_bare_variables(self) -> bool {
        self == Self::GeminiCli
    }

    /// Returns true if `type: "http"` also covers servers that speak only HTTP+SSE.
    pub(super) fn falls_back_to_sse(self) -> bool {
        matches!(self, Self::VsCode | Self::Cursor)
    }

    /// Returns the syntax for a variable with a default, if the dialect has one.
    pub(super) fn default_syntax(self, name: &str) -> Option<String> {
        matches!(self, Self::Generic | Self::ClaudeCode | Self::GeminiCli)
            .then(|| format!("${{{name}:-default}}"))
    }

    /// Returns the meaning of `inner`, the text between braces.
    pub(super) fn reference(self, inner: &str) -> Reference<'_> {
        // Only these clients expand `${VAR}` without a prefix; in the others it is literal text.
        let has_names = matches!(self, Self::Generic | Self::ClaudeCode | Self::GeminiCli);
        let has_prefixes = matches!(
            self,
            Self::Generic | Self::Cursor | Self::VsCode | Self::Windsurf | Self::Cline | Self::Roo
        );
        if let (true, Some((prefix, name))) = (has_prefixes, inner.split_once(':')) {
            let is_editor = matches!(self, Self::Generic | Self::Cursor | Self::VsCode);
            match prefix {
                "env" if is_name(name) => return Reference::Variable { name, default: None },
                // Lenient: the prefix of the editors together with the default syntax of Claude Code.
                "env" if self == Self::Generic => {
                    if let Some((name, default)) = name.split_once(":-").filter(|it| is_name(it.0))
                    {
                        return Reference::Variable { name, default: Some(default) };
                    }
                }
                "input" if is_editor && !name.is_empty() => return Reference::Input(name),
                "command" | "config" | "workspaceFolder" | "extensionInstallFolder"
                    // `${config:-x}` is a variable named `config` with a default.
                    if is_editor && !name.starts_with('-') =>
                {
                    return Reference::Unsupported;
                }
                // Expanding to the contents of a file could leak any file that the user can read.
                "file" if self == Self::Windsurf => return Reference::Unsupported,
                _ => {}
            }
        }
        if let Some(builtin) = self.builtin(inner) {
            return Reference::Builtin(builtin);
        }
        // What the client does not expand reaches the server literally, so it must do so here.
        if !has_names {
            return Reference::Literal;
        }
        match inner.split_once(":-") {
            Some((name, default)) if is_name(name) => {
                Reference::Variable { name, default: Some(default) }
            }
            None if is_name(inner) => Reference::Variable { name: inner, default: None },
            _ => Reference::Literal,
        }
    }

    fn builtin(self, inner: &str) -> Option<Builtin> {
        let is_editor = matches!(self, Self::Generic | Self::Cursor | Self::VsCode);
        match inner {
            "workspaceFolder" if is_editor || self == Self::Roo => Some(Builtin::Folder),
            "workspaceFolderBasename" if is_editor => Some(Builtin::FolderName),
            "userHome" if is_editor => Some(Builtin::Home),
            "pathSeparator" | "/" if is_editor => Some(Builtin::Separator),
            "cwd" if self == Self::VsCode => Some(Builtin::CurrentDirectory),
            _ => None,
        }
    }
}

/// Returns the root of the project that a file belongs to, or `None` for a user's file.
pub(super) fn project(path: &Path) -> Option<PathBuf> {
    let folder = path.parent()?;
    let is_hidden = [".cursor", ".vscode", ".zed", ".gemini", ".codex", ".roo"]
        .iter()
        .any(|name| folder.file_name().is_some_and(|it| it == *name));
    let root = if is_hidden {
        folder.parent()?
    } else if path.file_name().is_some_and(|name| name == ".mcp.json") {
        folder
    } else {
        return None;
    };
    // In the home directory, these are a user's files.
    if std::env::home_dir().is_some_and(|home| home == root) {
        return None;
    }
    // The parent of a relative file name is empty, which is not a valid directory.
    Some(if root.as_os_str().is_empty() { PathBuf::from(".") } else { root.to_owned() })
}

/// Returns true if `text` is a plausible name of an environment variable. Some on Windows have parentheses.
fn is_name(text: &str) -> bool {
    let is_part =
        |char: char| char.is_alphanumeric() || matches!(char, '_' | '-' | '.' | '(' | ')');
    !text.is_empty() && text.chars().all(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_known_by_its_name() {
        for (path, expected) in [
            ("/h/.config/Claude/claude_desktop_config.json", Dialect::ClaudeDesktop),
            ("/h/.claude.json", Dialect::ClaudeCode),
            (".mcp.json", Dialect::ClaudeCode),
            ("/h/.cursor/mcp.json", Dialect::Cursor),
            (".cursor/mcp.json", Dialect::Cursor),
            (".vscode/mcp.json", Dialect::VsCode),
            (".vscode/settings.json", Dialect::VsCode),
            ("/h/.config/Code/User/mcp.json", Dialect::VsCode),
            ("/h/.config/Code/User/profiles/a1/mcp.json", Dialect::VsCode),
            ("/h/.codeium/windsurf/mcp_config.json", Dialect::Windsurf),
            ("/h/.config/zed/settings.json", Dialect::Zed),
            (".zed/settings.json", Dialect::Zed),
            ("/h/.gemini/settings.json", Dialect::GeminiCli),
            ("/h/.codex/config.toml", Dialect::Codex),
            ("/h/x/saoudrizwan.claude-dev/settings/cline_mcp_settings.json", Dialect::Cline),
            ("/h/x/rooveterinaryinc.roo-cline/settings/cline_mcp_settings.json", Dialect::Roo),
            ("/h/x/rooveterinaryinc.roo-cline/settings/mcp_settings.json", Dialect::Roo),
            (".roo/mcp.json", Dialect::Roo),
            ("/h/.lmstudio/mcp.json", Dialect::LmStudio),
            ("/h/.config/hardline/mcp.json", Dialect::Generic),
            ("servers.json", Dialect::Generic),
            ("", Dialect::Generic),
        ] {
            assert_eq!(Dialect::of(Path::new(path)), expected, "{path}");
        }
    }

    #[test]
    fn a_project_is_where_its_files_are() {
        for (path, expected) in [
            ("/w/shop/.vscode/mcp.json", Some("/w/shop")),
            ("/w/shop/.mcp.json", Some("/w/shop")),
            (".cursor/mcp.json", Some(".")),
            (".mcp.json", Some(".")),
            ("/w/shop/mcp.json", None),
            ("", None),
        ] {
            assert_eq!(project(Path::new(path)).as_deref(), expected.map(Path::new), "{path}");
        }
    }
}
