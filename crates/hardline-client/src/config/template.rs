//! Values as they are written, and putting variables into them.
//!
//! Invariants:
//! - What a variable holds is put in as it is: nothing in it is looked at again.
//! - An error names the file, the server, the key and the variable, and no value.

use std::env;
use std::path::{MAIN_SEPARATOR_STR, Path, PathBuf};
use std::sync::Arc;

use super::dialect::{Known, Reference};
use super::error::{Place, show};
use super::variables::input_variable;
use super::{ConfigError, Dialect, Problem, Variables};

/// What the values of one server depend on.
#[derive(Clone, Debug)]
pub(super) struct Scope {
    pub(super) file: PathBuf,
    pub(super) server: String,
    pub(super) dialect: Dialect,
    /// The project that the server is for; else it is wherever we run.
    pub(super) folder: Option<PathBuf>,
    /// Defaults of inputs, by their ids.
    pub(super) inputs: Arc<[(String, String)]>,
}

/// A value as it is written, and where.
#[derive(Clone)]
pub(super) struct Template {
    pub(super) text: String,
    /// All keys from the top of the file.
    pub(super) key: String,
    pub(super) position: (usize, usize),
}

/// Longest text between braces that is looked at: what is longer stays as it is written, and a text full of
/// `${` costs no more than its length times this.
const MAX_REFERENCE_BYTES: usize = 4096;

/// One piece of a template.
enum Piece<'t> {
    Text(&'t str),
    Reference { inner: &'t str, reference: Reference<'t> },
}

impl Scope {
    /// An error at a template.
    pub(super) fn error(&self, template: &Template, problem: Problem) -> ConfigError {
        let place = Place {
            file: self.file.clone(),
            position: Some(template.position),
            server: Some(self.server.clone()),
            key: Some(template.key.clone()),
        };
        ConfigError::new(place, problem)
    }

    /// Where relative paths begin.
    pub(super) fn folder(&self) -> Option<PathBuf> {
        match &self.folder {
            Some(folder) => std::path::absolute(folder).ok(),
            None => env::current_dir().ok(),
        }
    }
}

impl Template {
    /// Whether something is put into it.
    pub(super) fn has_variables(&self, dialect: Dialect) -> bool {
        Pieces::new(&self.text, dialect).any(|piece| matches!(piece, Piece::Reference { .. }))
    }

    /// The value, with what the variables hold now.
    pub(super) fn expand(
        &self,
        scope: &Scope,
        variables: &dyn Variables,
    ) -> Result<String, ConfigError> {
        let mut value = String::with_capacity(self.text.len());
        for piece in Pieces::new(&self.text, scope.dialect) {
            match piece {
                Piece::Text(text) => value.push_str(text),
                Piece::Reference { inner, reference } => {
                    value.push_str(&self.find(inner, reference, scope, variables)?);
                }
            }
        }
        Ok(value)
    }

    fn find(
        &self,
        inner: &str,
        reference: Reference<'_>,
        scope: &Scope,
        variables: &dyn Variables,
    ) -> Result<String, ConfigError> {
        match reference {
            Reference::Variable { name, default: Some(default) } if default.contains("${") => {
                Err(scope.error(self, Problem::Nested(show(name.as_bytes()))))
            }
            Reference::Variable { name, default } => variables
                .find(name)
                .or_else(|| default.map(str::to_owned))
                .ok_or_else(|| scope.error(self, missing(name, scope.dialect))),
            Reference::Input(id) => variables
                .find(&format!("input:{id}"))
                .or_else(|| {
                    scope.inputs.iter().find(|(it, _)| it == id).map(|(_, value)| value.clone())
                })
                .ok_or_else(|| scope.error(self, missing_input(id))),
            // A variable of that name counts if there is one: nobody else's file would mean another.
            Reference::Known(_) if scope.dialect == Dialect::Generic => match variables.find(inner)
            {
                Some(value) => Ok(value),
                None => self.known(reference, scope),
            },
            Reference::Known(_) => self.known(reference, scope),
            Reference::Unsupported => {
                Err(scope.error(self, Problem::Unsupported(show(inner.as_bytes()))))
            }
            Reference::Literal => Ok(format!("${{{inner}}}")),
        }
    }

    fn known(&self, reference: Reference<'_>, scope: &Scope) -> Result<String, ConfigError> {
        let Reference::Known(known) = reference else { return Ok(String::new()) };
        let (path, what) = match known {
            Known::Separator => return Ok(MAIN_SEPARATOR_STR.to_owned()),
            Known::Home => (env::home_dir(), "where the user is at home"),
            Known::CurrentDirectory => (env::current_dir().ok(), "the current directory"),
            Known::Folder => (scope.folder(), "the current directory"),
            Known::FolderName => (
                scope.folder().and_then(|folder| folder.file_name().map(PathBuf::from)),
                "the name of the current directory",
            ),
        };
        match path.as_deref().map(Path::to_str) {
            Some(Some(path)) => Ok(path.to_owned()),
            _ => Err(scope.error(self, Problem::Where(what))),
        }
    }
}

