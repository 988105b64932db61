//! Differential safety: for every message that passes, readers that parse objects differently find
//! the same message.
//!
//! There are four readers: `serde_json`; one that lets the last of equal keys win, and one that
//! lets the first win, both built on a small parser of this test; and one that ignores case, as Go
//! does.

use std::collections::BTreeMap;

use hardline_guard::policy::{Policy, Profile};
use hardline_guard::{Direction, Guard, Rule};
use hardline_testkit::generate::{Rng, message, mutate, value};
use hardline_testkit::plant;
use serde_json::Value;

const ENVELOPE: [&str; 6] = ["jsonrpc", "id", "method", "params", "result", "error"];

/// A value with all members of its objects, in their order.
#[derive(Clone, Debug)]
enum Written {
    Scalar(Value),
    Array(Vec<Self>),
    Object(Vec<(String, Self)>),
}

/// Selects the one of several equal keys that counts.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Wins {
    First,
    Last,
}

/// A parser that accepts everything that is nearly JSON.
struct Parser<'a> {
    rest: &'a str,
}

impl<'a> Parser<'a> {
    fn parse(text: &'a str) -> Option<Written> {
        let mut parser = Self { rest: text };
        let value = parser.value()?;
        parser.space();
        parser.rest.is_empty().then_some(value)
    }

    fn space(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t', '\n', '\r']);
    }

    fn eat(&mut self, sign: char) -> Option<()> {
        self.space();
        self.rest = self.rest.strip_prefix(sign)?;
        Some(())
    }

    fn value(&mut self) -> Option<Written> {
        self.space();
        match self.rest.chars().next()? {
            '{' => {
                self.eat('{')?;
                let mut members = Vec::new();
                while self.eat('}').is_none() {
                    if !members.is_empty() {
                        self.eat(',')?;
                    }
                    self.space();
                    let key = self.string()?;
                    self.eat(':')?;
                    members.push((key, self.value()?));
                }
                Some(Written::Object(members))
            }
            '[' => {
                self.eat('[')?;
                let mut elements = Vec::new();
                while self.eat(']').is_none() {
                    if !elements.is_empty() {
                        self.eat(',')?;
                    }
                    elements.push(self.value()?);
                }
                Some(Written::Array(elements))
            }
            '"' => Some(Written::Scalar(Value::String(self.string()?))),
            _ => {
                let is_end = |it: char| "{}[],:\" \t\n\r".contains(it);
                let (word, rest) =
                    self.rest.split_at(self.rest.find(is_end).unwrap_or(self.rest.len()));
                self.rest = rest;
                Some(Written::Scalar(serde_json::from_str(word).ok()?))
            }
        }
    }

    fn string(&mut self) -> Option<String> {
        let inside = self.rest.strip_prefix('"')?;
        let mut is_escaped = false;
        let end = inside.find(|char| {
            let is_end = char == '"' && !is_escaped;
            is_escaped = char == '\\' && !is_escaped;
            is_end
        })?;
        let (string, rest) = self.rest.split_at(end + 2);
        self.rest = rest;
        serde_json::from_str(string).ok()
    }
}

/// The message as a reader sees it.
fn resolve(written: &Written, wins: Wins) -> Value {
    match written {
        Written::Scalar(value) => value.clone(),
        Written::Array(elements) => elements.iter().map(|it| resolve(it, wins)).collect(),
        Written::Object(members) => {
            let mut object = serde_json::Map::new();
            for (key, member) in members {
                if wins == Wins::Last || !object.contains_key(key) {
                    object.insert(key.clone(), resolve(member, wins));
                }
            }
            Value::Object(object)
        }
    }
}

/// Compares like Go compares field names: simple folding, in which `ſ` is an `s` and the Kelvin
/// sign a `k`.
fn folded(key: &str) -> String {
    let fold = |char: char| match char {
        'ſ' => 's',
        '\u{212a}' => 'k',
        other => other.to_lowercase().next().unwrap_or(other),
    };
    key.chars().map(fold).collect()
}

type Envelope = BTreeMap<&'static str, Value>;

fn exact(value: &Value) -> Envelope {
    let member = |key: &'static str| Some((key, value.get(key)?.clone()));
    ENVELOPE.into_iter().filter_map(member).collect()
}

/// Returns the envelope without regard to case, for a reader that keeps the first or the last key.
fn caseless(written: &Written, wins: Wins) -> Envelope {
    let Written::Object(members) = written else { return Envelope::new() };
    let mut envelope = Envelope::new();
    for (key, member) in members {
        let name = ENVELOPE.into_iter().find(|it| *it == folded(key));
        if let Some(name) = name.filter(|it| wins == Wins::Last || !envelope.contains_key(it)) {
            envelope.insert(name, resolve(member, Wins::Last));
        }
    }
    envelope
}

