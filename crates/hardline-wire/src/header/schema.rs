//! Finding the annotations of a tool's input schema, in one pass over it.

use std::borrow::Cow;

use super::PARAM_PREFIX;
use super::param::{AnnotationError, ParamHeader};
use crate::json::{Kind, Step, Value};

const ANNOTATION: &str = "x-mcp-header";
/// Most annotations that one tool may have. HTTP servers take about a hundred headers, so that a
/// tool with more could not be called.
const MAX_HEADERS: usize = 100;

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

/// What an array or object of a schema is.
#[derive(Clone, Copy, Debug)]
enum Place {
    /// A schema, or an array of schemas.
    Schema(Way),
    /// An object whose keys are names and whose values are schemas, each reached by its name.
    Named(Way),
    /// The array of a schema's types.
    Types,
    /// Anything else.
    Data,
}

/// An array or object that has begun.
#[derive(Debug)]
struct Open<'a> {
    place: Place,
    annotation: Option<Value<'a>>,
    types: Types,
}

/// What is known of a schema's `type`.
#[derive(Clone, Copy, Debug, Default)]
struct Types {
    /// How many are a string, an integer or a truth value.
    primitive: usize,
    /// How many are neither that nor null.
    other: usize,
}

/// The search.
#[derive(Debug, Default)]
struct Search {
    headers: Vec<ParamHeader>,
    /// The properties on the way to others, each with the way to it.
    steps: Vec<(Way, String)>,
}

/// Finds all annotations, or the first that breaks the rules.
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
    /// Notes a member or element that is no array or object.
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
    /// Tells what an array or object is by what it is in and under which key.
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
            ANNOTATION if matches!(way, Way::Properties(_)) => {
                return Err(AnnotationError::BadName);
            }
            ANNOTATION => return Err(AnnotationError::Unreachable),
            "properties" => Place::Named(way),
            "patternProperties" | "dependentSchemas" | "$defs" | "definitions" => {
                Place::Named(Way::Other)
            }
            "type" if kind == Kind::Array => Place::Types,
            "const" | "default" | "enum" | "example" | "examples" => Place::Data,
            _ => Place::Schema(Way::Other),
        })
    }

    /// Takes the annotation of a schema that has ended.
    fn leave(&mut self, way: Way, schema: &Open<'_>) -> Result<(), AnnotationError> {
        let Some(annotation) = schema.annotation else { return Ok(()) };
        let Way::Properties(_) = way else { return Err(AnnotationError::Unreachable) };
        let name = annotation.as_str().filter(|name| is_token(name));
        let header = format!("{PARAM_PREFIX}{}", name.ok_or(AnnotationError::BadName)?);
        if schema.types.primitive != 1 || schema.types.other != 0 {
            return Err(AnnotationError::BadType);
        }
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

/// Whether `name` is a token of HTTP.
fn is_token(name: &str) -> bool {
    let is_tchar = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !name.is_empty() && name.bytes().all(is_tchar)
}
