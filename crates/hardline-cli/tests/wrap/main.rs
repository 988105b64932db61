//! `hardline wrap` under load and under fire, with real processes.
//!
//! The test starts itself as the server behind `wrap`: one that answers, sends hostile lines in between,
//! and dies on request. Each test is listed for `cargo test` and `cargo nextest` alike; a name as
//! the first argument runs that one.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::panic,
    clippy::exit,
    reason = "a test prints, starts what it tests, and stops at what cannot be"
)]

#[cfg(target_os = "linux")]
mod client;
#[cfg(target_os = "linux")]
mod fault;
#[cfg(target_os = "linux")]
mod load;
#[cfg(target_os = "linux")]
mod server;
#[cfg(target_os = "linux")]
mod stream;

use std::process::ExitCode;

type Test = (&'static str, fn());

#[cfg(target_os = "linux")]
const TESTS: &[Test] = &[
    ("load::a_million_calls_with_hostile_lines_between", load::a_million_calls),
    ("fault::a_server_killed_at_random_costs_only_what_was_in_flight", fault::killed_server),
    ("fault::a_proxy_killed_at_random_leaves_nothing_behind", fault::killed_proxy),
    ("fault::a_client_that_stops_reading_loses_nothing", fault::client_stops_reading),
    ("fault::a_server_that_stops_reading_stops_nobody_else", fault::server_stops_reading),
    ("fault::a_server_that_writes_and_does_not_read_loses_no_answer", fault::chatty_server),
    ("fault::a_server_that_closes_its_output_is_replaced", fault::closed_output),
    ("fault::a_server_that_dies_at_once_is_not_waited_for", fault::dies_at_once),
    ("fault::signals_end_everything_with_their_number", fault::signals),
    ("fault::the_code_is_the_servers", fault::codes),
    ("stream::files_and_sockets_work_like_pipes", stream::files_and_sockets),
    ("stream::a_terminal_works_like_a_pipe", stream::terminal),
];

#[cfg(not(target_os = "linux"))]
const TESTS: &[Test] = &[];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.first().map(String::as_str) {
        #[cfg(target_os = "linux")]
        Some("--server") => server::run(&arguments[1..]),
        _ if arguments.iter().any(|it| it == "--list") => {
            if !arguments.iter().any(|it| it == "--ignored") {
                TESTS.iter().for_each(|(name, _)| println!("{name}: test"));
            }
            return ExitCode::SUCCESS;
        }
        _ => {}
    }
    let state = tempfile::tempdir().unwrap();
    #[cfg(target_os = "linux")]
    client::STATE.get_or_init(|| state.path().to_owned());
    let is_exact = arguments.iter().any(|it| it == "--exact");
    let filters: Vec<_> = arguments.iter().filter(|it| !it.starts_with("--")).collect();
    let is_wanted = |name: &str| {
        filters.is_empty()
            || filters.iter().any(|it| if is_exact { name == *it } else { name.contains(&***it) })
    };
    let mut failed = 0;
    let chosen: Vec<_> = TESTS.iter().filter(|(name, _)| is_wanted(name)).collect();
    for (name, test) in &chosen {
        let is_ok = std::panic::catch_unwind(test).is_ok();
        println!("test {name} ... {}", if is_ok { "ok" } else { "FAILED" });
        failed += usize::from(!is_ok);
    }
    println!("\ntest result: {} passed; {failed} failed", chosen.len() - failed);
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
