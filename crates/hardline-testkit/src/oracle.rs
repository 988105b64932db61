//! `serde_json` as an oracle: a second parser for the same texts.

use std::collections::HashSet;
use std::fmt;

use serde::de::{self, Deserialize, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// The envelope as `serde_json` reads it, with the raw texts of its members.
#[derive(Debug, serde::Deserialize)]
#[expect(missing_docs, reason = "the members are the envelope's")]
#[expect(clippy::exhaustive_structs, reason = "JSON-RPC gets no further members")]
pub struct RawEnvelope<'a> {
    #[serde(borrow)]
    pub jsonrpc: Option<&'a RawValue>,
    #[serde(borrow)]
    pub id: Option<&'a RawValue>,
    #[serde(borrow)]
    pub method: Option<&'a RawValue>,
    #[serde(borrow)]
    pub params: Option<&'a RawValue>,
    #[serde(borrow)]
    pub result: Option<&'a RawValue>,
    #[serde(borrow)]
    pub error: Option<&'a RawValue>,
}

/// Returns true if the text is UTF-8 and `serde_json` accepts it as one value, skipping over
/// strings.
pub fn accepts_loosely(text: &[u8]) -> bool {
    str::from_utf8(text).is_ok() && serde_json::from_slice::<de::IgnoredAny>(text).is_ok()
}

/// Returns true if `serde_json` accepts the text while it reads every string (and so refuses lone
/// surrogates), no object has a key twice, and nothing nests deeper than `max_depth`.
///
/// Returns `None` if it cannot tell: JSON allows numbers of any size, but `serde_json` refuses a
/// number that no double can hold.
pub fn accepts_strictly(text: &[u8], max_depth: usize) -> Option<bool> {
    if !accepts_loosely(text) {
        return Some(false);
    }
    let mut deserializer = serde_json::Deserializer::from_slice(text);
    let outcome = Strict { depth_left: max_depth }.deserialize(&mut deserializer);
    match outcome.and_then(|()| deserializer.end()) {
        Ok(()) => Some(true),
        // `serde_json` has no error kind for this, so its text must be compared.
        Err(error) if error.to_string().starts_with("number out of range") => None,
        Err(_) => Some(false),
    }
}

/// Reads one value and stores nothing.
#[derive(Clone, Copy)]
struct Strict {
    depth_left: usize,
}

impl Strict {
    fn inner<E: de::Error>(self) -> Result<Self, E> {
        let depth_left = self.depth_left.checked_sub(1).ok_or_else(|| E::custom("too deep"))?;
        Ok(Self { depth_left })
    }
}

impl<'de> DeserializeSeed<'de> for Strict {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value")
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<(), A::Error> {
        let inner = self.inner()?;
        while elements.next_element_seed(inner)?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        let inner = self.inner()?;
        let mut keys = HashSet::new();
        while let Some(Key(key)) = members.next_key()? {
            // `serde_json` itself would accept the second member.
            if !keys.insert(key) {
                return Err(de::Error::custom("duplicate key"));
            }
            members.next_value_seed(inner)?;
        }
        Ok(())
    }
}

#[derive(serde::Deserialize)]
struct Key(String);

impl<'a> RawEnvelope<'a> {
    /// Reads the envelope of an object.
    ///
    /// # Errors
    ///
    /// An error of `serde_json`, for example for a duplicate member.
    pub fn read(text: &'a [u8]) -> serde_json::Result<Self> {
        Self::deserialize(&mut serde_json::Deserializer::from_slice(text))
    }
}
