//! A session with a server behind a program of another author, which may block, alter or lose what
//! passes, print other lines, or hang.
//!
//! Every wait has a limit, and no failure of the program ends the benchmark. Dropping a session ends
//! all its processes, also those that moved to a process group of their own.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_setfl};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::answer::TOOL;

/// Time limit for the first answer. Programs in Python import for seconds.
const MAX_START: Duration = Duration::from_secs(30);
/// Time limit for anything to arrive while an answer is missing.
const MAX_SILENCE: Duration = Duration::from_secs(15);
/// Time in which nothing more may arrive after the last answer.
const QUIET: Duration = Duration::from_millis(30);
/// Length of a quotation of what a program wrote, in characters.
const MAX_QUOTE: usize = 120;
const MAX_DIFFERENCE: usize = 24;

/// A failure of the measured program.
#[derive(Clone, Debug)]
pub(super) struct Failure {
    /// A word or two, for a cell.
    pub(super) word: &'static str,
    /// The reason, for a note.
    pub(super) detail: String,
}

/// A failure of a session, or what it is about.
pub(super) type Outcome<T> = Result<T, Failure>;

/// A call of the tool, repeated with different ids.
#[derive(Debug)]
pub(super) struct Request {
    row: usize,
    members: String,
    expected: Value,
}

impl Request {
    /// Returns the call whose answer carries these members.
    pub(super) fn new(row: usize, members: String) -> Self {
        let expected: Value = serde_json::from_str(&format!("{{{members}}}")).unwrap();
        Self { row, members, expected: expected["content"].clone() }
    }
}

/// A running program with a server behind it.
#[derive(Debug)]
pub(super) struct Session {
    child: Child,
    input: ChildStdin,
    output: ChildStdout,
    /// File with its standard error.
    errors: PathBuf,
    /// Name of the tool, which some programs change.
    tool: String,
    next_id: u64,
    outgoing: Vec<u8>,
    buffer: Vec<u8>,
}

impl Session {
    /// Starts a program in its folder and opens a session.
    pub(super) fn start(command: &mut Command, folder: &Path) -> Outcome<Self> {
        let failed = |error: &dyn std::fmt::Display| Failure {
            word: "does not start",
            detail: error.to_string(),
        };
        let errors = folder.join("stderr");
        let stderr = File::create(&errors).map_err(|error| failed(&error))?;
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(stderr).process_group(0);
        let mut child = command.spawn().map_err(|error| failed(&error))?;
        let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        fcntl_setfl(&input, OFlags::NONBLOCK).unwrap();
        fcntl_setfl(&output, OFlags::NONBLOCK).unwrap();
        let mut session = Self {
            child,
            input,
            output,
            errors,
            tool: TOOL.into(),
            next_id: 2,
            outgoing: Vec::new(),
            buffer: vec![0; 1 << 20],
        };
        let opened = session.open();
        opened.map_err(|it| Failure { word: "does not start", detail: it.detail })?;
        Ok(session)
    }

    fn open(&mut self) -> Outcome<()> {
        self.ask(concat!(
            r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","#,
            r#""capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}"#,
            "\n"
        ), 0)?;
        let list = self.ask(
            concat!(
                "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n",
                "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}\n"
            ),
            1,
        )?;
        let tools = list["result"]["tools"].as_array().into_iter().flatten();
        let names: Vec<_> = tools.filter_map(|it| it["name"].as_str()).collect();
        let Some(tool) = names.iter().find(|it| it.ends_with(TOOL)) else {
            let detail =
                format!("does not list the tool of the server: {}", quote(&list.to_string()));
            return Err(Failure { word: "no tool", detail });
        };
        self.tool = (*tool).to_owned();
        Ok(())
    }

