//! Command lines of honest and hostile servers.

mod edge;
mod hostile;
mod list;

use super::{CodeKind, inspect, inspect_with};

/// Checks the indexes of inline and of named code in `command`, whose words are separated by
/// blanks.
#[track_caller]
fn check(command: &str, inline: &[usize], named: &[usize]) {
    let words: Vec<String> = command.split(' ').map(String::from).collect();
    let look = inspect(&words);
    let of = |kind| -> Vec<usize> {
        look.code.iter().filter(|it| it.kind == kind).map(|it| it.index).collect()
    };
    assert_eq!((&*of(CodeKind::Inline), &*of(CodeKind::Named)), (inline, named), "{command}");
}

#[test]
fn ordinary_servers_have_no_code_on_their_command_line() {
    check("npx -y @modelcontextprotocol/server-filesystem /tmp", &[], &[]);
    check("npx -y some-server -c config.json -e dev", &[], &[]);
    check("uvx mcp-server-git --repository x -c 1", &[], &[]);
    check("uv run --directory /srv server.py", &[], &[]);
    check("uv --directory /srv run weather.py", &[], &[]);
    check("node --enable-source-maps dist/index.js -e prod -r x", &[], &[]);
    check("python3 server.py -c x", &[], &[]);
    check("python -u -X utf8 server.py -m x", &[], &[]);
    check("docker run -i --rm -e TOKEN mcp/github", &[], &[]);
    check("deno run --allow-net server.ts", &[], &[]);
    check("bash start.sh -c x", &[], &[]);
    check("bash -e start.sh", &[], &[]);
    check("java -jar server.jar -e x", &[], &[]);
    check("/opt/bin/server -c x --eval y", &[], &[]);
    check("bun run index.ts", &[], &[]);
    check("cmd.exe /d start.bat", &[2], &[]);
    check("cmd /c npx -y @modelcontextprotocol/server-filesystem C:\\x", &[], &[]);
    check("powershell -NoProfile -ExecutionPolicy Bypass -File x.ps1", &[], &[]);
    check("uvx -c constraints.txt mcp-server-git", &[], &[]);
    check("node --enable-source-maps --max-old-space-size=64 dist/index.js -e x", &[], &[]);
    check("uvx --from git+https://example.com/x mcp-server", &[], &[]);
    check("npx -y some-server bash", &[], &[]);
    check("npx --yes --prefer-offline @scope/server@1.2.3 --call x", &[], &[]);
    check("npx -y --legacy-peer-deps some-server -c config.json", &[], &[]);
    check("npx --registry https://r.example.com -y some-server -c x", &[], &[]);
    check("npx -y tsx src/index.ts -e dev", &[], &[]);
    check("npx -y serve -c x", &[], &[]);
    check("npm run start --silent", &[], &[]);
    check("npm exec --yes -- some-server -c x", &[], &[]);
    check("pnpm dlx some-server -c x", &[], &[]);
    check("pnpm --dir /srv run start", &[], &[]);
    check("yarn --cwd /srv start", &[], &[]);
    check("yarn exec some-server", &[], &[]);
    check("bunx some-server --stdio", &[], &[]);
    check("bun x some-server", &[], &[]);
    check("bun --watch run src/index.ts", &[], &[]);
    check("corepack pnpm dlx some-server", &[], &[]);
    check("node server.js", &[], &[]);
    check("node dist/start.js sub -c x", &[], &[]);
    check("node --env-file .env server.js", &[], &[1]);
    check("node --import tsx server.ts", &[], &[1]);
    check("node --run start", &[], &[]);
    check("node --version", &[], &[]);
    check("./dist/script.js -c x", &[], &[]);
    check("tsx watch src/index.ts", &[], &[]);
    check("nodemon server.js", &[], &[]);
    check("deno run -A npm:some-server", &[], &[]);
    check("deno run -A jsr:@scope/server", &[], &[]);
    check("deno task start", &[], &[]);
    check("python3 -m mcp_server_time --local-timezone Europe/Berlin", &[], &[1]);
    check("py -3 server.py", &[], &[]);
    check("uvx --python 3.12 mcp-server-time", &[], &[1]);
    check("uv run --with mcp mcp run server.py", &[], &[]);
    check("uv tool run mcp-server-git", &[], &[]);
    check("uv run /srv/My\u{a0}Projects/server.py", &[], &[]);
    check("pipx run mcp-server-git", &[], &[]);
    check("poetry run python server.py", &[], &[]);
    check("hatch run server", &[], &[]);
    check("conda run --no-capture-output -n mcp python server.py", &[], &[]);
    check("docker run -i --rm --entrypoint node -e TOKEN mcp/x server.js -e x", &[], &[]);
    check("docker run -i --rm -v /a:/b --network host mcp/node -e x", &[], &[]);
    check("docker compose run --rm -T server", &[], &[]);
    check("podman exec -i box python3 /srv/server.py -c x", &[], &[]);
    check("php -f server.php", &[], &[]);
    check("php server.php -r x", &[], &[]);
    check("perl server.pl -e x", &[], &[]);
    check("perl -MFoo::Bar=a,b server.pl", &[], &[1]);
    check("ruby server.rb -e x", &[], &[]);
    check("bundle exec ruby server.rb", &[], &[]);
    check("dotnet run --project Server", &[], &[]);
    check("go run . -c x", &[], &[]);
    check("cargo run --release -- -c x", &[], &[]);
    check("make -s serve", &[], &[]);
    check("make -C /srv serve", &[], &[]);
    check("mise exec -- node server.js", &[], &[]);
    check("elixir --no-halt server.exs", &[], &[]);
    check("Rscript server.R", &[], &[]);
    check("cmd /c node server.js", &[], &[]);
    check("pwsh -File server.ps1", &[], &[]);
}

