//! Outlines: definitions that are too long to store, with digests in place of their long parts.
//!
//! A server may list a tool with an icon of megabytes. Its pin stores the short parts, so that a
//! change in them can be shown, and a digest of each long part, so that no change goes unnoticed:
//!
//! ```json
//! {"description": "Buys.", "icons": [{"src": {"$elided": {"bytes": 2097152, "sha256": "4ebd…"}}}], "name": "buy"}
//! ```
//!
//! Invariants:
//! - Definitions that differ have outlines that differ. An object of the server that has a member
//!   `$elided` is elided itself, so that no server can forge a mark.
//! - An outline is at most [`MAX_BYTES`] long.

use super::canonical::Json;
use super::fingerprint::Fingerprint;

/// Limit on an outline, in bytes of canonical JSON.
pub(super) const MAX_BYTES: usize = 64 << 10;

/// The key that marks an elided value.
const MARK: &str = "$elided";
/// Limit on the strings and keys that an outline keeps, in bytes.
const MAX_STRING_BYTES: usize = 4 << 10;
/// Limit on the depth of arrays and objects that an outline keeps: a mark must stay within the
/// depth limit of definitions.
const MAX_OUTLINE_DEPTH: usize = 32;
/// Limit on a member of the definition that an outline keeps, in bytes, if all short parts together
/// are too long.
const MAX_MEMBER_BYTES: usize = 1 << 10;

/// Returns the outline of a definition, which is an object.
pub(super) fn outline(definition: &Json) -> Json {
    let strings = shorten(definition, 0);
    // A definition with the key of the mark is elided as a whole, which would lose its name.
    if !is_mark(&strings) && strings.to_text().len() <= MAX_BYTES {
        return strings;
    }
    let Json::Object(members) = definition else { return elided(definition) };
    let is_kept = |key: &String| key.len() <= MAX_STRING_BYTES && key != MARK;
    let short = |(key, value): &(String, Json)| {
        let is_long = value.to_text().len() > MAX_MEMBER_BYTES;
        (key.clone(), if is_long { elided(value) } else { shorten(value, 1) })
    };
    if members.iter().all(|(key, _)| is_kept(key)) {
        let short = Json::Object(members.iter().map(short).collect());
        if short.to_text().len() <= MAX_BYTES {
            return short;
        }
    }
    // Thousands of short members: keeps the name, and one digest of everything. The mark sorts
    // first.
    let Json::Object(mut least) = elided(definition) else { return elided(definition) };
    let name = members.iter().find(|(key, value)| key == "name" && value.as_str().is_some());
    least.extend(name.cloned());
    Json::Object(least)
}

/// Returns the length and digest of an elided value for people, or `None` if the value is no mark.
pub(super) fn words(json: &Json) -> Option<String> {
    let Json::Object(members) = json else { return None };
    let [(key, mark)] = &**members else { return None };
    let bytes = mark.get("bytes").filter(|_| key == MARK)?;
    let sha256 = mark.get("sha256").and_then(Json::as_str)?;
    let is_digest = sha256.len() == 64 && sha256.bytes().all(|byte| byte.is_ascii_hexdigit());
    let Json::Word(bytes) = bytes else { return None };
    (is_digest && bytes.len() <= 20).then(|| format!("{bytes} bytes with SHA-256 {sha256}"))
}

fn is_mark(json: &Json) -> bool {
    json.get(MARK).is_some()
}

/// Elides long strings and numbers, deep values, and objects with a long key or with the key of the
/// mark.
fn shorten(json: &Json, depth: usize) -> Json {
    match json {
        Json::Array(_) | Json::Object(_) if depth == MAX_OUTLINE_DEPTH => elided(json),
        Json::String(string) if string.len() > MAX_STRING_BYTES => elided(json),
        // A number can have as many digits as a frame has bytes.
        Json::Word(word) if word.len() > MAX_STRING_BYTES => elided(json),
        Json::Word(_) | Json::String(_) => json.clone(),
        Json::Array(elements) => {
            Json::Array(elements.iter().map(|it| shorten(it, depth + 1)).collect())
        }
        Json::Object(members) => {
            let is_odd = |(key, _): &(String, Json)| key == MARK || key.len() > MAX_STRING_BYTES;
            if members.iter().any(is_odd) {
                return elided(json);
            }
            let short = |(key, it): &(String, Json)| (key.clone(), shorten(it, depth + 1));
            Json::Object(members.iter().map(short).collect())
        }
    }
}

/// Returns the mark that replaces a value.
fn elided(json: &Json) -> Json {
    let text = json.to_text();
    let bytes = Json::Word(text.len().to_string());
    let sha256 = Json::String(Fingerprint::of(&text).to_string());
    let digest = Json::Object(vec![("bytes".to_owned(), bytes), ("sha256".to_owned(), sha256)]);
    Json::Object(vec![(MARK.to_owned(), digest)])
}
