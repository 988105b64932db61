//! `docs/policy.md`: each policy on it is valid, and each message is what a user would get.

use hardline_guard::Direction;
use hardline_guard::policy::Policy;

const PAGE: &str = include_str!("../../../../../docs/policy.md");

/// Returns the fenced blocks of the page: the info string, and the content.
fn blocks() -> Vec<(&'static str, String)> {
    let mut blocks = Vec::new();
    let mut lines = PAGE.split('\n');
    while let Some(line) = lines.next() {
        if let Some(kind) = line.strip_prefix("```") {
            let inside = lines.by_ref().take_while(|line| *line != "```");
            blocks.push((kind, inside.flat_map(|line| [line, "\n"]).collect()));
        }
    }
    blocks
}

#[test]
fn the_page_on_policies_says_what_is_so() {
    let blocks = blocks();
    let (mut policies, mut wrong) = (0, 0);
    for (index, (kind, text)) in blocks.iter().enumerate() {
        let before = index.checked_sub(1).map(|index| &blocks[index]);
        match kind.split(' ').collect::<Vec<_>>()[..] {
            ["toml"] => {
                let policy = Policy::parse(text);
                assert!(policy.is_ok(), "{text}\n{}", policy.unwrap_err());
                policies += 1;
            }
            ["toml", "wrong"] => {
                let error = Policy::parse(text).unwrap_err();
                assert_eq!(blocks[index + 1], ("text", format!("{error}\n")), "{text}");
                wrong += 1;
            }
            ["why", rule, server, tool] => {
                let policy = Policy::parse(&before.unwrap().1).unwrap();
                let (server, tool) = (Some(server), Some(tool));
                let direction = Direction::ServerToClient;
                let why = policy.explain(rule.parse().unwrap(), server, tool, direction);
                assert_eq!(*text, format!("{why}\n"));
            }
            ["sh" | "text"] => {}
            ref other => panic!("what is {other:?}?"),
        }
    }
    assert!(8 <= policies && 4 <= wrong, "{policies} {wrong}");
}

/// The table of keys lists only keys that the parser knows; where an error lists the keys, the
/// table has all of them.
#[test]
fn the_page_on_policies_names_every_key() {
    let tables = [
        ("", "| top |"),
        ("[limits]\n", "| `[limits]` |"),
        ("[burst]\n", "| `[burst]` |"),
        ("[server.a]\n", "| `[server.NAME]` |"),
        ("[server.a.tool.b]\n", "| `[server.NAME.tool.NAME]` |"),
        ("[[allow]]\n", "| `[[allow]]` |"),
    ];
    for (header, row) in tables {
        let row = PAGE.lines().find_map(|line| line.strip_prefix(row)).unwrap();
        let keys: Vec<_> = row.split('`').skip(1).step_by(2).collect();
        assert!(2 <= keys.len(), "{row}");
        let error = Policy::parse(&format!("{header}zzzzzz = 1\n")).unwrap_err();
        let unknown = error.faults().iter().find(|it| it.message == "no such key").unwrap();
        if let Some(listed) = unknown.help.as_ref().and_then(|it| it.strip_prefix("there are ")) {
            assert_eq!(sorted(listed.split('`').skip(1).step_by(2)), sorted(keys.iter().copied()));
        }
        for key in keys {
            let error = Policy::parse(&format!("{header}{key} = 1.5\n")).unwrap_err().to_string();
            assert!(!error.contains("no such key"), "{error}");
        }
    }
}

fn sorted<'a>(keys: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut keys: Vec<_> = keys.collect();
    keys.sort_unstable();
    keys
}
