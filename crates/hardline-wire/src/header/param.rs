//! Headers that repeat a tool's parameters, as `x-mcp-header` in its input schema requires.

use std::collections::HashMap;

use thiserror::Error;

use super::schema;
use super::value::{decode_value, encode_value};
use super::{Header, HeaderError};
use crate::json::{Kind, Step, Value};

/// The parameters of one tool that headers repeat.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct ParamHeaders {
    headers: Vec<ParamHeader>,
    /// The paths as a tree, root first.
    nodes: Vec<Node>,
}

/// A property on the path to a parameter, or the parameter itself.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
struct Node {
    /// Indices of the properties inside it, by name.
    children: HashMap<String, usize>,
    /// Index of the header that repeats it.
    header: Option<usize>,
}

/// A parameter that a header repeats.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct ParamHeader {
    /// Name of the header, including `Mcp-Param-`.
    pub header: String,
    /// Names of the properties that lead to the parameter.
    pub path: Vec<String>,
}

/// Greatest integer below which a double holds every integer exactly.
const MAX_SAFE: i64 = (1 << 53) - 1;
/// Number of digits of `MAX_SAFE`.
const SAFE_DIGITS: usize = 16;

impl ParamHeaders {
    /// Reads the annotations of a tool's input schema.
    ///
    /// # Errors
    ///
    /// [`AnnotationError`] if one breaks the rules. An HTTP client then omits the tool.
    pub fn from_schema(schema: Value<'_>) -> Result<Self, AnnotationError> {
        let mut headers = schema::annotations(schema)?;
        // A fixed order, independent of the order in the schema.
        headers.sort_by(|left, right| left.path.cmp(&right.path));
        let mut nodes = vec![Node::default()];
        for (index, header) in headers.iter().enumerate() {
            let mut at = 0;
            for name in &header.path {
                let next = nodes.len();
                let children = nodes.get_mut(at).map(|node| &mut node.children);
                at = children.map_or(0, |it| *it.entry(name.clone()).or_insert(next));
                if at == next {
                    nodes.push(Node::default());
                }
            }
            if let Some(node) = nodes.get_mut(at) {
                node.header = Some(index);
            }
        }
        Ok(Self { headers, nodes })
    }

    /// Creates the headers for a call with these arguments. A parameter that is absent or null has
    /// none.
    ///
    /// # Errors
    ///
    /// [`HeaderError::Unsupported`] if a value cannot be repeated in a header.
    pub fn headers(&self, arguments: Option<Value<'_>>) -> Result<Vec<Header>, HeaderError> {
        let mut headers = Vec::new();
        for (param, found) in self.headers.iter().zip(self.find_all(arguments)) {
            let Some(found) = found else { continue };
            let text =
                found.text().ok_or_else(|| HeaderError::Unsupported(param.header.clone()))?;
            headers.push((param.header.clone().into(), encode_value(&text).into_owned()));
        }
        Ok(headers)
    }

    /// Compares the headers of a call with its arguments. `find` returns the value of a header and
    /// must ignore the case of its name.
    ///
    /// # Errors
    ///
    /// [`HeaderError`]. Answer with status `400` and its [`code`](HeaderError::code).
    pub fn verify<'h>(
        &self,
        arguments: Option<Value<'_>>,
        mut find: impl FnMut(&str) -> Option<&'h [u8]>,
    ) -> Result<(), HeaderError> {
        for (param, found) in self.headers.iter().zip(self.find_all(arguments)) {
            let header = &param.header;
            let error = |error: fn(String) -> HeaderError| Err(error(header.clone()));
            match (found, find(header)) {
                (None, None) => {}
                (None, Some(_)) => return error(HeaderError::Unexpected),
                (Some(_), None) => return error(HeaderError::Missing),
                (Some(found), Some(value)) => {
                    if !found.is_same(&decode_value(header, value)?) {
                        return error(HeaderError::Mismatch);
                    }
                }
            }
        }
        Ok(())
    }

    /// Returns the parameters, in the order of their paths.
    pub fn iter(&self) -> impl Iterator<Item = &ParamHeader> {
        self.headers.iter()
    }

    /// Returns the values of all parameters in one pass over the arguments; null counts as absent.
    fn find_all<'a>(&self, arguments: Option<Value<'a>>) -> Vec<Option<ParamValue<'a>>> {
        let mut found = vec![None; self.headers.len()];
        // The node of each open array or object. `next` is the node of the next value.
        let mut open: Vec<Option<&Node>> = Vec::new();
        let mut next = self.nodes.first();
        let mut note = |node: Option<&Node>, value| {
            let index = node.and_then(|node| node.header);
            if let Some(slot) = index.and_then(|index| found.get_mut(index)) {
                *slot = Some(value);
            }
        };
        for step in arguments.iter().flat_map(Value::steps) {
            match step {
                Step::Enter(kind, _) => {
                    note(next, ParamValue::Nested);
                    // Elements of an array have no names, so no parameter is inside.
                    open.push(next.take().filter(|_| kind == Kind::Object));
                }
                Step::Leave(_) => {
                    open.pop();
                    next = None;
                }
                Step::Key(key) => {
                    let node = open.last().copied().flatten();
                    let index = node.and_then(|node| node.children.get(&*key.as_str()?));
                    next = index.and_then(|index| self.nodes.get(*index));
                }
                Step::Scalar(value) => {
                    let node = next.take().filter(|_| value.kind() != Kind::Null);
                    note(node, ParamValue::Scalar(value));
                }
            }
        }
        found
    }
}

