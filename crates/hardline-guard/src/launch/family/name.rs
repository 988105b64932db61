//! Normalizes the names of programs: removes the parts that do not identify the family.

use super::has;
use super::table::table;

/// Suffixes after a version: builds of Python without a lock, with checks, for Windows.
const BUILDS: &str = "t d m u w td dm mu dmu rc";
/// The same after a dash, possibly with more text: other builds, and processors.
const KINDS: [&str; 14] = [
    "dbg", "debug", "intel64", "32", "64", "x86", "i386", "i686", "amd64", "aarch64", "arm",
    "linux", "darwin", "static",
];
/// Minimum of letters before a version. A number in a shorter name is part of it: `r2`, `ed25519`.
const MIN_LETTERS: usize = 3;

/// Returns the file name of a program without extension and version: `/usr/bin/python3.12` is
/// `python`.
pub(in super::super) fn plain_name(program: &str) -> String {
    let name = program.rsplit(['/', '\\']).next().unwrap_or(program).to_lowercase();
    let without =
        |ends: &[&str]| ends.iter().find_map(|end| name.strip_suffix(end)).map(str::to_owned);
    let name = match without(&[".js", ".mjs", ".cjs"]) {
        // A server's own `start.js` is not the command `start`.
        Some(script) => match script.trim_end_matches("-cli") {
            script if table().is_in("runners", script) => script.to_owned(),
            _ => return name,
        },
        None => without(&[".exe", ".cmd", ".bat", ".com", ".ps1"]).unwrap_or(name),
    };
    // Dynamic loaders have the processor in their name, and start the program that follows.
    if ["ld-linux", "ld-musl", "ld.so"].iter().any(|it| name.starts_with(it)) {
        return "ld-linux".to_owned();
    }
    // A package with its version: `node@20`.
    let name = match name.split_once('@') {
        Some((package, _)) if !package.is_empty() => package,
        _ => &*name,
    };
    unversioned(name).unwrap_or(name).to_owned()
}

/// Returns a name without its version, or `None` if it has none.
fn unversioned(name: &str) -> Option<&str> {
    let (bare, version) = name.split_at(name.find(|char: char| char.is_ascii_digit())?);
    let bare = bare.trim_end_matches(['-', '.', '_']);
    let end = version.find(|char: char| !char.is_ascii_digit() && char != '.');
    let (numbers, rest) = version.split_at(end.unwrap_or(version.len()));
    let is_build = match rest.strip_prefix(['-', '_']) {
        Some(kind) => KINDS.iter().any(|it| kind.starts_with(it)),
        None => rest.is_empty() || has(BUILDS, rest.split('-').next().unwrap_or_default()),
    };
    let is_long = bare.len() >= MIN_LETTERS || !bare.is_empty() && numbers.contains('.');
    (is_build && is_long).then_some(bare)
}

#[cfg(test)]
mod tests {
    use super::plain_name;

    #[test]
    fn a_version_is_no_part_of_a_name_and_a_number_in_it_is() {
        for (name, plain) in [
            ("/usr/bin/python3.12", "python"),
            ("python3.12t", "python"),
            ("python3.11-dbg", "python"),
            ("python3.7dm", "python"),
            ("python3.13t-dbg", "python"),
            ("python3-intel64", "python"),
            ("Python312.exe", "python"),
            ("node18", "node"),
            ("node-v", "node-v"),
            ("node-20", "node"),
            ("node@20.1", "node"),
            ("php8.2", "php"),
            ("lua5.4", "lua"),
            ("ruby3.0", "ruby"),
            ("perl5.36.0", "perl"),
            ("perl5.36-x86_64-linux-gnu", "perl"),
            ("guile-3.0", "guile"),
            ("ksh93", "ksh"),
            ("R", "r"),
            ("r4.3", "r"),
            ("r-4.3.1", "r"),
            ("r2", "r2"),
            ("r2mcp", "r2mcp"),
            ("r2-mcp", "r2-mcp"),
            ("r2pm", "r2pm"),
            ("ed25519-x", "ed25519-x"),
            ("ed25519", "ed25519"),
            ("node2vec", "node2vec"),
            ("python2-mcp", "python2-mcp"),
            ("php2py", "php2py"),
            ("op2", "op2"),
            ("7z", "7z"),
        ] {
            assert_eq!(plain_name(name), plain, "{name}");
        }
    }
}
