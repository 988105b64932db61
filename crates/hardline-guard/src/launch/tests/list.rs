//! Commands that an entry of the list of programs covers, and commands that it does not.

use super::super::Entry;

fn words(command: &str) -> Vec<String> {
    command.split(' ').map(String::from).collect()
}

/// Checks an entry, with words separated by blanks; a single word is a program without patterns.
#[track_caller]
fn check(entry: &str, covered: &[&str], others: &[&str]) {
    let mut parts = entry.split(' ');
    let program = parts.next().unwrap();
    let patterns: Vec<&str> = parts.collect();
    let entry = match &*patterns {
        [] => Entry::program(program),
        patterns => Entry::with_arguments(program, patterns),
    };
    let entry = entry.unwrap();
    for (commands, expected) in [(covered, true), (others, false)] {
        for command in commands {
            let objection = entry.objection(&words(command), &|_| Vec::new());
            assert_eq!(objection.is_none(), expected, "{entry}: {command}: {objection:?}");
        }
    }
}

#[test]
fn a_wildcard_for_a_package_stands_for_a_name_in_the_registry() {
    check(
        "npx -y @modelcontextprotocol/server-* **",
        &[
            "npx -y @modelcontextprotocol/server-filesystem /tmp",
            "npx -y @modelcontextprotocol/server-filesystem@1.2.3 /tmp ~/x http://a.example",
            "npx -y @modelcontextprotocol/server-everything@latest",
            "npx -y @modelcontextprotocol/server-x --registry http://a.example -c id",
        ],
        &[
            "npx -y @modelcontextprotocol/server-x@/tmp/evil",
            "npx -y @modelcontextprotocol/server-x@./evil",
            "npx -y @modelcontextprotocol/server-x@../evil",
            "npx -y @modelcontextprotocol/server-x@~/evil",
            "npx -y @modelcontextprotocol/server-x@evil/repo",
            "npx -y @modelcontextprotocol/server-x@evil.tgz",
            "npx -y @modelcontextprotocol/server-x@npm:evil",
            "npx -y @modelcontextprotocol/server-x@npm:evil@1.0.0",
            "npx -y @modelcontextprotocol/server-x@file:/tmp/evil",
            "npx -y @modelcontextprotocol/server-x@git+https://x.example/y",
            "npx -y @modelcontextprotocol/server-x@https://x.example/y.tgz",
            "npx -y @modelcontextprotocol/server-x@github:a/b",
            "npx -y @modelcontextprotocol/server-x/../../../tmp/evil",
            "npx -y @modelcontextprotocol/server-x/evil",
            "npx -y @modelcontextprotocol/server-x.tgz",
            "npx -y @modelcontextprotocol/server-x\\evil",
            "npx -y @modelcontextprotocol/server-x%2f..%2fevil",
            "npx -y",
        ],
    );
    check("npx -y server-*", &["npx -y server-a@1"], &["npx -y server-a/b", "npx -y server-a#b"]);
    check("npx -y *", &["npx -y a", "npx -y @a/b"], &["npx -y a/b", "npx -y ./a", "npx -y ."]);
    check("npx -y a@*", &["npx -y a@1.2"], &["npx -y a@b/c", "npx -y a@/b", "npx -y a@npm:b"]);
    check("npx -y a@/srv/b", &["npx -y a@/srv/b"], &["npx -y a@/srv/c"]);
    check("pnpm dlx @a/* **", &["pnpm dlx @a/b c"], &["pnpm dlx @a/b@c/d", "pnpm dlx @a/b/c"]);
    check("yarn dlx @a/*", &["yarn dlx @a/b"], &["yarn dlx @a/b@npm:c", "yarn dlx @a/b@./c"]);
    check("bunx @a/*", &["bunx @a/b@2"], &["bunx @a/b@/tmp/c", "bunx @a/b@c/d"]);
    check("bun x @a/*", &["bun x @a/b"], &["bun x @a/b@/tmp/c"]);
    check("npm exec -- @a/*", &["npm exec -- @a/b"], &["npm exec -- @a/b@/tmp/c"]);
    check("npx --package=@a/* b", &["npx --package=@a/c b"], &["npx --package=@a/c@/tmp/d b"]);
    check("npx -p @a/* b", &["npx -p @a/c b"], &["npx -p @a/c@/tmp/d b", "npx -p @a/c@d/e b"]);
    check("corepack pnpm@* dlx a", &["corepack pnpm@9.1.0 dlx a"], &["corepack pnpm@/tmp/x dlx a"]);
}

