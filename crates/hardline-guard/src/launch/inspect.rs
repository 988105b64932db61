//! Which arguments of a command are code, and which commands it starts.

use hardline_wire::excerpt::Excerpt;

use super::environment::injects_code;
use super::family::{self, Family, Operand};
use super::option::{Met, walk};

/// Wrappers around wrappers are followed this far. One more counts as code: nobody honest has it.
const MAX_NESTED: usize = 8;
/// How much of an argument is shown.
const SHOWN_BYTES: usize = 40;
/// Words of runners before what they run.
const VERBS: [&str; 9] =
    ["run", "exec", "x", "dlx", "tool", "script", "run-script", "task", "create"];

/// What a command would run.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct Look {
    /// Arguments that are code, or name code.
    pub code: Vec<Code>,
    /// Where the commands begin that others start with their own arguments: `sh` in `env sh x`.
    pub nested: Vec<usize>,
}

/// An argument that is code, or names code.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Code {
    /// Its place on the command line; 0 is the program.
    pub index: usize,
    /// Which of the two.
    pub kind: CodeKind,
    /// The program and the argument, escaped and cut short.
    pub shown: String,
}

/// What an argument is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum CodeKind {
    /// Code, or something that makes the program take the next for it.
    Inline,
    /// It names a module, file or library besides the program's own that is run or loaded.
    Named,
}

/// Looks at a command, the program first.
///
/// ```
/// use hardline_guard::launch::{CodeKind, inspect};
///
/// let command = ["env", "FOO=1", "sh", "-c", "id"].map(String::from);
/// let look = inspect(&command);
/// assert_eq!(look.nested, [2]);
/// assert_eq!(look.code[0].kind, CodeKind::Inline);
/// assert_eq!(look.code[0].index, 3);
///
/// let command = ["npx", "-y", "@modelcontextprotocol/server-filesystem", "-c"].map(String::from);
/// assert!(inspect(&command).code.is_empty());
/// ```
pub fn inspect(command: &[String]) -> Look {
    let mut look = Look::default();
    follow(command, 0, 0, &mut look);
    look
}

fn follow(command: &[String], at: usize, depth: usize, look: &mut Look) {
    let Some(program) = command.get(at) else { return };
    if depth == MAX_NESTED {
        look.add(command, at, at, CodeKind::Inline);
        return;
    }
    if family::is_windows_shell(program) {
        return follow_windows(command, at, look);
    }
    let Some(family) = family::of(program) else { return };
    let mut start = at + 1;
    if family::plain_name(program) == "env" {
        start = skip_assignments(command, at, start, look);
    }
    let walk = walk(command, start, &family);
    for (index, met) in walk.met {
        let kind = match met {
            Met::Inline => CodeKind::Inline,
            Met::Named => CodeKind::Named,
        };
        look.add(command, at, index, kind);
        // What follows is for the code.
        if matches!(family.operand, Operand::Script | Operand::Code) {
            return;
        }
    }
    match walk.operand {
        None if family.reads_stdin => look.add(command, at, at, CodeKind::Inline),
        None => {}
        Some(index) => follow_operand(command, at, index, &family, depth, look),
    }
}

fn follow_operand(
    command: &[String],
    at: usize,
    index: usize,
    family: &Family,
    depth: usize,
    look: &mut Look,
) {
    let word = command.get(index).map_or("", String::as_str);
    if family.verbs.contains(&word) {
        return look.add(command, at, index, CodeKind::Inline);
    }
    match family.operand {
        // What it reads is the protocol, which the client writes.
        Operand::Script if word == "-" => look.add(command, at, index, CodeKind::Inline),
        Operand::Script => {}
        Operand::Code => look.add(command, at, index, CodeKind::Inline),
        Operand::Package if VERBS.contains(&word) => {
            let walk = walk(command, index + 1, family);
            for (index, met) in walk.met {
                let kind = if met == Met::Inline { CodeKind::Inline } else { CodeKind::Named };
                look.add(command, at, index, kind);
            }
            if let Some(index) = walk.operand {
                follow_operand(command, at, index, family, depth + 1, look);
            }
        }
        Operand::Package => {
            if depth < MAX_NESTED && family::of(word).is_some() {
                follow(command, index, depth + 1, look);
            }
        }
        Operand::Program(before) => {
            let mut index = index + before;
            if family::plain_name(command.get(at).map_or("", String::as_str)) == "env" {
                index = skip_assignments(command, at, index, look);
            }
            if index < command.len() {
                look.nested.push(index);
                follow(command, index, depth + 1, look);
            }
        }
    }
}

/// Skips the `NAME=value` of `env`.
fn skip_assignments(command: &[String], at: usize, start: usize, look: &mut Look) -> usize {
    let mut index = start;
    while let Some((name, value)) = command.get(index).and_then(|word| word.split_once('=')) {
        if name.starts_with('-') {
            break;
        }
        if injects_code(name, value) {
            look.add(command, at, index, CodeKind::Named);
        }
        index += 1;
    }
    index
}

/// Windows' shells: `/c`, and any beginning of `-Command` and `-EncodedCommand`.
fn follow_windows(command: &[String], at: usize, look: &mut Look) {
    for (index, word) in command.iter().enumerate().skip(at + 1) {
        let word = word.to_lowercase();
        let Some(option) = word.strip_prefix(['-', '/']) else {
            // PowerShell takes what is no file for a command.
            if !word.ends_with(".ps1") {
                look.add(command, at, index, CodeKind::Inline);
            }
            return;
        };
        let is_code = ["command", "encodedcommand", "ec", "k", "r"];
        if !option.is_empty() && is_code.iter().any(|it| it.starts_with(option)) {
            return look.add(command, at, index, CodeKind::Inline);
        }
        if option == "file" || option == "f" {
            return;
        }
    }
}

