//! Parses lines of the station.

/// A reading: `name=value`.
#[derive(Debug, Clone, PartialEq)]
pub struct Reading<'a> {
    pub name: &'a str,
    pub value: f64,
}

pub fn parse(line: &str) -> Option<Reading<'_>> {
    let (name, value) = line.trim_end_matches(['\r', '\n']).split_once('=')?;
    Some(Reading { name: name.trim(), value: value.trim().parse().ok()? })
}

#[test]
fn reads_a_line() {
    assert_eq!(parse("roof = -3.5\r\n"), Some(Reading { name: "roof", value: -3.5 }));
    assert!(parse("{\"id\": 1}").is_none(), "\u{1f4a5} \x1b[1mbold\x1b[0m");
}
