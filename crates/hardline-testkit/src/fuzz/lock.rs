//! Lock files: reading, writing and reading again gives the same pins and the same bytes.

use hardline_guard::pin::{Definition, Instructions, Lock};
use hardline_wire::json::Checker;
use hardline_wire::limits::Limits;

use crate::generate::{Rng, mutate, value};
use crate::plant;

/// Reads `data` if it begins like a lock file, else a lock file with the pins that it chooses.
pub fn lock(data: &[u8]) {
    if data.first().is_none_or(|it| b"{ \n".contains(it)) {
        if let Ok(text) = str::from_utf8(data) {
            read(text);
        }
        return;
    }
    let mut rng = Rng::scripted(data);
    let lock = pins(&mut rng);
    let text = lock.to_string();
    assert_eq!(Lock::parse(&text).as_ref(), Ok(&lock), "{text}");
    read(&text);
    // A text close to a lock file reaches further into the parser than random bytes.
    let mut damaged = text.into_bytes();
    mutate(&mut rng, &mut damaged);
    if let Ok(damaged) = str::from_utf8(&damaged) {
        read(damaged);
    }
}

/// Reads a text. If it is a lock file, writing it gives the same lock.
fn read(text: &str) {
    match Lock::parse(text) {
        Ok(lock) => {
            let written = lock.to_string();
            let again = Lock::parse(&written);
            assert_eq!(again.as_ref(), Ok(&lock), "{written}");
            // The bytes are stable too, so that a file under version control does not change.
            assert_eq!(again.map(|it| it.to_string()), Ok(written));
            for server in lock.servers() {
                let tools: Vec<_> = lock.tools(server).cloned().collect();
                assert!(lock.compare(server, &tools).is_empty(), "a lock differs from itself");
                let instructions = lock.instructions(server);
                let difference = instructions.and_then(|it| lock.compare_instructions(server, it));
                assert_eq!(difference, None, "a lock differs from itself");
            }
        }
        Err(error) => {
            let lines = text.split('\n').count();
            assert!((1..=lines).contains(&error.line), "{error}");
            assert!(1 <= error.column && error.column <= text.len() + 1, "{error}");
            // The message goes to a terminal.
            assert!(!error.to_string().chars().any(char::is_control), "{error:?}");
        }
    }
}

/// Returns some servers with some tools.
fn pins(rng: &mut Rng) -> Lock {
    let mut lock = Lock::new();
    for _ in 0..rng.below(4) {
        let server = name(rng);
        let tools: Vec<_> = (0..rng.below(4)).filter_map(|_| definition(rng)).collect();
        lock.pin(&server, &tools).expect("they are small");
    }
    for _ in 0..rng.below(3) {
        let text = format!("{{\"instructions\":{}}}", value(rng, 2));
        let mut checker = Checker::new(&Limits::default());
        let Ok(checked) = checker.check(text.as_bytes()) else { continue };
        let instructions = Instructions::of_result(checked.value);
        lock.approve_instructions(&name(rng), &instructions).expect("they are small");
    }
    if let Some(tool) = definition(rng) {
        lock.approve("more", &tool).expect("it is small");
    }
    if rng.one_in(3) {
        lock.forget(&name(rng));
    }
    lock
}

fn definition(rng: &mut Rng) -> Option<Definition> {
    let members = [
        ("name", plant::json_string(&name(rng))),
        ("description", plant::json_string(&plant::text(rng))),
        ("inputSchema", schema(rng)),
        ("annotations", value(rng, 1)),
        // Over the size from which long parts are pinned as digests.
        ("icons", plant::json_string(&"A".repeat(if rng.one_in(8) { 300_000 } else { 3 }))),
        ("_meta", value(rng, 1)),
    ];
    let members = members.map(|(key, value)| format!("\"{key}\":{value}"));
    let text = format!("{{{}}}", members.join(","));
    let mut checker = Checker::new(&Limits::default());
    let checked = checker.check(text.as_bytes()).ok()?;
    Definition::new(checked.value).ok()
}

/// Returns a nested value, deeper than the level that is written with one line per member.
fn schema(rng: &mut Rng) -> String {
    let mut schema = value(rng, 3);
    for _ in 0..rng.below(8) {
        schema = format!("{{\"properties\":[{schema},1]}}");
    }
    schema
}

fn name(rng: &mut Rng) -> String {
    match rng.below(6) {
        0 => plant::text(rng),
        1 => String::new(),
        _ => rng.pick(&["a", "b", "read_page", "a.b", "\u{200b}", "name", "é"]).to_owned(),
    }
}
