//! Reads the table of known programs, `programs.txt`.
//!
//! Lists stay the text that they are in the file, because most commands need one or two of them:
//! [`words`] splits a list where it is searched.

use std::sync::LazyLock;

use super::super::package::Registry;
use super::{Family, Operand, has};

/// Table of this build. A test reads every line of it, so it has no faults.
static TABLE: LazyLock<Table> = LazyLock::new(|| Table::read(include_str!("programs.txt")));

/// Defaults of a row.
const NONE: Family = Family {
    inline: "",
    named: "",
    sources: "",
    packages: "",
    projects: "",
    loads: "",
    registry: None,
    fetches: "",
    modules: "",
    mains: "",
    ends: "",
    begins: "",
    valued: "",
    glued: "",
    plain: "--help --version",
    verbs: "",
    runs: "",
    scripts: "",
    operand: Operand::Script,
    reads_stdin: false,
    is_line: false,
    assigns: false,
    goes_on: false,
    reads_on: false,
    is_greedy: false,
    is_exact: false,
};

/// Names of programs, and the family that they belong to.
pub(super) type Row = (&'static str, Family);

#[derive(Default)]
pub(super) struct Table {
    pub(super) rows: Vec<Row>,
    /// Names of properties, each with the programs that have it.
    pub(super) sets: Vec<(&'static str, &'static str)>,
    /// Lines that mean nothing.
    pub(super) faults: Vec<&'static str>,
}

/// Returns the table of known programs.
pub(super) fn table() -> &'static Table {
    &TABLE
}

impl Table {
    /// Returns the row of a program, by its plain name.
    pub(super) fn find(&self, name: &str) -> Option<&Row> {
        self.rows.iter().find(|(names, _)| has(names, name))
    }

    /// Returns true if a program has a property.
    pub(super) fn is_in(&self, set: &str, name: &str) -> bool {
        self.sets.iter().any(|(it, names)| *it == set && has(names, name))
    }

    fn read(text: &'static str) -> Self {
        let mut table = Self::default();
        for item in items(text) {
            // A key without a value empties the list that `like` has copied.
            let (key, value) = item.split_once(char::is_whitespace).unwrap_or((item, ""));
            if table.add(key, value.trim()).is_none() {
                table.faults.push(item);
            }
        }
        table
    }

    /// Adds a row, a set or one field of the last row. Returns `None` if the text means nothing.
    fn add(&mut self, key: &str, value: &'static str) -> Option<()> {
        match key {
            "program" => self.rows.push((value, NONE)),
            "set" => self.sets.push(value.split_once(' ')?),
            "like" => {
                let family = self.find(value)?.1;
                self.rows.last_mut()?.1 = family;
            }
            _ => return self.rows.last_mut()?.1.set(key, value),
        }
        Some(())
    }
}

impl Family {
    fn set(&mut self, key: &str, value: &'static str) -> Option<()> {
        let list = match key {
            "inline" => &mut self.inline,
            "named" => &mut self.named,
            "sources" => &mut self.sources,
            "packages" => &mut self.packages,
            "projects" => &mut self.projects,
            "loads" => &mut self.loads,
            "fetches" => &mut self.fetches,
            "modules" => &mut self.modules,
            "mains" => &mut self.mains,
            "ends" => &mut self.ends,
            "begins" => &mut self.begins,
            "valued" => &mut self.valued,
            "glued" => &mut self.glued,
            "plain" => &mut self.plain,
            "verbs" => &mut self.verbs,
            "runs" => &mut self.runs,
            "scripts" => &mut self.scripts,
            "registry" => {
                self.registry = registry(value)?;
                return Some(());
            }
            "operand" => {
                self.operand = operand(value)?;
                return Some(());
            }
            "traits" => return self.set_traits(value),
            _ => return None,
        };
        *list = value;
        Some(())
    }

    fn set_traits(&mut self, names: &str) -> Option<()> {
        let known = [
            ("reads-stdin", &mut self.reads_stdin),
            ("is-line", &mut self.is_line),
            ("assigns", &mut self.assigns),
            ("goes-on", &mut self.goes_on),
            ("reads-on", &mut self.reads_on),
            ("is-greedy", &mut self.is_greedy),
            ("is-exact", &mut self.is_exact),
        ];
        let is_known = |name| known.iter().any(|(it, _)| *it == name);
        let all_known = names.split_whitespace().all(is_known);
        for (name, field) in known {
            *field = has(names, name);
        }
        all_known.then_some(())
    }
}

fn registry(name: &str) -> Option<Option<Registry>> {
    match name {
        "" => Some(None),
        "npm" => Some(Some(Registry::Npm)),
        "python" => Some(Some(Registry::Python)),
        "deno" => Some(Some(Registry::Deno)),
        _ => None,
    }
}

fn operand(text: &str) -> Option<Operand> {
    Some(match text {
        "script" => Operand::Script,
        "code" => Operand::Code,
        "package" => Operand::Package,
        "container" => Operand::Container,
        _ => match text.split_once(' ')? {
            ("program", before) => Operand::Program(before.parse().ok()?),
            ("verb", before) => Operand::Verb(before.parse().ok()?),
            _ => return None,
        },
    })
}

/// Splits the text before each line that begins with a word, and drops comments.
fn items(text: &'static str) -> impl Iterator<Item = &'static str> {
    let mut rest = text;
    let next = move || {
        // A line that begins with a blank continues the item.
        let is_word = |it: &str| it.starts_with(|first: char| !first.is_whitespace());
        let mut ends = rest.match_indices('\n').map(|(at, _)| at + 1);
        let end = ends.find(|end| rest.get(*end..).is_some_and(is_word)).unwrap_or(rest.len());
        let (item, more) = rest.split_at(end);
        rest = more;
        (!item.is_empty()).then(|| item.trim())
    };
    std::iter::from_fn(next).filter(|item| !item.starts_with('#'))
}