#[test]
fn inline_code_is_seen_however_it_is_written() {
    check("sh -c id", &[1], &[]);
    check("/bin/bash -lc id", &[1], &[]);
    check("bash -o pipefail -c id", &[3], &[]);
    check("bash", &[0], &[]);
    check("zsh -s", &[1], &[]);
    check("node -e 1", &[1], &[]);
    check("node --eval=1", &[1], &[]);
    check("node -pe 1", &[1], &[]);
    check("node20 --print 1", &[1], &[]);
    check("python3.12 -Ic 1", &[1], &[]);
    check("python -", &[1], &[]);
    check("npx -c id", &[1], &[]);
    check("npx -y -c id", &[2], &[]);
    check("npx -p x --call=id", &[3], &[]);
    check("npm exec -c id", &[2], &[]);
    check("npm exec --yes --call id", &[3], &[]);
    check("pnpm dlx -c id", &[2], &[]);
    check("uv run python -c 1", &[3], &[]);
    check("uvx --from x python -c 1", &[4], &[]);
    check("npx node -e 1", &[2], &[]);
    check("deno eval 1", &[1], &[]);
    check("perl -we 1", &[1], &[]);
    check("ruby -e 1", &[1], &[]);
    check("php -r 1", &[1], &[]);
    check("awk BEGIN{}", &[1], &[]);
    check("powershell -NoProfile -enc AAAA", &[2], &[]);
    check("cmd /c dir&calc", &[1], &[]);
    check("CMD.EXE /C sh -c id", &[3], &[]);
    check("su -c id", &[1], &[]);
    check("su root -c id", &[2], &[]);
    check("script -q /dev/null -c id", &[3], &[]);
    check("bash -oc posix id", &[1], &[]);
    check("bash -euoc pipefail id", &[1], &[]);
    check("node --title foo -e 1", &[3], &[]);
    check("node --anything foo -e 1", &[3], &[]);
    check("node --input-type module -e 1", &[3], &[]);
    check("npx --loglevel silent node -e 1", &[4], &[]);
    check("npm --loglevel silent exec -c id", &[4], &[]);
    check("npm exec -p -c id", &[3], &[]);
    check("npm exec okbin --call=id", &[3], &[]);
    check("uvx --cache-dir /tmp python -c 1", &[4], &[]);
    check("uvx -w foo python -c 1", &[4], &[]);
    check("ruby -E utf-8 -e 1", &[3], &[]);
    check("zsh --emulate sh -c id", &[3], &[]);
    check("perl5.36-x86_64-linux-gnu -e 1", &[1], &[]);
    check("python3.13t -c 1", &[1], &[]);
    check("docker run -i image sh -c id", &[5], &[]);
}

