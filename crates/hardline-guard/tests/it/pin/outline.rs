//! Definitions that are too long to be stored whole.

use hardline_guard::pin::{Definition, Diff, Lock};
use hardline_testkit::generate::Rng;
use hardline_wire::json::Checker;
use hardline_wire::limits::Limits;
use serde_json::{Value, json};

use super::definition;

/// Creates a tool with an icon of this many bytes and this ending.
fn with_icon(bytes: usize, end: &str) -> Value {
    let src = format!("data:image/png;base64,{}{end}", "A".repeat(bytes));
    json!({"name": "buy", "description": "Buys.", "icons": [{"src": src, "sizes": ["any"]}]})
}

#[test]
fn a_definition_of_megabytes_is_pinned_and_any_change_of_it_is_seen() {
    let mut lock = Lock::new();
    let pinned = definition(&with_icon(3 << 20, "x").to_string());
    assert!(pinned.is_outline());
    lock.pin("shop", [&pinned]).unwrap();
    let text = lock.to_string();
    assert!(text.len() < 2000, "{}", text.len());
    assert_eq!(Lock::parse(&text).unwrap(), lock);
    assert_eq!(lock.compare("shop", &[definition(&with_icon(3 << 20, "x").to_string())]), []);

    let mut other = with_icon(3 << 20, "x");
    other["description"] = json!("Buys, and sells.");
    let found = lock.compare("shop", &[definition(&other.to_string())]);
    assert_eq!(
        found[0].to_string(),
        "tool `buy` differs from its pin:\n  description: \"Buys.\" → \"Buys, and sells.\""
    );
    let found = lock.compare("shop", &[definition(&with_icon(3 << 20, "y").to_string())]);
    let words = found[0].to_string();
    assert!(words.contains("icons[0].src: 3145753 bytes with SHA-256 "), "{words}");
}

#[test]
fn a_tool_that_grows_an_icon_differs_in_that_alone() {
    let (small, large) = (with_icon(10_000, ""), with_icon(1 << 20, ""));
    for (before, after) in [(&small, &large), (&large, &small)] {
        let (before, after) = (definition(&before.to_string()), definition(&after.to_string()));
        assert_ne!(before.is_outline(), after.is_outline());
        let diff = Diff::between(&before, &after);
        let paths: Vec<_> = diff.changes.iter().map(|it| &*it.path).collect();
        assert_eq!(paths, ["icons[0].src"], "{diff}");
    }
}

#[test]
fn no_server_can_write_a_mark_of_its_own() {
    let long = "A".repeat(300_000);
    let honest = definition(&json!({"name": "t", "a": long, "b": long}).to_string());
    let text = honest.canonical();
    let outline: Value = serde_json::from_str(text).unwrap();
    // The mark that replaces the long string, given as the value itself.
    let forged = definition(&json!({"name": "t", "a": outline["a"], "b": long}).to_string());
    assert!(forged.is_outline());
    assert_ne!(forged.fingerprint(), honest.fingerprint());
    // The outline as a definition of its own.
    let forged = definition(text);
    assert!(!forged.is_outline());
    assert_ne!(forged.fingerprint(), honest.fingerprint());
    let forged = definition(
        &json!({"name": "t", "$elided": outline["a"]["$elided"], "b": long}).to_string(),
    );
    assert_ne!(forged.canonical(), text);
}

#[test]
fn whatever_is_long_fits_and_every_part_of_it_counts() {
    let many: serde_json::Map<String, Value> =
        (0..40_000).map(|it| (format!("k{it:05}"), json!(it))).collect();
    let shapes = [
        json!({"name": "t", "x": many}),
        json!({"name": "t", "x": (0..100_000).collect::<Vec<i32>>()}),
        json!({"name": "t", "x": "y".repeat(300_000)}),
        json!({"name": "t", "y".repeat(300_000): 1}),
        json!({"name": "t", "x": {"y".repeat(300_000): 1}}),
        json!({"name": "t", "x": (0..200).map(|_| "z".repeat(2_000)).collect::<Vec<_>>()}),
        Value::Object(many.clone().into_iter().chain([("name".to_owned(), json!("t"))]).collect()),
    ];
    let mut seen = Vec::new();
    for shape in &shapes {
        let tool = definition(&shape.to_string());
        assert!(tool.is_outline());
        assert!(tool.canonical().len() <= 64 << 10, "{}", tool.canonical().len());
        assert_eq!(tool.name(), "t");
        let mut lock = Lock::new();
        lock.pin("s", [&tool]).unwrap();
        assert_eq!(Lock::parse(&lock.to_string()).unwrap(), lock);
        assert!(!seen.contains(&tool.fingerprint()));
        seen.push(tool.fingerprint());
    }
    // Changes one byte of any of them, anywhere.
    for seed in 0..200 {
        let mut rng = Rng::new(seed);
        let shape = &shapes[rng.below(shapes.len())];
        let mut text = shape.to_string().into_bytes();
        let at = rng.below(text.len());
        if !text[at].is_ascii_alphanumeric() {
            continue;
        }
        text[at] = if text[at] == b'1' { b'2' } else { b'1' };
        let Ok(text) = String::from_utf8(text) else { continue };
        let mut checker = Checker::new(&Limits::default());
        let Ok(checked) = checker.check(text.as_bytes()) else { continue };
        let Ok(other) = Definition::new(checked.value) else { continue };
        assert_ne!(
            other.fingerprint(),
            definition(&shape.to_string()).fingerprint(),
            "seed {seed}"
        );
    }
}

#[test]
fn a_lock_that_keeps_a_long_definition_whole_is_still_read() {
    // Written before outlines existed: the digest of the whole definition.
    let tool = json!({"description": "A".repeat(500_000), "name": "t"});
    let sha256: String = {
        use sha2::{Digest, Sha256};
        Sha256::digest(tool.to_string()).iter().map(|byte| format!("{byte:02x}")).collect()
    };
    let lock = json!({"version": 1, "servers": {"s": {"tools": {"t": {"sha256": sha256, "definition": tool}}}}});
    let lock = Lock::parse(&lock.to_string()).unwrap();
    assert_eq!(lock.compare("s", &[definition(&tool.to_string())]), []);
    let other = json!({"description": "B".repeat(500_000), "name": "t"});
    assert_eq!(lock.compare("s", &[definition(&other.to_string())]).len(), 1);
}

#[test]
fn deep_definitions_are_outlined_within_the_depth_of_the_file() {
    let deep = format!(
        r#"{{"name":"t","x":{}"{}"{}}}"#,
        "[".repeat(126),
        "y".repeat(Definition::MAX_BYTES),
        "]".repeat(126)
    );
    let tool = definition(&deep);
    let mut lock = Lock::new();
    lock.pin("s", [&tool]).unwrap();
    assert_eq!(Lock::parse(&lock.to_string()).unwrap(), lock);
}