/// Value of a parameter.
#[derive(Clone, Copy, Debug)]
enum ParamValue<'a> {
    Scalar(Value<'a>),
    /// An array or an object, which no header can repeat.
    Nested,
}

impl ParamValue<'_> {
    /// Returns the text for a header, before encoding.
    fn text(self) -> Option<String> {
        let Self::Scalar(value) = self else { return None };
        match value.kind() {
            Kind::String => value.as_str().map(Into::into),
            Kind::Bool => Some(value.text().to_owned()),
            Kind::Number => safe_integer(value.text()).map(|it| it.to_string()),
            Kind::Null | Kind::Array | Kind::Object => None,
        }
    }

    fn is_same(self, header: &str) -> bool {
        match self {
            Self::Scalar(value) if value.kind() == Kind::Number => {
                let body = safe_integer(value.text());
                // Compared as numbers: `1.0` and `1` are the same value.
                body.is_some() && body == safe_integer(header)
            }
            _ => self.text().is_some_and(|text| text == header),
        }
    }
}

/// Parses a number with an integer value in any notation, within the range that doubles hold
/// exactly.
fn safe_integer(text: &str) -> Option<i64> {
    let (sign, unsigned) = match text.strip_prefix('-') {
        Some(unsigned) => (-1, unsigned),
        None => (1, text),
    };
    let (mantissa, exponent) = unsigned.split_once(['e', 'E']).unwrap_or((unsigned, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, "0"));
    let is_digits = |it: &str| !it.is_empty() && it.bytes().all(|byte| byte.is_ascii_digit());
    if !is_digits(whole) || !is_digits(fraction) {
        return None;
    }
    // Move the decimal point by the exponent; only zeros may remain behind it.
    let digits = [whole, fraction].concat();
    let point = i64::try_from(whole.len()).ok()?.checked_add(exponent.parse().ok()?)?;
    let split = usize::try_from(point.max(0)).ok()?;
    let behind = digits.get(split..).unwrap_or_default();
    if behind.bytes().any(|digit| digit != b'0') {
        return None;
    }
    let before = digits.get(..split).unwrap_or(&digits).trim_start_matches('0');
    let zeros = if before.is_empty() { 0 } else { split.saturating_sub(digits.len()) };
    // Checked before `repeat`: a huge exponent must not allocate that many zeros.
    if before.len().checked_add(zeros)? > SAFE_DIGITS {
        return None;
    }
    let value: i64 = format!("0{before}{}", "0".repeat(zeros)).parse().ok()?;
    (value <= MAX_SAFE).then_some(sign * value)
}

/// Error returned when a tool's annotations are refused. The server is always the cause.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
#[non_exhaustive]
pub enum AnnotationError {
    /// The annotation is not a string that can be part of a header name.
    #[error("\"x-mcp-header\" is not an HTTP token")]
    BadName,
    /// Two annotations name the same header, ignoring case.
    #[error("\"x-mcp-header\" names one header twice")]
    Duplicate,
    /// The parameter is not a string, integer or boolean.
    #[error("\"x-mcp-header\" on a parameter that is not a string, an integer or a boolean")]
    BadType,
    /// There are more annotations than a request can have headers.
    #[error("\"x-mcp-header\" more than {limit} times")]
    TooMany {
        /// The limit in force.
        limit: usize,
    },
    /// The annotation is not on a property that is reached through `properties` alone.
    #[error("\"x-mcp-header\" where no chain of \"properties\" leads")]
    Unreachable,
}