#[test]
fn runners_of_packages_take_code_in_many_spellings() {
    check("npx -C / -c id", &[3], &[]);
    check("npx -C. -c id", &[2], &[]);
    check("npx --c id", &[1], &[]);
    check("npx --ca id", &[1], &[]);
    check("npx --cal id", &[1], &[]);
    check("npx ---call id", &[1], &[]);
    check("npx --no-no-call id", &[1], &[]);
    check("npx -call id", &[1], &[]);
    check("npx -L user -c id", &[3], &[]);
    check("npx --unheard-of x/y -c id", &[3], &[]);
    check("npm -C / exec -c id", &[4], &[]);
    check("npm exec --c id", &[2], &[]);
    check("npm x okbin -c id", &[3], &[]);
    check("npm explore okbin -- id", &[1], &[]);
    check("node /usr/bin/npx -c id", &[2], &[]);
    check("node /usr/lib/node_modules/npm/bin/npx-cli.js -c id", &[2], &[]);
    check("node npm-cli.js exec -c id", &[3], &[]);
    check("corepack npx -c id", &[2], &[]);
    check("corepack pnpm@9.1.0 dlx -c id", &[3], &[]);
    check("pnpm exec -c id", &[2], &[]);
    check("pnpm dlx -c id", &[2], &[]);
    check("pnpm --shell-mode exec id", &[1], &[]);
    check("bunx node -e 1", &[2], &[]);
    check("npx node@20 -e 1", &[2], &[]);
    let yarn = ["yarn", "exec", "touch x"].map(String::from);
    assert_eq!(inspect(&yarn).code[0].index, 2);
    let hatch = ["hatch", "run", "bash -c x"].map(String::from);
    assert_eq!(inspect(&hatch).code[0].index, 2);
}

#[test]
fn code_that_is_no_file_is_inline() {
    check("node --import data:text/javascript,1 s.js", &[1], &[]);
    check("node --loader=data:text/javascript,1 s.js", &[1], &[]);
    check("node --require=DATA:x s.js", &[1], &[]);
    check("node -r - s.js", &[1], &[]);
    check("node --import\u{3d}da\tta:x s.js", &[1], &[]);
    check("tsx --import data:x s.ts", &[1], &[]);
    check("deno run data:text/javascript,1", &[2], &[]);
    check("deno serve data:text/javascript,1", &[2], &[]);
    check("deno run --preload=data:x m.ts", &[2], &[]);
    check("perl -Mstrict;system(1) f.pl", &[1], &[]);
    check("perl -d:x;1 f.pl", &[1], &[]);
    check("php -d auto_prepend_file=data://text/plain,x s.php", &[1], &[]);
    check("php --run 1", &[1], &[]);
    for command in ["node", "python3", "ruby", "perl", "php", "lua", "tclsh", "deno", "ex", "cmd"] {
        check(command, &[0], &[]);
    }
    check("node --require ./x.js", &[0], &[1]);
    check("node --no-warnings", &[0], &[]);
    check("bash --init-file x", &[0], &[1]);
    for file in ["-", "/dev/stdin", "/proc/self/fd/0", "/dev/fd/0", "//dev/./stdin", "/proc/1/fd/3"]
    {
        for program in ["node", "python3", "bash", "ruby", "perl", "php", "pwsh -File"] {
            let index = program.split(' ').count();
            check(&format!("{program} {file}"), &[index], &[]);
        }
        for runner in ["uv run", "deno run", "bun run"] {
            check(&format!("{runner} {file}"), &[2], &[]);
        }
        check(&format!("make -f {file}"), &[1], &[]);
    }
}

#[test]
fn tools_that_take_commands_are_known() {
    check("make --eval x", &[1], &[]);
    check("make all --eval=x", &[2], &[]);
    check("gdb -batch -ex shell", &[2], &[]);
    check("vim -c !id", &[1], &[]);
    check("nvim +!id", &[1], &[]);
    check("ex -c !id", &[1], &[]);
    check("erl -noshell -eval x", &[2], &[]);
    check("cmd /k x", &[1], &[]);
    check("cmd /r calc&x", &[1], &[]);
    check("cmd /cdir", &[1], &[]);
    check("nix-shell -p x --run id", &[3], &[]);
    check("nix-shell --command id", &[1], &[]);
    check("mise x -c id", &[2], &[]);
    check("nodemon --exec id", &[1], &[]);
    check("nodemon server.js -x id", &[2], &[]);
    check("concurrently id", &[1], &[]);
    check("docker run --entrypoint sh img -c id", &[5], &[]);
    check("docker run --entrypoint=/bin/sh -e A img -c id", &[6], &[]);
    check("docker --context x run -i --entrypoint sh img", &[5], &[]);
    check("podman container run -i img python3 -c 1", &[6], &[]);
    check("docker exec -i box env sh -c id", &[6], &[]);
    check("docker compose exec -T box sh -c id", &[6], &[]);
    check("flatpak run --command=sh x -c id", &[4], &[]);
}

