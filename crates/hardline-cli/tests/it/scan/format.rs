//! Output for people, programs and code-scanning services.

use serde_json::Value;

use super::{MESSAGE, PLANTED, file, json, text};
use crate::hardline;

#[test]
fn people_see_the_line_with_marks_below_the_place() {
    let input = format!("{}\n日本 \x1b[31mred\n", &PLANTED[..15]);
    let expected = "\
<stdin>:2:4: high content.control: a terminal escape sequence
    日本 \\u{1b}[31mred
         ^^^^^^
    at byte 23, 1 byte; action: sanitize
1 finding: 1 high
scanned: 1 text, 32 bytes
not scanned: nothing
more about a rule: hardline scan --explain content.control
";
    assert_eq!(text(&[], input.as_bytes()), expected);
}

/// No format prints text of a peer to a terminal unescaped.
#[test]
fn no_odd_character_is_printed() {
    let odd: String = ('\0'..='\u{ff}')
        .chain('\u{2000}'..='\u{206f}')
        .chain([
            '\u{34f}', '\u{61c}', '\u{17b4}', '\u{180e}', '\u{3164}', '\u{fe0f}', '\u{feff}',
            '\u{fffb}',
        ])
        .chain(['\u{13430}', '\u{1bca0}', '\u{1d173}', '\u{e0001}', '\u{e0041}'])
        .flat_map(|char| [char, 'x'])
        .collect();
    let frame = serde_json::json!({"jsonrpc": "2.0", "id": 1, "result": {(odd.as_str()): odd, "text": odd}});
    let directory = tempfile::tempdir().unwrap();
    let name = file(directory.path(), "a\u{202e}\u{1b}[2J\u{7f}\u{9b}", &odd);
    let is_odd = |char: &char| {
        char.is_control() && *char != '\n'
            || matches!(
                char,
                '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{17b4}' | '\u{180e}' | '\u{3164}'
            )
            || matches!(char, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
            || matches!(
                char,
                '\u{fe0f}' | '\u{feff}' | '\u{fffb}' | '\u{13430}' | '\u{1bca0}' | '\u{1d173}'
            )
            || matches!(char, '\u{e0000}'..='\u{e0fff}')
    };
    for (args, input) in [
        (&["--as", "text"][..], odd.as_bytes()),
        (&["--as", "text", &*name], b""),
        (&["--as", "text", &*name, "/no/such\u{1b}[2J"], b""),
        (&[], frame.to_string().as_bytes()),
        (&["--as", "transcript"], odd.as_bytes()),
    ] {
        let args: Vec<_> = ["scan"].iter().chain(args).copied().collect();
        let output = hardline(&args, input);
        for stream in [output.stdout, output.stderr] {
            let shown = String::from_utf8(stream).unwrap();
            assert_eq!(shown.chars().find(is_odd), None, "{shown:?}");
        }
    }
    // JSON escapes only characters that end lines or control terminals.
    let (report, _) = json(&["--as", "text", &name], b"");
    assert_eq!(report["findings"][0]["file"], *name);
    let output = hardline(&["scan", "--format", "json", &name], b"");
    let shown = String::from_utf8(output.stdout).unwrap();
    assert!(!shown.contains(['\u{1b}', '\u{7f}', '\u{9b}', '\u{2028}']));
}

#[test]
fn colors_are_for_those_who_want_them() {
    let has_colors = |args: &[&str]| text(args, PLANTED.as_bytes()).contains('\u{1b}');
    assert!(!has_colors(&[]));
    assert!(!has_colors(&["--color", "never"]));
    assert!(has_colors(&["--color", "always"]));
    assert!(!has_colors(&["--color", "always", "--format", "json"]));
    let plain: String = text(&[], PLANTED.as_bytes());
    let mut colored = text(&["--color", "always"], PLANTED.as_bytes());
    while let Some(start) = colored.find('\u{1b}') {
        let end = start + colored[start..].find('m').unwrap() + 1;
        colored.replace_range(start..end, "");
    }
    assert_eq!(colored, plain);
}

#[test]
fn json_is_one_document_with_all_that_is_known() {
    let (report, _) = json(&[], PLANTED.as_bytes());
    let members = |value: &Value| {
        let mut keys: Vec<_> = value.as_object().unwrap().keys().cloned().collect();
        keys.sort();
        keys.join(" ")
    };
    assert_eq!(members(&report), "errors findings notScanned scanned");
    assert_eq!(
        members(&report["findings"][0]),
        "action column detail direction excerpt file length line offset path rule severity"
    );
    let (report, code) = json(&[], b"");
    assert_eq!((report["findings"].as_array().unwrap().len(), code), (0, Some(0)));
    assert_eq!(report["scanned"]["texts"], 1);
}

#[test]
fn sarif_has_rules_with_help_and_places_by_line_and_byte() {
    let directory = tempfile::tempdir().unwrap();
    let path = file(directory.path(), "a page.txt", PLANTED);
    let output = hardline(&["scan", "--format", "sarif", &path, "/no/such/file"], b"");
    assert_eq!(output.status.code(), Some(2));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (&report["version"], report["runs"].as_array().unwrap().len()),
        (&"2.1.0".into(), 1)
    );
    let run = &report["runs"][0];
    let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
    for rule in rules {
        assert!(rule["help"]["text"].as_str().unwrap().contains("### Allow it narrowly"));
        assert!(
            ["note", "warning", "error"]
                .contains(&rule["defaultConfiguration"]["level"].as_str().unwrap())
        );
    }
    let result = &run["results"][0];
    assert_eq!((&result["ruleId"], &result["level"]), (&"content.frame".into(), &"error".into()));
    let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
    assert_eq!(rules[index]["id"], "content.frame");
    let place = &result["locations"][0]["physicalLocation"];
    let uri = place["artifactLocation"]["uri"].as_str().unwrap();
    assert!(uri.starts_with("file:///") && uri.ends_with("/a%20page.txt"), "{uri}");
    let region = &place["region"];
    assert_eq!((&region["startLine"], &region["startColumn"]), (&2.into(), &1.into()));
    assert_eq!((&region["byteOffset"], &region["byteLength"]), (&16.into(), &MESSAGE.len().into()));
    let invocation = &run["invocations"][0];
    assert_eq!(invocation["executionSuccessful"], false);
    let told = invocation["toolExecutionNotifications"][0]["message"]["text"].as_str().unwrap();
    assert!(told.contains("/no/such/file"));
}
