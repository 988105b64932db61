//! Development tasks of Hardline, as `cargo xtask COMMAND`.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "a development task starts processes, reads the clock and prints"
)]

mod bench;
mod clients;
mod conformance;
mod environment;
mod fuzz;
mod mutants;
mod page;
mod peers;
mod picture;
mod process;
mod servers;
mod simulate;
mod step;
mod survey;
mod test;
mod tool;
mod unicode;

use std::env;
use std::process::ExitCode;

use bench::peers::Extent;

const USAGE: &str = "\
Usage: cargo xtask COMMAND

  test [STEP…]             run all checks, or the named steps:
                           format, clippy, targets, tests, clients, servers, conformance,
                           peers, docs, deny, advisories, fuzz, benches
  bench [--save]           run all benchmarks; --save writes docs/benchmarks.md
  bench peers [--save]     compare wrap with published guards and proxies; --save writes its part of
                           docs/benchmarks.md; --test makes a few calls through each
  fuzz SECONDS [TARGET…]   fuzz each target for SECONDS; the corpus is in target/fuzz-corpus
  simulate [--hours H]     play sessions with hostile servers until a promise breaks; see simulate --help
  mutants [NAME…] [--save] take each defense back and have the simulation find it; --save writes docs/simulation.md
  survey [--save | NAME…]   run published servers behind wrap --profile strict; --save writes docs/survey.md
  picture                  draw docs/demo.svg (the demo) and docs/tools.svg (the client)
  unicode DIR              write the table of valid sequences from Unicode data files in DIR";

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let mut words = arguments.iter().map(String::as_str);
    let command = words.next();
    let rest: Vec<&str> = words.collect();
    // Asked before anything runs: `cargo xtask test --help` must not start the tests.
    let wants_help = rest.iter().any(|word| matches!(*word, "--help" | "-h"));
    let outcome = match (command, &*rest) {
        (Some("simulate"), arguments) => simulate::run(arguments),
        _ if wants_help => {
            println!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        (Some("test"), steps) => test::run(steps),
        (Some("bench"), []) => bench::run(false),
        (Some("bench"), ["--save"]) => bench::run(true),
        (Some("bench"), ["peers"]) => bench::peers::run(Extent::Print),
        (Some("bench"), ["peers", "--save"]) => bench::peers::run(Extent::Save),
        (Some("bench"), ["peers", "--test"]) => bench::peers::run(Extent::Test),
        (Some("fuzz"), [seconds, targets @ ..]) => match seconds.parse() {
            Ok(seconds @ 1..) => fuzz::run(seconds, targets),
            _ => Err(format!("{seconds} is not a number of seconds")),
        },
        (Some("mutants"), arguments) => mutants::run(arguments),
        (Some("survey"), ["--save"]) => survey::run(true, &[]),
        (Some("survey"), names) => survey::run(false, names),
        (Some("picture"), []) => picture::run(),
        (Some("unicode"), [directory]) => unicode::run(directory),
        (Some("help" | "--help" | "-h"), _) => {
            println!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("xtask: {reason}");
            ExitCode::FAILURE
        }
    }
}
