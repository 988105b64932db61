//! Names of packages, as their runners read them.
//!
//! A runner accepts more than names: `npx a@/tmp/b` is a directory, `npx a/b` a repository, `uvx 'a
//! @ git+…'` an address, `docker run a.example/b` an image from another registry. In place of a
//! wildcard, only a name in the registry is allowed, optionally with a version or a tag. Everything
//! else must be spelled out in the list.

use super::family::{self, Family};
use super::inspect::Inspector;
use super::option::{Met, Walk};
use crate::tools::Glob;

/// The registry from which a program fetches packages.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Registry {
    /// npm's, for all JavaScript runners.
    Npm,
    /// PyPI.
    Python,
    /// npm and JSR, each with its prefix. A word without a prefix is a file or an address.
    Deno,
    /// A registry for container images. The name says which.
    Image,
}

/// A word of a command that names a package.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Package {
    /// Index of the word in the command.
    pub(super) index: usize,
    /// Start of the name in the word, for example after `--package=`.
    pub(super) start: usize,
    pub(super) registry: Registry,
}

/// Suffixes by which runners recognize a file.
const FILES: [&str; 11] = [
    ".tgz", ".tar.gz", ".tar", ".tar.bz2", ".tar.xz", ".tbz", ".zip", ".whl", ".py", ".pyz", ".git",
];
/// Number of digits in the digest of an image.
const DIGEST_DIGITS: usize = 64;

impl Package {
    /// Returns true if a word is a plain name in the registry. `pattern` is the one that matches
    /// it, or `None` for `**`.
    pub(super) fn is_plain(&self, word: &str, pattern: Option<&Glob>) -> bool {
        let spec = word.get(self.start..).unwrap_or_default();
        match self.registry {
            Registry::Npm => is_npm(spec),
            Registry::Python => is_python(spec),
            Registry::Deno => match (spec.strip_prefix("npm:"), spec.strip_prefix("jsr:")) {
                (Some(spec), _) => is_npm(spec),
                (_, Some(spec)) => spec.starts_with('@') && is_npm(spec),
                // A file or an address, which is matched like any other argument.
                (None, None) => true,
            },
            Registry::Image => pattern.is_some_and(|pattern| is_image(spec, pattern)),
        }
    }
}

impl Inspector<'_> {
    /// Adds the packages that options name. A word after an unknown option counts too, because it
    /// may be one.
    pub(super) fn add_packages(&mut self, walk: &Walk, family: &Family) {
        let Some(registry) = family.registry else { return };
        for (index, start) in &walk.packages {
            self.add_package(*index, *start, registry);
        }
        for (index, met) in &walk.met {
            if *met == Met::Doubtful {
                self.add_package(index + 1, 0, registry);
            }
        }
    }

    /// Adds the operand of a runner if it is a package.
    pub(super) fn add_operand(&mut self, at: usize, index: usize, family: &Family) {
        let Some(registry) = family.registry else { return };
        let words = self.command.get(at + 1..index).unwrap_or_default();
        let is_fetched = words.iter().any(|word| family::has(family.fetches, word));
        if is_fetched || family.fetches.is_empty() {
            self.add_package(index, 0, registry);
        }
    }

    pub(super) fn add_package(&mut self, index: usize, start: usize, registry: Registry) {
        let package = Package { index, start, registry };
        if index < self.command.len() && !self.look.packages.contains(&package) {
            self.look.packages.push(package);
        }
    }
}

/// Matches `name` and `@scope/name`, each with an optional `@1.2.3` or `@tag`.
fn is_npm(spec: &str) -> bool {
    let (scope, rest) = match spec.strip_prefix('@') {
        // A scope without a name is no package.
        Some(scoped) => match scoped.split_once('/') {
            Some((scope, rest)) => (Some(scope), rest),
            None => return false,
        },
        None => (None, spec),
    };
    let (name, version) = match rest.split_once('@') {
        Some((name, version)) => (name, Some(version)),
        None => (rest, None),
    };
    let is_named = scope.into_iter().chain([name]).all(is_name);
    is_named && version.is_none_or(|version| is_version(version) && !is_file(version))
}

/// Matches `name` and `name[extra]`, each with an optional `==1.2.3`, `@1.2.3` or `@latest`.
fn is_python(spec: &str) -> bool {
    let end = spec.find(['=', '@']).unwrap_or(spec.len());
    let (name, version) = spec.split_at(end);
    let name = match name.split_once('[') {
        Some((name, extras)) => match extras.strip_suffix(']') {
            Some(extras) if extras.split(',').all(|extra| is_name(extra.trim())) => name,
            _ => return false,
        },
        None => name,
    };
    // After `@`, anything but a version is a path.
    let is_number = |version: &str| version.starts_with(|first: char| first.is_ascii_digit());
    let is_fixed = match (version.strip_prefix("=="), version.strip_prefix('@')) {
        (Some(version), _) | (_, Some(version)) => {
            is_version(version) && !is_file(version) && (is_number(version) || version == "latest")
        }
        (None, None) => version.is_empty(),
    };
    is_name(name) && is_fixed
}

