//! Proof that something was looked at.

use std::borrow::Cow;

/// Something that the guard has looked at and lets go on. Only the guard makes one, so whoever takes
/// nothing else cannot forget to ask.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Inspected<T>(T);

impl<T> Inspected<T> {
    pub(crate) fn new(inner: T) -> Self {
        Self(inner)
    }

    /// What was looked at.
    pub fn get(&self) -> &T {
        &self.0
    }

    /// What was looked at, to be sent on.
    pub fn into_inner(self) -> T {
        self.0
    }
}

impl<T: ?Sized + ToOwned> Inspected<Cow<'_, T>> {
    /// The same, with nothing borrowed.
    pub fn into_owned(self) -> Inspected<Cow<'static, T>> {
        Inspected(Cow::Owned(self.0.into_owned()))
    }
}
