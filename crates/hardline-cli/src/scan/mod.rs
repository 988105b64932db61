//! `hardline scan`: finds planted content in texts, transcripts and recordings.
//!
//! Reads in pieces, a text in windows and a transcript frame by frame, so that memory is bounded by
//! the largest frame or a window.

mod document;
mod encoding;
mod held;
mod kind;
mod line_scanner;
mod output;
mod position;
mod print;
mod progress;
mod report;
mod snippet;
mod source;
mod text;
mod torn;
mod trace;
mod transcript;
mod window;

use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anstream::ColorChoice;
use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use hardline_guard::policy::Policy;
use hardline_guard::scan::{ScanSettings, Scanner};
use hardline_guard::{Guard, Rule, Severity, explain};

use crate::policy::PolicyArgs;
use crate::terminal::Color;
use kind::Kind;
use output::Output;
use progress::Progress;
use report::{File, Report};
use source::Source;

pub(crate) use print::color;

/// Find planted messages, hidden characters and broken frames in texts, transcripts and recordings
///
/// A text is scanned like content that a tool returned. A transcript (one JSON-RPC message per
/// line) or a recording is scanned frame by frame, with every string in it. All findings are
/// listed, even those that the policy allows.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit status: 0 if nothing was found at --fail-on or above, 1 if something was, 2 for \
    wrong use, a broken\npolicy or an unreadable file.\n\n\
    Examples:\n  hardline scan page.html README.md\n  curl -s example.com/page | hardline scan\n  \
    hardline scan --as transcript --format json session.ndjson\n  hardline scan --explain content.frame"
)]
pub(crate) struct ScanArgs {
    /// Files to read; standard input if it is `-` or left out
    files: Vec<PathBuf>,

    /// Format of the files; `auto` detects a transcript if every line of the first 64 KiB that is
    /// not blank is a JSON object with `jsonrpc`, or a line of a recording
    #[arg(long = "as", value_enum, default_value_t = As::Auto)]
    kind: As,

    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,

    /// Use of colors; `auto`: on a terminal, unless NO_COLOR is set
    #[arg(long, value_enum, value_name = "WHEN", default_value_t = Color::Auto)]
    color: Color,

    /// Lowest severity that gives exit status 1: low, medium, high or critical
    #[arg(long, value_name = "SEVERITY", default_value = "high")]
    fail_on: Severity,

    #[command(flatten)]
    policy: PolicyArgs,

    /// Server that the content comes from, for its part of the policy
    #[arg(long, value_name = "NAME")]
    server: Option<String>,

