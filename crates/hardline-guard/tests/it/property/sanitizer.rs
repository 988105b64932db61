//! The sanitizer edits the matched part of a string, and nothing else.

use hardline_guard::policy::{Policy, Profile};
use hardline_guard::scan::{ScanSettings, Scanner};
use hardline_guard::{Action, Direction, FrameReport, Guard, Severity};
use hardline_testkit::generate::Rng;
use hardline_testkit::outline::{Piece, assert_edited_in_texts, pieces, unescaped, without_marks};
use hardline_testkit::plant;
use hardline_wire::single_line::single_line;

const CORPUS: &str = include_str!("../../data/hostile.ndjson");

const FROM_SERVER: Direction = Direction::ServerToClient;

/// Sanitizes all matches of content rules, at any severity.
const SANITIZE: &str = r#"
    [server.s.rules]
    content.frame = "sanitize"
    content.encoded-frame = "sanitize"
    content.control = "sanitize"
    content.hidden = "sanitize"
"#;

#[derive(Clone, serde::Deserialize)]
struct Case {
    name: String,
    text: String,
    severity: String,
}

fn cases() -> impl Iterator<Item = Case> {
    CORPUS.split_terminator('\n').map(|line| serde_json::from_str(line).unwrap())
}

fn guards() -> [Guard; 2] {
    let policy = Policy::parse(SANITIZE).unwrap();
    [Guard::new(Policy::profile(Profile::Balanced)), Guard::for_server(policy, "s")]
}

fn sent(report: FrameReport<'_>) -> Option<Vec<u8>> {
    report.frame.map(|it| it.into_inner().into_owned())
}

#[test]
fn attacks_are_made_harmless_wherever_they_stand_and_nothing_else_is_touched() {
    let [mut balanced, mut sanitizing] = guards();
    let mut scanner = Scanner::new(ScanSettings::default());
    let (mut edited, mut blocked) = (0, Vec::new());
    for (seed, Case { name, text, severity }) in (0..).zip(cases()) {
        let severity: Severity = severity.parse().unwrap();
        for place in plant::TEXTS {
            let string = plant::spelled(&mut Rng::new(seed), &text);
            let frame = plant::fill(place, &string);
            let start = place.find('@').unwrap();
            for (guard, least) in
                [(&mut balanced, Severity::High), (&mut sanitizing, Severity::Medium)]
            {
                let report = guard.check_frame(FROM_SERVER, frame.as_bytes());
                if severity < least {
                    continue;
                }
                assert!(Action::Sanitize <= report.action, "{name} in {frame}: {report:?}");
                let Some(sent) = sent(report) else {
                    blocked.push(format!("{name} in {place}"));
                    continue;
                };
                edited += 1;
                // Only the planted string changes, and only its matched part.
                let edits = assert_edited_in_texts(&single_line(frame.as_bytes()), &sent);
                let [(piece, before, after)] = &*edits else { panic!("{name}: {edits:?}") };
                assert_eq!((piece.range.start, before), (start, &text), "{name}");
                assert_eq!(without_marks(before), without_marks(after), "{name}");
                // A second pass changes nothing.
                let again = guard.check_frame(FROM_SERVER, &sent);
                assert!(again.action < Action::Sanitize, "{name}: {again:?}");
                assert_eq!(again.frame.unwrap().into_inner(), sent, "{name}");
                let hits = scanner.scan(after).hits;
                let is_clean = hits.iter().all(|it| it.severity < least);
                assert!(is_clean, "{name}: {hits:?} in {after:?}");
            }
        }
    }
    assert!(8_000 < edited, "{edited}");
    assert!(blocked.is_empty(), "not made harmless: {blocked:#?}");
}