    /// Makes `in_flight` calls at once and checks that each has its own answer, unchanged. Returns
    /// the time of the calls.
    pub(super) fn check(&mut self, request: &Request, in_flight: usize) -> Outcome<Duration> {
        let failure = |word, detail| Err(Failure { word, detail });
        let (first, start) = (self.next_id, Instant::now());
        let mut answers = Vec::new();
        self.exchange(request, in_flight, in_flight, Some(&mut answers))?;
        let time = start.elapsed();
        if self.wait(false, QUIET).is_ok() && self.read(Some(&mut answers))? > 0 {
            return failure("extra lines", "writes more lines than answers".into());
        }
        let mut ids = HashSet::new();
        for line in answers.split(|byte| *byte == b'\n').filter(|it| !it.is_empty()) {
            let quoted = || quote(&String::from_utf8_lossy(line));
            let Ok(answer) = serde_json::from_slice::<Value>(line) else {
                return failure("no JSON", quoted());
            };
            let (result, error) = (&answer["result"], &answer["error"]);
            if !error.is_null() {
                return failure("blocked", quote(error["message"].as_str().unwrap_or_default()));
            }
            if result["content"] != request.expected {
                let (actual, expected) = (text(&result["content"]), text(&request.expected));
                // A refusal is short and says so; a text with changes is still that text.
                if result["isError"] == true || actual.len() < expected.len() / 2 {
                    return failure("blocked", quote(actual));
                }
                return failure("altered", difference(actual, expected));
            }
            ids.extend(answer["id"].as_u64());
        }
        let all = (first..).take(in_flight);
        if all.clone().all(|id| ids.contains(&id)) {
            Ok(time)
        } else {
            failure("wrong ids", format!("answers {} of {in_flight} calls by their id", ids.len()))
        }
    }

    /// Makes calls, up to `in_flight` of them at a time, and counts the lines that come back.
    pub(super) fn exchange(
        &mut self,
        request: &Request,
        calls: usize,
        in_flight: usize,
        mut keep: Option<&mut Vec<u8>>,
    ) -> Outcome<()> {
        let (mut sent, mut answered, mut written) = (0, 0, 0);
        self.outgoing.clear();
        while answered < calls {
            while sent < calls && sent < answered + in_flight {
                self.push(request);
                sent += 1;
            }
            written += self.write(written)?;
            if written == self.outgoing.len() {
                self.outgoing.clear();
                written = 0;
            }
            self.wait(written < self.outgoing.len(), MAX_SILENCE)?;
            answered += self.read(keep.as_deref_mut())?;
        }
        Ok(())
    }

    /// Returns the resident memory of all processes except the server, in MB.
    pub(super) fn memory(&self) -> Option<f64> {
        let program = std::env::current_exe().ok()?;
        let mut kilobytes = 0.0;
        for pid in family(self.child.id()) {
            let folder = PathBuf::from(format!("/proc/{pid}"));
            let arguments = fs::read(folder.join("cmdline")).unwrap_or_default();
            let is_server = fs::read_link(folder.join("exe")).is_ok_and(|it| it == program)
                && arguments.split(|byte| *byte == 0).nth(1) == Some(b"--answer");
            let status = fs::read_to_string(folder.join("status")).unwrap_or_default();
            let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
            let resident = line.and_then(|it| it.split_whitespace().next()?.parse::<f64>().ok());
            if !is_server {
                kilobytes += resident.unwrap_or(0.0);
            }
        }
        (kilobytes > 0.0).then_some(kilobytes / 1024.0)
    }

    /// Sends lines and returns the answer to `id`. Skips other lines.
    fn ask(&mut self, lines: &str, id: u64) -> Outcome<Value> {
        self.outgoing.clear();
        self.outgoing.extend_from_slice(lines.as_bytes());
        let (start, mut written, mut answers) = (Instant::now(), 0, Vec::new());
        loop {
            written += self.write(written)?;
            let left = MAX_START.saturating_sub(start.elapsed());
            self.wait(written < self.outgoing.len(), left)?;
            self.read(Some(&mut answers))?;
            let lines = answers.split(|byte| *byte == b'\n');
            let values = lines.filter_map(|line| serde_json::from_slice::<Value>(line).ok());
            if let Some(answer) = values.into_iter().find(|it| it["id"] == id) {
                return Ok(answer);
            }
        }
    }

