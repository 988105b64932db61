//! Inspects commands that run in containers.

use super::family::{self, Family};
use super::inspect::{CodeKind, Inspector};
use super::package::Registry;
use super::search::Owner;

/// Groups of subcommands, which stand before a verb.
const GROUPS: &str = "container compose";
/// Verbs after which a command follows.
const VERBS: &str = "run exec create";
/// Options that replace the entry point of the image.
const ENTRIES: [&str; 2] = ["--entrypoint", "--command"];

impl Inspector<'_> {
    /// Inspects the command that a container starts with. The caller's links do not apply to it,
    /// because a container has files of its own.
    pub(super) fn follow_container(&mut self, at: usize, family: &Family, depth: usize) {
        let mut verb = at;
        // `docker container run`: groups come before the verb.
        loop {
            let Some(index) = self.walk(verb + 1, family).operand else { return };
            verb = index;
            if !family::has(GROUPS, self.word(index)) {
                break;
            }
        }
        if !family::has(VERBS, self.word(verb)) {
            return self.look_ahead(verb, Owner::Unknown);
        }
        let Some(image) = self.walk(verb + 1, family).operand else { return };
        self.add_package(image, 0, Registry::Image);
        let mut places: Vec<usize> = (image + 1..self.command.len()).collect();
        let mut inner: Vec<String> = places.iter().map(|it| self.word(*it).to_owned()).collect();
        for index in verb + 1..image {
            let (name, value) = match self.word(index).split_once('=') {
                Some((name, value)) => (name, value),
                None => (self.word(index), self.word(index + 1)),
            };
            if ENTRIES.contains(&name) {
                // A shell form or a list is a whole command in one value.
                if value.contains([' ', '[']) {
                    return self.add(at, index, CodeKind::Inline);
                }
                inner.insert(0, value.to_owned());
                places.insert(0, index);
            }
        }
        // The entry point takes the arguments behind the image, so both are inspected as one
        // command.
        let mut inside = Inspector::new(&inner, &|_| Vec::new(), self.left.get());
        inside.follow(0, depth + 1);
        self.left.set(inside.left.get());
        // Other kinds concern files inside the container, which the image decides.
        for code in inside.look.code {
            if let (CodeKind::Inline, Some(place)) = (code.kind, places.get(code.index)) {
                self.add(at, *place, CodeKind::Inline);
            }
        }
    }
}
