//! The lock file.

use hardline_guard::pin::{Difference, Instructions, Lock, LockFull};
use hardline_testkit::generate::{self, Rng};
use hardline_wire::json::Checker;
use hardline_wire::limits::Limits;

use super::{definition, random_tool};

const LOCK: &str = r#"{
  "version": 1,
  "servers": {
    "a \"new\" one": {
      "tools": {}
    },
    "docs": {
      "tools": {
        "list": {
          "sha256": "aa3855705c41db78d49250abb4b02bb8559711774fea5d313f99a2f3528cbdc3",
          "definition": {
            "inputSchema": {},
            "name": "list"
          }
        },
        "read_page": {
          "sha256": "a95ae0cdf43a4251e9e62e7a7535e55f3b9bfa3ad8d478e4235bcd1c4faec4da",
          "definition": {
            "annotations": {
              "readOnlyHint": true
            },
            "description": "Reads a page.\u200b",
            "inputSchema": {
              "properties": {
                "url": {
                  "type": "string"
                }
              },
              "required": [
                "url"
              ],
              "type": "object"
            },
            "name": "read_page"
          }
        }
      }
    }
  }
}
"#;

fn sample() -> Lock {
    let mut lock = Lock::new();
    let read_page = definition(
        r#"{"name":"read_page","description":"Reads a page.\u200b","annotations":{"readOnlyHint":true},
            "inputSchema":{"type":"object","properties":{"url":{"type":"string"}},"required":["url"]}}"#,
    );
    lock.pin("docs", [&read_page, &definition(r#"{"name":"list","inputSchema":{}}"#)]).unwrap();
    lock.pin("a \"new\" one", []).unwrap();
    lock
}

#[test]
fn the_lock_file_is_sorted_readable_and_read_again() {
    assert_eq!(sample().to_string(), LOCK);
    assert_eq!(Lock::parse(LOCK).unwrap(), sample());
    let empty = Lock::new().to_string();
    assert_eq!(empty, "{\n  \"version\": 1,\n  \"servers\": {}\n}\n");
    assert_eq!(Lock::parse(&empty).unwrap(), Lock::new());
}

#[test]
fn the_lock_file_hides_nothing_from_its_reviewer() {
    let hidden = "\\u007f\u{7f}\u{9b}\u{200b}\u{202e}\u{2028}\u{e0041}";
    let mut lock = Lock::new();
    lock.pin(hidden, [&definition(&format!(r#"{{"name":"{hidden}","{hidden}":["{hidden}"]}}"#))])
        .unwrap();
    let text = lock.to_string();
    assert!(text.chars().all(|char| char == '\n' || (' '..='~').contains(&char)), "{text}");
    assert_eq!(Lock::parse(&text).unwrap(), lock);
}

#[test]
fn deep_definitions_are_not_blown_up_by_indentation() {
    let deep = format!(r#"{{"name":"t","x":{}{}}}"#, "[".repeat(120), "]".repeat(120));
    let mut lock = Lock::new();
    lock.pin("s", [&definition(&deep)]).unwrap();
    let text = lock.to_string();
    assert!(text.len() < 1000, "{text}");
    assert_eq!(Lock::parse(&text).unwrap(), lock);
}

#[test]
fn a_text_that_is_no_lock_file_says_why() {
    let cases = [
        ("", "line 1, column 1: the file is empty"),
        ("{\n  \"version\": 1,\n}", "line 3, column 1: expected a key in double quotes"),
        ("[]", "line 1, column 1: expected an object"),
        ("{\"servers\":{}}", "line 1, column 1: `version` is missing"),
        (
            "{\"version\":2,\"servers\":{}}",
            "line 1, column 12: version: version 2 is from a newer Hardline: update this one",
        ),
        (
            "{\"version\":\"1\",\"servers\":{}}",
            "line 1, column 12: version: expected 1, the version of the format",
        ),
        ("{\"version\":1,\"servers\":[]}", "line 1, column 24: servers: expected an object"),
        (
            "{\"version\":1,\n\"servers\":{\"\\u001b\":{\"tool\":{}}}}",
            "line 2, column 29: servers.`\\u{1b}`: no such member: `tool`",
        ),
        (
            "{\"version\":1,\n<<<<<<< HEAD\n",
            "line 2, column 1: the file has conflict markers: resolve the merge first",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(Lock::parse(text).unwrap_err().to_string(), expected, "{text}");
    }
    let edited = LOCK.replace("Reads a page", "Reads a file");
    let error = Lock::parse(&edited).unwrap_err().to_string();
    assert!(error.contains("servers.`docs`.tools.`read_page`: the definition does not match"));
    let renamed = LOCK.replace("\"list\": {", "\"List\": {");
    let error = Lock::parse(&renamed).unwrap_err().to_string();
    assert!(error.ends_with("the definition is of `list`"), "{error}");
}

#[test]
fn every_lock_is_read_again_as_it_was_written() {
    for seed in 0..1000 {
        let mut rng = Rng::new(seed);
        let mut lock = Lock::new();
        for _ in 0..rng.below(4) {
            let server = rng.pick(&["docs", "a b", "\u{202e}x", ""]);
            let tools: Vec<_> = (0..rng.below(4))
                .filter_map(|_| random_tool(&mut rng))
                .map(|(text, _)| definition(&text))
                .collect();
            lock.pin(server, &tools).unwrap();
        }
        let text = lock.to_string();
        assert_eq!(Lock::parse(&text).unwrap(), lock, "seed {seed}:\n{text}");
        assert_eq!(Lock::parse(&text).unwrap().to_string(), text);

        let mut bytes = text.into_bytes();
        generate::mutate(&mut rng, &mut bytes);
        // A damaged file is an error, or can be written and read again without a change.
        if let Ok(read) = Lock::parse(&String::from_utf8_lossy(&bytes)) {
            assert_eq!(Lock::parse(&read.to_string()).unwrap(), read, "seed {seed}");
        }
    }
}

fn instructions(result: &str) -> Instructions {
    let mut checker = Checker::new(&Limits::default());
    Instructions::of_result(checker.check(result.as_bytes()).unwrap().value)
}

#[test]
fn instructions_are_kept_before_the_tools_and_apart_from_them() {
    let mut lock = Lock::new();
    lock.approve_instructions("docs", &instructions(r#"{"instructions":"Be kind.\u200b"}"#))
        .unwrap();
    assert!(lock.has_server("docs") && !lock.has_list("docs"));
    assert_eq!(
        lock.compare("docs", &[definition(r#"{"name":"list"}"#)]),
        [],
        "the first list pins"
    );
    lock.approve_instructions("none", &instructions("{}")).unwrap();
    let text = lock.to_string();
    let expected = r#"{
  "version": 1,
  "servers": {
    "docs": {
      "instructions": {
        "sha256": "edf1eb3f34ffd7b841c404522477de845e781b69814e58a20cded15362537f4f",
        "definition": {
          "instructions": "Be kind.\u200b"
        }
      }
    },
    "none": {
      "instructions": {
        "sha256": "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a",
        "definition": {}
      }
    }
  }
}
"#;
    assert_eq!(text, expected);
    assert_eq!(Lock::parse(&text).unwrap(), lock);
    lock.pin("docs", [&definition(r#"{"name":"list","inputSchema":{}}"#)]).unwrap();
    assert_eq!(Lock::parse(&lock.to_string()).unwrap(), lock);
    assert!(lock.instructions("docs").is_some(), "pinning tools leaves them");
    // Without a pin there is nothing to compare with; a pin of empty instructions can be compared.
    let now = instructions(r#"{"instructions":"Be cruel."}"#);
    assert_eq!(sample().compare_instructions("docs", &now), None);
    let found = lock.compare_instructions("none", &now).unwrap();
    assert!(matches!(found, Difference::Instructions { .. }));
    let words =
        "the server's instructions differ from their pin:\n  instructions: added \"Be cruel.\"";
    assert_eq!(found.to_string(), words);
    assert!(lock.compare_instructions("none", &instructions(r#"{"instructions":null}"#)).is_none());
    let edited = text.replace("Be kind", "Be good");
    let error = Lock::parse(&edited).unwrap_err().to_string();
    assert!(
        error.contains("servers.`docs`.instructions: the definition does not match"),
        "{error}"
    );
}

#[test]
fn one_server_cannot_take_the_room_of_another() {
    let long =
        |name: &str| definition(&format!(r#"{{"name":"{name}","x":"{}"}}"#, "x".repeat(250_000)));
    let mut lock = Lock::new();
    let mut count = 0;
    let full = loop {
        match lock.approve("greedy", &long(&format!("t{count}"))) {
            Ok(()) => count += 1,
            Err(full) => break full,
        }
    };
    assert_eq!(full, LockFull::ServerBytes);
    assert!((60..70).contains(&count), "{count}");
    assert_eq!(lock.tools("greedy").count(), count);
    // Pins that take no more room than before still fit.
    lock.approve("greedy", &long("t0")).unwrap();
    lock.approve("honest", &long("t0")).unwrap();
    lock.approve_instructions("greedy", &instructions(r#"{"instructions":"Still."}"#)).unwrap();

    let mut lock = Lock::new();
    let small: Vec<_> =
        (0..=Lock::MAX_TOOLS).map(|it| definition(&format!(r#"{{"name":"{it}"}}"#))).collect();
    assert_eq!(lock.pin("greedy", &small), Err(LockFull::Tools));
    lock.pin("greedy", &small[1..]).unwrap();
    assert_eq!(lock.approve("greedy", &small[0]), Err(LockFull::Tools));
    lock.approve("greedy", &small[1]).unwrap();
}
