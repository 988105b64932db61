//! Single changes, and many generated texts: wrapping and unwrapping restores the text.

use hardline_testkit::generate::Rng;

use super::*;
use crate::install::client::ALL_PLACES;
use crate::install::server::find;

const PROGRAM: &str = "/bin/hardline";

/// Wraps all servers of a text, compares the result, and unwraps them again.
#[track_caller]
fn check(format: Format, text: &str, expected: &str) {
    let wrapped = wrap(format, text);
    assert_eq!(wrapped, expected);
    assert_eq!(wrap(format, &wrapped), expected, "twice is once");
    assert_eq!(unwrap(format, &wrapped, &added(format, text)), text);
}

#[test]
fn json_keeps_its_layout() {
    let json = |text: &str, expected: &str| check(Format::Json, text, expected);
    json(
        r#"{"mcpServers":{"a":{"command":"x","args":["y"]}}}"#,
        r#"{"mcpServers":{"a":{"command":"/bin/hardline","args":["wrap","--name","a","--","x","y"]}}}"#,
    );
    json(
        r#"{"servers": {"a": {"args": [ "y", ], "command": "x"}}}"#,
        r#"{"servers": {"a": {"args": [ "wrap", "--name", "a", "--", "x", "y", ], "command": "/bin/hardline"}}}"#,
    );
    json(
        "{\"mcpServers\": {\"a\": {\n\t\"command\": \"\\u0078\" // why\n}}}",
        "{\"mcpServers\": {\"a\": {\n\t\"command\": \"/bin/hardline\",\n\t\"args\": [\"wrap\", \"--name\", \"a\", \
        \"--\", \"\\u0078\"] // why\n}}}",
    );
    json(
        "{\"context_servers\": {\"a\": {\"command\": {\r\n  \"path\": \"x\",\r\n  \"args\": [\r\n    \"y\"\r\n  ]}}}}",
        "{\"context_servers\": {\"a\": {\"command\": {\r\n  \"path\": \"/bin/hardline\",\r\n  \"args\": [\r\n    \
        \"wrap\", \"--name\", \"a\", \"--\", \"x\",\r\n    \"y\"\r\n  ]}}}}",
    );
}

#[test]
fn toml_keeps_its_layout() {
    let toml = |text: &str, expected: &str| check(Format::Toml, text, expected);
    let ours =
        |name: &str, command: &str| format!("\"wrap\", \"--name\", \"{name}\", \"--\", {command}");
    toml(
        "[mcp_servers.a]\n  command = 'x' # why\n",
        &format!(
            "[mcp_servers.a]\n  command = \"/bin/hardline\"\n  args = [{}] # why\n",
            ours("a", "'x'")
        ),
    );
    toml(
        "mcp_servers.a.command = 'x'",
        &format!(
            "mcp_servers.a.command = \"/bin/hardline\"\nmcp_servers.a.args = [{}]",
            ours("a", "'x'")
        ),
    );
    toml(
        "[mcp_servers]\na = { env = {}, command = 'x' }\nb.command = \"\"\"y\"\"\"\n",
        &format!(
            "[mcp_servers]\na = {{ env = {{}}, command = \"/bin/hardline\", args = [{}] }}\n\
            b.command = \"/bin/hardline\"\nb.args = [{}]\n",
            ours("a", "'x'"),
            ours("b", "\"\"\"y\"\"\"")
        ),
    );
}

#[test]
fn unwrapping_what_was_written_anew_leaves_an_empty_list() {
    let text = r#"{"mcpServers": {"a": {"command": "x"}}}"#;
    let wrapped = wrap(Format::Json, text);
    let expected = r#"{"mcpServers": {"a": {"command": "x", "args": []}}}"#;
    assert_eq!(unwrap(Format::Json, &wrapped, &[]), expected);
    let pretty = serde_json::from_str::<serde_json::Value>(&wrapped).unwrap();
    let pretty = serde_json::to_string_pretty(&pretty).unwrap();
    let after = unwrap(Format::Json, &pretty, &added(Format::Json, text));
    let after: serde_json::Value = serde_json::from_str(&after).unwrap();
    assert_eq!(after["mcpServers"]["a"]["command"], "x");
}

#[test]
fn made_up_json() {
    for seed in 0..20_000 {
        let text = Json { rng: Rng::new(seed) }.config();
        round(Format::Json, &text, seed);
    }
}

