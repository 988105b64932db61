//! Prints the demo: eighty columns, with colors if wanted.

use std::io::{self, Write};
use std::time::Duration;

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
use memchr::memmem;

use super::harm::harm;
use super::scene::Scene;
use super::transcript::{Arrived, SceneTranscript};
use crate::terminal::Pieces;

const WIDTH: usize = 80;
/// Indentation of a story, in columns.
const INDENT: usize = 4;
/// Indentation of a received line, in columns.
const DEEP: usize = 16;
/// Limit on the examined part of a line, in bytes: more would not fit.
const SHOWN: usize = 4 * WIDTH;
/// Limit on the bytes shown before hidden characters.
const BEFORE: usize = 28;

const TITLE: Style = Style::new().bold();
const QUIET: Style = Style::new().dimmed();
const BAD: Style = AnsiColor::Red.on_default().bold();
const GOOD: Style = AnsiColor::Green.on_default().bold();

/// Output of the demo.
pub(super) struct Page {
    out: AutoStream<io::Stdout>,
}

/// Counts over all scenes.
#[derive(Debug, Default)]
pub(super) struct Totals {
    pub(super) scenes: usize,
    /// Attacks that reached the plain client.
    pub(super) harmed: usize,
    /// Attacks that Hardline stopped.
    stopped: usize,
    /// Requests to the guarded server, and those that got exactly one answer.
    asked: usize,
    answered: usize,
    pub(super) is_alive: bool,
    pub(super) time: Duration,
}

impl Totals {
    /// Counts one scene.
    pub(super) fn add(&mut self, bare: &SceneTranscript, safe: &SceneTranscript) {
        self.scenes += 1;
        self.harmed += usize::from(harm(bare).is_some());
        self.stopped += usize::from(harm(safe).is_none());
        self.asked += safe.asked.len();
        self.answered += safe.answered_once();
    }

    /// Returns true if every attack was stopped and every request answered.
    pub(super) fn is_perfect(&self) -> bool {
        self.stopped == self.scenes && self.answered == self.asked && self.is_alive
    }
}

impl Page {
    pub(super) fn new(choice: ColorChoice) -> Self {
        Self { out: AutoStream::new(io::stdout(), choice) }
    }

    pub(super) fn begin(&mut self) -> io::Result<()> {
        writeln!(self.out, "{TITLE}hardline demo{TITLE:#}\n")?;
        let about = "A hostile MCP server and two clients: one talks to it as clients do today, one \
            through `hardline wrap`. Both are real processes on this machine.";
        self.paragraph(about, 0)
    }

    pub(super) fn act(&mut self, title: &str) -> io::Result<()> {
        let line = "─".repeat(WIDTH.saturating_sub(title.len() + 4));
        writeln!(self.out, "\n{QUIET}──{QUIET:#} {TITLE}{title}{TITLE:#} {QUIET}{line}{QUIET:#}")
    }

    /// Prints the title and the story of a scene.
    pub(super) fn scene(&mut self, number: usize, scene: &Scene) -> io::Result<()> {
        let rule = scene.rule().map_or("", |rule| rule.name());
        let room = WIDTH.saturating_sub(INDENT + scene.title.len());
        let title = scene.title;
        let rule = if rule.is_empty() { String::new() } else { format!("{rule:>room$}") };
        writeln!(self.out, "\n{number:>2}  {TITLE}{title}{TITLE:#}{QUIET}{rule}{QUIET:#}")?;
        // Printed before the attack runs, which may take seconds.
        self.paragraph(scene.story, INDENT)?;
        self.out.flush()
    }

    /// Prints the outcome of a scene for both clients.
    pub(super) fn outcome(
        &mut self,
        scene: &Scene,
        bare: &SceneTranscript,
        safe: &SceneTranscript,
    ) -> io::Result<()> {
        match harm(bare) {
            Some(harm) => {
                let line = harm.line.and_then(|line| bare.lines.get(line));
                self.verdict("plain", false, &harm.what, line)?;
            }
            None => self.verdict("plain", true, "no harm was done", None)?,
        }
        if let Some(harm) = harm(safe) {
            let line = harm.line.and_then(|line| safe.lines.get(line));
            return self.verdict("hardline", false, &harm.what, line);
        }
        let answer = safe.answers(safe.attack).next();
        if safe.answered_once() < safe.asked.len() {
            return self.verdict("hardline", false, "not every request was answered once", answer);
        }
        let good = scene.good.replace("{n}", &safe.notifications().to_string());
        self.verdict("hardline", true, &good, answer)
    }

