//! Families of plans: each plays one class of misbehavior, and `mixed` plays them all.

mod attack;
mod lie;
mod life;
mod text;

use hardline_guard::policy::Profile;
use hardline_testkit::generate::Rng;

use crate::plan::Plan;
use crate::script::Script;

/// A scene: adds its steps to a session.
type Scene = fn(&mut Script<'_>);

/// A family of plans.
#[derive(Clone, Copy, Debug)]
pub struct Family {
    /// Name on the command line.
    pub name: &'static str,
    scene: Scene,
}

const fn family(name: &'static str, scene: Scene) -> Family {
    Family { name, scene }
}

/// All families.
pub const FAMILIES: [Family; 41] = [
    family("honest", life::honest),
    family("torn", attack::torn),
    family("closed-answer", attack::closed_answer),
    family("completed-answer", attack::completed_answer),
    family("closed-batch", attack::closed_batch),
    family("logged", attack::logged),
    family("line-end", attack::line_end),
    family("client-line", attack::client_line),
    family("capability", attack::capability),
    family("prefix", lie::prefix),
    family("suffix", lie::suffix),
    family("two-ids", lie::two_ids),
    family("repr", lie::repr),
    family("bare-keys", lie::bare_keys),
    family("pretty", lie::pretty),
    family("no-newline", lie::no_newline),
    family("utf16", lie::utf16),
    family("content-length", lie::content_length),
    family("truncated", lie::truncated),
    family("damage", lie::damage),
    family("id-type", lie::id_type),
    family("no-id", lie::no_id),
    family("not-strict", lie::not_strict),
    family("not-jsonrpc", lie::not_jsonrpc),
    family("concatenated", lie::concatenated),
    family("batch", lie::batch),
    family("noise", lie::noise),
    family("dump", lie::dump),
    family("literal", lie::literal),
    family("asking", life::asking),
    family("duplicate", life::duplicate),
    family("copied", life::copied),
    family("reorder", life::reorder),
    family("unsolicited", life::unsolicited),
    family("restart", life::restart),
    family("flood", life::flood),
    family("interleaved", life::interleaved),
    family("overlong", attack::overlong),
    family("hidden", text::hidden),
    family("round-trip", text::round_trip),
    family("mixed", mixed),
];

/// Families in which neither side does anything wrong.
const HONEST: [&str; 4] = ["honest", "asking", "dump", "copied"];

impl Family {
    /// Returns all families.
    pub fn all() -> impl Iterator<Item = Self> {
        FAMILIES.into_iter()
    }

    /// Returns the family with this name.
    pub fn find(name: &str) -> Option<Self> {
        FAMILIES.into_iter().find(|it| it.name == name)
    }

    /// Writes a plan of this family.
    pub fn plan(self, profile: Profile, rng: &mut Rng) -> Plan {
        let mut script = Script::new(rng, profile);
        let is_honest = HONEST.contains(&self.name);
        // An honest session must not be disturbed: the oracle demands every line unchanged.
        (script.is_alone, script.may_stall) = (is_honest, !is_honest);
        if self.name == "overlong" {
            // A small limit keeps plans short.
            script.max_frame_bytes = Some(1000);
        }
        let scenes = 1 + script.rng.below(3);
        for _ in 0..scenes {
            (self.scene)(&mut script);
            script.hesitate();
        }
        script.finish(is_honest)
    }
}

/// Writes the plan of a seed, of the given family and profile or of any.
pub fn plan(seed: u64, family: Option<Family>, profile: Option<Profile>) -> Plan {
    write(&mut Rng::new(seed), family, profile)
}

/// Writes the plan that `rng` chooses, of the given family and profile or of any.
pub fn write(rng: &mut Rng, family: Option<Family>, profile: Option<Profile>) -> Plan {
    let is_strict = rng.one_in(2);
    let any = if is_strict { Profile::Strict } else { Profile::Balanced };
    let mixed = Family { name: "mixed", scene: mixed };
    let chosen = FAMILIES.get(rng.below(FAMILIES.len())).copied().unwrap_or(mixed);
    family.unwrap_or(chosen).plan(profile.unwrap_or(any), rng)
}

/// Plays a scene of any family but the honest one, which would leave the session honest.
fn mixed(script: &mut Script<'_>) {
    // The first family is the honest one, and the last is `mixed` itself.
    let others = FAMILIES.get(1..FAMILIES.len() - 1).unwrap_or_default();
    if let Some(family) = others.get(script.rng.below(others.len())) {
        (family.scene)(script);
    }
}
