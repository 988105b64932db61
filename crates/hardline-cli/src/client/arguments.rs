//! Arguments as they are given on the command line: JSON, in a file, or on standard input.

use std::io::Read;

use anyhow::{Context, Result, bail};
use hardline_wire::json::{Checker, Kind};
use hardline_wire::limits::Limits;

/// The most that is read as arguments.
const MAX_BYTES: u64 = 64 << 20;

/// The arguments as a JSON object; an empty one if none are given. Numbers stay as they are written.
pub(super) fn read(given: Option<&str>) -> Result<String> {
    let text = match given {
        None => String::from("{}"),
        Some("-") => {
            let input = std::io::stdin().lock();
            read_all(input).context("cannot read the arguments from standard input")?
        }
        Some(text) => match text.strip_prefix('@') {
            Some(path) => {
                let file = std::fs::File::open(path);
                let file = file.with_context(|| format!("cannot open {path}"))?;
                read_all(file).with_context(|| format!("cannot read {path}"))?
            }
            None => text.to_owned(),
        },
    };
    let text = text.trim_start_matches('\u{feff}');
    let from = given.and_then(|it| it.strip_prefix('@')).map(|it| format!(" in {it}"));
    let from = from.unwrap_or_default();
    let mut checker = Checker::new(&Limits::default());
    let checked = checker.check(text.as_bytes()).with_context(|| {
        format!("the arguments{from} are no JSON; write an object, as '{{\"text\": \"hello\"}}'")
    })?;
    if checked.value.kind() != Kind::Object {
        bail!("the arguments{from} are no JSON object; write one, as '{{\"text\": \"hello\"}}'");
    }
    Ok(checked.value.text().to_owned())
}

fn read_all(input: impl Read) -> Result<String> {
    let mut text = String::new();
    #[expect(clippy::disallowed_methods, reason = "bounded by the line above it")]
    input.take(MAX_BYTES).read_to_string(&mut text)?;
    Ok(text)
}
