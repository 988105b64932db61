//! Headers that repeat a tool's parameters, as `x-mcp-header` in its input schema asks.

use thiserror::Error;

use super::value::{decode_value, encode_value};
use super::{Header, HeaderError, PARAM_PREFIX};
use crate::json::{Kind, Value};

/// The parameters of one tool that headers repeat.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct ParamHeaders {
    headers: Vec<ParamHeader>,
}

/// A parameter that a header repeats.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct ParamHeader {
    /// The header's name, `Mcp-Param-` included.
    pub header: String,
    /// The names of the properties that lead to the parameter.
    pub path: Vec<String>,
}

const ANNOTATION: &str = "x-mcp-header";
/// Greatest integer that a double holds together with all smaller ones.
const MAX_SAFE: i64 = (1 << 53) - 1;

/// Most annotations that one tool may have. HTTP servers take about a hundred headers, so that a
/// tool with more could not be called.
const MAX_HEADERS: usize = 100;

/// What a part of a schema is.
#[derive(Clone, Copy, Debug)]
enum Place {
    /// A schema, with the way to it.
    Schema(Way),
    /// An object whose keys are names and whose values are schemas, each reached by its name.
    Named(Way),
}

/// How a part of a schema is reached from the root.
#[derive(Clone, Copy, Debug)]
enum Way {
    /// It is the root.
    Root,
    /// Through `properties` alone; the last step is at this place among the steps.
    Properties(usize),
    /// In some other way.
    Other,
}

/// A property on the way to others, and the way to it.
type Step = (Way, String);

impl ParamHeaders {
    /// Finds the annotations of a tool's input schema.
    ///
    /// # Errors
    ///
    /// [`AnnotationError`] if one breaks the rules. An HTTP client then leaves the tool out.
    pub fn from_schema(schema: Value<'_>) -> Result<Self, AnnotationError> {
        let mut found = Self::default();
        let mut steps: Vec<Step> = Vec::new();
        // A stack of our own: how deep a schema nests is the server's choice.
        let mut places = vec![(schema, Place::Schema(Way::Root))];
        while let Some((value, place)) = places.pop() {
            let way = match place {
                Place::Schema(way) => {
                    found.visit_schema(value, way, &steps, &mut places)?;
                    continue;
                }
                Place::Named(way) => way,
            };
            for (name, schema) in value.members() {
                let mut reached = Way::Other;
                if !matches!(way, Way::Other) {
                    reached = Way::Properties(steps.len());
                    steps.push((way, name.into_owned()));
                }
                places.push((schema, Place::Schema(reached)));
            }
        }
        found.headers.sort_by(|left, right| left.path.cmp(&right.path));
        Ok(found)
    }

    /// Makes the headers for a call with these arguments. A parameter that is absent or null has
    /// none.
    ///
    /// # Errors
    ///
    /// [`HeaderError::Unsupported`] if a value cannot be repeated in a header.
    pub fn headers(&self, arguments: Option<Value<'_>>) -> Result<Vec<Header>, HeaderError> {
        let mut headers = Vec::new();
        for param in &self.headers {
            if let Some(value) = param.find(arguments) {
                let text =
                    text_of(value).ok_or_else(|| HeaderError::Unsupported(param.header.clone()))?;
                headers.push((param.header.clone().into(), encode_value(&text).into_owned()));
            }
        }
        Ok(headers)
    }

    /// Compares a call's headers with its arguments. `find` returns the value of a header, whatever
    /// the case of its name.
    ///
    /// # Errors
    ///
    /// [`HeaderError`], for which the answer is `400` with code `-32020`.
    pub fn verify<'h>(
        &self,
        arguments: Option<Value<'_>>,
        mut find: impl FnMut(&str) -> Option<&'h [u8]>,
    ) -> Result<(), HeaderError> {
        for param in &self.headers {
            let header = &param.header;
            let error = |error: fn(String) -> HeaderError| Err(error(header.clone()));
            let body = param.find(arguments);
            match (body, find(header)) {
                (None, None) => {}
                (None, Some(_)) => return error(HeaderError::Unexpected),
                (Some(_), None) => return error(HeaderError::Missing),
                (Some(body), Some(value)) => {
                    let value = decode_value(header, value)?;
                    if !is_same(&value, body) {
                        return error(HeaderError::Mismatch);
                    }
                }
            }
        }
        Ok(())
    }

    /// The parameters, in the order of their paths.
    pub fn iter(&self) -> impl Iterator<Item = &ParamHeader> {
        self.headers.iter()
    }

    /// Notes the schema's annotation and puts the schemas inside it on the stack.
    fn visit_schema<'a>(
        &mut self,
        schema: Value<'a>,
        way: Way,
        steps: &[Step],
        places: &mut Vec<(Value<'a>, Place)>,
    ) -> Result<(), AnnotationError> {
        places.extend(schema.elements().map(|it| (it, Place::Schema(Way::Other))));
        for (keyword, value) in schema.members() {
            match &*keyword {
                ANNOTATION => self.note(schema, value, way, steps)?,
                "properties" => places.push((value, Place::Named(way))),
                "patternProperties" | "dependentSchemas" | "$defs" | "definitions" => {
                    places.push((value, Place::Named(Way::Other)));
                }
                // Data, not schemas.
                "const" | "default" | "enum" | "example" | "examples" => {}
                _ => places.push((value, Place::Schema(Way::Other))),
            }
        }
        Ok(())
    }

    fn note(
        &mut self,
        schema: Value<'_>,
        annotation: Value<'_>,
        way: Way,
        steps: &[Step],
    ) -> Result<(), AnnotationError> {
        let Way::Properties(_) = way else { return Err(AnnotationError::Unreachable) };
        let name = annotation.as_str().filter(|name| is_token(name));
        let header = format!("{PARAM_PREFIX}{}", name.ok_or(AnnotationError::BadName)?);
        if !schema.get("type").is_some_and(is_primitive) {
            return Err(AnnotationError::BadType);
        }
        if self.headers.iter().any(|it| it.header.eq_ignore_ascii_case(&header)) {
            return Err(AnnotationError::Duplicate);
        }
        if self.headers.len() == MAX_HEADERS {
            return Err(AnnotationError::TooMany { limit: MAX_HEADERS });
        }
        self.headers.push(ParamHeader { header, path: path(way, steps) });
        Ok(())
    }
}

