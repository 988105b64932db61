//! `hardline scan`: looks for what is planted in texts and transcripts.
//!
//! Reads in pieces: a text by windows that end at a line's end, a transcript frame by frame, so that a
//! file of any length needs the memory of its largest frame or of a window.

mod print;
mod source;
mod text;
mod transcript;

use std::fs;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, anyhow, bail};
use clap::ValueEnum;
use hardline_guard::policy::{Policy, Profile};
use hardline_guard::{Finding, Guard, Rule, Severity, explain};

use source::Source;

/// Look for planted messages, hidden characters and broken frames in texts and transcripts
///
/// A text is judged as content that a tool returned; a transcript (one JSON-RPC message a line) frame by
/// frame, with every string in it. All findings are listed, whatever a policy does about them.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit status: 0 if nothing was found at --fail-on or above, 1 if something was, 2 for \
    wrong use, a broken\npolicy or an unreadable file.\n\n\
    Examples:\n  hardline scan page.html README.md\n  curl -s example.com/page | hardline scan\n  \
    hardline scan --as transcript --format json session.ndjson\n  hardline scan --explain content.frame"
)]
pub(crate) struct Args {
    /// What to read; standard input if it is `-` or left out
    files: Vec<PathBuf>,

    /// What the files are; `auto` takes a file for a transcript if every line of its first 64 KiB is a
    /// JSON object with `jsonrpc`
    #[arg(long = "as", value_enum, default_value_t = Kind::Auto)]
    kind: Kind,

    /// How to print
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,

    /// The least severity that ends with status 1: low, medium, high or critical
    #[arg(long, value_name = "SEVERITY", default_value = "high")]
    fail_on: Severity,

    /// The profile whose actions are shown: observe, balanced or strict
    #[arg(long, default_value = "balanced")]
    profile: Profile,

    /// A policy to judge by, in TOML
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,

    /// The server that the content is from, for what the policy says of it
    #[arg(long, value_name = "NAME")]
    server: Option<String>,

    /// Print what a rule finds, why that matters and how to allow it, and nothing else
    #[arg(long, value_name = "RULE", conflicts_with = "files")]
    explain: Option<String>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
enum Kind {
    /// Told by the first 64 KiB
    Auto,
    /// Any text
    Text,
    /// One JSON-RPC message a line
    Transcript,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    /// For people
    Text,
    /// One JSON document for programs
    Json,
    /// SARIF 2.1.0, for code scanning
    Sarif,
}

/// A finding with the file that it is in.
#[derive(Debug)]
struct Located {
    file: String,
    /// Counted from 1.
    line: u64,
    /// From the start of the file; `finding.offset` counts from a frame's or window's start.
    offset: u64,
    finding: Finding,
}

/// What was looked at.
#[derive(Debug, Default)]
struct Seen {
    files: usize,
    bytes: u64,
    frames: u64,
    /// Bytes that were no UTF-8, and were judged as if a question mark stood there.
    not_utf8: u64,
    /// Bytes that were not looked at.
    skipped: u64,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    if let Some(name) = &args.explain {
        return explain_rule(name);
    }
    let policy = args.policy()?;
    let mut guard = match &args.server {
        Some(server) => Guard::for_server(policy, server),
        None => Guard::new(policy),
    };
    let mut out = BufWriter::new(io::stdout().lock());
    let mut printer = print::printer(args.format);
    let mut seen = Seen::default();
    let mut worst = None;
    let standard = [PathBuf::from("-")];
    let files = if args.files.is_empty() { &standard[..] } else { &args.files };
    let outcome = (|| {
        printer.begin(&mut out)?;
        for file in files {
            let mut source = match Source::open(file) {
                Ok(source) => source,
                Err(error) => return Ok(Err(error)),
            };
            seen.files += 1;
            let mut report = |located: Located| {
                worst = worst.max(Some(located.finding.severity));
                printer.finding(&mut out, &located)
            };
            let is_transcript = match args.kind {
                Kind::Auto => source.looks_like_transcript(),
                kind => Ok(kind == Kind::Transcript),
            };
            let read = match is_transcript {
                Ok(true) => transcript::scan(&mut guard, &mut source, &mut seen, &mut report)?,
                Ok(false) => text::scan(&mut guard, &mut source, &mut seen, &mut report)?,
                Err(error) => Err(error),
            };
            if let Err(error) = read {
                return Ok(Err(anyhow!("cannot read {}: {error}", source.name())));
            }
        }
        printer.end(&mut out, &seen)?;
        Ok(Ok(()))
    })();
    match outcome.and_then(|read: Result<()>| out.flush().map(|()| read)) {
        Ok(read) => read?,
        // Whoever read the output has seen enough.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => {}
        Err(error) => return Err(error).context("cannot write to standard output"),
    }
    let fails = worst.is_some_and(|worst| args.fail_on <= worst);
    Ok(if fails { ExitCode::from(1) } else { ExitCode::SUCCESS })
}

fn explain_rule(name: &str) -> Result<ExitCode> {
    let Ok(rule) = name.parse::<Rule>() else {
        let names: Vec<_> = Rule::ALL.iter().map(|rule| rule.name()).collect();
        bail!("no rule is called {name:?}; there are {}", names.join(", "));
    };
    let written = io::stdout().lock().write_all(explain::explain(rule).as_bytes());
    match written {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(error).context("cannot write to standard output")
        }
        _ => Ok(ExitCode::SUCCESS),
    }
}

impl Args {
    fn policy(&self) -> Result<Policy> {
        let Some(path) = &self.policy else { return Ok(Policy::profile(self.profile)) };
        let name = source::show(path);
        let text = read_policy(path).with_context(|| format!("cannot read {name}"))?;
        Policy::parse_with_profile(&text, self.profile)
            .map_err(|error| anyhow!("{name} is no policy:\n{error}"))
    }
}

fn read_policy(path: &Path) -> io::Result<String> {
    let length = fs::metadata(path)?.len();
    if Policy::MAX_BYTES as u64 <= length {
        return Err(io::Error::other(format!("{length} bytes are too many for a policy")));
    }
    fs::read_to_string(path)
}
