//! `hardline frames`: shows the frames of a byte stream.
//!
//! Reads in chunks and prints each frame at once, so that memory is bounded by the largest frame.

mod json;
mod report;
mod text;

use std::fs::File;
use std::io::{self, BufWriter, ErrorKind, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, anyhow};
use bytesize::ByteSize;
use hardline_wire::limits::{DEFAULT_FRAME_BYTES, LimitError, Limits};
use hardline_wire::line::{Line, LineFramer};

use report::{Report, Reporter};

use crate::argument::{Format, read_size};
use crate::terminal::shown_path;

/// Show the frames of a byte stream: the message on each line, or the error in it
///
/// For every line that is not blank, prints its offset, length, kind (request, notification,
/// response, error, batch, invalid, oversized), id and method. For an invalid line, prints the
/// error code that would be sent as its answer, the byte offset of the error, and the id that could
/// be recovered.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit status: 0 if all frames are valid (with all elements of their batches), 1 if \
    one is not,\n2 for wrong use, an unreadable file or an output that cannot be written.\n\n\
    Examples:\n  hardline frames session.log\n  my-server < requests | hardline frames --format json\n  \
    hardline frames --sample"
)]
pub(crate) struct FramesArgs {
    /// File to read; standard input if it is `-` or left out
    file: Option<PathBuf>,

    /// Show the built-in sample instead of a file; always exits with status 0
    #[arg(long, conflicts_with = "file")]
    sample: bool,

    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,

    /// Longest frame, such as 500000, 64KiB or 16MiB; at most 1GiB
    #[arg(long, value_name = "SIZE", default_value_t = ByteSize::b(DEFAULT_FRAME_BYTES as u64), value_parser = read_size)]
    max_frame: ByteSize,

    /// Deepest nesting of arrays and objects; at most 65536
    #[arg(long, value_name = "N", default_value_t = Limits::default().max_depth())]
    max_depth: usize,
}

/// Output format of reports.
trait Printer {
    fn begin(&mut self, out: &mut dyn Write) -> io::Result<()>;
    fn frame(&mut self, out: &mut dyn Write, report: &Report<'_>) -> io::Result<()>;
    fn end(&mut self, out: &mut dyn Write) -> io::Result<()>;
}

/// Sample input: valid lines and many kinds of damage.
const SAMPLE: &[u8] = include_bytes!("../../assets/sample.ndjson");

const CHUNK: usize = 64 << 10;

pub(crate) fn run(args: &FramesArgs) -> Result<ExitCode> {
    let limits = args.limits()?;
    let (mut input, name) = args.input()?;
    let mut printer: Box<dyn Printer> = match args.format {
        Format::Text => Box::new(text::TextPrinter::default()),
        Format::Json => Box::new(json::JsonPrinter::default()),
    };
    let mut out = BufWriter::new(io::stdout().lock());
    let mut reporter = Reporter::new(&limits);
    let outcome = show(&mut *input, &limits, &mut reporter, &mut *printer, &mut out);
    match outcome.and_then(|read| out.flush().map(|()| read)) {
        Ok(Ok(())) => {}
        Ok(Err(error)) => return Err(error).with_context(|| format!("cannot read {name}")),
        // The reader of standard output closed it, as `head` does.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => {}
        Err(error) => return Err(error).context("cannot write to standard output"),
    }
    // The sample contains invalid frames on purpose.
    let is_fine = args.sample || reporter.invalid() == 0;
    Ok(if is_fine { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

/// Prints all frames of `input`. Returns the result of reading: after a read error, the report is
/// still completed. A write error ends everything.
fn show(
    input: &mut dyn Read,
    limits: &Limits,
    reporter: &mut Reporter,
    printer: &mut dyn Printer,
    out: &mut dyn Write,
) -> io::Result<io::Result<()>> {
    let mut print = |line: Line<'_>, printer: &mut dyn Printer, out: &mut dyn Write| {
        // Blank lines are allowed between messages.
        let report = (!line.is_blank()).then(|| reporter.report(&line));
        report.map_or(Ok(()), |report| printer.frame(out, &report))
    };
    let mut framer = LineFramer::new(limits);
    let mut buffer = vec![0; CHUNK];
    let mut has_begun = false;
    let outcome = loop {
        let read = match input.read(&mut buffer) {
            Ok(read) => read,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            // Nothing was read, so not even an empty report is printed.
            Err(error) if !has_begun => return Ok(Err(error)),
            Err(error) => break Err(error),
        };
        if !has_begun {
            has_begun = true;
            printer.begin(out)?;
        }
        if read == 0 {
            break Ok(());
        }
        let mut chunk = buffer.get(..read).unwrap_or_default();
        while let Some(line) = framer.next_line(&mut chunk) {
            print(line, printer, out)?;
        }
        // Show complete frames before waiting for more input.
        if read < CHUNK {
            out.flush()?;
        }
    };
    // A line that the stream did not end is still a frame.
    if let Some(line) = framer.finish() {
        print(line, printer, out)?;
    }
    printer.end(out)?;
    Ok(outcome)
}

impl FramesArgs {
    fn limits(&self) -> Result<Limits> {
        let max_frame = usize::try_from(self.max_frame.as_u64()).unwrap_or(usize::MAX);
        let limits = Limits::default().with_max_frame_bytes(max_frame).map_err(|error| {
            let most = ByteSize::b(error.ceiling);
            anyhow!("--max-frame must be between 1 B and {most}, not {}", self.max_frame)
        })?;
        limits.with_max_depth(self.max_depth).map_err(|LimitError { ceiling, value, .. }| {
            anyhow!("--max-depth must be between 1 and {ceiling}, not {value}")
        })
    }

    fn input(&self) -> Result<(Box<dyn Read>, String)> {
        if self.sample {
            return Ok((Box::new(SAMPLE), "the sample".into()));
        }
        let path = self.file.as_deref().unwrap_or(Path::new("-"));
        if path != Path::new("-") {
            let name = shown_path(path);
            let file = File::open(path).with_context(|| format!("cannot read {name}"))?;
            return Ok((Box::new(file), name));
        }
        let stdin = io::stdin().lock();
        if stdin.is_terminal() {
            let hint = "reading from the terminal until Ctrl-D; try 'hardline frames --sample'";
            let _ = writeln!(io::stderr(), "hardline: {hint}");
        }
        Ok((Box::new(stdin), "standard input".into()))
    }
}
