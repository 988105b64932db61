//! Compares `hardline wrap` with guards and proxies of other authors, in front of the same server.
//!
//! `--peers FILE` names them: a line for each, with name, version, program and arguments between
//! tabs. A line without a program gives the reason why there is none. In an argument, `{program}` is
//! the program of the server, `{server}` (alone) its whole command, and `{config:PATH}` a copy of a
//! file in which `{program}` is replaced. `cargo xtask bench peers` installs the programs and writes
//! the file.
//!
//! All programs run at the same time and take turns. They run twice: on one core for single calls,
//! and on all cores for many calls in flight.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use hardline_testkit::peers::{Cell, Program, page};

use super::session::{Failure, Outcome, Request, Session};
use super::{IN_FLIGHT, KINDS, Kind, STATE, pin};

/// Kinds of texts that are compared: prose, code, a script without spaces, and data full of escapes.
const COMPARED: [&str; 4] =
    ["Markdown", "minified JavaScript", "Chinese, Japanese", "JSON as text"];
const SIZES: [(&str, usize); 3] = [("200 B", 200), ("10 KB", 10_000), ("100 KB", 100_000)];
/// Number of calls in one step with [`IN_FLIGHT`] of them in flight.
const BURST: usize = 128;

/// Duration of a comparison.
#[derive(Clone, Copy, Debug)]
pub(super) struct Effort {
    rounds: usize,
    /// Shortest duration of a round. A round is at least one step.
    round: Duration,
    /// Time after which a slow program has no further rounds in a row.
    budget: Duration,
}

impl Effort {
    pub(super) const FULL: Self =
        Self { rounds: 20, round: Duration::from_millis(15), budget: Duration::from_millis(1500) };
    pub(super) const ONCE: Self =
        Self { rounds: 2, round: Duration::from_millis(1), budget: Duration::ZERO };
}

/// A kind of text in a size.
#[derive(Clone, Copy, Debug)]
pub(super) struct Text {
    kind: Kind,
    name: &'static str,
    size: usize,
}

impl Text {
    pub(super) fn members(self) -> String {
        self.kind.members(self.size)
    }
}

/// Returns the texts that are compared.
pub(super) fn rows() -> impl Iterator<Item = Text> {
    let kinds = KINDS.into_iter().filter(|it| COMPARED.contains(&it.name));
    SIZES
        .into_iter()
        .flat_map(move |(name, size)| kinds.clone().map(move |kind| Text { kind, name, size }))
}

