//! Dialects: the meaning of the same keys in the files of different clients.

use std::path::{Path, PathBuf};
use std::time::Duration;

/// Kinds of references that a client expands in `command`, `args`, `env`, `cwd`, `envFile`, the address and
/// `headers`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Expands {
    /// `${VAR}` and `${VAR:-default}`.
    Names,
    /// `$VAR`.
    Bare,
    /// `${env:VAR}`.
    Prefixes,
    /// `${userHome}`, `${workspaceFolder}`, `${workspaceFolderBasename}`, `${pathSeparator}`, `${/}` and
    /// `${input:id}`.
    Editor,
    /// `${workspaceFolder}` alone.
    Folder,
}

/// Directories in which a file name belongs to a client, in lower case.
#[derive(Clone, Copy, Debug)]
enum Folders {
    /// All directories.
    Any,
    /// The directory of the file has this name.
    Parent(&'static str),
    /// Each of these names is that of a directory above the file.
    Above(&'static [&'static str]),
}

/// Properties of the files of one client.
struct Properties {
    /// Id on the command line, such as `claude-code`.
    id: Option<&'static str>,
    /// Display name.
    name: &'static str,
    /// File names, in lower case, and the directories in which they belong to this client.
    files: &'static [(&'static str, Folders)],
    /// Directory of a project that contains the client's file.
    project: Option<&'static str>,
    /// Key paths at which the client looks for servers.
    places: &'static [&'static [&'static str]],
    /// True if no other client uses these key paths, so that they show the client in a file of any
    /// name.
    owns_places: bool,
    /// Expanded references.
    expands: &'static [Expands],
    /// Unit of `timeout`, as a word and as a duration.
    timeout_unit: (&'static str, Duration),
}

const MILLISECONDS: (&str, Duration) = ("milliseconds", Duration::from_millis(1));
const SECONDS: (&str, Duration) = ("seconds", Duration::from_secs(1));

/// The properties that a row does not state.
const USUAL: Properties = Properties {
    id: None,
    name: "the client",
    files: &[],
    project: None,
    places: &[&["mcpServers"]],
    owns_places: false,
    expands: &[],
    timeout_unit: MILLISECONDS,
};

macro_rules! dialects {
    ($($(#[$meta:meta])* $variant:ident { $($property:ident: $value:expr),* $(,)? })*) => {
        /// The client whose file format applies. It decides which variables are expanded, and the unit of
        /// `timeout`.
        ///
        /// Variables are expanded in `command`, `args`, `env`, `cwd`, `envFile`, the address and `headers`.
        #[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
        #[non_exhaustive]
        pub enum Dialect {
            $($(#[$meta])* $variant,)*
        }

        impl Dialect {
            const ALL: &[Self] = &[$(Self::$variant),*];

            fn properties(self) -> &'static Properties {
                match self {
                    $(Self::$variant => &const { Properties { $($property: $value,)* ..USUAL } },)*
                }
            }
        }
    };
}

// One row per client. The first row with a pattern for a file decides, so clients that share a name
// with others come last.
dialects! {
    /// No particular client, as in Hardline's own `mcp.json`. Expands `${VAR}`, `${VAR:-default}`, `${env:VAR}`
    /// and the references of editors. `timeout` is in milliseconds.
    #[default]
    Generic {
        places: &[
            &["mcpServers"],
            &["servers"],
            &["mcp", "servers"],
            &["mcp.servers"],
            &["context_servers"],
            &["mcp_servers"],
        ],
        expands: &[Expands::Names, Expands::Prefixes, Expands::Editor],
    }
    /// Claude Desktop: `claude_desktop_config.json`. Expands nothing. `timeout` is in milliseconds.
    ClaudeDesktop {
        id: Some("claude-desktop"),
        name: "Claude Desktop",
        files: &[("claude_desktop_config.json", Folders::Any)],
    }
    /// Claude Code: `.claude.json` and `.mcp.json`. Expands `${VAR}` and `${VAR:-default}`. `timeout` is in
    /// milliseconds.
    ClaudeCode {
        id: Some("claude-code"),
        name: "Claude Code",
        files: &[(".claude.json", Folders::Any), (".mcp.json", Folders::Any)],
        expands: &[Expands::Names],
    }
    /// Cursor: `.cursor/mcp.json`. Expands `${env:VAR}`, `${userHome}`, `${workspaceFolder}`,
    /// `${workspaceFolderBasename}`, `${pathSeparator}` and `${/}`. `timeout` is in milliseconds.
    Cursor {
        id: Some("cursor"),
        name: "Cursor",
        files: &[("mcp.json", Folders::Parent(".cursor"))],
        project: Some(".cursor"),
        expands: &[Expands::Prefixes, Expands::Editor],
    }
    /// Windsurf: `mcp_config.json`. Expands `${env:VAR}`. `timeout` is in milliseconds.
    Windsurf {
        id: Some("windsurf"),
        name: "Windsurf",
        // Other tools use this file name too, so the directory decides.
        files: &[("mcp_config.json", Folders::Above(&[".codeium"]))],
        expands: &[Expands::Prefixes],
    }
    /// Zed: `settings.json`. Expands nothing. `timeout` is in seconds.
    Zed {
        id: Some("zed"),
        name: "Zed",
        files: &[("settings.json", Folders::Parent("zed")), ("settings.json", Folders::Parent(".zed"))],
        project: Some(".zed"),
        places: &[&["context_servers"]],
        owns_places: true,
        timeout_unit: SECONDS,
    }
    /// Gemini CLI: `.gemini/settings.json`. Expands `$VAR`, `${VAR}` and `${VAR:-default}`. `timeout` is in
    /// milliseconds.
    GeminiCli {
        id: Some("gemini-cli"),
        name: "Gemini CLI",
        files: &[("settings.json", Folders::Parent(".gemini"))],
        project: Some(".gemini"),
        expands: &[Expands::Names, Expands::Bare],
    }
    /// Codex: `.codex/config.toml`. Expands nothing; `env_vars` and similar keys name variables. Times are in
    /// seconds.
    Codex {
        id: Some("codex"),
        name: "Codex",
        files: &[("config.toml", Folders::Any)],
        project: Some(".codex"),
        places: &[&["mcp_servers"]],
        owns_places: true,
        timeout_unit: SECONDS,
    }
    /// Roo Code: `.roo/mcp.json`, and `mcp_settings.json` of a user. Expands `${env:VAR}` and
    /// `${workspaceFolder}`. `timeout` is in seconds.
    Roo {
        id: Some("roo"),
        name: "Roo Code",
        files: &[
            // Roo Code is a fork of Cline and first kept its file name.
            ("cline_mcp_settings.json", Folders::Above(&["rooveterinaryinc.roo-cline"])),
            ("mcp_settings.json", Folders::Any),
            ("mcp.json", Folders::Parent(".roo")),
        ],
        project: Some(".roo"),
        expands: &[Expands::Prefixes, Expands::Folder],
        timeout_unit: SECONDS,
    }
    /// Cline: `cline_mcp_settings.json`. Expands `${env:VAR}`. `timeout` is in seconds.
    Cline {
        id: Some("cline"),
        name: "Cline",
        files: &[("cline_mcp_settings.json", Folders::Any)],
        expands: &[Expands::Prefixes],
        timeout_unit: SECONDS,
    }
    /// LM Studio: `.lmstudio/mcp.json`. Expands nothing. `timeout` is in milliseconds.
    LmStudio {
        id: Some("lm-studio"),
        name: "LM Studio",
        files: &[("mcp.json", Folders::Parent(".lmstudio")), ("mcp.json", Folders::Parent("lm-studio"))],
    }
    /// VS Code: `.vscode/mcp.json`, and `mcp.json` and `settings.json` of a user. Expands the same as
    /// [`Cursor`](Self::Cursor), `${input:id}` and `${cwd}`. `timeout` is in milliseconds.
    VsCode {
        id: Some("vscode"),
        name: "VS Code",
        // VS Code, its variants and forks all have a `User` directory.
        files: &[
            ("mcp.json", Folders::Parent(".vscode")),
            ("mcp.json", Folders::Parent("user")),
            ("settings.json", Folders::Parent(".vscode")),
            ("settings.json", Folders::Parent("user")),
            ("mcp.json", Folders::Above(&["profiles", "user"])),
        ],
        project: Some(".vscode"),
        places: &[&["servers"]],
        expands: &[Expands::Prefixes, Expands::Editor],
    }
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
        let is_here = |place: Folders| match place {
            Folders::Any => true,
            Folders::Parent(folder) => folders.last().is_some_and(|it| it == folder),
            Folders::Above(names) => names.iter().all(|name| folders.iter().any(|it| it == name)),
        };
        let matches = |it: &Self| {
            it.properties().files.iter().any(|(file, place)| *file == name && is_here(*place))
        };
        Self::ALL.iter().copied().find(matches).unwrap_or_default()
    }

    /// Returns the dialect of the client with this id, such as `claude-code`.
    pub fn of_client(id: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|it| it.properties().id == Some(id))
    }

    /// Returns the display name of the client.
    pub(super) fn client(self) -> &'static str {
        self.properties().name
    }

    /// Returns the key paths at which the client looks for servers.
    pub(super) fn places(self) -> &'static [&'static [&'static str]] {
        self.properties().places
    }

    /// Returns the dialect of servers at this key path of a file whose name shows no client.
    pub(super) fn at_place(keys: &[&str]) -> Self {
        let owns = |it: &Self| {
            let properties = it.properties();
            properties.owns_places && properties.places.contains(&keys)
        };
        Self::ALL.iter().copied().find(owns).unwrap_or_default()
    }

    /// Returns the unit of `timeout`, as a word and as a duration.
    pub(super) fn timeout_unit(self) -> (&'static str, Duration) {
        self.properties().timeout_unit
    }

    fn expands(self, it: Expands) -> bool {
        self.properties().expands.contains(&it)
    }

    /// Returns true if variables without braces, as `$VAR`, are expanded.
    pub(super) fn has_bare_variables(self) -> bool {
        self.expands(Expands::Bare)
    }

    /// Returns true if `type: "http"` also covers servers that speak only HTTP+SSE.
    pub(super) fn falls_back_to_sse(self) -> bool {
        matches!(self, Self::VsCode | Self::Cursor)
    }

    /// Returns the syntax for a variable with a default, if the dialect has one.
    pub(super) fn default_syntax(self, name: &str) -> Option<String> {
        self.expands(Expands::Names).then(|| format!("${{{name}:-default}}"))
    }

    /// Returns the meaning of `inner`, the text between braces.
    pub(super) fn reference(self, inner: &str) -> Reference<'_> {
        // Only these clients expand `${VAR}` without a prefix; in the others it is literal text.
        let has_names = self.expands(Expands::Names);
        let has_prefixes = self.expands(Expands::Prefixes);
        if let (true, Some((prefix, name))) = (has_prefixes, inner.split_once(':')) {
            let is_editor = self.expands(Expands::Editor);
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
        let is_editor = self.expands(Expands::Editor);
        match inner {
            "workspaceFolder" if is_editor || self.expands(Expands::Folder) => {
                Some(Builtin::Folder)
            }
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
    let mut hidden = Dialect::ALL.iter().filter_map(|it| it.properties().project);
    let is_hidden = hidden.any(|name| folder.file_name().is_some_and(|it| it == name));
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
    fn a_file_of_no_client_is_searched_for_the_servers_of_each() {
        let places = Dialect::Generic.places();
        for dialect in Dialect::ALL {
            for keys in dialect.places() {
                assert!(places.contains(keys), "{keys:?} of {dialect:?} is not in Generic.places");
            }
        }
        assert_eq!(Dialect::at_place(&["context_servers"]), Dialect::Zed);
        assert_eq!(Dialect::at_place(&["mcp_servers"]), Dialect::Codex);
        assert_eq!(Dialect::at_place(&["servers"]), Dialect::Generic);
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