    /// Explain a rule: what it finds, why that matters, how to allow it
    #[arg(long, value_name = "RULE", conflicts_with = "files")]
    explain: Option<String>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
enum As {
    /// Detected from the first 64 KiB
    Auto,
    /// Any text
    Text,
    /// One JSON-RPC message per line, or a recording of `wrap --record`
    Transcript,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
enum Format {
    /// For people
    Text,
    /// One JSON document for programs
    Json,
    /// SARIF 2.1.0, for code scanning
    Sarif,
}

/// Reason for the end of a scan.
#[derive(Debug)]
enum Stop {
    /// The file cannot be read; the next file may be readable.
    Input(io::Error),
    /// The output cannot be written.
    Output(io::Error),
}

pub(crate) fn run(args: &ScanArgs) -> Result<ExitCode> {
    if let Some(name) = &args.explain {
        return explain_rule(name);
    }
    let files = args.files()?;
    let policy = args.policy.read()?;
    // `None` if one length is unknown, such as that of a pipe.
    let total = files.iter().map(|file| source::length(file)).sum();
    let choice = args.color_choice();
    let mut output = Output::new(choice, Progress::new(total));
    let printer = print::printer(args.format, choice != ColorChoice::Never);
    let server = args.server.as_deref();
    let mut report = Report::new(printer, &mut output, &policy, server);
    let mut judges = Judges::new(&policy, server);
    match scan_all(&files, args.kind, &mut judges, &mut report) {
        Ok(()) => {}
        // The reader of standard output closed it, as `head` does.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => {}
        Err(error) => return Err(error).context("cannot write to standard output"),
    }
    let is_over = report.totals.worst().is_some_and(|worst| args.fail_on <= worst);
    // An unreadable file outranks findings, because the scan is incomplete.
    Ok(match (report.totals.unread.is_empty(), is_over) {
        (false, _) => ExitCode::from(2),
        (true, true) => ExitCode::from(1),
        (true, false) => ExitCode::SUCCESS,
    })
}

/// Guard and scanner, reused for all files.
struct Judges {
    guard: Guard,
    scanner: Scanner,
    limits: hardline_wire::limits::Limits,
}

impl Judges {
    fn new(policy: &Policy, server: Option<&str>) -> Self {
        let guard = match server {
            Some(server) => Guard::for_server(policy.clone(), server),
            None => Guard::new(policy.clone()),
        };
        let mut settings = ScanSettings::default();
        // A window is already bounded.
        settings.max_bytes = usize::MAX;
        settings.allow_jsonrpc = policy.allows_jsonrpc(server, None);
        let limits = policy.settings(server).limits().clone();
        Self { guard, scanner: Scanner::new(settings), limits }
    }
}

fn scan_all(
    files: &[PathBuf],
    kind: As,
    judges: &mut Judges,
    report: &mut Report<'_>,
) -> io::Result<()> {
    report.begin()?;
    for path in files {
        let (name, given) = (source::show(path), path.to_string_lossy().into_owned());
        report.begin_file(File { name, path: given, kind: Kind::Text });
        match scan_file(path, kind, judges, report) {
            Ok(()) => {}
            // One unreadable file must not stop the scan of the others.
            Err(Stop::Input(error)) => report.add_unread(&error),
            Err(Stop::Output(error)) => return Err(error),
        }
    }
    report.end()
}

fn scan_file(
    path: &Path,
    kind: As,
    judges: &mut Judges,
    report: &mut Report<'_>,
) -> Result<(), Stop> {
    let mut source = Source::open(path).map_err(Stop::Input)?;
    let (head, is_whole) = source.head().map_err(Stop::Input)?;
    let kind = match kind {
        As::Auto => Kind::of(head, is_whole),
        As::Text => Kind::Text,
        As::Transcript => Kind::of_transcript(head, is_whole),
    };
    let may_be_json = document::may_be_json(head);
    report.file.kind = kind;
    report.count_file();
    match kind {
        Kind::Text | Kind::Binary => {
            text::scan(&mut judges.scanner, &mut source, may_be_json, report)
        }
        Kind::Transcript | Kind::Recording => transcript::scan(judges, &mut source, report),
    }
}

/// Prints the findings so far, then reads the next chunk.
fn read_on(source: &mut Source, report: &mut Report<'_>) -> Result<(), Stop> {
    report.show().map_err(Stop::Output)?;
    source.read_on().map_err(Stop::Input)?;
    report.advance(source.take_read());
    Ok(())
}

fn explain_rule(name: &str) -> Result<ExitCode> {
    let Ok(rule) = name.parse::<Rule>() else {
        let names: Vec<_> = Rule::ALL.iter().map(|rule| rule.name()).collect();
        bail!("unknown rule {name:?}; rules: {}", names.join(", "));
    };
    let written = io::stdout().lock().write_all(explain::explain(rule).as_bytes());
    match written {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(error).context("cannot write to standard output")
        }
        _ => Ok(ExitCode::SUCCESS),
    }
}

impl ScanArgs {
    /// Returns the files to read.
    fn files(&self) -> Result<Vec<PathBuf>> {
        if self.files.is_empty() {
            return Ok(vec![PathBuf::from("-")]);
        }
        if self.files.iter().filter(|file| source::is_standard_input(file)).count() > 1 {
            bail!("standard input can be read only once: name `-` once");
        }
        Ok(self.files.clone())
    }

    /// Returns the color choice: never `Auto`, and colors only for text.
    fn color_choice(&self) -> ColorChoice {
        match self.color {
            _ if self.format != Format::Text => ColorChoice::Never,
            color => color.choice(),
        }
    }
}
