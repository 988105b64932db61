//! A proof type for data that the guard has inspected.

use std::borrow::Cow;

/// Data that the guard has inspected and lets pass.
///
/// Only the guard can create one. Code that accepts nothing but `Inspected` cannot skip the
/// inspection:
///
/// ```compile_fail,E0624
/// use hardline_guard::Inspected;
///
/// fn forward(bytes: &[u8]) -> Inspected<&[u8]> {
///     Inspected::new(bytes)
/// }
/// ```
///
/// ```compile_fail,E0423
/// use hardline_guard::Inspected;
///
/// fn forward(bytes: &[u8]) -> Inspected<&[u8]> {
///     Inspected(bytes)
/// }
/// ```
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Inspected<T>(T);

impl<T> Inspected<T> {
    pub(crate) fn new(inner: T) -> Self {
        Self(inner)
    }

    /// Returns the inspected data.
    pub fn get(&self) -> &T {
        &self.0
    }

    /// Returns the inspected data, for sending.
    pub fn into_inner(self) -> T {
        self.0
    }
}

impl<T: ?Sized + ToOwned> Inspected<Cow<'_, T>> {
    /// Returns the same data without a borrow.
    pub fn into_owned(self) -> Inspected<Cow<'static, T>> {
        Inspected(Cow::Owned(self.0.into_owned()))
    }
}
