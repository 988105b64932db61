//! Evasions, and honest servers that look like code.

use super::super::{CodeKind, inspect, inspect_with};
use super::check;

/// Returns true if a command, with words separated by blanks, contains inline code.
fn is_inline(command: &str) -> bool {
    let words: Vec<String> = command.split(' ').map(String::from).collect();
    inspect(&words).code.iter().any(|code| code.kind == CodeKind::Inline)
}

#[track_caller]
fn check_all(commands: &[&str], expected: bool) {
    for command in commands {
        assert_eq!(is_inline(command), expected, "{command}");
    }
}

/// Checks the indexes at which nested programs begin.
#[track_caller]
fn check_nested(command: &str, nested: &[usize]) {
    let words: Vec<String> = command.split(' ').map(String::from).collect();
    assert_eq!(inspect(&words).nested, nested, "{command}");
}

#[test]
fn an_option_that_names_code_hides_none() {
    check("ruby -r json -e 1", &[3], &[1]);
    check("ruby -r json -", &[3], &[1]);
    check("ruby -r json", &[0], &[1]);
    check("ruby -r json server.rb -e x", &[], &[1]);
    check("ruby -rjson server -e x", &[], &[1]);
    check("ruby -W -e 1", &[2], &[]);
    check("julia -L x -e 1", &[3], &[1]);
    check("julia -L x -E 1", &[3], &[1]);
    check("php -z x -r 1", &[3], &[1]);
    check("php -F x -r 1", &[3], &[1]);
    check("erl -pa d -eval x", &[3], &[1]);
    check("erl -pa d e f -- -eval x", &[6], &[1]);
    check("gawk -i inplace BEGIN{system(1)}", &[3], &[1]);
    check("gawk -l filefuncs BEGIN{system(1)}", &[3], &[1]);
    check("awk -f server.awk data", &[], &[]);
    check("awk -f /dev/stdin", &[1], &[]);
    check("sbcl --load x --eval 1", &[3], &[1]);
    check("node --openssl-config /dev/null -e 1", &[3], &[1]);
    check("node --snapshot-blob x -e 1", &[3], &[1]);
    check("node --experimental-config-file x -e 1", &[3], &[1]);
    check("node --test-reporter x -e 1", &[3], &[1]);
    check("node -r ./a -r ./b -p 1", &[5], &[1, 3]);
    check("guile -l x -c 1", &[3], &[1]);
    check("lua -l x -e 1", &[3], &[1]);
    check("fish -p /tmp/x -c id", &[3], &[]);
    check("nu -e id", &[1], &[]);
    check("just --set a b -c id", &[4], &[]);
    check("vim x -c !id", &[2], &[]);
    check("emacs x --eval 1", &[2], &[]);
    check("make --ev x", &[1], &[]);
    check("deno task --eval x", &[2], &[]);
    check("R CMD sh", &[1], &[]);
    check("php -f /dev/stdin", &[1], &[]);
}

#[test]
fn a_value_that_is_a_file_hides_no_code() {
    check("node --diagnostic-dir /tmp -e 1", &[3], &[]);
    check("node --report-directory . -e 1", &[3], &[]);
    check("node --cpu-prof-dir /x -e 1", &[3], &[]);
    check("node --tls-keylog a.b -e 1", &[3], &[]);
    check("node --unheard-of /a/b -e 1", &[3], &[]);
    check("node --unheard-of a.b c/d -e 1", &[4], &[]);
    check("node --unheard-of ./server.mjs -e x", &[], &[]);
    check("node --unheard-of -- server -e x", &[], &[]);
    check("python -Z a.b -c 1", &[3], &[]);
    check("python -Z server.py -c x", &[], &[]);
    check("bun --unheard-of @a/b -e 1", &[3], &[]);
    check("deno --unheard-of a.b eval 1", &[3], &[]);
    check("launcher node --unheard-of /a/b -e 1", &[4], &[]);
    // An option that takes a value here may take none in another version, so that the next word is
    // code.
    check("python -W -c 1", &[2], &[]);
    check("make -C -E x", &[2], &[]);
}

