//! Random sessions, compared with simple models.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use hardline_guard::Rule;
use hardline_guard::session::{
    CoalesceKey, FloodLimit, MAX_MISTYPED_WAIT, SessionEvent, SessionVerdict,
};
use hardline_testkit::generate::Rng;
use hardline_wire::id::Id;

use super::Run;

/// Random requests, answers, cancellations and waits, compared with a simple table.
#[test]
fn random_sessions_match_answers_as_a_plain_table_does() {
    let (mut passed, mut failed) = (0, 0);
    for seed in 0..3_000 {
        let mut rng = Rng::new(seed);
        let mut run = Run::opened("2025-11-25", "{}", r#"{"tools":{}}"#);
        let mut table: HashMap<String, Option<Duration>> = HashMap::new();
        let mut cancelled: HashSet<String> = HashSet::new();
        for _ in 0..60 {
            let number = rng.below(12);
            let (id, other) = match rng.one_in(2) {
                true => (format!("{number}"), format!("\"{number}\"")),
                false => (format!("\"{number}\""), format!("{number}")),
            };
            match rng.below(8) {
                0..3 => {
                    let verdict =
                        run.outcome(&format!(r#"> {{"id":{id},"method":"tools/list"}}"#)).verdict;
                    let may_pass = !table.contains_key(&id) && table.len() < 8;
                    assert_eq!(verdict == SessionVerdict::Pass, may_pass);
                    if may_pass {
                        table.insert(id.clone(), None);
                        cancelled.remove(&id);
                    }
                }
                3..6 => {
                    let outcome = run.outcome(&format!(r#"< {{"id":{id},"result":{{}}}}"#));
                    let is_proper = table.remove(&id).is_some();
                    assert_eq!(
                        outcome.verdict,
                        if is_proper { SessionVerdict::Pass } else { SessionVerdict::Drop }
                    );
                    // The oldest cancelled request is forgotten, so a late answer to it is a
                    // finding.
                    assert!(outcome.findings.is_empty() == is_proper || cancelled.contains(&id));
                    passed += usize::from(is_proper);
                    let is_mistyped =
                        outcome.findings.iter().any(|it| it.rule == Rule::SessionIdType);
                    if let (true, Some(deadline)) = (is_mistyped, table.get_mut(&other)) {
                        deadline.get_or_insert(run.now + MAX_MISTYPED_WAIT);
                    }
                }
                6 => {
                    let line = format!(
                        r#"> {{"method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#
                    );
                    assert_eq!(run.step(&line), "pass");
                    if table.remove(&id).is_some() {
                        cancelled.insert(id);
                    }
                }
                _ => {
                    let events = run.wait(Duration::from_millis(700));
                    let now = run.now;
                    let due = |deadline: &Option<Duration>| deadline.is_some_and(|it| it <= now);
                    let mut expected: Vec<_> = table
                        .extract_if(|_, deadline| due(deadline))
                        .map(|(id, _)| format!("fail {id} of the client"))
                        .collect();
                    failed += expected.len();
                    let mut events = events;
                    events.sort();
                    expected.sort();
                    assert_eq!(events, expected);
                }
            }
        }
    }
    assert!(10_000 < passed && 500 < failed, "{passed} {failed}");
}

/// A caller that holds frames as the session requires: the newest progress arrives, in order,
/// before its answer, and every answer arrives.
#[test]
fn random_floods_lose_no_answer_and_no_last_progress() {
    for seed in 0..300 {
        let mut rng = Rng::new(seed);
        let mut run = Run::new(FloodLimit::new(5, 10), Rule::balanced);
        run.open("2025-11-25", "{}", r#"{"tools":{}}"#);
        let mut kept: HashMap<CoalesceKey, usize> = HashMap::new();
        // For each request, the progress that was sent and the progress that arrived.
        let mut sent = [0; 4];
        let mut came = [0; 4];
        let mut open = [false; 4];
        let mut step = 0;
        for _ in 0..200 {
            let id = rng.below(4);
            run.now += Duration::from_millis(rng.below(20) as u64);
            if !open[id] {
                let line = format!(
                    r#"> {{"id":{id},"method":"tools/call","params":{{"_meta":{{"progressToken":{id}}}}}}}"#
                );
                assert_eq!(run.step(&line), "pass");
                open[id] = true;
                continue;
            }
            let deliver = |key: &CoalesceKey, value: usize, came: &mut [usize; 4]| {
                let CoalesceKey::Progress(token) = key else { panic!() };
                let token = usize::try_from(token.as_i64().unwrap()).unwrap();
                assert!(came[token] < value, "progress goes back");
                came[token] = value;
            };
            if rng.one_in(8) {
                let outcome = run.outcome(&format!(r#"< {{"id":{id},"result":{{}}}}"#));
                assert_eq!(outcome.verdict, SessionVerdict::Pass);
                if let Some(key) = outcome.before {
                    deliver(&key, kept.remove(&key).unwrap(), &mut came);
                }
                assert_eq!(came[id], sent[id], "the last progress is lost");
                open[id] = false;
                continue;
            }
            step += 1;
            let line = format!(
                r#"< {{"method":"notifications/progress","params":{{"progressToken":{id},"progress":{step}}}}}"#
            );
            sent[id] = step;
            let outcome = run.outcome(&line);
            if let Some(key) = &outcome.forget {
                assert!(kept.remove(key).is_some());
            }
            match outcome.verdict {
                SessionVerdict::Pass => {
                    let key = CoalesceKey::Progress(Id::from_integer(i64::try_from(id).unwrap()));
                    deliver(&key, step, &mut came);
                }
                SessionVerdict::Coalesce(key) => drop(kept.insert(key, step)),
                other => panic!("{other:?}"),
            }
            if rng.one_in(5) {
                for event in run.session.handle_timeout(run.now) {
                    let SessionEvent::Release(key) = event else { panic!() };
                    deliver(&key, kept.remove(&key).unwrap(), &mut came);
                }
            }
            assert_eq!(run.session.poll_timeout().is_some(), !kept.is_empty());
        }
    }
}