fn path(mut way: Way, steps: &[Step]) -> Vec<String> {
    let mut path = Vec::new();
    while let Way::Properties(index) = way
        && let Some((before, name)) = steps.get(index)
    {
        path.push(name.clone());
        way = *before;
    }
    path.reverse();
    path
}

impl ParamHeader {
    /// The parameter's value among a call's arguments, unless it is absent or null.
    fn find<'a>(&self, arguments: Option<Value<'a>>) -> Option<Value<'a>> {
        let mut value = arguments?;
        for name in &self.path {
            value = value.get(name)?;
        }
        Some(value).filter(|value| value.kind() != Kind::Null)
    }
}

/// The text that stands for a value in a header, before it is encoded.
fn text_of(value: Value<'_>) -> Option<String> {
    match value.kind() {
        Kind::String => value.as_str().map(Into::into),
        Kind::Bool => Some(value.text().to_owned()),
        Kind::Number => safe_integer(value.text()).map(|it| it.to_string()),
        Kind::Null | Kind::Array | Kind::Object => None,
    }
}

fn is_same(header: &str, body: Value<'_>) -> bool {
    match body.kind() {
        Kind::Number => {
            let body = safe_integer(body.text());
            body.is_some() && body == safe_integer(header)
        }
        _ => text_of(body).is_some_and(|text| text == header),
    }
}

/// Reads a number that is an integer, however it is written, within what doubles hold exactly.
fn safe_integer(text: &str) -> Option<i64> {
    // Excludes what JSON does not call a number: `inf`, `NaN`, `+1`, `.5`.
    let digits = text.strip_prefix('-').unwrap_or(text);
    if !digits.starts_with(|first: char| first.is_ascii_digit()) || text.ends_with('.') {
        return None;
    }
    if let Ok(integer) = text.parse::<i64>() {
        return Some(integer).filter(|it| it.unsigned_abs() <= MAX_SAFE.unsigned_abs());
    }
    let number = text.parse::<f64>().ok().filter(|it| it.fract() == 0.0)?;
    #[expect(clippy::cast_precision_loss, reason = "a double holds it exactly")]
    let is_safe = number.abs() <= MAX_SAFE as f64;
    #[expect(clippy::cast_possible_truncation, reason = "it is an integer within range")]
    is_safe.then_some(number as i64)
}

/// Whether a schema's `type` is one that headers carry, perhaps together with null.
fn is_primitive(types: Value<'_>) -> bool {
    let is_one = |it: Value<'_>| {
        it.as_str().is_some_and(|it| matches!(&*it, "string" | "integer" | "boolean"))
    };
    match types.kind() {
        Kind::Array => {
            let mut others = types.elements().filter(|it| it.as_str().as_deref() != Some("null"));
            others.next().is_some_and(is_one) && others.next().is_none()
        }
        _ => is_one(types),
    }
}

/// Whether `name` is a token of HTTP.
fn is_token(name: &str) -> bool {
    let is_tchar = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !name.is_empty() && name.bytes().all(is_tchar)
}

/// Why a tool's annotations are refused. Always the server's doing.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
#[non_exhaustive]
pub enum AnnotationError {
    /// The annotation is no string that can be part of a header's name.
    #[error("\"x-mcp-header\" is not an HTTP token")]
    BadName,
    /// Two annotations name one header, case ignored.
    #[error("\"x-mcp-header\" names one header twice")]
    Duplicate,
    /// The parameter is no string, integer or truth value.
    #[error("\"x-mcp-header\" on a parameter that is not a string, an integer or a boolean")]
    BadType,
    /// There are more annotations than a request can have headers.
    #[error("\"x-mcp-header\" more than {limit} times")]
    TooMany {
        /// The limit in force.
        limit: usize,
    },
    /// The annotation is somewhere else than on a property reached through `properties` alone.
    #[error("\"x-mcp-header\" where no chain of \"properties\" leads")]
    Unreachable,
}