#[test]
fn what_belongs_to_a_script_or_module_is_no_code() {
    check("python -m server -c config.json", &[], &[1]);
    check("python3 -um server -i -c config.json", &[], &[1]);
    check("python -mserver -c config.json", &[], &[1]);
    check("python -c 1 -m server", &[1], &[]);
    check("uv run python -m server -c config.json", &[], &[3]);
    check("uv run -m server --shell bash -c config.json", &[], &[2]);
    check("docker run image python -m server -c config.json", &[], &[]);
    check("launcher python -m server -c config.json", &[], &[]);
    check_all(
        &[
            "perl script -e x",
            "perl -w script -e x",
            "node script.js -e x",
            "node script -p 3000",
            "node --harmony script -p 3000",
            "node --no-experimental-fetch script -p 3000",
            "java -jar x.jar -c x",
            "java -Dp=1 -jar x.jar --source x",
            "java -Xmx64m -cp a:b Main -c x",
            "deno run x.ts -c x",
            "deno run -A --unstable-kv x.ts eval",
            "bash script.sh -c x",
            "bash -norc script -c x",
            "julia -m Server -e x",
            "racket -u server.rkt -e x",
            "sbcl --script server.lisp --eval x",
            "elixir -S mix -e x",
            "erl -noshell -s server -extra -eval x",
            "groovy -cp lib.jar -c utf-8 server.groovy -e x",
            "scala -cp lib.jar server.scala -e x",
            "kotlin -classpath lib.jar MainKt -e x",
            "R --no-echo --file=server.R --args -e x",
            "py -3.12 server -c x",
            "ruby -W:no-deprecated server -e x",
        ],
        false,
    );
    assert_eq!(
        inspect(&["java", "-jar", "x.jar", "@x", "-javaagent:x"].map(String::from)).code,
        []
    );
}

#[test]
fn a_program_with_a_number_in_its_name_is_no_interpreter() {
    check_all(&["r2mcp", "r2-mcp -e x", "r2pm -r x", "ed25519-x", "node2vec -e x"], false);
    check_all(&["R", "R4.3 -e 1", "python3.13t -c 1", "ksh93 -c id", "lua5.4 -e 1"], true);
}

#[test]
fn a_path_is_no_option_to_powershell() {
    check("pwsh /srv/server.ps1", &[], &[]);
    check("pwsh /server.ps1 -c x", &[], &[]);
    check("pwsh -InputFormat Text -OutputFormat Text -File x.ps1", &[], &[]);
    check("pwsh -w hidden -o xml -File x.ps1", &[], &[]);
    check("pwsh -ConfigurationName x -SettingsFile y -CustomPipeName z -File x.ps1", &[], &[]);
    check("pwsh -SettingsFile y.json -c id", &[3], &[]);
    check("pwsh -CommandWithArgs id", &[1], &[]);
    check("pwsh -cwa id", &[1], &[]);
    check("powershell /c id", &[1], &[]);
    check("powershell /enc AAAA", &[1], &[]);
    check("pwsh /srv/run", &[1], &[]);
    check("cmd /c /srv/server.exe", &[], &[]);
}

#[test]
fn a_link_to_what_goes_by_its_name_is_judged_by_that() {
    let lead = |word: &str| -> Vec<String> {
        let target = match word {
            "mcp-foo" | "/shims/mcp-foo" | "/shims/node" => "/opt/bin/mise",
            "mcp-bar" => "/opt/volta-shim",
            "/opt/runner" => "/opt/bun",
            _ => return Vec::new(),
        };
        vec![target.to_owned()]
    };
    let inline = |command: &str| -> Vec<usize> {
        let words: Vec<String> = command.split(' ').map(String::from).collect();
        let look = inspect_with(&words, &lead);
        let code = look.code.iter().filter(|it| it.kind == CodeKind::Inline);
        code.map(|it| it.index).collect()
    };
    assert_eq!(inline("mcp-foo -c cfg.json"), [0; 0]);
    assert_eq!(inline("/shims/mcp-foo x -c cfg.json"), [0; 0]);
    assert_eq!(inline("mcp-bar -c cfg.json"), [0; 0]);
    assert_eq!(inline("/shims/node server.js -e x"), [0; 0]);
    assert_eq!(inline("/shims/node -e 1"), [1]);
    assert_eq!(inline("/opt/runner -e 1"), [1]);
}