#[test]
fn what_is_compared_or_sent_back_is_never_edited() {
    for mut guard in guards() {
        for (seed, Case { name, text, .. }) in (0..).zip(cases()) {
            let string = plant::spelled(&mut Rng::new(seed), &text);
            for place in plant::OPAQUE {
                let frame = plant::fill(place, &string);
                let report = guard.check_frame(FROM_SERVER, frame.as_bytes());
                let is_blocked = Action::Block <= report.action;
                match sent(report) {
                    Some(sent) => {
                        assert_eq!(sent, *single_line(frame.as_bytes()), "{name} in {place}");
                    }
                    None => assert!(is_blocked, "{name} in {place}"),
                }
            }
        }
    }
}

/// A client sends arguments on purpose: they arrive unchanged, even if they contain an attack.
#[test]
fn what_the_client_sends_arrives_as_it_is() {
    let mut guard = Guard::new(Policy::profile(Profile::Balanced));
    for Case { name, text, .. } in cases() {
        for place in plant::FROM_CLIENT {
            let frame = plant::fill(place, &plant::json_string(&text));
            let report = guard.check_frame(Direction::ClientToServer, frame.as_bytes());
            assert_eq!(report.action, Action::Log, "{name} in {place}: {report:?}");
            let expected = single_line(frame.as_bytes());
            assert_eq!(sent(report).unwrap(), *expected, "{name} in {place}");
        }
    }
}

/// An edit makes a frame longer. A frame that would exceed the limit does not pass.
#[test]
fn no_frame_becomes_longer_than_it_may_be() {
    let (mut edited, mut blocked) = (0, 0);
    let batch = plant::TEXTS.iter().copied().find(|it| it.starts_with('[')).unwrap();
    for (Case { name, text, .. }, place) in
        cases().flat_map(|it| [(it.clone(), plant::TEXTS[0]), (it, batch)])
    {
        let frame = plant::fill(place, &plant::json_string(&text));
        for more in [0, 6, 20, 21, 100, 10_000] {
            let limit = frame.len() + more;
            let policy = format!("[limits]\nmax_frame_bytes = {limit}\n");
            let mut guard = Guard::new(Policy::parse(&policy).unwrap());
            let report = guard.check_frame(FROM_SERVER, frame.as_bytes());
            let is_blocked = Action::Block <= report.action;
            match sent(report) {
                Some(sent) => {
                    assert!(sent.len() <= limit, "{name}");
                    edited += usize::from(sent != frame.as_bytes());
                }
                None => {
                    assert!(is_blocked && more < 10_000, "{name} with {more} bytes more");
                    blocked += 1;
                }
            }
        }
    }
    assert!(200 < edited && 200 < blocked, "{edited} {blocked}");
}

/// Two attacks in one frame, and an attack among harmless texts.
#[test]
fn each_string_is_edited_on_its_own() {
    let mut guard = Guard::new(Policy::profile(Profile::Balanced));
    for seed in 0..4_000 {
        let mut rng = Rng::new(seed);
        let texts: Vec<_> = (0..1 + rng.below(4)).map(|_| plant::text(&mut rng)).collect();
        let content: Vec<_> = texts
            .iter()
            .map(|it| format!(r#"{{"type":"text","text":{}}}"#, plant::spelled(&mut rng, it)))
            .collect();
        let frame =
            format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"content":[{}]}}}}"#, content.join(","));
        let alone = |guard: &mut Guard, text: &str| {
            let frame = plant::fill(plant::TEXTS[0], &plant::json_string(text));
            let sent = sent(guard.check_frame(FROM_SERVER, frame.as_bytes()));
            sent.map(|sent| {
                let text = pieces(&sent).unwrap().into_iter().find(Piece::is_text).unwrap();
                unescaped(&sent[text.range])
            })
        };
        let expected: Option<Vec<_>> = texts.iter().map(|it| alone(&mut guard, it)).collect();
        let sent = sent(guard.check_frame(FROM_SERVER, frame.as_bytes()));
        let actual = sent.map(|sent| {
            let texts = pieces(&sent).unwrap().into_iter().filter(|it| it.is_text() && !it.is_key);
            texts.map(|it| unescaped(&sent[it.range])).collect::<Vec<_>>()
        });
        assert_eq!(actual, expected, "seed {seed}");
    }
}
