//! Arguments of tools and prompts: JSON on the command line, in a file, or on standard input.

use std::io::Read;

use anyhow::{Context, Result, bail};
use hardline_wire::json::{Checker, Kind};
use hardline_wire::limits::Limits;

/// Limit on the size of arguments.
const MAX_BYTES: u64 = 64 << 20;

/// Returns the arguments as a JSON object; without arguments, an empty one. Numbers keep their
/// digits.
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
    // Some editors write a byte order mark, which is not JSON.
    let text = text.trim_start_matches('\u{feff}');
    let from = given.and_then(|it| it.strip_prefix('@')).map(|it| format!(" in {it}"));
    let from = from.unwrap_or_default();
    // Strict parsing: the text is sent to the server unchanged.
    let mut checker = Checker::new(&Limits::default());
    let checked = checker.check(text.as_bytes()).with_context(|| {
        format!(
            "the arguments{from} are not JSON; write an object, such as '{{\"text\": \"hello\"}}'"
        )
    })?;
    if checked.value.kind() != Kind::Object {
        bail!(
            "the arguments{from} are not a JSON object; write one, such as '{{\"text\": \"hello\"}}'"
        );
    }
    Ok(checked.value.text().to_owned())
}

fn read_all(input: impl Read) -> Result<String> {
    let mut text = String::new();
    #[expect(clippy::disallowed_methods, reason = "the size is limited")]
    input.take(MAX_BYTES).read_to_string(&mut text)?;
    Ok(text)
}