#[test]
fn a_link_is_what_it_leads_to() {
    let lead = |word: &str| -> Vec<String> {
        let chain: &[&str] = match word {
            "/d/mcp-server" => &["/bin/sh", "/bin/dash"],
            "/d/node" => &["/bin/sh"],
            "/d/tool" => &["/usr/bin/npx", "/usr/lib/node_modules/npm/bin/npx-cli.js"],
            "/d/run" => &["/usr/bin/env"],
            "/d/in.js" => &["/dev/stdin", "/proc/self/fd/0"],
            "/usr/bin/npx" | "npx" => &["/usr/lib/node_modules/npm/bin/npx-cli.js"],
            "/usr/bin/node" | "node" => &["/etc/alternatives/node", "/usr/bin/nodejs"],
            "sh" => &["dash"],
            "/bin/ls" | "/bin/ash" => &["/bin/busybox"],
            "bunx" | "/shims/node" => &["/opt/bun"],
            "python" => &["/shims/mise"],
            "/d/server" => &["/opt/dist/start.js"],
            "/d/other" => &["/opt/x/exec"],
            _ => &[],
        };
        chain.iter().map(|it| (*it).to_owned()).collect()
    };
    let inline = |command: &str| -> Vec<usize> {
        let words: Vec<String> = command.split(' ').map(String::from).collect();
        let look = inspect_with(&words, &lead);
        let code = look.code.iter().filter(|it| it.kind == CodeKind::Inline);
        code.map(|it| it.index).collect()
    };
    for (command, index) in [
        ("/d/mcp-server -c id", 1),
        ("/d/node -c id", 1),
        ("/d/node -e 1", 1),
        ("/d/tool -c id", 1),
        ("/d/run sh -c id", 2),
        ("env /d/mcp-server -c id", 2),
        ("launcher /d/mcp-server -c id", 2),
        ("node /d/tool -c id", 2),
        ("node /d/in.js", 1),
        ("/bin/ash -c id", 1),
    ] {
        assert_eq!(inline(command), [index], "{command}");
    }
    for command in [
        "sh start.sh",
        "npx -y some-server -c x",
        "/usr/bin/npx -y some-server",
        "/usr/bin/node server.js -c x",
        "node server.js -c x",
        "bunx -p x some-server",
        "/shims/node server.js -p x",
        "python server.py -c x",
        "/bin/ls -e -c",
        "/d/server sh",
        "/d/other x",
    ] {
        assert_eq!(inline(command), [0; 0], "{command}");
    }
    let run = ["/d/run", "A=1", "nice", "x"].map(String::from);
    assert_eq!(inspect_with(&run, &lead).nested, [2, 3]);
}

#[test]
fn code_that_is_named_is_seen() {
    check("python -m http.server", &[], &[1]);
    check("python -um http.server", &[], &[1]);
    check("node --require /tmp/x.js server.js", &[], &[1]);
    check("node -r /tmp/x.js server.js", &[], &[1]);
    check("node --import=/tmp/x.mjs server.js", &[], &[1]);
    check("ruby -rsocket server.rb", &[], &[1]);
    check("uv run -m evil", &[], &[2]);
    check("node --experimental_loader x y.js", &[], &[1]);
    check("node --env-file-if-exists=x y.js", &[], &[1]);
    check("npx --script-shell=x okbin", &[], &[1]);
    check("npm exec okbin --script-shell=x", &[], &[3]);
    check("java -javaagent:/x.jar -jar y.jar", &[], &[1]);
    check("java -XX:OnOutOfMemoryError=id -jar y.jar", &[], &[1]);
    check("php -d auto_prepend_file=x y.php", &[], &[1]);
    check("deno run https://example.com/x.ts", &[], &[2]);
}

#[test]
fn wrappers_are_followed() {
    check("env sh -c id", &[2], &[]);
    check("env -i -u C A=b sh -c id", &[6], &[]);
    check("env -Ssh\t-c", &[1], &[]);
    check("/usr/bin/env A=b python3 -c 1", &[3], &[]);
    check("env NODE_OPTIONS=--require=x node y.js", &[], &[1]);
    check("env LD_PRELOAD=x y", &[], &[1]);
    check("nice -n 5 sh -c id", &[4], &[]);
    check("timeout 5 sh -c id", &[3], &[]);
    check("timeout -k 3 5 env sh -c id", &[6], &[]);
    check("busybox sh -c id", &[2], &[]);
    check("sudo -u root bash -c id", &[4], &[]);
    check("sudo -E bash -c id", &[3], &[]);
    check("sudo -s id", &[1], &[]);
    check("env - sh -c id", &[3], &[]);
    check("unshare -r sh -c id", &[3], &[]);
    check("setarch x86_64 -R sh -c id", &[4], &[]);
    check("bwrap --bind / / sh -c id", &[5], &[]);
    check("mise exec -- sh -c id", &[4], &[]);
    check("/lib64/ld-linux-x86-64.so.2 /bin/sh -c id", &[2], &[]);
    check("nohup nohup nohup nohup nohup nohup nohup nohup nohup nohup x", &[8], &[]);
    assert_eq!(inspect(&["env", "A=1", "nice", "x"].map(String::from)).nested, [2, 3]);
}
