//! The strict check: it accepts exactly what a second parser accepts under the same rules.

use hardline_wire::json::{
    Checked, Checker, JsonError, Kind, Reason, Step, Value, ends_in_string, lone_surrogates,
};
use hardline_wire::limits::Limits;
use hardline_wire::message::Message;

use crate::oracle::{RawEnvelope, accepts_loosely, accepts_strictly};

/// Checks `data` and compares with `serde_json`.
pub fn json(data: &[u8]) {
    json_differs(&mut Checker::new(&Limits::default()), data);
}

/// Does the same with a checker that was used before. Returns true if the text was accepted.
pub fn json_differs(checker: &mut Checker, text: &[u8]) -> bool {
    let max_depth = Limits::default().max_depth();
    let outcome = checker.check(text);
    // Counts brackets in strings too, so it errs on the safe side.
    let mut depth = 0_usize;
    let is_too_deep = text.iter().any(|byte| {
        match byte {
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        max_depth <= depth
    });
    let is_sound = if is_too_deep { None } else { accepts_strictly(text, max_depth) };
    let Some(is_sound) = is_sound else {
        // The other parser cannot tell here, so this run only shows that nothing panics.
        return outcome.is_ok();
    };
    match outcome {
        Ok(checked) => {
            assert!(is_sound, "accepted what serde_json refuses");
            assert_same_envelope(text, &checked);
            assert_walkable(checked.value);
            assert_steps(checked.value);
            assert!(!ends_in_string(text), "a sound text ends outside of strings");
            // Reading the value must not panic, even if the text is no message.
            let _ = Message::read(&checked, &Limits::default());
            true
        }
        Err(error) => {
            assert!(!is_sound, "refused what serde_json accepts: {error}");
            assert_explained(text, error);
            assert_mendable(checker, text, error);
            false
        }
    }
}

fn assert_same_envelope(text: &[u8], checked: &Checked<'_>) {
    let Some(ours) = checked.envelope else {
        assert_ne!(checked.value.kind(), Kind::Object);
        return;
    };
    let theirs = RawEnvelope::read(text).expect("serde_json takes what we take");
    let pairs = [
        (ours.jsonrpc, theirs.jsonrpc),
        (ours.id, theirs.id),
        (ours.method, theirs.method),
        (ours.params, theirs.params),
        (ours.result, theirs.result),
        (ours.error, theirs.error),
    ];
    for (ours, theirs) in pairs {
        // `serde_json` reads null as a missing member.
        let ours_text = ours.map(|value| value.text()).filter(|text| *text != "null");
        assert_eq!(ours_text, theirs.map(serde_json::value::RawValue::get));
        if let Some(value) = ours {
            let at = text.get(value.offset()..).expect("the offset is inside");
            assert!(at.starts_with(value.text().as_bytes()), "the offset is the value's");
        }
    }
}

/// Checks that walking over a value gives the value that `serde_json` builds.
fn assert_walkable(value: Value<'_>) {
    // Fails for numbers that no double can hold.
    let Ok(theirs) = serde_json::from_str::<serde_json::Value>(value.text()) else { return };
    match &theirs {
        serde_json::Value::Array(elements) => {
            assert_eq!(value.elements().count(), elements.len());
            value.elements().for_each(assert_walkable);
        }
        serde_json::Value::Object(members) => {
            assert_eq!(value.members().count(), members.len());
            for (key, member) in value.members() {
                assert!(members.contains_key(&*key), "the key is unescaped alike");
                assert_walkable(member);
            }
        }
        serde_json::Value::String(text) => assert_eq!(value.as_str().as_deref(), Some(&**text)),
        serde_json::Value::Bool(bool) => assert_eq!(value.as_bool(), Some(*bool)),
        serde_json::Value::Number(_) => assert_eq!(value.kind(), Kind::Number),
        serde_json::Value::Null => assert_eq!(value.kind(), Kind::Null),
    }
}

/// Checks that the steps of a walk, joined again, give the value without its whitespace.
fn assert_steps(value: Value<'_>) {
    let mut compact = String::new();
    let mut open = Vec::new();
    for step in value.steps() {
        let is_first = compact.ends_with(['{', '[', ':']) || compact.is_empty();
        if !is_first && !matches!(step, Step::Leave(_)) {
            compact.push(',');
        }
        match step {
            Step::Enter(kind, offset) => {
                let (begin, end) = if kind == Kind::Object { ('{', '}') } else { ('[', ']') };
                assert!(value.offset() <= offset);
                compact.push(begin);
                open.push(end);
            }
            Step::Leave(end) => {
                assert!(end <= value.offset() + value.text().len());
                compact.push(open.pop().expect("what is left was entered"));
            }
            Step::Key(key) => {
                compact.push_str(key.text());
                compact.push(':');
            }
            Step::Scalar(scalar) => compact.push_str(scalar.text()),
        }
    }
    assert!(open.is_empty(), "what is entered is left");
    let mut checker = Checker::new(&Limits::default());
    let again = checker.check(compact.as_bytes()).expect("the steps make a value");
    // Compared as values, because the walk drops the white space.
    let same = |left: &str, right: &str| {
        let parse = |text| serde_json::from_str::<serde_json::Value>(text).ok();
        parse(left) == parse(right)
    };
    assert!(same(again.value.text(), value.text()), "{compact}");
}

/// Checks that the refusal of a text that a loose parser accepts has one of the named reasons.
fn assert_explained(text: &[u8], error: JsonError) {
    assert!(error.offset <= text.len(), "the offset is inside");
    if accepts_loosely(text) {
        let is_named = matches!(
            error.reason,
            Reason::DuplicateKey
                | Reason::LoneSurrogate
                | Reason::LoneSurrogateInKey
                | Reason::TooDeep { .. }
        );
        assert!(is_named, "refused for no reason of ours: {error}");
    }
    if error.ended_in_string() {
        assert_eq!(error.offset, text.len());
        assert!(ends_in_string(text));
    }
}

/// Checks that a refused text becomes valid when U+FFFD replaces each lone surrogate, if the error
/// says so.
fn assert_mendable(checker: &mut Checker, text: &[u8], error: JsonError) {
    if !error.is_mendable() {
        return;
    }
    let mut mended = text.to_vec();
    for at in lone_surrogates(text) {
        let escape = mended.get_mut(at..at + 6).expect("an escape has six bytes");
        escape.copy_from_slice(b"\\uFFFD");
    }
    assert_ne!(mended, text);
    assert!(checker.check(&mended).is_ok(), "mending was promised");
}
