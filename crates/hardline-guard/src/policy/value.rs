//! Typed access to TOML values; a value of the wrong type is a fault.

use hardline_wire::excerpt::Excerpt;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::{Faults, quoted};
use super::suggest::{help, nearest};

/// A value of the document with its span.
pub(super) type Node<'d> = Spanned<DeValue<'d>>;

/// A table of the document with its path.
#[derive(Clone, Debug)]
pub(super) struct Scope<'a, 'd> {
    pub(super) table: &'a DeTable<'d>,
    pub(super) path: String,
}

/// Reads values and collects faults.
#[derive(Debug)]
pub(super) struct Reader<'t> {
    pub(super) faults: Faults<'t>,
}

impl Reader<'_> {
    /// Records a fault for each key of a table that is not in `known`.
    pub(super) fn known_keys(&mut self, scope: &Scope<'_, '_>, known: &[&str]) {
        for (key, value) in scope.table {
            if known.contains(&&**key.get_ref()) || self.faults.count_if_full() {
                continue;
            }
            let path = join(&scope.path, key.get_ref());
            let message = "no such key";
            let near = nearest(key.get_ref(), known.iter().copied());
            // An unquoted dot in a server name splits it into nested tables.
            if near.is_none() && value.get_ref().is_table() && path.starts_with("server.") {
                let help = "a name with a dot in it is written in quotes, as in `[server.\"a.b\"]`";
                self.faults.add_with_help(key.span(), &path, message, help);
                continue;
            }
            match help(key.get_ref(), known) {
                Some(help) => self.faults.add_with_help(key.span(), &path, message, help),
                None => self.faults.add(key.span(), &path, message),
            }
        }
    }

    /// Returns the table at `key`, if there is one.
    pub(super) fn table<'a, 'd>(
        &mut self,
        scope: &Scope<'a, 'd>,
        key: &str,
    ) -> Option<Scope<'a, 'd>> {
        let path = join(&scope.path, key);
        let table = self.as_table(scope.table.get(key)?, &path)?;
        Some(Scope { table, path })
    }

    /// Returns a value as a table.
    pub(super) fn as_table<'a, 'd>(
        &mut self,
        value: &'a Node<'d>,
        path: &str,
    ) -> Option<&'a DeTable<'d>> {
        self.typed(value, path, "a table", value.get_ref().as_table())
    }

    /// Returns a value as a string.
    pub(super) fn as_string<'a>(&mut self, value: &'a Node<'_>, path: &str) -> Option<&'a str> {
        self.typed(value, path, "a string", value.get_ref().as_str())
    }

    /// Returns the string at `key`, if there is one.
    pub(super) fn string<'a, 'd>(
        &mut self,
        scope: &Scope<'a, 'd>,
        key: &str,
    ) -> Option<(&'a str, &'a Node<'d>)> {
        let value = scope.table.get(key)?;
        Some((self.as_string(value, &join(&scope.path, key))?, value))
    }

    /// Returns the string at `key`, which must exist and must not be empty.
    pub(super) fn required<'a, 'd>(
        &mut self,
        around: &Node<'_>,
        scope: &Scope<'a, 'd>,
        key: &str,
        help: &str,
    ) -> Option<(&'a str, &'a Node<'d>)> {
        if !scope.table.contains_key(key) {
            let message = format!("`{key}` is missing");
            self.faults.add_with_help(around.span(), &scope.path, message, help);
            return None;
        }
        let (string, value) = self.string(scope, key)?;
        if string.trim().is_empty() {
            let path = join(&scope.path, key);
            self.faults.add_with_help(value.span(), &path, "it is empty", help);
            return None;
        }
        Some((string, value))
    }

    /// Returns the boolean at `key`, if there is one.
    pub(super) fn boolean<'a, 'd>(
        &mut self,
        scope: &Scope<'a, 'd>,
        key: &str,
    ) -> Option<(bool, &'a Node<'d>)> {
        let value = scope.table.get(key)?;
        let path = join(&scope.path, key);
        let boolean = self.typed(value, &path, "`true` or `false`", value.get_ref().as_bool())?;
        Some((boolean, value))
    }

    /// Returns the integer at `key`, if there is one; it must be between 1 and `most`.
    pub(super) fn integer<N>(&mut self, scope: &Scope<'_, '_>, key: &str, most: N) -> Option<N>
    where
        N: Copy + Ord + TryFrom<u64> + std::fmt::Display,
    {
        let value = scope.table.get(key)?;
        let path = join(&scope.path, key);
        let integer = value.get_ref().as_integer();
        let integer = self.typed(value, &path, "a whole number", integer)?;
        // TOML allows hexadecimal, octal and binary numbers.
        let number = u64::from_str_radix(integer.as_str(), integer.radix()).ok();
        let number = number.filter(|it| *it > 0).and_then(|it| N::try_from(it).ok());
        let number = number.filter(|it| *it <= most);
        if number.is_none() {
            self.faults.add(value.span(), &path, format!("it must be between 1 and {most}"));
        }
        number
    }

    /// Returns `known`, or records a fault that suggests a name if it is `None`.
    pub(super) fn one_of<T>(
        &mut self,
        value: &Node<'_>,
        path: &str,
        (kind, names): (&str, &[&str]),
        word: &str,
        known: Option<T>,
    ) -> Option<T> {
        if known.is_none() {
            let message = format!("no such {kind}: {}", quoted(word));
            match help(word, names) {
                Some(help) => self.faults.add_with_help(value.span(), path, message, help),
                None => self.faults.add(value.span(), path, message),
            }
        }
        known
    }

    fn typed<T>(
        &mut self,
        value: &Node<'_>,
        path: &str,
        wanted: &str,
        found: Option<T>,
    ) -> Option<T> {
        if found.is_none() {
            let type_name = match value.get_ref().type_str() {
                name @ ("integer" | "array") => format!("an {name}"),
                name => format!("a {name}"),
            };
            let message = format!("expected {wanted}, not {type_name}");
            self.faults.add(value.span(), path, message);
        }
        found
    }
}

/// Returns the path of `key` in the table at `path`, quoted where TOML requires it.
pub(super) fn join(path: &str, key: &str) -> String {
    let is_bare = |char: char| char.is_ascii_alphanumeric() || char == '_' || char == '-';
    let key = match key {
        _ if !key.is_empty() && key.len() <= 80 && key.chars().all(is_bare) => key.to_owned(),
        _ => format!("\"{}\"", Excerpt::new(key.as_bytes(), 80)),
    };
    if path.is_empty() { key } else { format!("{path}.{key}") }
}