    fn push(&mut self, Request { row, members, .. }: &Request) {
        let (id, tool) = (self.next_id, &self.tool);
        self.next_id += 1;
        // Written in parts: formatting would look at each byte of the text.
        let head = format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{{"row":{row},"#
        );
        for part in [head.as_bytes(), members.as_bytes(), b"}}}\n"] {
            self.outgoing.extend_from_slice(part);
        }
    }

    /// Writes what fits. Returns its length.
    fn write(&mut self, from: usize) -> Outcome<usize> {
        let rest = &self.outgoing[from..];
        if rest.is_empty() {
            return Ok(0);
        }
        match self.input.write(rest) {
            Ok(length) => Ok(length),
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(0),
            Err(_) => Err(self.ended()),
        }
    }

    /// Reads what has arrived. Returns the number of line ends.
    fn read(&mut self, keep: Option<&mut Vec<u8>>) -> Outcome<usize> {
        match self.output.read(&mut self.buffer) {
            Ok(0) => Err(self.ended()),
            Ok(length) => {
                let bytes = &self.buffer[..length];
                if let Some(keep) = keep {
                    keep.extend_from_slice(bytes);
                }
                Ok(bytes.iter().filter(|byte| **byte == b'\n').count())
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(0),
            Err(_) => Err(self.ended()),
        }
    }

    /// Waits until something has arrived, or until there is room for more if some is left to write.
    fn wait(&self, is_more_to_write: bool, limit: Duration) -> Outcome<()> {
        let mut descriptors =
            [PollFd::new(&self.output, PollFlags::IN), PollFd::new(&self.input, PollFlags::OUT)];
        let count = if is_more_to_write { 2 } else { 1 };
        let limit = Timespec::try_from(limit).unwrap();
        match poll(&mut descriptors[..count], Some(&limit)) {
            Ok(0) => Err(Failure { word: "no answer", detail: "answers nothing in time".into() }),
            _ => Ok(()),
        }
    }

    /// Describes the end of the program by the last line that it wrote to standard error.
    fn ended(&self) -> Failure {
        let errors = fs::read(&self.errors).unwrap_or_default();
        let errors = String::from_utf8_lossy(&errors);
        let last = errors.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("no message");
        Failure { word: "ends", detail: format!("ends: {}", quote(last)) }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // The processes are listed before any of them ends, as long as each still has its parent.
        for pid in family(self.child.id()) {
            if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
                let _ = kill_process(pid, Signal::KILL);
            }
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns a process and all processes below it.
fn family(pid: u32) -> Vec<u32> {
    let mut parents = Vec::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|it| it.parse::<u32>().ok()) else {
            continue;
        };
        let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        // The name of the program, in parentheses, may contain anything.
        let parent = stat.rsplit_once(')').and_then(|(_, it)| it.split_whitespace().nth(1));
        parents.extend(parent.and_then(|it| it.parse::<u32>().ok()).map(|parent| (pid, parent)));
    }
    let mut family = vec![pid];
    let mut at = 0;
    while let Some(pid) = family.get(at).copied() {
        family.extend(parents.iter().filter(|(_, parent)| *parent == pid).map(|(child, _)| child));
        at += 1;
    }
    family
}

/// Returns the text of a result's first block.
fn text(content: &Value) -> &str {
    content[0]["text"].as_str().unwrap_or_default()
}

/// Quotes the first place at which two texts differ.
fn difference(actual: &str, expected: &str) -> String {
    let same = actual.chars().zip(expected.chars()).take_while(|(one, other)| one == other).count();
    let from = |text: &str| text.chars().skip(same).take(MAX_DIFFERENCE).collect::<String>();
    let (actual, expected) = (quote(&from(actual)), quote(&from(expected)));
    format!("from character {same} on, \u{201c}{expected}\u{201d} is now \u{201c}{actual}\u{201d}")
}

/// Makes a text of a program fit for a page: short, printable, without marks of Markdown or folders.
fn quote(text: &str) -> String {
    let is_plain = |it: &char| (*it == ' ' || it.is_ascii_graphic()) && !"|`<>*".contains(*it);
    let words = text.split_whitespace().map(|word| word.rsplit('/').next().unwrap_or(word));
    let text: String = words.collect::<Vec<_>>().join(" ").chars().filter(is_plain).collect();
    match text.char_indices().nth(MAX_QUOTE) {
        Some((end, _)) => format!("{}…", text.split_at(end).0),
        None => text,
    }
}
