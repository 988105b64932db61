//! Command lines that would take excessive time.

use std::cell::Cell;

use super::super::{CodeKind, Look, inspect, inspect_with};

fn words(command: &str, times: usize, rest: &str) -> Vec<String> {
    let repeated = command.split(' ').cycle().take(command.split(' ').count() * times);
    repeated.chain(rest.split(' ')).map(String::from).collect()
}

#[track_caller]
fn check(look: &Look) {
    assert!(look.code.iter().any(|code| code.kind == CodeKind::Inline), "it is no honest one");
    assert!(look.code.len() < 10_000 && look.nested.len() < 10_000);
}

#[test]
fn containers_in_containers_are_followed_so_far() {
    check(&inspect(&words("docker run x", 50_000, "sh")));
    check(&inspect(&words("docker run x", 9, "y")));
    let honest = inspect(&words("docker run x", 3, "y"));
    assert!(honest.code.is_empty(), "{honest:?}");
    check(&inspect(&words("docker run x", 3, "sh -c id")));
}

#[test]
fn links_to_many_programs_are_followed_once() {
    let chain =
        "nice nohup setsid env strace ltrace xargs exec chrt taskset timeout sudo doas stdbuf time";
    let count = Cell::new(0_usize);
    let links = |_: &str| -> Vec<String> {
        count.set(count.get() + 1);
        chain.split(' ').map(|it| format!("/x/{it}")).collect()
    };
    let look = inspect_with(&words("./a", 300, "x"), &links);
    check(&look);
    assert!(count.get() < 100_000, "{}", count.get());
}

#[test]
fn a_command_line_is_looked_at_in_bounded_time() {
    for command in ["node --title", "vim -a", "x node --title", "env -S", "python -W", "npx -p"] {
        check(&inspect(&words(command, 100_000, "x")));
    }
    let letters = format!("-{}", "z".repeat(1 << 20));
    inspect(&["python".to_owned(), letters]);
}