/// Returns the messages of a line that each reader finds; `None` if one of them cannot read it.
fn readings(line: &[u8]) -> Option<Vec<Vec<Envelope>>> {
    let text = str::from_utf8(line).ok()?;
    let written = Parser::parse(text)?;
    let other: Value = serde_json::from_str(text).ok()?;
    let (last, first) = (resolve(&written, Wins::Last), resolve(&written, Wins::First));
    let parts = |value: &Value| value.as_array().cloned().unwrap_or_else(|| vec![value.clone()]);
    let written = match written {
        Written::Array(elements) => elements,
        object => vec![object],
    };
    let exact = |value: &Value| parts(value).iter().map(exact).collect::<Vec<_>>();
    let caseless = |wins| written.iter().map(|it| caseless(it, wins)).collect::<Vec<_>>();
    Some(vec![
        exact(&other),
        exact(&last),
        exact(&first),
        caseless(Wins::Last),
        caseless(Wins::First),
    ])
}

fn is_agreed(readings: &[Vec<Envelope>]) -> bool {
    readings.iter().all(|it| it == &readings[0])
}

fn frame(rng: &mut Rng) -> Vec<u8> {
    let mut text = match rng.below(8) {
        0 => message(rng),
        1 => {
            let elements: Vec<_> = (0..1 + rng.below(3)).map(|_| plant::envelope(rng)).collect();
            format!("[{}]", elements.join(", "))
        }
        2 => {
            let (one, other) = (value(rng, 3), plant::envelope(rng));
            format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"a":{one},"b":{other}}}}}"#)
        }
        _ => plant::envelope(rng),
    }
    .into_bytes();
    if rng.one_in(6) {
        mutate(rng, &mut text);
    }
    text
}

#[test]
fn readers_agree_on_what_passes() {
    let profiles = [Profile::Balanced, Profile::Strict];
    let mut guards = profiles.map(|it| Guard::new(Policy::profile(it)));
    let (mut passed, mut disputed, mut refused_for) = (0, 0, BTreeMap::new());
    for seed in 0..80_000 {
        let mut rng = Rng::new(seed);
        let line = frame(&mut rng);
        let direction =
            if rng.one_in(3) { Direction::ClientToServer } else { Direction::ServerToClient };
        disputed += usize::from(readings(&line).is_some_and(|it| !is_agreed(&it)));
        for guard in &mut guards {
            let report = guard.check_frame(direction, &line);
            let Some(sent) = report.frame else {
                for finding in report.findings {
                    *refused_for.entry(finding.rule).or_insert(0) += 1;
                }
                continue;
            };
            let sent = sent.into_inner();
            if sent.trim_ascii().is_empty() {
                continue;
            }
            passed += 1;
            let text = String::from_utf8_lossy(&sent).into_owned();
            let found = readings(&sent).unwrap_or_else(|| panic!("seed {seed}: unreadable {text}"));
            assert!(is_agreed(&found), "seed {seed}: {text}: {found:#?}");
            for envelope in &found[0] {
                assert_eq!(envelope.get("jsonrpc"), Some(&"2.0".into()), "seed {seed}: {text}");
            }
        }
    }
    // The generator is only useful if it creates both, and for every reason.
    assert!(20_000 < passed && 10_000 < disputed, "{passed} passed, {disputed} disputed");
    for rule in [Rule::FrameDuplicateKey, Rule::FrameAmbiguousKey, Rule::FrameNotJsonrpc] {
        assert!(1_000 < refused_for.get(&rule).copied().unwrap_or(0), "{refused_for:?}");
    }
}

/// The same for keys that differ by folding, all written by hand.
#[test]
fn keys_that_some_reader_takes_for_another_do_not_pass() {
    let twins = [
        ("method", "Method"),
        ("method", r"\u006dethod"),
        ("method", "METHOD"),
        ("params", "param\u{17f}"),
        ("params", r"param\u017f"),
        ("params", r"param\u017F"),
        ("result", "re\u{17f}ult"),
        ("jsonrpc", "j\u{17f}onrpc"),
        ("jsonrpc", "JSONRPC"),
        ("id", "ID"),
        ("id", r"\u0049d"),
        ("id", "id"),
        ("error", "Error"),
    ];
    let mut guard = Guard::new(Policy::profile(Profile::Balanced));
    for (name, twin) in twins {
        let member = |key: &str| match name {
            "method" => format!(r#""{key}":"ping""#),
            "jsonrpc" => format!(r#""{key}":"2.0""#),
            "id" => format!(r#""{key}":1"#),
            "error" => format!(r#""{key}":{{"code":1,"message":"m"}}"#),
            _ => format!(r#""{key}":{{}}"#),
        };
        let base = match name {
            "method" | "params" => r#""jsonrpc":"2.0","id":1,"method":"ping","params":{}"#,
            "error" => r#""jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m"}"#,
            _ => r#""jsonrpc":"2.0","id":1,"result":{}"#,
        };
        let both = [format!("{{{},{base}}}", member(twin)), format!("{{{base},{}}}", member(twin))];
        // In place of the name itself: its presence depends on the reader.
        let (plain, other) = (format!("\"{name}\":"), format!("\"{twin}\":"));
        let instead = format!("{{{base}}}").replacen(&plain, &other, 1);
        for direction in [Direction::ServerToClient, Direction::ClientToServer] {
            for line in &both {
                let report = guard.check_frame(direction, line.as_bytes());
                assert_eq!(report.frame, None, "{line}");
            }
            let is_disputed = !is_agreed(&readings(instead.as_bytes()).unwrap());
            let report = guard.check_frame(direction, instead.as_bytes());
            assert!(report.frame.is_none() || !is_disputed, "{instead}: {report:?}");
        }
    }
}