#[test]
fn packages_of_python_deno_and_containers_are_names_too() {
    check(
        "uvx mcp-server-* **",
        &[
            "uvx mcp-server-git --repository x",
            "uvx mcp-server-git==1.2",
            "uvx mcp-server-git@latest",
        ],
        &[
            "uvx mcp-server-git@git+https://x.example/y",
            "uvx mcp-server-git@./evil",
            "uvx mcp-server-git@evil",
            "uvx mcp-server-git/evil",
            "uvx mcp-server-git.whl",
            "uvx --from git+https://x.example/y mcp-server-git",
            "uvx --index-url https://x.example mcp-server-git",
        ],
    );
    check("uvx --from mcp-* x", &["uvx --from mcp-a[b] x"], &["uvx --from mcp-a@../b x"]);
    check("uvx --with=mcp-* x", &["uvx --with=mcp-a x"], &["uvx --with=mcp-a,./b x"]);
    check("uv tool run mcp-*", &["uv tool run mcp-a"], &["uv tool run mcp-a@./b"]);
    check("pipx run mcp-*", &["pipx run mcp-a"], &["pipx run mcp-a/b", "pipx run mcp-a.py"]);
    // A script is a file, not a package.
    check("uv run /srv/*.py **", &["uv run /srv/a/b.py -c x"], &["uv run /srv/../b.py"]);
    check(
        "deno run -A npm:@a/*",
        &["deno run -A npm:@a/b@1.2"],
        &["deno run -A npm:@a/b@1/c", "deno run -A npm:@a/b@npm:c", "deno run -A npm:@a/b@file:c"],
    );
    check(
        "deno run /srv/*.ts",
        &["deno run /srv/a.ts"],
        &["deno run /srv/https://a.ts", "deno run /srv/../a.ts"],
    );
    check(
        "docker run -i --rm mcp/* **",
        &["docker run -i --rm mcp/git", "docker run -i --rm mcp/git:1.2 --repository x"],
        &[
            "docker run -i --rm mcp/../evil",
            "docker run -i --rm mcp/git sh -c id",
            "docker run -i --rm --privileged mcp/git",
            "docker run -i --rm -v /:/host mcp/git",
            "docker run -i --rm evil",
        ],
    );
    check("docker run mcp*", &["docker run mcp/a"], &["docker run mcp.evil.example/a"]);
    check("docker run **", &[], &["docker run evil", "docker run -v /:/x mcp/a"]);
    check("docker **", &["docker"], &["docker run -i mcp/a", "docker compose up"]);
    check("podman run ghcr.io/a/*", &["podman run ghcr.io/a/b:1"], &["podman run ghcr.io/a/b@c"]);
}

#[test]
fn what_two_stars_stand_for_chooses_no_code() {
    check(
        "npx **",
        &["npx -y @a/b", "npx a@1.2 --registry x", "npx --yes --prefer-offline a"],
        &[
            "npx --registry http://x.example a",
            "npx --registry=http://x.example a",
            "npx --reg http://x.example a",
            "npx --@a:registry=http://x.example @a/b",
            "npx --userconfig ./x a",
            "npx --globalconfig=./x a",
            "npx --prefix /tmp/x a",
            "npx -C /tmp/x a",
            "npx --cache /tmp/x a",
            "npx --cafile x.pem a",
            "npx --strict-ssl=false a",
            "npx --no-strict-ssl a",
            "npx --node-options=--require=/tmp/x.js a",
            "npx --script-shell /tmp/x a",
            "npx --package evil a",
            "npx --package=evil a",
            "npx -p evil a",
            "npx -pevil a",
            "npx -w /tmp/x a",
            "npx -c id",
            "npx a@/tmp/evil",
            "npx a/b",
            "npx ./evil",
            "npx https://x.example/y.tgz",
        ],
    );
    check(
        "npm exec @a/b **",
        &["npm exec @a/b x"],
        &[
            "npm exec @a/b --package=evil",
            "npm exec @a/b --registry=http://x.example",
            "npm exec @a/b --prefix /tmp/x",
            "npm exec @a/b -c id",
        ],
    );
    check(
        "uvx **",
        &["uvx mcp-server-git", "uvx --quiet mcp-server-git -i x"],
        &[
            "uvx --index-url http://x.example a",
            "uvx -i http://x.example a",
            "uvx --extra-index-url=http://x.example a",
            "uvx --default-index http://x.example a",
            "uvx --index x=http://x.example a",
            "uvx --find-links /tmp/x a",
            "uvx -f /tmp/x a",
            "uvx --from /tmp/x a",
            "uvx --with evil a",
            "uvx --with-editable /tmp/x a",
            "uvx --with-requirements x.txt a",
            "uvx --cache-dir /tmp/x a",
            "uvx --config-file x a",
            "uvx --python /tmp/x a",
            "uvx --allow-insecure-host x.example a",
            "uvx --directory /tmp/x a",
            "uvx a@git+https://x.example/y",
        ],
    );
    check("pipx run **", &["pipx run a x"], &["pipx run --spec evil a", "pipx run --pip-args=x a"]);
    check("node **", &["node a.js -r x"], &["node --inspect=0.0.0.0:1 a.js", "node -r x a.js"]);
    check(
        "python3 **",
        &["python3 -X utf8 -W ignore::DeprecationWarning:a.b c.py"],
        &[
            "python3 -X pycache_prefix=/tmp/x a.py",
            "python3 -Xpycache_prefix=/tmp/x a.py",
            "python3 -W error::evil.Category a.py",
            "python3 -m evil",
        ],
    );
    check("uvx mcp-* **", &["uvx mcp-x y"], &["uvx mcp-proxy --named-server x y"]);
    check("npx -y * **", &["npx -y a b"], &["npx -y supergateway --stdio evil"]);
    check("hardline", &["hardline"], &["hardline keeper -- evil", "hardline wrap -- evil"]);
    check("git **", &["git"], &["git log", "git clone ext::x"]);
    check("git log **", &["git log"], &["git log --output=x"]);
    check("go run ./x **", &["go run ./x -c y"], &["go run ./y"]);
    check("cargo run --release -- **", &["cargo run --release -- -c x"], &[]);
    check("dotnet /srv/x.dll **", &["dotnet /srv/x.dll -c y"], &["dotnet exec /tmp/y.dll"]);
    check("dotnet **", &[], &["dotnet /tmp/y.dll"]);
}

