//! Documentation passes unharmed: a text without planted content passes `balanced` byte for byte.

use hardline_guard::policy::{Policy, Profile};
use hardline_guard::{Action, Direction, Guard};
use hardline_testkit::plant;
use hardline_wire::single_line::single_line;

const CORPUS: &str = include_str!("../../data/benign.ndjson");

/// Texts of the corpus that are edited, each with the reason. There are none.
const EDITED: &[(&str, &str)] = &[];

#[derive(serde::Deserialize)]
struct Case {
    name: String,
    text: String,
}

fn cases() -> Vec<Case> {
    let cases = CORPUS.split_terminator('\n').map(|line| serde_json::from_str(line).unwrap());
    cases.filter(|it: &Case| EDITED.iter().all(|(name, _)| *name != it.name)).collect()
}

/// Returns each spelling of a string that servers use: unchanged, non-ASCII escaped, all escaped.
fn spellings(text: &str) -> [String; 3] {
    let plain = plant::json_string(text);
    let escape = |char: char| match char {
        char if char.is_ascii() => char.to_string(),
        char => plant::unicode(&char.to_string()),
    };
    let ascii = plain.chars().map(escape).collect();
    [plain, ascii, format!("\"{}\"", plant::unicode(text))]
}

#[track_caller]
fn assert_unharmed(guard: &mut Guard, direction: Direction, frame: &str, name: &str) {
    let report = guard.check_frame(direction, frame.as_bytes());
    assert!(report.action <= Action::Log, "{name} in {frame}: {:#?}", report.findings);
    let sent = report.frame.unwrap().into_inner();
    assert_eq!(sent, single_line(frame.as_bytes()), "{name}");
}

#[test]
fn documentation_passes_wherever_it_stands() {
    let mut guard = Guard::new(Policy::profile(Profile::Balanced));
    let mut frames = 0;
    for Case { name, text } in cases() {
        let spellings = spellings(&text);
        for (index, place) in plant::TEXTS.iter().chain(plant::OPAQUE).enumerate() {
            // An id may have at most 256 bytes.
            if place.contains(r#""id":@"#) {
                continue;
            }
            for string in &spellings[..if index < 12 { 3 } else { 1 }] {
                let frame = plant::fill(place, string);
                assert_unharmed(&mut guard, Direction::ServerToClient, &frame, &name);
                frames += 1;
            }
        }
        for place in plant::FROM_CLIENT {
            let frame = plant::fill(place, &spellings[0]);
            assert_unharmed(&mut guard, Direction::ClientToServer, &frame, &name);
            frames += 1;
        }
    }
    assert!(20_000 < frames, "{frames}");
}

#[test]
fn documentation_passes_as_a_text() {
    let mut guard = Guard::new(Policy::profile(Profile::Balanced));
    for Case { name, text } in cases() {
        let report = guard.scan_text(&text);
        assert!(report.action <= Action::Log, "{name}: {:#?}", report.findings);
        assert_eq!(report.sanitized, None, "{name}");
    }
}
