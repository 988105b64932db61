//! The guard on any line: its output passes again, and only strings that may be edited were.

use std::cell::RefCell;

use hardline_guard::policy::{Policy, Profile};
use hardline_guard::scan::{ScanSettings, Scanner};
use hardline_guard::{Action, Direction, Guard, Severity};
use hardline_wire::single_line::single_line;

use crate::generate::Rng;
use crate::oracle::accepts_strictly;
use crate::outline::{assert_edited_in_texts, pieces, unescaped, without_marks};
use crate::plant;

/// Policy that sanitizes all findings of content rules.
const SANITIZE: &str = r#"
    [server.s.rules]
    content.frame = "sanitize"
    content.encoded-frame = "sanitize"
    content.jsonrpc = "sanitize"
    content.control = "sanitize"
    content.line-separator = "sanitize"
    content.hidden = "sanitize"
    content.content-length = "sanitize"
"#;

/// Policy with a frame limit small enough to be reached.
const LIMITED: &str = "[limits]\nmax_frame_bytes = 300\n";

const LIMIT: usize = 300;

thread_local! {
    /// Created once: a guard that judges single lines keeps no state between them.
    static GUARDS: RefCell<Guards> = RefCell::new(Guards::new());
}

struct Guards {
    profiles: [Guard; 3],
    sanitizing: Guard,
    limited: Guard,
    scanner: Scanner,
}

/// Judges `data` under several policies in both directions: as a line if it begins like one, else
/// as the choices of a generator.
pub fn guard(data: &[u8]) {
    let is_line = data.first().is_none_or(|it| b"{[ \t".contains(it));
    GUARDS.with_borrow_mut(|guards| {
        if is_line {
            return guards.check(data);
        }
        guards.check(&plant::frame(&mut Rng::scripted(data)));
    });
}

impl Guards {
    fn new() -> Self {
        let parse = |text| Policy::parse(text).expect("it is a policy");
        Self {
            profiles: Profile::ALL.map(|it| Guard::new(Policy::profile(it))),
            sanitizing: Guard::for_server(parse(SANITIZE), "s"),
            limited: Guard::new(parse(LIMITED)),
            scanner: Scanner::new(ScanSettings::default()),
        }
    }

    fn check(&mut self, line: &[u8]) {
        for direction in [Direction::ServerToClient, Direction::ClientToServer] {
            for (guard, profile) in self.profiles.iter_mut().zip(Profile::ALL) {
                let sent = judge(guard, direction, line);
                match profile {
                    // This profile reports findings but must not change or block anything.
                    Profile::Observe => assert_eq!(sent.as_deref(), Some(line)),
                    _ => sent.iter().for_each(|sent| assert_unambiguous(sent)),
                }
            }
        }
        self.assert_complete(line);
        if let Some(sent) = judge(&mut self.sanitizing, Direction::ServerToClient, line) {
            self.assert_clean(&sent);
        }
        // Escapes make a text longer, which must not push the frame over the limit.
        if line.len() <= LIMIT
            && let Some(sent) = judge(&mut self.limited, Direction::ServerToClient, line)
        {
            assert!(sent.len() <= LIMIT, "made longer than a frame may be");
        }
    }

    /// Checks that the findings of a frame are those of scanning each of its strings alone.
    fn assert_complete(&mut self, line: &[u8]) {
        let Some(observing) = self.profiles.first_mut() else { return };
        let findings = observing.check_frame(Direction::ServerToClient, line).findings;
        // A refused frame has no strings to scan.
        if findings.iter().any(|it| it.rule.group() == "frame") {
            return;
        }
        let pieces = pieces(line).into_iter().flatten();
        let strings = pieces.filter_map(|it| Some(unescaped(line.get(it.range)?)));
        let hits = strings.flat_map(|it| self.scanner.scan(&it).hits);
        let expected: Vec<_> = hits.map(|it| (it.rule, it.severity)).collect();
        let content = findings.iter().filter(|it| it.rule.group() == "content");
        let actual: Vec<_> = content.map(|it| (it.rule, it.severity)).collect();
        assert_eq!(actual, expected, "in {}", String::from_utf8_lossy(line));
    }

    /// Checks that no text of the frame has a finding left.
    fn assert_clean(&mut self, sent: &[u8]) {
        let Some(pieces) = pieces(sent) else { return };
        for piece in pieces.iter().filter(|it| it.is_text()) {
            let Some(string) = sent.get(piece.range.clone()) else { continue };
            let hits = self.scanner.scan(&unescaped(string)).hits;
            // Findings of low severity may stay: they are common in honest text.
            let is_clean = hits.iter().all(|it| it.severity < Severity::Medium);
            assert!(is_clean, "{hits:?} in {}", String::from_utf8_lossy(sent));
        }
    }
}

/// Judges a line, and then its output once more.
fn judge(guard: &mut Guard, direction: Direction, line: &[u8]) -> Option<Vec<u8>> {
    let report = guard.check_frame(direction, line);
    for finding in &report.findings {
        assert!(finding.offset + finding.length <= line.len(), "{finding:?}");
        assert_eq!(finding.direction, direction);
        assert!(!finding.excerpt.chars().any(char::is_control), "{finding:?}");
    }
    let Some(frame) = report.frame else {
        assert!(report.action >= Action::Block, "{:?}: nothing goes on", report.action);
        return None;
    };
    let sent = frame.into_inner().into_owned();
    assert!(report.action <= Action::Sanitize);
    // Rewriting a line so that every reader sees one line does not change its meaning.
    let line = if sent == line { line } else { &*single_line(line) };
    assert_eq!(report.action == Action::Sanitize, sent != line, "{:?}", report.findings);
    if sent != line {
        for (piece, before, after) in assert_edited_in_texts(line, &sent) {
            let same = without_marks(&before) == without_marks(&after);
            assert!(same, "more was edited at {:?}: {before:?} became {after:?}", piece.path);
        }
        let again = guard.check_frame(direction, &sent);
        assert!(
            again.action < Action::Sanitize,
            "{:?} after {:?}",
            again.findings,
            report.findings
        );
        assert_eq!(again.frame.map(|it| it.into_inner().into_owned()).as_ref(), Some(&sent));
    }
    Some(sent)
}

/// Checks that the output is one message for every reader, or empty.
fn assert_unambiguous(sent: &[u8]) {
    if !sent.trim_ascii().is_empty() {
        let shown = String::from_utf8_lossy(sent);
        // A batch has one level more than its elements.
        assert_ne!(accepts_strictly(sent, 129), Some(false), "{shown}");
    }
}
