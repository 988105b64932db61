//! Suggestions for misspelled names.

use hardline_wire::excerpt::Excerpt;

/// Smallest similarity of a suggested name, from 0 to 1.
const ALIKE: f64 = 0.75;
/// Limit on listed names.
const MAX_NAMES: usize = 20;
/// Limit on a shown name, in bytes.
const NAME_BYTES: usize = 80;

/// Returns the name that is most similar to `wanted`, if any is similar enough.
pub(super) fn nearest<'a>(
    wanted: &str,
    names: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    // Users rarely remember the case of a name.
    let wanted = wanted.to_lowercase();
    let score = |name: &str| {
        let name = name.to_lowercase();
        // A prefix is a match, however long the rest of the name is.
        let begins = wanted.len() >= 3 && name.starts_with(&wanted);
        if begins { 1.0 } else { strsim::jaro_winkler(&wanted, &name) }
    };
    let scored = names.into_iter().map(|name| (score(name), name));
    let best = scored.max_by(|(one, _), (other, _)| one.total_cmp(other));
    best.filter(|(score, _)| *score > ALIKE).map(|(_, name)| name)
}

/// Returns the end of a sentence: `; did you mean NAME?`, or a full stop.
pub(super) fn question<'a>(wanted: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    let nearest = nearest(wanted, names);
    nearest.map_or_else(|| ".".to_owned(), |name| format!("; did you mean {}?", shown(name)))
}

/// Joins names with commas, escaped for a terminal.
pub(super) fn list<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let mut names = names.into_iter();
    let first: Vec<String> = names.by_ref().take(MAX_NAMES).map(shown).collect();
    match names.count() {
        0 => first.join(", "),
        more => format!("{} and {more} more", first.join(", ")),
    }
}

fn shown(name: &str) -> String {
    Excerpt::new(name.as_bytes(), NAME_BYTES).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(wanted: &str, names: &[&str], expected: Option<&str>) {
        assert_eq!(nearest(wanted, names.iter().copied()), expected, "{wanted}");
    }

    #[test]
    fn the_name_most_alike_is_meant() {
        let names = ["github", "files", "postgres"];
        check("githb", &names, Some("github"));
        check("GitHub", &names, Some("github"));
        check("file", &names, Some("files"));
        check("zzz", &names, None);
        check("", &names, None);
        check("read", &["read_text_file", "write_file"], Some("read_text_file"));
    }

    #[test]
    fn many_names_are_not_all_told() {
        let names: Vec<String> = (0..50).map(|it| format!("s{it}\u{1b}")).collect();
        let told = list(names.iter().map(String::as_str));
        assert!(told.starts_with("s0\\u{1b}, s1") && told.ends_with(" and 30 more"), "{told}");
    }
}