/// Compares the programs of a list, and prints the tables.
pub(super) fn run(effort: Effort, list: &str) -> ExitCode {
    let list = fs::read_to_string(list).unwrap();
    let (missing, listed): (Vec<_>, Vec<_>) = list
        .lines()
        .map(|line| line.split('\t').collect::<Vec<_>>())
        .partition(|it| it[2].is_empty());
    let mut candidates = vec![Candidate::new(
        "byte copy",
        "",
        vec!["{program}".into(), "--copy".into(), "{server}".into()],
    )];
    let wrap = [env!("CARGO_BIN_EXE_hardline"), "wrap", "--", "{server}"];
    candidates.push(Candidate::new(
        "`hardline wrap`",
        env!("CARGO_PKG_VERSION"),
        wrap.map(str::to_owned).to_vec(),
    ));
    candidates.extend(listed.iter().map(|words| {
        Candidate::new(words[0], words[1], words[2..].iter().map(|it| (*it).to_owned()).collect())
    }));
    let requests: Vec<_> =
        rows().enumerate().map(|(row, text)| Request::new(row, text.members())).collect();
    for mode in [Mode::Single, Mode::Burst] {
        pin(mode == Mode::Single);
        candidates.iter_mut().for_each(Candidate::start);
        for (text, request) in rows().zip(&requests) {
            let name = format!("{}, {}", text.kind.name, text.name);
            eprintln!("{mode:?}: {name}");
            measure(effort, mode, request, &name, &mut candidates);
        }
        for candidate in &mut candidates {
            if mode == Mode::Single {
                let session = candidate.session.as_ref().ok();
                candidate.program.memory = session.and_then(Session::memory);
            }
            candidate.session = Err(Failure { word: "–", detail: String::new() });
        }
    }
    pin(false);
    print(&candidates, &missing);
    // A failure of another program is a result. One of ours is an error.
    let is_fine =
        |it: &Candidate| it.program.single.iter().chain(&it.program.burst).all(Cell::is_ok);
    if candidates.iter().take(2).all(is_fine) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn print(candidates: &[Candidate], missing: &[Vec<&str>]) {
    let rows: Vec<_> = rows().map(|it| (it.kind.name, it.name)).collect();
    let programs: Vec<_> = candidates.iter().map(|it| it.program.clone()).collect();
    println!("{}", page(&rows, &programs, IN_FLIGHT));
    for candidate in candidates {
        for (word, detail) in &candidate.notes {
            let Program { name, version, .. } = &candidate.program;
            println!("- {name} {version}, {word}: {detail}");
        }
    }
    for words in missing {
        println!("- {} {}: {}", words[0], words[1], words.get(3).copied().unwrap_or_default());
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Single,
    Burst,
}

/// A program, its figures so far, and its session.
#[derive(Debug)]
struct Candidate {
    program: Program,
    words: Vec<String>,
    folder: PathBuf,
    session: Outcome<Session>,
    /// The first failure of each sort.
    notes: BTreeMap<&'static str, String>,
}

impl Candidate {
    fn new(name: &str, version: &str, words: Vec<String>) -> Self {
        let folder = STATE.get().unwrap().join(name.replace(|it: char| !it.is_alphanumeric(), "-"));
        fs::create_dir_all(&folder).unwrap();
        let program = Program::new(name, version);
        let session = Err(Failure { word: "–", detail: String::new() });
        Self { program, words, folder, session, notes: BTreeMap::new() }
    }

    fn start(&mut self) {
        self.session = Session::start(&mut self.command(), &self.folder);
        if let Err(failure) = &self.session {
            let (word, detail) = (failure.word, failure.detail.clone());
            self.note(word, detail);
        }
    }

    /// Returns its command. It reads and writes in its folder only, as far as it asks the environment.
    fn command(&self) -> Command {
        let server = std::env::current_exe().unwrap().display().to_string();
        let mut words = Vec::new();
        for word in &self.words {
            if word == "{server}" {
                words.extend([server.clone(), "--answer".into()]);
            } else if let Some((head, (path, tail))) =
                word.split_once("{config:").and_then(|(head, it)| Some((head, it.split_once('}')?)))
            {
                words.push(format!("{head}{}{tail}", self.configure(Path::new(path), &server)));
            } else {
                words.push(word.replace("{program}", &server));
            }
        }
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).current_dir(&self.folder).env("HOME", &self.folder);
        for name in ["XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"] {
            command.env(name, &self.folder);
        }
        command.env("DO_NOT_TRACK", "1");
        command
    }

    /// Copies a configuration that names the server. Returns its path.
    fn configure(&self, path: &Path, server: &str) -> String {
        let text = fs::read_to_string(path).unwrap().replace("{program}", server);
        let copy = self.folder.join(path.file_name().unwrap());
        fs::write(&copy, text).unwrap();
        copy.display().to_string()
    }

    /// Keeps the first failure of each sort. The tables name the others.
    fn note(&mut self, word: &'static str, detail: String) {
        self.notes.entry(word).or_insert(detail);
    }
}

/// Measures one row. The programs take turns.
fn measure(
    effort: Effort,
    mode: Mode,
    request: &Request,
    name: &str,
    candidates: &mut [Candidate],
) {
    let in_flight = if mode == Mode::Single { 1 } else { IN_FLIGHT };
    let mut turns: Vec<Turn> = Vec::new();
    for candidate in &mut *candidates {
        // A text that fails alone is not sent many times more, since a refusal may take a second.
        let row = candidate.program.burst.len();
        if let (Mode::Burst, Some(Err(word))) = (mode, candidate.program.single.get(row)) {
            turns.push(Turn { known: Some(word.clone()), ..Turn::default() });
            continue;
        }
        let session = candidate.session.as_mut().map_err(|it| it.clone());
        let checked = session.and_then(|it| it.check(request, in_flight));
        turns.push(match checked {
            Err(failure) => Turn { failed: Some(failure), ..Turn::default() },
            Ok(_) if mode == Mode::Single => Turn::default(),
            // A slow program has no other round than this.
            Ok(spent) => {
                let samples = vec![in_flight as f64 / spent.as_secs_f64()];
                Turn { samples, spent, ..Turn::default() }
            }
        });
    }
    for _ in 0..effort.rounds {
        for (candidate, turn) in candidates.iter_mut().zip(&mut turns) {
            if let Ok(session) = &mut candidate.session {
                turn.play(effort, mode, request, session);
            }
        }
    }
    for (candidate, mut turn) in candidates.iter_mut().zip(turns) {
        let cells = match mode {
            Mode::Single => &mut candidate.program.single,
            Mode::Burst => &mut candidate.program.burst,
        };
        cells.push(turn.cell(mode));
        // A program that never started has its note already.
        if let (Some(failure), true) = (turn.failed, candidate.session.is_ok()) {
            candidate.note(failure.word, format!("{name}: {}", failure.detail));
            candidate.session = Session::start(&mut candidate.command(), &candidate.folder);
        }
    }
}

/// The rounds of one program in one row.
#[derive(Debug, Default)]
struct Turn {
    /// Times of single calls, or speeds of rounds.
    samples: Vec<f64>,
    spent: Duration,
    failed: Option<Failure>,
    /// The failure of single calls of the same text.
    known: Option<String>,
}

impl Turn {
    fn play(&mut self, effort: Effort, mode: Mode, request: &Request, session: &mut Session) {
        let is_spent = !self.samples.is_empty() && self.spent > effort.budget;
        if self.failed.is_some() || self.known.is_some() || is_spent {
            return;
        }
        let start = Instant::now();
        let mut calls = 0;
        while calls == 0 || start.elapsed() < effort.round {
            let step = Instant::now();
            let (count, in_flight) = if mode == Mode::Single { (1, 1) } else { (BURST, IN_FLIGHT) };
            if let Err(failure) = session.exchange(request, count, in_flight, None) {
                self.failed = Some(failure);
                return;
            }
            calls += count;
            if mode == Mode::Single {
                self.samples.push(step.elapsed().as_secs_f64() * 1e6);
            }
        }
        self.spent += start.elapsed();
        if mode == Mode::Burst {
            self.samples.push(calls as f64 / start.elapsed().as_secs_f64());
        }
    }

    /// Returns the median time of a call, or the speed of the best round.
    fn cell(&mut self, mode: Mode) -> Cell {
        if let Some(word) = &self.known {
            return Err(word.clone());
        }
        if let Some(failure) = &self.failed {
            return Err(failure.word.into());
        }
        self.samples.sort_by(f64::total_cmp);
        let at = if mode == Mode::Single { self.samples.len() / 2 } else { self.samples.len() - 1 };
        self.samples.get(at).copied().ok_or_else(|| "–".into())
    }
}