/// The pieces of a text, in order.
struct Pieces<'t> {
    rest: &'t str,
    dialect: Dialect,
}

impl<'t> Pieces<'t> {
    fn new(text: &'t str, dialect: Dialect) -> Self {
        Self { rest: text, dialect }
    }

    /// The reference at the front of `text`, which is what comes after a `$`, and what is behind it.
    fn reference(&self, text: &'t str) -> Option<(Piece<'t>, &'t str)> {
        if let Some((inner, behind)) = text.strip_prefix('{').and_then(braced) {
            let reference = self.dialect.reference(inner);
            let is_reference = reference != Reference::Literal;
            return is_reference.then_some((Piece::Reference { inner, reference }, behind));
        }
        if !self.dialect.has_bare_variables() {
            return None;
        }
        let is_part = |char: char| char.is_ascii_alphanumeric() || char == '_';
        let (inner, behind) = text.split_at(text.find(|it| !is_part(it)).unwrap_or(text.len()));
        // Whatever looks like a variable is one; `pa$word` is as likely to be a password.
        let is_name = inner.starts_with(|it: char| it.is_ascii_uppercase() || it == '_')
            && !inner.contains(|it: char| it.is_ascii_lowercase());
        let reference = Reference::Variable { name: inner, default: None };
        is_name.then_some((Piece::Reference { inner, reference }, behind))
    }
}

impl<'t> Iterator for Pieces<'t> {
    type Item = Piece<'t>;

    fn next(&mut self) -> Option<Piece<'t>> {
        if self.rest.is_empty() {
            return None;
        }
        let mut at = 0;
        while let Some(found) = self.rest.get(at..).and_then(|rest| rest.find('$')) {
            let dollar = at + found;
            let after = self.rest.get(dollar + 1..).unwrap_or_default();
            if let Some((piece, behind)) = self.reference(after) {
                let before = self.rest.get(..dollar).unwrap_or_default();
                if !before.is_empty() {
                    // The reference is found again, at once, by the next call.
                    self.rest = self.rest.get(dollar..).unwrap_or_default();
                    return Some(Piece::Text(before));
                }
                self.rest = behind;
                return Some(piece);
            }
            at = dollar + 1;
        }
        Some(Piece::Text(std::mem::take(&mut self.rest)))
    }
}

/// What stands before the first brace, and what stands behind it.
fn braced(text: &str) -> Option<(&str, &str)> {
    let near = text.get(..text.floor_char_boundary(MAX_REFERENCE_BYTES))?;
    // No reference begins with one of these, and a text of nothing else is soon read.
    if near.starts_with(['$', '{']) {
        return None;
    }
    let end = near.find('}')?;
    Some((text.get(..end)?, text.get(end + 1..)?))
}

fn missing(name: &str, dialect: Dialect) -> Problem {
    let name = show(name.as_bytes());
    let help = match dialect.default_syntax(&name) {
        Some(syntax) => format!("set it in the environment, or write {syntax} here"),
        None => "set it in the environment".to_owned(),
    };
    Problem::MissingVariable { name, help }
}

