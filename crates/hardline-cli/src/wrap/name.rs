//! Derives the name of a server from its command line, never from its own messages.

use std::ffi::OsString;
use std::path::{Component, Path};

/// Programs that run the package or script in their arguments.
const RUNNERS: [&str; 14] = [
    "npx", "bunx", "pnpx", "uvx", "pipx", "uv", "npm", "pnpm", "yarn", "bun", "node", "deno",
    "python", "python3",
];
/// Subcommands of runners, which come before the package or script.
const VERBS: [&str; 6] = ["run", "exec", "dlx", "tool", "x", "--"];
/// Names that identify no server, such as `index` in `weather/build/index.js`.
const ORDINARY: [&str; 6] = ["index", "main", "server", "__main__", "dist", "build"];

/// Returns a name for the server that a command starts.
pub(super) fn of(command: &[OsString]) -> String {
    let words: Vec<String> =
        command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let Some((program, rest)) = words.split_first() else { return "server".to_owned() };
    let program = stem(program);
    if !RUNNERS.contains(&program.as_str()) {
        return program;
    }
    let names_something =
        |word: &&String| !word.starts_with('-') && !VERBS.contains(&word.as_str());
    match rest.iter().find(names_something) {
        Some(word) => stem(word),
        None => program,
    }
}

/// Returns the last part of a path or package name that identifies the server, without its version.
fn stem(word: &str) -> String {
    let path = Path::new(word);
    let plain = |part: &std::ffi::OsStr| {
        let part = part.to_string_lossy();
        // The first `@` may begin an npm scope; a later one begins the version.
        let part = match part.char_indices().skip(1).find(|(_, char)| *char == '@') {
            Some((at, _)) => part.get(..at).unwrap_or_default().to_owned(),
            None => part.into_owned(),
        };
        let known = [".js", ".mjs", ".cjs", ".ts", ".py", ".exe", ".cmd"];
        let stripped = known.iter().find_map(|end| part.strip_suffix(end));
        stripped.unwrap_or(&part).to_owned()
    };
    let is_name = |part: &Component<'_>| matches!(part, Component::Normal(_));
    let parts: Vec<String> =
        path.components().filter(is_name).map(|part| plain(part.as_os_str())).collect();
    let mut named = parts.iter().rev().filter(|part| !ORDINARY.contains(&part.as_str()));
    let name = named.next().or(parts.last()).cloned().unwrap_or_default();
    // The name becomes part of file names and log lines.
    let is_fit = |char: &char| char.is_alphanumeric() || "-_.".contains(*char);
    let name: String = name.chars().filter(is_fit).take(64).collect();
    if name.is_empty() { "server".to_owned() } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(command: &str, expected: &str) {
        let words: Vec<OsString> = command.split(' ').map(OsString::from).collect();
        assert_eq!(of(&words), expected);
    }

    #[test]
    fn a_command_line_names_its_server() {
        check("npx -y @modelcontextprotocol/server-filesystem /tmp", "server-filesystem");
        check("npx -y @modelcontextprotocol/server-filesystem@2026.1.2 /tmp", "server-filesystem");
        check("uvx mcp-server-git --repository x", "mcp-server-git");
        check("uvx mcp-server-git@1.2", "mcp-server-git");
        check("/usr/bin/python3 -m mcp_server_time", "mcp_server_time");
        check("uv run weather.py", "weather");
        check("node /home/me/weather/build/index.js", "weather");
        check("/opt/bin/my-server --stdio", "my-server");
        check("npx", "npx");
        check("./server", "server");
    }
}
