//! Checks that work grows linearly: twice the input may cost at most three times as much.
//!
//! Work is counted in instructions, which repeat exactly where times do not. `valgrind` counts
//! them: a test starts itself again under it, and each measurement is one call of a function that
//! `valgrind` knows by name. The cost of an empty input is subtracted, so that constant costs do
//! not hide how the rest grows.

use std::env;
use std::fs;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::{self, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Limit on the ratio of the work for twice the input.
const MOST: f64 = 3.0;
/// Instructions below which work counts as noise.
const LEAST_INSTRUCTIONS: f64 = 10_000.0;
/// Seconds below which work counts as noise.
const LEAST_SECONDS: f64 = 20e-6;
/// Number of runs when times are measured. The shortest counts.
const RUNS: usize = 30;
const COUNTING: &str = "HARDLINE_COUNT_INSTRUCTIONS";

/// A function to be measured on an input and on one twice as long.
#[derive(Clone, Debug)]
pub struct Case {
    name: String,
    run: fn(&[u8]),
    small: Vec<u8>,
    large: Vec<u8>,
}

impl Case {
    /// Names a case: `run` on the result of `make`, about `len` bytes long and twice that. It also
    /// runs on an empty input.
    pub fn new(
        name: impl Into<String>,
        run: fn(&[u8]),
        len: usize,
        make: impl Fn(usize) -> Vec<u8>,
    ) -> Self {
        Self { name: name.into(), run, small: make(len), large: make(2 * len) }
    }
}

/// Fallback on systems without `valgrind`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Otherwise {
    /// Compare the shortest time of many runs. For a few cases that run long enough.
    Time,
    /// Compare nothing; run each case once.
    Nothing,
}

/// Asserts that no case costs more than three times the work on twice the input.
///
/// `test` is the path of the calling test in the test binary. `cases` must return the same cases on
/// every call.
pub fn assert_linear<C: Iterator<Item = Case>>(
    test: &str,
    otherwise: Otherwise,
    cases: impl Fn() -> C,
) {
    // This process runs under `valgrind`: it only executes the cases.
    if env::var_os(COUNTING).is_some() {
        return cases().for_each(|case| {
            inputs(&case).into_iter().for_each(|input| hardline_measured_region(case.run, input));
        });
    }
    let Some(counts) = Counts::of(test) else {
        say(&format!("{test}: instructions are not counted because valgrind is not installed"));
        return match otherwise {
            Otherwise::Time => judge(cases(), LEAST_SECONDS, |_, case| times(case)),
            Otherwise::Nothing => cases().for_each(|case| {
                inputs(&case).into_iter().for_each(case.run);
            }),
        };
    };
    judge(cases(), LEAST_INSTRUCTIONS, |index, _| counts.of_case(index));
}

/// Returns the inputs of a case, in the order in which they run.
fn inputs(case: &Case) -> [&[u8]; 3] {
    [&[], &case.small, &case.large]
}

/// The measured function; its name is passed to `valgrind`.
#[inline(never)]
fn hardline_measured_region(run: fn(&[u8]), input: &[u8]) {
    run(black_box(input));
}

/// Compares the work of all cases with the limit. `work` returns the work for each input of a case.
fn judge(cases: impl Iterator<Item = Case>, least: f64, work: impl Fn(usize, &Case) -> [f64; 3]) {
    let mut worst = (0.0, String::new());
    let mut too_much = Vec::new();
    for (index, case) in cases.enumerate() {
        let [nothing, small, large] = work(index, &case);
        // The lower bound keeps noise in tiny cases from looking like growth.
        let ratio = (large - nothing) / (small - nothing).max(least);
        if ratio > MOST {
            too_much.push(format!("{}: {ratio:.2}", case.name));
        }
        if ratio > worst.0 {
            worst = (ratio, case.name);
        }
    }
    assert!(too_much.is_empty(), "times the work for twice the input: {too_much:#?}");
    say(&format!("worst: {:.2} times the work for twice the input ({})", worst.0, worst.1));
}

#[expect(clippy::print_stdout, reason = "output of a test, captured unless requested")]
fn say(what: &str) {
    println!("{what}");
}

/// Instruction counts of all cases.
struct Counts {
    folder: PathBuf,
}

impl Counts {
    /// Runs the test under `valgrind`. Returns `None` if `valgrind` is not installed.
    #[expect(clippy::disallowed_methods, reason = "a test may start processes")]
    fn of(test: &str) -> Option<Self> {
        let version = Command::new("valgrind").arg("--version").stdout(Stdio::null()).status();
        version.ok().filter(ExitStatus::success)?;
        let name = format!("hardline-{}-{}", test.replace("::", "-"), process::id());
        let this = Self { folder: env::temp_dir().join(name) };
        let _ = fs::remove_dir_all(&this.folder);
        fs::create_dir_all(&this.folder).expect("a folder for temporary files");
        let region = concat!(module_path!(), "::hardline_measured_region");
        let child = Command::new("valgrind")
            .args(["--tool=callgrind", "--combine-dumps=no"])
            .arg(format!("--toggle-collect={region}"))
            .arg(format!("--dump-after={region}"))
            .arg(format!("--callgrind-out-file={}", this.folder.join("out").display()))
            .arg(env::current_exe().expect("a test is a file"))
            .args(["--exact", test, "--test-threads", "1"])
            .env(COUNTING, "1")
            .stdin(Stdio::null())
            .output()
            .expect("it ran a moment ago");
        assert!(child.status.success(), "{}", String::from_utf8_lossy(&child.stderr));
        Some(this)
    }

    fn of_case(&self, index: usize) -> [f64; 3] {
        // `valgrind` numbers its dumps from one, in the order of the calls.
        [1, 2, 3].map(|input| read_count(&self.folder.join(format!("out.{}", 3 * index + input))))
    }
}

impl Drop for Counts {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn read_count(dump: &Path) -> f64 {
    let dump = fs::read_to_string(dump).expect("a dump for each measurement");
    let total = dump.lines().find_map(|line| line.strip_prefix("summary: "));
    total.and_then(|it| it.trim().parse().ok()).expect("a dump has a summary")
}

/// Returns the shortest time of many runs on each input, in seconds.
#[expect(clippy::disallowed_methods, reason = "a measurement reads the clock")]
fn times(case: &Case) -> [f64; 3] {
    inputs(case).map(|input| {
        let once = |_| {
            let start = Instant::now();
            hardline_measured_region(case.run, input);
            start.elapsed()
        };
        (0..RUNS).map(once).min().unwrap_or(Duration::ZERO).as_secs_f64()
    })
}