/// `npx` looks for the package before npm reads the options, and knows fewer spellings. After one
/// that it does not know, it takes the package for a value, and npm reads the options behind it.
#[test]
fn options_of_npx_that_hide_the_package_are_unknown() {
    check(
        "npx **",
        &[
            "npx -y -d a -p 3000 -c x",
            "npx -s --yes a --package x",
            "npx --loglevel silly a -p 1",
            "npx --no-install a -p 1",
            "npx -y -- a -p 1",
        ],
        &[
            "npx -yd a --package=evil",
            "npx -yq a",
            "npx --ye a --package=evil",
            "npx --no a --package=evil",
            "npx --no-audit a --package=evil",
            "npx --no-fund a --package=evil",
            "npx -j a --package=evil",
        ],
    );
    for option in ["-yd", "--ye", "--no", "--no-audit"] {
        check(
            &format!("npx {option} a **"),
            // The second word is the one before which npx ends the options.
            &[&format!("npx {option} a"), &format!("npx {option} a b --call=x")],
            &[
                &format!("npx {option} a --package=evil"),
                &format!("npx {option} a -p evil"),
                &format!("npx {option} a -c id"),
            ],
        );
    }
    // Here npm reads the options of the whole line.
    check(
        "npm exec a **",
        &["npm exec a b", "npm exec a -- -c id --package=b"],
        &["npm exec a -c id", "npm exec a b --call=id", "npm exec a --package=evil"],
    );
    check("npm x a **", &["npm x a b"], &["npm x a -c id", "npm x a --package evil"]);
}

#[test]
fn a_program_named_alone_runs_any_package_from_where_it_always_does() {
    check(
        "npx",
        &["npx -y a", "npx -p a b", "npx --package=a b", "npx a@/tmp/b", "npm --prefix /srv run x"],
        &["npx --registry http://x.example a", "npx --cache /tmp/x a", "npx --cafile=x a"],
    );
    check(
        "uvx",
        &["uvx a", "uvx --from git+https://x.example/y a", "uvx --with a b"],
        &["uvx --index-url http://x.example a", "uvx --find-links /tmp/x a"],
    );
    check("uv", &["uv --directory /srv run a.py"], &["uv run --index http://x.example a.py"]);
}

#[test]
fn what_chooses_code_is_fine_where_it_is_spelled_out() {
    check(
        "npx --registry https://r.example.com -y @a/* **",
        &["npx --registry https://r.example.com -y @a/b"],
        &["npx --registry https://r.example.com.evil.example -y @a/b"],
    );
    check(
        "npx --registry https://r.example.com* -y a",
        &[],
        &[
            "npx --registry https://r.example.com -y a",
            "npx --registry https://r.example.comx -y a",
        ],
    );
    check("uvx --from git+https://x.example/y a", &["uvx --from git+https://x.example/y a"], &[]);
    check("node *:x", &["node a:x"], &["node a:b:x", "node ../a:x", "node a/..:x"]);
}