#[test]
fn made_up_toml() {
    for seed in 0..20_000 {
        let text = toml_config(&mut Rng::new(seed));
        round(Format::Toml, &text, seed);
    }
}

#[track_caller]
fn round(format: Format, text: &str, seed: u64) {
    let wrapped = wrap(format, text);
    assert_ne!(wrapped, text, "seed {seed}");
    assert_eq!(wrap(format, &wrapped), wrapped, "seed {seed}: twice is once");
    let moved = change(format, &wrapped, &EntryChange::Repoint { program: "/opt/hardline" });
    assert_eq!(moved, wrapped.replace(PROGRAM, "/opt/hardline"), "seed {seed}");
    assert_eq!(unwrap(format, &moved, &added(format, text)), text, "seed {seed}");
}

fn wrap(format: Format, text: &str) -> String {
    change(format, text, &EntryChange::Wrap { program: PROGRAM, options: &[] })
}

fn unwrap(format: Format, text: &str, added: &[Vec<String>]) -> String {
    change(format, text, &EntryChange::Unwrap { added })
}

#[track_caller]
fn change(format: Format, text: &str, change: &EntryChange<'_>) -> String {
    let document =
        Document::parse(text.as_bytes(), format).unwrap_or_else(|it| panic!("{it}\n{text}"));
    let servers = find(&document, &ALL_PLACES).unwrap();
    apply(&document, &servers.iter().collect::<Vec<_>>(), change)
        .unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn added(format: Format, text: &str) -> Vec<Vec<String>> {
    let document = Document::parse(text.as_bytes(), format).unwrap();
    let servers = find(&document, &ALL_PLACES).unwrap().into_iter();
    let bare = servers.filter(|server| match &server.kind {
        EntryKind::Plain(launch) => launch.args.is_none(),
        _ => false,
    });
    bare.map(|server| server.path).collect()
}

const TEXTS: &[&str] = &[
    "x",
    "",
    "--",
    "wrap",
    "a b",
    "é\u{1f600}",
    "\\",
    "\"",
    "C:\\x",
    "{",
    "//",
    "#",
    "\u{2028}",
    "-",
];

/// A program never has an empty name.
const COMMANDS: &[&str] = &["x", "C:\\x y", "é\"", "$HOME/x", "--"];

/// Generates JSON with white space and comments in all possible places.
struct Json {
    rng: Rng,
}

impl Json {
    fn config(&mut self) -> String {
        let place = *self.rng.pick(&[&"mcpServers", &"servers", &"context_servers"]);
        let count = 1 + self.rng.below(3);
        let servers: Vec<_> =
            (0..count).map(|index| (format!("s{index}"), self.server())).collect();
        let mut members = vec![(place.to_owned(), self.object(servers))];
        if self.rng.one_in(2) {
            members.push(("other".to_owned(), self.value(3)));
        }
        if self.rng.one_in(2) {
            members.reverse();
        }
        let object = self.object(members);
        [self.space(), object, self.space()].concat()
    }

    fn server(&mut self) -> String {
        let mut launch = vec![("PROGRAM".to_owned(), self.string("x"))];
        if !self.rng.one_in(3) {
            let count = self.rng.below(4);
            let items = (0..count).map(|_| self.any_string()).collect();
            launch.push(("args".to_owned(), self.array(items)));
        }
        if self.rng.one_in(2) {
            launch.push(("env".to_owned(), self.value(2)));
        }
        if self.rng.one_in(2) {
            launch.reverse();
        }
        let is_object = self.rng.one_in(4);
        for (key, _) in &mut launch {
            if key == "PROGRAM" {
                *key = if is_object { "path" } else { "command" }.to_owned();
            }
        }
        let launch = self.object(launch);
        if is_object { self.object(vec![("command".to_owned(), launch)]) } else { launch }
    }

    fn value(&mut self, depth: usize) -> String {
        match self.rng.below(if depth == 0 { 3 } else { 5 }) {
            0 => self.any_string(),
            1 => (*self.rng.pick(&[&"1", &"-2.50e3", &"0"])).to_owned(),
            2 => (*self.rng.pick(&[&"true", &"null"])).to_owned(),
            3 => {
                let items = (0..self.rng.below(3)).map(|_| self.value(depth - 1)).collect();
                self.array(items)
            }
            _ => {
                let count = self.rng.below(3);
                let members = (0..count).map(|index| (format!("k{index}"), self.value(depth - 1)));
                let members = members.collect();
                self.object(members)
            }
        }
    }

    fn any_string(&mut self) -> String {
        let index = self.rng.below(TEXTS.len());
        self.string(TEXTS[index])
    }

    /// Generates a string with unnecessary escapes.
    fn string(&mut self, text: &str) -> String {
        if self.rng.one_in(4) {
            let units = text.encode_utf16().map(|unit| format!("\\u{unit:04x}"));
            return format!("\"{}\"", units.collect::<String>());
        }
        quote_json(text)
    }

    fn array(&mut self, items: Vec<String>) -> String {
        self.list('[', items, ']')
    }

    fn object(&mut self, members: Vec<(String, String)>) -> String {
        let members = members.into_iter().map(|(key, value)| {
            [self.string(&key), self.space(), ":".to_owned(), self.space(), value].concat()
        });
        let members = members.collect();
        self.list('{', members, '}')
    }

    fn list(&mut self, open: char, items: Vec<String>, close: char) -> String {
        let mut text = open.to_string();
        let count = items.len();
        for (index, item) in items.into_iter().enumerate() {
            text += &[self.space(), item, self.space()].concat();
            if index + 1 < count || self.rng.one_in(4) {
                text.push(',');
            }
        }
        text + &self.space() + &close.to_string()
    }

    fn space(&mut self) -> String {
        let choices: &[&&str] =
            &[&"", &"", &" ", &"\n  ", &"\r\n\t", &" // c ]\n", &"/* \" , */", &"\n\n    ", &"\t"];
        (*self.rng.pick(choices)).to_owned()
    }
}

/// Generates TOML in the styles that servers are written in.
fn toml_config(rng: &mut Rng) -> String {
    let end = *rng.pick(&[&"\n", &"\r\n"]);
    let mut before = vec!["model = \"x\" # m".to_owned()];
    let mut after = Vec::new();
    for index in 0..1 + rng.below(3) {
        let name = *rng.pick(&[&"sN", &"\"q \\\" . N\"", &"'l.N'"]);
        let name = name.replace('N', &index.to_string());
        let command = toml_string(rng, COMMANDS);
        let mut pairs = vec![("command", command)];
        if !rng.one_in(3) {
            let items: Vec<_> = (0..rng.below(4)).map(|_| toml_string(rng, TEXTS)).collect();
            let space = *rng.pick(&[&"", &" ", &"\n  ", &" # c ]\n\t"]);
            let space = space.replace('\n', end);
            let comma = if !items.is_empty() && rng.one_in(2) { "," } else { "" };
            let items = items.join(&format!(",{space}"));
            pairs.push(("args", format!("[{space}{items}{comma}{space}]")));
        }
        if rng.one_in(2) {
            pairs.push(("env", "{ A = \"1\" }".to_owned()));
        }
        if rng.one_in(2) {
            pairs.reverse();
        }
        let equals = *rng.pick(&[&" = ", &"=", &"\t=  "]);
        let written = |prefix: &str| {
            pairs
                .iter()
                .map(|(key, value)| format!("{prefix}{key}{equals}{value}"))
                .collect::<Vec<_>>()
        };
        match rng.below(4) {
            0 => before.extend(written(&format!("mcp_servers.{name}."))),
            1 => before.push(format!("mcp_servers.{name} = {{ {} }} # c", written("").join(", "))),
            2 => {
                after.push(format!("[mcp_servers.{name}] # c"));
                after.extend(written("  "));
            }
            _ => {
                after.push(format!("[ mcp_servers . {name} ]"));
                after.extend(written(""));
                after.push(String::new());
            }
        }
    }
    before.append(&mut after);
    before.join(end) + if rng.one_in(2) { end } else { "" }
}

fn toml_string(rng: &mut Rng, texts: &[&str]) -> String {
    let text = texts[rng.below(texts.len())];
    match rng.below(3) {
        0 if !text.contains('\'') => format!("'{text}'"),
        1 if !text.contains(['\\', '"']) => format!("\"\"\"{text}\"\"\""),
        _ => toml::quote(text),
    }
}
