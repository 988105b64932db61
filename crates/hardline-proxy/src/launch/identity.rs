//! Identity of a launch: shows that two servers are one program under two names.

use std::ffi::OsString;
use std::path::Path;

use sha2::{Digest, Sha256};

/// Digest of a server's start: its executable after links are resolved, the name it is called by,
/// its arguments, and the working directory.
///
/// The directory counts because arguments such as `server.js` or `-m server` name other files
/// elsewhere. The environment does not count: it rarely selects the program, and it contains
/// secrets.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct LaunchId(String);

impl LaunchId {
    /// Computes the digest of a start of the file `program` with `arguments` in the current
    /// directory.
    pub fn new(program: &Path, arguments: &[OsString]) -> Self {
        let file = program.canonicalize().unwrap_or_else(|_| program.to_owned());
        let directory = std::env::current_dir().unwrap_or_default();
        let name = program.file_name().unwrap_or_default();
        let mut hasher = Sha256::new();
        let fixed = [file.as_os_str(), name, directory.as_os_str()];
        let words = fixed.into_iter().chain(arguments.iter().map(OsString::as_os_str));
        for word in words {
            let bytes = word.as_encoded_bytes();
            // The length comes first, so that no two lists of words give the same bytes.
            hasher.update(u64::try_from(bytes.len()).unwrap_or(u64::MAX).to_le_bytes());
            hasher.update(bytes);
        }
        Self(hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// Returns the digest in hexadecimal digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(program: &str, arguments: &[&str]) -> LaunchId {
        let arguments: Vec<OsString> = arguments.iter().map(OsString::from).collect();
        LaunchId::new(Path::new(program), &arguments)
    }

    #[test]
    fn every_word_counts_and_so_does_where_it_ends() {
        let one = id("/bin/server", &["a", "b"]);
        assert_eq!(one, id("/bin/server", &["a", "b"]));
        for other in [
            id("/bin/server", &["ab"]),
            id("/bin/server", &["b", "a"]),
            id("/bin/server", &["a", "b", ""]),
            id("/bin/other", &["a", "b"]),
        ] {
            assert_ne!(one, other);
        }
    }
}
