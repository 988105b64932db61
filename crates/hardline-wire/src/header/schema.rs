//! Finds the annotations of a tool's input schema, in one pass over it.

use std::borrow::Cow;

use super::PARAM_PREFIX;
use super::param::{AnnotationError, ParamHeader};
use crate::json::{Kind, Step, Value};

const ANNOTATION: &str = "x-mcp-header";
/// Limit on the annotations of one tool. HTTP servers accept about a hundred headers, so a tool
/// with more could not be called.
const MAX_HEADERS: usize = 100;

/// Path from the root to a part of a schema.
#[derive(Clone, Copy, Debug)]
enum Way {
    /// The root itself.
    Root,
    /// Through `properties` alone; the number is the index of the last step in `steps`.
    Properties(usize),
    /// Any other path.
    Other,
}

/// Role of an array or object in a schema.
#[derive(Clone, Copy, Debug)]
enum Place {
    /// A schema, or an array of schemas.
    Schema(Way),
    /// An object whose keys are names and whose values are schemas, each reached by its name.
    Named(Way),
    /// The array of a schema's types.
    Types,
    /// Any other value.
    Data,
}

/// An open array or object.
#[derive(Debug)]
struct Open<'a> {
    place: Place,
    annotation: Option<Value<'a>>,
    types: Types,
}

/// Types of a schema.
#[derive(Clone, Copy, Debug, Default)]
struct Types {
    /// Number of types that are a string, an integer or a boolean.
    primitive: usize,
    /// Number of types that are none of these, nor null.
    other: usize,
}

/// State of the search.
#[derive(Debug, Default)]
struct Search {
    headers: Vec<ParamHeader>,
    /// The properties on paths to others, each with the path to it.
    steps: Vec<(Way, String)>,
}

/// Returns all annotations, or an error for the first that breaks the rules.
pub(super) fn annotations(schema: Value<'_>) -> Result<Vec<ParamHeader>, AnnotationError> {
    let mut search = Search::default();
    let mut open: Vec<Open<'_>> = Vec::new();
    let mut key: Option<Cow<'_, str>> = None;
    for step in schema.steps() {
        match step {
            Step::Key(name) => key = name.as_str(),
            Step::Enter(kind, _) => {
                let place = search.enter(open.last().map(|it| it.place), key.take(), kind)?;
                open.push(Open { place, annotation: None, types: Types::default() });
            }
            Step::Scalar(value) => {
                let key = key.take();
                if let Some(inner) = open.last_mut() {
                    inner.note(key.as_deref(), value);
                }
            }
            Step::Leave(_) => {
                let Some(left) = open.pop() else { continue };
                match (left.place, open.last_mut()) {
                    (Place::Types, Some(schema)) => schema.types = left.types,
                    (Place::Schema(way), _) => search.leave(way, &left)?,
                    _ => {}
                }
            }
        }
    }
    Ok(search.headers)
}

impl<'a> Open<'a> {
    /// Records a member or element that is not an array or object.
    fn note(&mut self, key: Option<&str>, value: Value<'a>) {
        match (self.place, key) {
            (Place::Schema(_), Some(ANNOTATION)) => self.annotation = Some(value),
            (Place::Schema(_), Some("type")) | (Place::Types, _) => self.types.note(value),
            _ => {}
        }
    }
}

impl Types {
    fn note(&mut self, value: Value<'_>) {
        match value.as_str().as_deref() {
            Some("string" | "integer" | "boolean") => self.primitive += 1,
            Some("null") => {}
            _ => self.other += 1,
        }
    }
}

impl Search {
    /// Determines the role of an array or object from the value around it and its key.
    fn enter(
        &mut self,
        around: Option<Place>,
        key: Option<Cow<'_, str>>,
        kind: Kind,
    ) -> Result<Place, AnnotationError> {
        let way = match (around, &key) {
            (None, _) => return Ok(Place::Schema(Way::Root)),
            (Some(Place::Types | Place::Data), _) => return Ok(Place::Data),
            (Some(Place::Named(Way::Other)), _) | (Some(_), None) => {
                return Ok(Place::Schema(Way::Other));
            }
            (Some(Place::Named(way)), Some(name)) => {
                self.steps.push((way, name.clone().into_owned()));
                return Ok(Place::Schema(Way::Properties(self.steps.len() - 1)));
            }
            (Some(Place::Schema(way)), Some(_)) => way,
        };
        Ok(match key.as_deref().unwrap_or_default() {
            // An annotation must be a string, so an array or object is always wrong.
            ANNOTATION if matches!(way, Way::Properties(_)) => {
                return Err(AnnotationError::BadName);
            }
            ANNOTATION => return Err(AnnotationError::Unreachable),
            "properties" => Place::Named(way),
            "patternProperties" | "dependentSchemas" | "$defs" | "definitions" => {
                Place::Named(Way::Other)
            }
            "type" if kind == Kind::Array => Place::Types,
            // Keywords with data: a member called `x-mcp-header` in there is not an annotation.
            "const" | "default" | "enum" | "example" | "examples" => Place::Data,
            _ => Place::Schema(Way::Other),
        })
    }

    /// Handles the annotation of a schema that has ended.
    fn leave(&mut self, way: Way, schema: &Open<'_>) -> Result<(), AnnotationError> {
        let Some(annotation) = schema.annotation else { return Ok(()) };
        let Way::Properties(_) = way else { return Err(AnnotationError::Unreachable) };
        let name = annotation.as_str().filter(|name| is_token(name));
        let header = format!("{PARAM_PREFIX}{}", name.ok_or(AnnotationError::BadName)?);
        // `null` besides one of the types is allowed: the header is then left out.
        if schema.types.primitive != 1 || schema.types.other != 0 {
            return Err(AnnotationError::BadType);
        }
        // Header names ignore case, so a server could not tell the two apart.
        if self.headers.iter().any(|it| it.header.eq_ignore_ascii_case(&header)) {
            return Err(AnnotationError::Duplicate);
        }
        if self.headers.len() == MAX_HEADERS {
            return Err(AnnotationError::TooMany { limit: MAX_HEADERS });
        }
        let path = self.path(way);
        self.headers.push(ParamHeader { header, path });
        Ok(())
    }

    fn path(&self, mut way: Way) -> Vec<String> {
        let mut path = Vec::new();
        while let Way::Properties(index) = way
            && let Some((before, name)) = self.steps.get(index)
        {
            path.push(name.clone());
            way = *before;
        }
        path.reverse();
        path
    }
}

/// Returns true if `name` is an HTTP token.
fn is_token(name: &str) -> bool {
    let is_tchar = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !name.is_empty() && name.bytes().all(is_tchar)
}
