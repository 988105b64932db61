//! The filter that decides which tools of a server its client may see and call.

use std::fmt;

use super::Glob;

/// Decides which tools a client may see and call. The default allows all of them.
///
/// A tool passes if a pattern of every allow list matches its name, no deny pattern matches it,
/// and, in read-only mode, the server annotates it as read-only. Deny patterns ignore case, because
/// a server may match names less strictly than its client.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct ToolFilter {
    allowed: Vec<Vec<Glob>>,
    denied: Vec<Glob>,
    is_read_only: bool,
}

/// Reason for which a tool does not pass.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Denial {
    Denied,
    NotAllowed,
    NotReadOnly,
}

impl Denial {
    /// Returns the reason as an error text for the caller of the tool.
    pub(crate) fn reason(self) -> &'static str {
        match self {
            Self::Denied => "this tool is on the list of denied tools",
            Self::NotAllowed => "this tool is not on the list of allowed tools",
            Self::NotReadOnly => {
                "only tools that their server lists as read-only are allowed here, and this one is \
                 not"
            }
        }
    }
}

impl ToolFilter {
    /// Creates a filter that lets every tool pass.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an allow list: a tool must also match one of these patterns. An empty list changes
    /// nothing.
    #[must_use]
    pub fn allow(mut self, patterns: impl IntoIterator<Item = Glob>) -> Self {
        let list: Vec<_> = patterns.into_iter().collect();
        if !list.is_empty() {
            self.allowed.push(list);
        }
        self
    }

    /// Also denies the tools that match one of these patterns.
    #[must_use]
    pub fn deny(mut self, patterns: impl IntoIterator<Item = Glob>) -> Self {
        self.denied.extend(patterns);
        self
    }

    /// If `is_read_only`, lets only tools pass that their server annotates with `readOnlyHint`.
    #[must_use]
    pub fn read_only(mut self, is_read_only: bool) -> Self {
        self.is_read_only |= is_read_only;
        self
    }

    pub(crate) fn set_allowed(&mut self, patterns: Vec<Glob>) {
        self.allowed = vec![patterns];
    }

    pub(crate) fn set_denied(&mut self, patterns: Vec<Glob>) {
        self.denied = patterns;
    }

    pub(crate) fn set_read_only(&mut self, is_read_only: bool) {
        self.is_read_only = is_read_only;
    }

    /// Returns true if every tool passes.
    pub fn is_open(&self) -> bool {
        self.allowed.is_empty() && self.denied.is_empty() && !self.is_read_only
    }

    /// Returns true if only read-only tools pass.
    pub fn is_read_only(&self) -> bool {
        self.is_read_only
    }

    /// Returns the reason for which a tool does not pass, or `None`. `only_reads` is the annotation
    /// of its server.
    pub(crate) fn denial(&self, name: &str, only_reads: bool) -> Option<Denial> {
        // Denial comes first, so that no allow list can override it.
        if self.denied.iter().any(|glob| glob.matches_any_case(name)) {
            return Some(Denial::Denied);
        }
        if self.allowed.iter().any(|list| !list.iter().any(|glob| glob.matches(name))) {
            return Some(Denial::NotAllowed);
        }
        (self.is_read_only && !only_reads).then_some(Denial::NotReadOnly)
    }
}

impl fmt::Display for ToolFilter {
    /// Writes a summary, such as `allowed: a*, b; denied: c; read-only ones`.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list =
            |globs: &[Glob]| globs.iter().map(Glob::to_string).collect::<Vec<_>>().join(", ");
        let mut parts: Vec<String> =
            self.allowed.iter().map(|globs| format!("allowed: {}", list(globs))).collect();
        if !self.denied.is_empty() {
            parts.push(format!("denied: {}", list(&self.denied)));
        }
        if self.is_read_only {
            parts.push("read-only ones".to_owned());
        }
        formatter.write_str(if parts.is_empty() { "all" } else { "" })?;
        formatter.write_str(&parts.join("; "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn globs(patterns: &[&str]) -> Vec<Glob> {
        patterns.iter().map(|it| Glob::new(*it)).collect()
    }

    #[test]
    fn every_list_must_allow_and_none_may_deny() {
        let filter = ToolFilter::new()
            .allow(globs(&["read_*", "list_*"]))
            .allow(globs(&["*_file"]))
            .deny(globs(&["read_SECRET*"]));
        assert_eq!(filter.denial("read_file", false), None);
        assert_eq!(filter.denial("read_dir", false), Some(Denial::NotAllowed));
        assert_eq!(filter.denial("Read_file", false), Some(Denial::NotAllowed));
        assert_eq!(filter.denial("read_secret_file", false), Some(Denial::Denied));
    }

    #[test]
    fn an_empty_list_says_nothing() {
        let filter = ToolFilter::new().allow(globs(&[])).deny(globs(&[]));
        assert!(filter.is_open());
        assert_eq!(filter.read_only(true).denial("x", false), Some(Denial::NotReadOnly));
    }
}