fn missing_input(id: &str) -> Problem {
    let help = format!("set {} in the environment to answer it", input_variable(id));
    Problem::MissingVariable { name: show(format!("input:{id}").as_bytes()), help }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Fixed;

    const KNOWN: &[(&str, &str)] =
        &[("KEY", "s3cr3t"), ("TWICE", "${KEY} $KEY"), ("EMPTY", ""), ("input:id", "typed")];

    #[track_caller]
    fn check(dialect: Dialect, text: &str, expected: Result<&str, &str>) {
        let variables =
            KNOWN.iter().fold(Fixed::new(), |all, (name, value)| all.with(*name, *value));
        let scope = Scope {
            dialect,
            file: "f.json".into(),
            server: "s".to_owned(),
            folder: Some("/srv/shop".into()),
            inputs: [("other".to_owned(), "default".to_owned())].into(),
        };
        let template = Template { text: text.to_owned(), key: "k".to_owned(), position: (1, 2) };
        let actual = template.expand(&scope, &variables).map_err(|error| error.to_string());
        let expected = expected.map_err(|it| format!("f.json:1:2: server \"s\": k: {it}"));
        assert_eq!(actual, expected.map(str::to_owned), "{dialect:?}: {text}");
    }

    #[test]
    fn variables_stand_where_they_are_named() {
        for dialect in [Dialect::Generic, Dialect::ClaudeCode, Dialect::GeminiCli] {
            check(dialect, "Bearer ${KEY}!", Ok("Bearer s3cr3t!"));
            check(dialect, "${KEY}${KEY}", Ok("s3cr3ts3cr3t"));
            check(dialect, "${NONE:-a:-b}", Ok("a:-b"));
            check(dialect, "${NONE:-}", Ok(""));
            check(dialect, "${KEY:-x}", Ok("s3cr3t"));
            check(dialect, "${EMPTY:-x}", Ok(""));
            check(
                dialect,
                "a ${NONE}",
                Err("the variable NONE is not set; set it in the environment, or write \
                     ${NONE:-default} here"),
            );
        }
        for dialect in [
            Dialect::Generic,
            Dialect::Cursor,
            Dialect::VsCode,
            Dialect::Windsurf,
            Dialect::Cline,
            Dialect::Roo,
        ] {
            check(dialect, "Bearer ${env:KEY}!", Ok("Bearer s3cr3t!"));
        }
        check(Dialect::Generic, "${env:NONE:-x}", Ok("x"));
        check(
            Dialect::Cursor,
            "${env:NONE}",
            Err("the variable NONE is not set; set it in the environment"),
        );
    }

    #[test]
    fn what_is_no_variable_of_the_client_stays() {
        for dialect in [Dialect::ClaudeDesktop, Dialect::Zed, Dialect::Codex, Dialect::LmStudio] {
            for text in ["${KEY}", "${KEY:-x}", "${env:KEY}", "$KEY", "${workspaceFolder}"] {
                check(dialect, text, Ok(text));
            }
        }
        check(Dialect::Cursor, "${KEY} $KEY ${KEY:-x}", Ok("${KEY} $KEY ${KEY:-x}"));
        check(Dialect::Windsurf, "${workspaceFolder}", Ok("${workspaceFolder}"));
        check(Dialect::ClaudeCode, "$KEY ${env:KEY}", Ok("$KEY ${env:KEY}"));
        for dialect in [Dialect::Generic, Dialect::ClaudeCode, Dialect::VsCode] {
            for text in
                ["", "$", "a$", "$$", "${", "${}", "${KEY", "{KEY}", "$1", "${a b}", "${ä$}"]
            {
                check(dialect, text, Ok(text));
            }
        }
    }

    #[test]
    fn gemini_needs_no_braces() {
        check(Dialect::GeminiCli, "$KEY/$KEY.", Ok("s3cr3t/s3cr3t."));
        check(Dialect::GeminiCli, "$$KEY", Ok("$s3cr3t"));
        check(Dialect::GeminiCli, "pa$$word $1 $", Ok("pa$$word $1 $"));
        check(
            Dialect::GeminiCli,
            "$NONE",
            Err("the variable NONE is not set; set it in the environment, or write \
                 ${NONE:-default} here"),
        );
    }

    #[test]
    fn values_are_not_looked_at_again() {
        check(Dialect::Generic, "${TWICE}", Ok("${KEY} $KEY"));
        check(Dialect::GeminiCli, "$TWICE", Ok("${KEY} $KEY"));
    }

    #[test]
    fn a_default_has_no_variables_in_it() {
        let expected = "the default of A holds a ${…} itself, which is not put in; write a plain default, or \
                        ${A} alone";
        for dialect in [Dialect::Generic, Dialect::ClaudeCode, Dialect::GeminiCli] {
            check(dialect, "x${A:-${KEY}}", Err(expected));
            check(dialect, "${A:-b${KEY:-c}}", Err(expected));
            let set = expected.replace("of A", "of KEY").replace("{A}", "{KEY}");
            check(dialect, "${KEY:-${A}}", Err(&set));
        }
        check(Dialect::Generic, "${env:A:-${KEY}}", Err(expected));
        check(Dialect::ClaudeDesktop, "${A:-${KEY}}", Ok("${A:-${KEY}}"));
    }

    #[test]
    fn editors_know_more() {
        let separator = MAIN_SEPARATOR_STR;
        for dialect in [Dialect::Generic, Dialect::Cursor, Dialect::VsCode] {
            check(dialect, "${workspaceFolder}/a", Ok("/srv/shop/a"));
            check(dialect, "${workspaceFolderBasename}", Ok("shop"));
            check(dialect, "${/}${pathSeparator}", Ok(&separator.repeat(2)));
            check(dialect, "${input:id} ${input:other}", Ok("typed default"));
            check(
                dialect,
                "${input:api-key}",
                Err("the variable input:api-key is not set; set INPUT_API_KEY in the environment \
                     to answer it"),
            );
            check(
                dialect,
                "${command:x.y}",
                Err("${command:x.y} is known to the client alone; write the value here, or as a \
                     variable of the environment"),
            );
        }
        check(Dialect::Roo, "${workspaceFolder}", Ok("/srv/shop"));
    }

    #[test]
    fn a_text_full_of_beginnings_takes_no_longer_than_others() {
        let text = "${".repeat(1 << 20);
        check(Dialect::Generic, &text, Ok(&text));
    }
}
