//! What somebody may have meant by a word that is not known.

use crate::rule::Rule;

/// Longer words are no typing errors, and comparing takes the product of the lengths.
const MAX_WORD_CHARS: usize = 40;

/// The known word that is most like `word`, if one is like it at all.
pub(super) fn nearest<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let length = word.chars().take(MAX_WORD_CHARS + 1).count();
    if MAX_WORD_CHARS < length {
        return None;
    }
    let word = word.to_lowercase().replace(['_', ' '], "-");
    known
        .into_iter()
        .map(|it| (strsim::damerau_levenshtein(&word, &it.replace('_', "-")), it))
        .filter(|(distance, _)| *distance <= length / 3)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, it)| it)
}

/// The rule that is most like `name`, also if its layer is missing or another.
pub(super) fn nearest_rule(name: &str) -> Option<&'static str> {
    let names = Rule::ALL.iter().map(|rule| rule.name());
    nearest(name, names.clone()).or_else(|| {
        let last = name.rsplit('.').next()?;
        let short_names = names.clone().filter_map(|it| it.split_once('.')).map(|(_, it)| it);
        let short = nearest(last, short_names)?;
        names.clone().find(|it| it.split_once('.').is_some_and(|(_, it)| it == short))
    })
}

impl Rule {
    /// The rule that somebody may have meant by a name that is none.
    pub fn nearest(name: &str) -> Option<Self> {
        nearest_rule(name)?.parse().ok()
    }
}

/// A suggestion in words: the nearest word, or all of them if they are few.
pub(super) fn help(word: &str, known: &[&str]) -> Option<String> {
    match nearest(word, known.iter().copied()) {
        Some(it) => Some(format!("did you mean `{it}`?")),
        None if known.len() <= 8 => Some(format!("there are {}", list(known))),
        None => None,
    }
}

/// Words in backquotes, with an "and" before the last.
pub(super) fn list(words: &[&str]) -> String {
    let quoted: Vec<_> = words.iter().map(|word| format!("`{word}`")).collect();
    match quoted.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} and {last}", rest.join(", ")),
        None => String::new(),
    }
}