/// Matches `path/name`, with an optional registry before it and an optional tag or digest after it.
/// A wildcard matches no registry.
fn is_image(spec: &str, pattern: &Glob) -> bool {
    let (named, digest) = match spec.split_once('@') {
        Some((named, digest)) => (named, Some(digest)),
        None => (spec, None),
    };
    let is_digest = |digest: &str| {
        let digits = digest.strip_prefix("sha256:").unwrap_or_default();
        digits.len() == DIGEST_DIGITS && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    let is_host = |part: &str| part.contains(['.', ':']) || part == "localhost";
    let path = match named.split_once('/') {
        Some((host, path)) if is_host(host) => {
            // A wildcard must not choose the registry: `mcp*` would match `mcp.evil.example/a`.
            let is_literal = pattern.to_string().starts_with(&format!("{host}/"));
            if !is_literal {
                return false;
            }
            path
        }
        _ => named,
    };
    let (path, tag) = match path.split_once(':') {
        Some((path, tag)) => (path, Some(tag)),
        None => (path, None),
    };
    path.split('/').all(is_name) && tag.is_none_or(is_version) && digest.is_none_or(is_digest)
}

/// Returns true if `name` is one part of a package name, and cannot be a file or a directory.
fn is_name(name: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let is_first = |first: char| first.is_ascii_alphanumeric();
    name.starts_with(is_first) && name.bytes().all(is_part) && !is_file(name)
}

/// Returns true if it is a version or a tag, and not a range, address or path.
fn is_version(version: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.+!".contains(&byte);
    version.starts_with(|first: char| first.is_ascii_alphanumeric()) && version.bytes().all(is_part)
}

fn is_file(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name.contains("..") || FILES.iter().any(|ending| name.ends_with(ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(registry: Registry, pattern: &str, plain: &[&str], others: &[&str]) {
        let package = Package { index: 0, start: 0, registry };
        let glob = Glob::new(pattern);
        for (specs, expected) in [(plain, true), (others, false)] {
            for spec in specs {
                assert_eq!(package.is_plain(spec, Some(&glob)), expected, "{registry:?} {spec}");
            }
        }
    }

    #[test]
    fn a_package_of_npm_is_a_name_with_a_version_or_tag() {
        check(
            Registry::Npm,
            "*",
            &["a", "@a/b", "@a/b@1.2.3", "a@latest", "a@1.0.0-beta.1+build", "a.b_c-d@next", "a@1"],
            &[
                "",
                "@a",
                "@a/",
                "@/b",
                "a/b",
                "@a/b/c",
                "@a/../b",
                "..",
                ".",
                "./a",
                "../a",
                "/a",
                "~/a",
                "~",
                "a@",
                "a@./b",
                "a@../b",
                "a@/tmp/b",
                "a@~/b",
                "a@b/c",
                "@a/b@c/d",
                "a@file:b",
                "a@npm:b",
                "a@npm:b@1",
                "a@https://x.example/y.tgz",
                "a@git+ssh://x",
                "a@github:b/c",
                "a@b.tgz",
                "a@b.TAR.GZ",
                "a.tgz",
                "a.tar",
                "@a/b.tgz",
                "a@1@2",
                "a@^1",
                "a@>=1",
                "a@*",
                "a b",
                "a\u{430}",
                "a\\b",
                "a%2fb",
                "a#b",
                "github:a/b",
                "https://x.example/a",
                "C:\\a",
                "file:a",
            ],
        );
    }

    #[test]
    fn a_package_of_python_is_a_name_with_extras_and_a_version() {
        check(
            Registry::Python,
            "*",
            &[
                "a",
                "mcp-server-git",
                "mcp[cli]",
                "mcp[cli,ws]==1.2.3",
                "a@1.2",
                "a@latest",
                "a==1!2",
            ],
            &[
                "a@main",
                "a@./b",
                "a @ git+https://x",
                "a@git+https://x",
                "git+https://x",
                "a>=1",
                "a==1.*",
                "a~=1",
                "a[",
                "a[b",
                "a[../b]",
                "./a",
                "a/b",
                "a.whl",
                "a.py",
                "a.tar.gz",
                "a;x",
                "a==",
                "a==b",
                "a@",
                "-e",
                "",
            ],
        );
    }

    #[test]
    fn deno_has_packages_behind_a_prefix_alone() {
        check(
            Registry::Deno,
            "*",
            &["npm:a", "npm:@a/b@1", "jsr:@a/b", "server.ts", "/srv/server.ts"],
            &["npm:/a", "npm:a/b", "npm:a@1/b", "npm:@a/b@file:c", "jsr:a", "jsr:@a/b@c/d"],
        );
    }

    #[test]
    fn an_image_has_no_registry_that_the_pattern_does_not_name() {
        let digest = format!("mcp/a@sha256:{}", "0".repeat(64));
        check(
            Registry::Image,
            "mcp/*",
            &["mcp/a", "mcp/a:1.2", "mcp/a:latest", "mcp/a/b", &digest],
            &["mcp/a@sha256:0", "mcp/../a", "mcp/a:b:c", "mcp/a@b", "mcp/", "mcp//a", "mcp/-v"],
        );
        check(
            Registry::Image,
            "mcp*",
            &["mcp", "mcp/a"],
            &["mcp.evil.example/a", "mcp:5000/a", "mcp.evil.example:443/a/b"],
        );
        check(Registry::Image, "ghcr.io/a/*", &["ghcr.io/a/b:1"], &["ghcr.io/a/../b"]);
        check(Registry::Image, "*", &["a", "a/b"], &["localhost/a", "evil.example/a"]);
        let package = Package { index: 0, start: 0, registry: Registry::Image };
        assert!(!package.is_plain("a", None));
    }
}
