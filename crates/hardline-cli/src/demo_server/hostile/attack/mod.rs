//! The table of attacks. A new one is an entry in one of the files here.
//!
//! Every rule of the guard has an attack that it should speak about, and there is one for each way in
//! which a server can fail.

#[cfg(unix)]
mod alone;
mod answer;
mod content;
#[cfg(unix)]
mod death;
mod failure;
mod flood;
mod frame;
mod list;
mod noise;
mod request;
mod split;

use std::fmt;
use std::io;

use hardline_guard::Rule;

use super::call::Call;
pub(super) use list::{CHANGED_INSTRUCTIONS, EMPTY_FIRST_LIST};

/// Something that a server should not do, triggered by a call.
pub(crate) struct Attack {
    /// Its name, which is the tool's.
    pub(crate) name: &'static str,
    /// What it does, as a sentence without its full stop.
    pub(crate) what: &'static str,
    /// The rule that should speak, unless no rule is broken and the server just fails.
    pub(crate) rule: Option<Rule>,
    /// What whoever called should get, behind a guard with the profile `balanced`.
    pub(crate) due: Due,
    pub(super) act: fn(&mut Call<'_>) -> io::Result<Next>,
}

/// What a guarded caller should get, exactly once.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Due {
    /// The server's answer, perhaps with something in it made harmless.
    Answer,
    /// An error in its place.
    Error,
    /// Nothing: how long to wait is for the caller to say.
    Nothing,
}

impl Due {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Answer => "answer",
            Self::Error => "error",
            Self::Nothing => "nothing",
        }
    }
}

/// What the server does after a line.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Next {
    /// It takes the next one.
    GoOn,
    /// The same, with the call unanswered.
    Wait,
    /// It ends, with this code.
    End(u8),
}

/// All attacks, by kind.
pub(crate) fn all() -> impl Iterator<Item = &'static Attack> {
    let groups = [
        split::ATTACKS,
        noise::ATTACKS,
        frame::ATTACKS,
        answer::ATTACKS,
        request::ATTACKS,
        flood::ATTACKS,
        content::ATTACKS,
        list::ATTACKS,
        failure::ATTACKS,
        #[cfg(unix)]
        death::ATTACKS,
    ];
    groups.into_iter().flatten()
}

/// Attacks that end a session, or would: they are done if they are named, and are no tools otherwise.
pub(crate) fn alone() -> impl Iterator<Item = &'static Attack> {
    #[cfg(unix)]
    let attacks = alone::ATTACKS;
    #[cfg(not(unix))]
    let attacks: &[Attack] = &[];
    attacks.iter()
}

pub(crate) fn find(name: &str) -> Option<&'static Attack> {
    all().chain(alone()).find(|it| it.name == name)
}

impl fmt::Debug for Attack {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_has_an_attack() {
        // A server that is running cannot change how it was started.
        let rules = Rule::ALL.iter().filter(|rule| rule.layer() != "launch");
        let missing = rules.filter(|rule| !all().any(|it| it.rule == Some(**rule)));
        assert_eq!(missing.collect::<Vec<_>>(), Vec::<&Rule>::new());
    }

    #[test]
    fn names_are_those_of_tools_and_each_is_used_once() {
        for attack in all().chain(alone()) {
            let is_fine =
                |char: char| char.is_ascii_lowercase() || char.is_ascii_digit() || char == '-';
            assert!(attack.name.chars().all(is_fine), "{attack:?}");
            let same = all().chain(alone()).filter(|it| it.name == attack.name);
            assert_eq!(same.count(), 1, "{attack:?}");
            assert!(attack.what.len() <= 76 && !attack.what.ends_with('.'), "{attack:?}");
        }
    }
}