    pub(super) fn end(&mut self, totals: &Totals) -> io::Result<()> {
        let Totals { scenes, harmed, stopped, asked, answered, is_alive, time } = totals;
        let seconds = time.as_secs_f64();
        let of = |count: &usize, all: &usize| {
            if count == all { format!("all {all}") } else { format!("{count} of {all}") }
        };
        writeln!(self.out, "\n{QUIET}{}{QUIET:#}\n", "─".repeat(WIDTH))?;
        let reached = format!("{} attacks reached the client", of(harmed, scenes));
        self.sum("plain", *harmed == 0, &reached)?;
        self.sum(
            "hardline",
            stopped == scenes,
            &format!("{} attacks stopped", of(stopped, scenes)),
        )?;
        let answered_once = format!("{} requests answered, each exactly once", of(answered, asked));
        self.sum("", answered == asked, &answered_once)?;
        let alive = if *is_alive {
            "one session from beginning to end, and still alive"
        } else {
            "the session did not survive to the end"
        };
        self.sum("", *is_alive, alive)?;
        writeln!(
            self.out,
            "\n{QUIET}{seconds:.1} s. To guard your own server:{QUIET:#} {TITLE}hardline wrap -- COMMAND ARGS{TITLE:#}"
        )?;
        self.out.flush()
    }

    /// Prints the outcome for one client: a mark, its meaning, and the line that shows it.
    fn verdict(
        &mut self,
        side: &str,
        is_good: bool,
        what: &str,
        line: Option<&Arrived>,
    ) -> io::Result<()> {
        self.sum(side, is_good, what)?;
        if let Some(line) = line {
            let shown = excerpt(line, WIDTH - DEEP);
            writeln!(self.out, "{:DEEP$}{QUIET}{shown}{QUIET:#}", "")?;
        }
        self.out.flush()
    }

    fn sum(&mut self, side: &str, is_good: bool, what: &str) -> io::Result<()> {
        let (style, mark) = if is_good { (GOOD, "✓") } else { (BAD, "✗") };
        writeln!(self.out, "    {side:<9} {style}{mark}{style:#} {what}")
    }

    /// Prints a text, wrapped at [`WIDTH`].
    fn paragraph(&mut self, text: &str, indent: usize) -> io::Result<()> {
        let mut line = String::new();
        for word in text.split_whitespace() {
            if !line.is_empty() && indent + line.len() + 1 + word.len() > WIDTH {
                writeln!(self.out, "{:indent$}{line}", "")?;
                line.clear();
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
        writeln!(self.out, "{:indent$}{line}", "")
    }
}

/// Returns the significant part of a line, escaped and cut to `columns`.
fn excerpt(line: &Arrived, columns: usize) -> String {
    let start = telling(&line.text);
    let rest = line.text.get(start..).unwrap_or_default();
    // A line may have megabytes, of which a few columns are shown.
    let part = rest.get(..SHOWN).unwrap_or(rest);
    let lead = if start == 0 { "" } else { "…" };
    let has_more = part.len() < rest.len() || line.is_cut;
    let is_json = line.value.is_some();
    format!("{lead}{}", Pieces::new(part, is_json).first(columns - lead.chars().count(), has_more))
}

/// Returns the start of the significant part of a line, after the JSON-RPC envelope.
fn telling(text: &[u8]) -> usize {
    // Hidden characters, raw or already made visible, with a few words before them.
    let hidden = memmem::find(text, b"\xf3\xa0").or_else(|| memmem::find(text, b"<U+E00"));
    if let Some(at) = hidden {
        let start = at.saturating_sub(BEFORE);
        let before = text.get(start..at).unwrap_or_default();
        let word = || memchr::memchr(b' ', before).map(|space| space + 1);
        return start + memmem::find(before, b"\"text\":").or_else(word).unwrap_or(0);
    }
    // A request is best shown from its start.
    if memmem::find(text, b"\"method\"").is_some_and(|at| at < 60) {
        return 0;
    }
    [&b"\"message\":"[..], b"\"text\":"].iter().find_map(|it| memmem::find(text, it)).unwrap_or(0)
}
