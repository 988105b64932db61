//! Suggestions for misspelled words.

use crate::rule::Rule;

/// Limit on compared words in characters. Longer words are no typing errors, and the cost of a
/// comparison is the product of the lengths.
const MAX_WORD_CHARS: usize = 40;

/// Returns the known word that is most similar to `word`, if one is similar enough.
pub(super) fn nearest<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let length = word.chars().take(MAX_WORD_CHARS + 1).count();
    if length > MAX_WORD_CHARS {
        return None;
    }
    // Case and separators are the most common mistakes, so they cost no edit.
    let word = word.to_lowercase().replace(['_', ' '], "-");
    known
        .into_iter()
        .map(|it| (strsim::damerau_levenshtein(&word, &it.replace('_', "-")), it))
        // One edit per three characters: more would suggest unrelated words.
        .filter(|(distance, _)| *distance <= length / 3)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, it)| it)
}

/// Returns the rule that is most similar to `name`, even if its group is missing or wrong.
pub(super) fn nearest_rule(name: &str) -> Option<&'static str> {
    let names = Rule::ALL.iter().map(|rule| rule.name());
    nearest(name, names.clone()).or_else(|| {
        // The group is missing or wrong: compares the second parts only.
        let last = name.rsplit('.').next()?;
        let short_names = names.clone().filter_map(|it| it.split_once('.')).map(|(_, it)| it);
        let short = nearest(last, short_names)?;
        names.clone().find(|it| it.split_once('.').is_some_and(|(_, it)| it == short))
    })
}

impl Rule {
    /// Returns the rule that an unknown name was probably meant for.
    pub fn nearest(name: &str) -> Option<Self> {
        nearest_rule(name)?.parse().ok()
    }
}

/// Builds a suggestion: the nearest word, or all words if there are at most eight.
pub(super) fn help(word: &str, known: &[&str]) -> Option<String> {
    match nearest(word, known.iter().copied()) {
        Some(it) => Some(format!("did you mean `{it}`?")),
        None if known.len() <= 8 => Some(format!("there are {}", list(known))),
        None => None,
    }
}

/// Lists words in backquotes, with "and" before the last.
pub(super) fn list(words: &[&str]) -> String {
    let quoted: Vec<_> = words.iter().map(|word| format!("`{word}`")).collect();
    match quoted.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} and {last}", rest.join(", ")),
        None => String::new(),
    }
}
