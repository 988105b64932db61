//! Values as written in the file, and the expansion of variables in them.
//!
//! Invariants:
//! - The value of a variable is inserted verbatim: references in it are not expanded.
//! - An error names the file, the server, the key and the variable, but no value.

use std::env;
use std::path::{MAIN_SEPARATOR_STR, Path, PathBuf};
use std::sync::Arc;

use super::dialect::{Builtin, Reference};
use super::error::{Place, show};
use super::variables::input_variable;
use super::{ConfigError, Dialect, Problem, Variables};

/// The context in which the values of one server are expanded.
#[derive(Clone, Debug)]
pub(super) struct Scope {
    pub(super) file: PathBuf,
    pub(super) server: String,
    pub(super) dialect: Dialect,
    /// Root of the server's project; `None` means the current directory.
    pub(super) folder: Option<PathBuf>,
    /// Default values of VS Code inputs, by id.
    pub(super) inputs: Arc<[(String, String)]>,
}

/// A value as written in the file, with its location.
#[derive(Clone)]
pub(super) struct Template {
    pub(super) text: String,
    /// Path of keys from the top of the file.
    pub(super) key: String,
    pub(super) position: (usize, usize),
}

/// Limit on the text between braces. Longer text is not a reference, which bounds the cost of a text full
/// of `${`.
const MAX_REFERENCE_BYTES: usize = 4096;

/// A part of a template.
enum Piece<'t> {
    Text(&'t str),
    Reference { inner: &'t str, reference: Reference<'t> },
}

impl Scope {
    /// Creates an error at the location of a template.
    pub(super) fn error(&self, template: &Template, problem: Problem) -> ConfigError {
        let place = Place {
            file: self.file.clone(),
            position: Some(template.position),
            server: Some(self.server.clone()),
            key: Some(template.key.clone()),
        };
        ConfigError::new(place, problem)
    }

    /// Returns the directory that relative paths start from.
    pub(super) fn folder(&self) -> Option<PathBuf> {
        match &self.folder {
            // The server may run in another directory, where a relative path would mean something else.
            Some(folder) => std::path::absolute(folder).ok(),
            None => env::current_dir().ok(),
        }
    }
}

impl Template {
    /// Returns true if the template contains a reference.
    pub(super) fn has_variables(&self, dialect: Dialect) -> bool {
        Pieces::new(&self.text, dialect).any(|piece| matches!(piece, Piece::Reference { .. }))
    }

    /// Expands the references with the current values of the variables.
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
            // Clients disagree on nested references, so guessing would start different servers.
            Reference::Variable { name, default: Some(default) } if default.contains("${") => {
                Err(scope.error(self, Problem::Nested(show(name.as_bytes()))))
            }
            Reference::Variable { name, default } => variables
                .find(name)
                .or_else(|| default.map(str::to_owned))
                .ok_or_else(|| scope.error(self, missing(name, scope.dialect))),
            // The name carries the prefix, so that a source can tell inputs from variables.
            Reference::Input(id) => variables
                .find(&format!("input:{id}"))
                .or_else(|| {
                    scope.inputs.iter().find(|(it, _)| it == id).map(|(_, value)| value.clone())
                })
                .ok_or_else(|| scope.error(self, missing_input(id))),
            // In a generic file a variable of this name wins: the file may not come from an editor at all.
            Reference::Builtin(_) if scope.dialect == Dialect::Generic => {
                match variables.find(inner) {
                    Some(value) => Ok(value),
                    None => self.builtin(reference, scope),
                }
            }
            Reference::Builtin(_) => self.builtin(reference, scope),
            Reference::Unsupported => {
                Err(scope.error(self, Problem::Unsupported(show(inner.as_bytes()))))
            }
            // `Pieces` yields no literals; this keeps the match total.
            Reference::Literal => Ok(format!("${{{inner}}}")),
        }
    }

    fn builtin(&self, reference: Reference<'_>, scope: &Scope) -> Result<String, ConfigError> {
        let Reference::Builtin(builtin) = reference else { return Ok(String::new()) };
        let (path, what) = match builtin {
            Builtin::Separator => return Ok(MAIN_SEPARATOR_STR.to_owned()),
            Builtin::Home => (env::home_dir(), "the home directory"),
            Builtin::CurrentDirectory => (env::current_dir().ok(), "the current directory"),
            Builtin::Folder => (scope.folder(), "the current directory"),
            Builtin::FolderName => (
                scope.folder().and_then(|folder| folder.file_name().map(PathBuf::from)),
                "the name of the current directory",
            ),
        };
        // A path that is no Unicode cannot be a part of a text.
        match path.as_deref().map(Path::to_str) {
            Some(Some(path)) => Ok(path.to_owned()),
            _ => Err(scope.error(self, Problem::Where(what))),
        }
    }
}

/// Iterates over the parts of a template.
struct Pieces<'t> {
    rest: &'t str,
    dialect: Dialect,
}

impl<'t> Pieces<'t> {
    fn new(text: &'t str, dialect: Dialect) -> Self {
        Self { rest: text, dialect }
    }

    /// Parses a reference in `text`, which follows a `$`. Returns it with the text after it.
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
        // Only upper-case names count: `pa$word` is more likely a password than a reference.
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
                    // The next call finds the reference again, at the start of `rest`.
                    self.rest = self.rest.get(dollar..).unwrap_or_default();
                    return Some(Piece::Text(before));
                }
                self.rest = behind;
                return Some(piece);
            }
            // A dollar sign that begins no reference is text.
            at = dollar + 1;
        }
        Some(Piece::Text(std::mem::take(&mut self.rest)))
    }
}

/// Splits at the first closing brace.
fn braced(text: &str) -> Option<(&str, &str)> {
    let near = text.get(..text.floor_char_boundary(MAX_REFERENCE_BYTES))?;
    // No reference starts with these characters. This keeps a text of many `${` linear.
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
    use crate::config::FixedVariables;

    const KNOWN: &[(&str, &str)] =
        &[("KEY", "s3cr3t"), ("TWICE", "${KEY} $KEY"), ("EMPTY", ""), ("input:id", "typed")];

    #[track_caller]
    fn check(dialect: Dialect, text: &str, expected: Result<&str, &str>) {
        let variables =
            KNOWN.iter().fold(FixedVariables::new(), |all, (name, value)| all.with(*name, *value));
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
    fn expands_the_variables_of_each_dialect() {
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
    fn leaves_references_of_other_clients_unchanged() {
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
    fn does_not_expand_the_values_of_variables() {
        check(Dialect::Generic, "${TWICE}", Ok("${KEY} $KEY"));
        check(Dialect::GeminiCli, "$TWICE", Ok("${KEY} $KEY"));
    }

    #[test]
    fn rejects_references_in_defaults() {
        let expected = "the default of A contains another ${…}, which is not expanded; write a \
                        plain default, or ${A} alone";
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
    fn expands_the_built_in_references_of_editors() {
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
                Err("only the client knows ${command:x.y}; write the value here or use an \
                     environment variable"),
            );
        }
        check(Dialect::Roo, "${workspaceFolder}", Ok("/srv/shop"));
    }

    #[test]
    fn a_text_full_of_open_braces_takes_linear_time() {
        let text = "${".repeat(1 << 20);
        check(Dialect::Generic, &text, Ok(&text));
    }
}
