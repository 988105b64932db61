//! Command lines of servers, honest and not.

use super::{CodeKind, inspect};

/// `command` with words apart by a blank: what is inline and what is named, by index.
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
    check("deno run data:text/javascript,1", &[], &[2]);
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