#[test]
fn a_verb_is_not_the_program_behind_it() {
    check_nested("op run -- npx -y server", &[3]);
    check_nested("op run --env-file .env -- npx -y server", &[5]);
    check_nested("op --account x run --no-masking -- npx -y server", &[6]);
    check_nested("op plugin run -- gh", &[4]);
    check_nested("op item get x", &[]);
    check_nested("doppler run -- npx -y server", &[3]);
    check_nested("doppler run -p x -c dev -- npx -y server", &[7]);
    check_nested("doppler run npx -y server", &[2]);
    check_nested("nix run nixpkgs#server -- --stdio", &[]);
    check_nested("nix run github:a/b", &[]);
    check_nested("nix shell nixpkgs#nodejs -c npx -y server", &[4]);
    check_nested("nix develop --command npx -y server", &[3]);
    check_nested("mise exec -- npx -y server", &[3]);
    check_nested("mise x node@20 -- npx -y server", &[4]);
    check_nested("mise run serve", &[]);
    check_nested("toolbox --prebuilt postgres", &[]);
    check_nested("toolbox --tools-file tools.yaml --stdio", &[]);
    check_nested("toolbox run -c box npx server", &[4]);
    check_nested("distrobox enter box -- npx server", &[4]);
    check_nested("direnv exec . npx server", &[3]);
    check_nested("mcp-proxy --port 8080 -- uvx pkg", &[4]);
    check_nested("uvx mcp-proxy --port 8080 evil", &[4]);
    check_nested("uvx mcpo --port 8080 -- uvx pkg", &[5]);
    check_nested("dotenv -f .env run -- npx server", &[5]);
    check_nested("dotenv -e .env -- npx server", &[4]);
    check_nested("cross-env A=b npx server", &[2]);
    check_nested("setarch x86_64 -R npx server", &[3]);
    check_nested("gdb --args server -ex x", &[2]);
    let doubtful = inspect(&["toolbox", "--prebuilt", "postgres", "--stdio"].map(String::from));
    assert_eq!(doubtful.code, []);
    check("op run -- sh -c id", &[4], &[]);
    check("op --unheard-of x run -- sh -c id", &[6], &[]);
    check("doppler run --command id", &[2], &[]);
    check("doppler run -c dev -- node server.js", &[], &[]);
    check("nix run --impure --expr x", &[3], &[]);
    check("nix develop -c sh -c id", &[4], &[]);
    check("nix shell x --command python -c 1", &[5], &[]);
    check("mise x node@20 -c id", &[3], &[]);
    check("mise x node@20 -- node -e 1", &[5], &[]);
    check("mise run serve -c cfg.json", &[], &[]);
    check("toolbox run sh -c id", &[3], &[]);
    check("toolbox enter -- sh -c id", &[4], &[]);
    check("distrobox enter box -- sh -c id", &[5], &[]);
    check("wsl -d x -e sh -c id", &[5], &[]);
    check("wsl sh -c id", &[2], &[]);
}

#[test]
fn a_value_of_an_unknown_program_is_no_interpreter() {
    check_all(
        &[
            "my-server --language python -c config.toml",
            "my-server --root /home/me/node -p 3000",
            "nice my-server --shell bash -c config.toml",
            "npx -y my-server --shell bash -c config.toml",
            "uvx my-server --language python -c config.toml",
            "docker compose up --shell bash -c x",
        ],
        false,
    );
    check_all(
        &[
            "my-server -- python -c x",
            "my-server --exec python -c x",
            "find . -exec sh -c id",
            "my-server python -c x",
            "my-server --flag python -c import(os)",
            "my-server --port=1 python -c x",
            "bwrap --ro-bind / / --dev /dev sh -c id",
            "strace -f sh -c id",
            "uvx --unheard-of python -c 1",
            "conda run -n box --no-capture-output python -c 1",
            "poetry -C /srv run python -c 1",
        ],
        true,
    );
}

#[test]
fn usual_launches_are_no_code() {
    check_all(
        &[
            "npx -y pkg args",
            "npx -y @scope/pkg@latest --config x -c y",
            "uvx pkg",
            "node dist/index.js -c x",
            "python -m server",
            "docker run -i --rm -e A=b image",
            "docker run -i --rm -e A=b -v /a:/b image --shell bash -c x",
            "bunx pkg",
            "deno run -A x.ts",
            "uv run --directory X server",
            "uv --directory X run server.py",
            "uv run --with mcp[cli] mcp run server.py",
            "cmd /c npx -y pkg",
            "java -jar x.jar",
            "dotnet run --project x",
            "go run ./x",
            "bun run dist/index.js",
            "tsx src/index.ts",
            "npm --prefix /srv run -s start",
            "pnpm --filter server start",
            "mcp-proxy --port 8080 -- uvx pkg",
            "npx -y supergateway --stdio uvx",
            "npx -y mcp-remote https://example.com/mcp --header A:b",
            "npm run watch -- --stdio",
            "yarn watch src",
            "npm run start -- --port 3000",
            "yarn start --stdio",
        ],
        false,
    );
}

#[test]
fn names_of_scripts_and_packages_are_no_programs() {
    check_nested("npm run start -- --port 3000", &[]);
    check_nested("yarn start --stdio", &[]);
    check("npx -y http-server", &[], &[]);
    check("npx -y https://example.com/x.tgz", &[], &[2]);
    check("deno run -R=src server.ts", &[], &[]);
}

#[test]
fn what_cmd_reads_anew_is_code_and_what_is_quoted_is_none() {
    let check = |words: &[&str], expected: bool| {
        let words: Vec<String> = words.iter().map(ToString::to_string).collect();
        let is_inline = |it: &super::super::Code| it.kind == CodeKind::Inline;
        assert_eq!(inspect(&words).code.iter().any(is_inline), expected, "{words:?}");
    };
    check(&["cmd", "/c", "npx", "-y", "pkg", r"C:\Users\Max Muster\Docs"], false);
    check(&["cmd", "/c", r"C:\Program Files\x\server.exe"], false);
    check(&["cmd", "/c", "npx -y pkg"], true);
    check(&["cmd", "/c", r"C:\x.exe /c y.exe & z"], true);
}
