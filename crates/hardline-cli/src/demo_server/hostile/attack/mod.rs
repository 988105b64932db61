//! The table of attacks. A new attack is an entry in one of these files.
//!
//! Every rule of the guard has an attack that it should detect, and every way in which a server can
//! fail has one too.

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

/// A misbehavior of a server, triggered by a call.
pub(crate) struct Attack {
    /// Name of the attack and of its tool.
    pub(crate) name: &'static str,
    /// Description, as a sentence without its full stop.
    pub(crate) what: &'static str,
    /// Rule that should detect it; `None` if the server just fails.
    pub(crate) rule: Option<Rule>,
    /// Expected outcome for the caller, behind a guard with the profile `balanced`.
    pub(crate) due: Due,
    pub(super) act: fn(&mut Call<'_>) -> io::Result<Next>,
}

/// Outcome that a guarded caller should get, exactly once.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Due {
    /// The server's answer, possibly sanitized.
    Answer,
    /// The same, but an error after an attack that made the server suspect: then nothing vouches for
    /// the answer.
    AnswerUnlessSuspect,
    /// The server's answer; its planted request reaches the client too.
    AnswerAndRequest,
    /// An error in its place.
    Error,
    /// Nothing; the caller decides how long to wait.
    Nothing,
}

impl Due {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Answer => "answer",
            Self::AnswerUnlessSuspect => "answer-unless-suspect",
            Self::AnswerAndRequest => "answer-and-request",
            Self::Error => "error",
            Self::Nothing => "nothing",
        }
    }
}

/// Next step of the server after a line.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Next {
    /// Read the next line.
    GoOn,
    /// The same, with the call unanswered.
    Wait,
    /// Exit with this code.
    End(u8),
}

/// Returns all attacks that are tools, by kind.
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

/// Returns the attacks that end a session, or would. They are available by name only, not as tools.
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
        // A running server cannot change its own launch.
        let rules = Rule::ALL.iter().filter(|rule| rule.group() != "launch");
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