impl Look {
    fn add(&mut self, command: &[String], program: usize, index: usize, kind: CodeKind) {
        let shown = |index: usize| {
            let word = command.get(index).map_or("", String::as_str);
            Excerpt::new(word.as_bytes(), SHOWN_BYTES).to_string()
        };
        let shown = match index {
            _ if index == program => shown(program),
            _ => format!("{} {}", shown(program), shown(index)),
        };
        self.code.push(Code { index, kind, shown });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `command` with words apart by a blank: what is inline and what is named, by index.
    #[track_caller]
    fn check(command: &str, inline: &[usize], named: &[usize]) {
        let words: Vec<String> = command.split(' ').map(String::from).collect();
        let look = inspect(&words);
        let of = |kind| -> Vec<usize> {
            look.code.iter().filter(|it| it.kind == kind).map(|it| it.index).collect()
        };
        assert_eq!((&*of(CodeKind::Inline), &*of(CodeKind::Named)), (inline, named), "{command}");
    }

    #[test]
    fn ordinary_servers_have_no_code_on_their_command_line() {
        check("npx -y @modelcontextprotocol/server-filesystem /tmp", &[], &[]);
        check("npx -y some-server -c config.json -e dev", &[], &[]);
        check("uvx mcp-server-git --repository x -c 1", &[], &[]);
        check("uv run --directory /srv server.py", &[], &[]);
        check("uv --directory /srv run weather.py", &[], &[]);
        check("node --enable-source-maps dist/index.js -e prod -r x", &[], &[]);
        check("python3 server.py -c x", &[], &[]);
        check("python -u -X utf8 server.py -m x", &[], &[]);
        check("docker run -i --rm -e TOKEN mcp/github", &[], &[]);
        check("deno run --allow-net server.ts", &[], &[]);
        check("bash start.sh -c x", &[], &[]);
        check("bash -e start.sh", &[], &[]);
        check("java -jar server.jar -e x", &[], &[]);
        check("/opt/bin/server -c x --eval y", &[], &[]);
        check("bun run index.ts", &[], &[]);
        check("cmd.exe /d start.bat", &[2], &[]);
    }

    #[test]
    fn inline_code_is_seen_however_it_is_written() {
        check("sh -c id", &[1], &[]);
        check("/bin/bash -lc id", &[1], &[]);
        check("bash -o pipefail -c id", &[3], &[]);
        check("bash", &[0], &[]);
        check("zsh -s", &[1], &[]);
        check("node -e 1", &[1], &[]);
        check("node --eval=1", &[1], &[]);
        check("node -pe 1", &[1], &[]);
        check("node20 --print 1", &[1], &[]);
        check("python3.12 -Ic 1", &[1], &[]);
        check("python -", &[1], &[]);
        check("npx -c id", &[1], &[]);
        check("npx -y -c id", &[2], &[]);
        check("npx -p x --call=id", &[3], &[]);
        check("npm exec -c id", &[2], &[]);
        check("npm exec --yes --call id", &[3], &[]);
        check("pnpm dlx -c id", &[2], &[]);
        check("uv run python -c 1", &[3], &[]);
        check("uvx --from x python -c 1", &[4], &[]);
        check("npx node -e 1", &[2], &[]);
        check("deno eval 1", &[1], &[]);
        check("perl -we 1", &[1], &[]);
        check("ruby -e 1", &[1], &[]);
        check("php -r 1", &[1], &[]);
        check("awk BEGIN{}", &[1], &[]);
        check("powershell -NoProfile -enc AAAA", &[2], &[]);
        check("cmd /c dir", &[1], &[]);
        check("CMD.EXE /C dir", &[1], &[]);
        check("su -c id", &[1], &[]);
    }

    #[test]
    fn code_that_is_named_is_seen() {
        check("python -m http.server", &[], &[1]);
        check("python -um http.server", &[], &[1]);
        check("node --require /tmp/x.js server.js", &[], &[1]);
        check("node -r /tmp/x.js server.js", &[], &[1]);
        check("node --import=/tmp/x.mjs server.js", &[], &[1]);
        check("ruby -rsocket server.rb", &[], &[1]);
        check("uv run -m evil", &[], &[2]);
    }

    #[test]
    fn wrappers_are_followed() {
        check("env sh -c id", &[2], &[]);
        check("env -i -u C A=b sh -c id", &[6], &[]);
        check("env -Ssh\t-c", &[1], &[]);
        check("/usr/bin/env A=b python3 -c 1", &[3], &[]);
        check("env NODE_OPTIONS=--require=x node y.js", &[], &[1]);
        check("env LD_PRELOAD=x y", &[], &[1]);
        check("nice -n 5 sh -c id", &[4], &[]);
        check("timeout 5 sh -c id", &[3], &[]);
        check("timeout -k 3 5 env sh -c id", &[6], &[]);
        check("busybox sh -c id", &[2], &[]);
        check("sudo -u root bash -c id", &[4], &[]);
        check("nohup nohup nohup nohup nohup nohup nohup nohup nohup nohup x", &[8], &[]);
        assert_eq!(inspect(&["env", "A=1", "nice", "x"].map(String::from)).nested, [2, 3]);
    }
}
