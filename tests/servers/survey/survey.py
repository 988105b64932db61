"""MCP servers from the registries, each alone and behind `hardline wrap --profile strict`.

    survey.py --hardline FILE --servers FOLDER --clients FOLDER --survey FOLDER [--save FILE] [NAME]...

A session behind `wrap` runs twice: the first pins the tools, the second compares them. The client must get
the same messages every time, every call must be answered, and the audit log must hold no finding that
`servers.json` does not list as expected. NAMEs choose servers by any part of their name. The sessions are
those of `run.py` in the folder above; `texts/` are the files that they work on.
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import fixture  # noqa: E402
import run  # noqa: E402
import transcript  # noqa: E402

# Some servers take ten seconds to start on a busy machine.
MAX_SECONDS = 150
MAX_QUERY_SECONDS = 30
# Fewer servers than this show nothing.
MIN_SERVERS = 15
# Servers that report on their use, or look for updates, are asked not to. The discard port answers nothing.
QUIET = {
    "DO_NOT_TRACK": "1",
    "NO_UPDATE_NOTIFIER": "1",
    "HTTP_PROXY": "http://127.0.0.1:9",
    "HTTPS_PROXY": "http://127.0.0.1:9",
    "NO_PROXY": "127.0.0.1,localhost",
}
INTRODUCTION = """\
# Survey of servers

Published MCP servers behind `hardline wrap --profile strict`, written by:

```sh
cargo xtask survey --save     # installs the servers under target/, runs them and writes this page
cargo xtask survey git excel  # only the servers whose names contain one of these
```

The command needs Node.js 20 with npm, Python 3.11 with venv, and git. It installs the servers from npm and PyPI, in the
versions that `tests/servers/survey` pins. An official client runs each of them three times: alone, and twice behind `wrap`.
The first session behind `wrap` pins the tools, and the second compares them. All sessions list tools, prompts and
resources, as far as the server offers them, and make the same calls. The calls need no network and no account, so a server
for an online service gets no call, or one that it refuses at once. Servers that work with files or texts get texts in thirty
languages, emoji, Markdown, HTML, a log, a table and source code.

The client must receive the same messages in all sessions, apart from times and random ids (column `equal`), and an answer
to every call. `tests/servers/survey/servers.json` lists the expected findings of a session, with the reason for each. The
command fails if there is any other finding. Counts are those of one session.

"""


@dataclass
class Listed:
    """An entry of `servers.json`."""

    name: str
    source: str
    command: list
    calls: list = field(default_factory=list)
    # Lists that the server offers. A client asks for no others.
    lists: list = field(default_factory=lambda: ["tools"])
    env: dict = field(default_factory=dict)
    has_repository: bool = False
    # Steps before the lists, and after the calls.
    first: list = field(default_factory=list)
    last: list = field(default_factory=list)
    # Findings of one session: rule, count and the reason why a person would agree.
    expected: list = field(default_factory=list)
    # A remark for the page.
    note: str = ""

    @property
    def has_noise(self):
        return any(it["rule"] == "frame.noise" for it in self.expected)


# source -> the folder of its programs, its client, and the folder of its list of versions
SOURCES = {
    "npm": ("survey/node/node_modules", "typescript-1", "survey/node"),
    "npm-reference": ("servers/node/node_modules", "typescript-1", "node"),
    "pypi-1": ("survey/python-1/venv/bin", "python", "survey/python-1"),
    "pypi-2": ("survey/python-2/venv/bin", "python", "survey/python-2"),
    "pypi-reference": ("servers/python/venv/bin", "python", "python"),
}
CLIENTS = {"typescript-1": ("TypeScript 1.x", "legacy"), "python": ("Python", "auto")}


@dataclass
class Survey(run.Session):
    """A session of the survey. Plain sessions are those of `run.py`."""

    listed: Listed = None
    max_seconds: int = MAX_SECONDS

    def make_files(self, files):
        fixture.make(files, self.listed.has_repository)
        shutil.copytree(HERE / "texts", files / "texts")
        # A date of now would differ between the runs.
        for path in files.rglob("*"):
            fixture.date(path)

    def steps(self, files):
        lists = ({"do": f"{kind}/list"} for kind in self.listed.lists)
        return [*self.listed.first, *lists, *self.calls(files), *self.listed.last]

    def calls(self, files):
        for call in filled(self.listed.calls, files):
            name, arguments = call["call"], call.get("arguments", {})
            step = {"do": "tools/call", "params": {"name": name, "arguments": arguments}}
            yield step | {key: call[key] for key in ("fails", "error") if key in call}

    def env(self, files):
        return super().env(files) | QUIET

    def check(self, how, result):
        if not result.is_done:
            raise run.Failure(f"{how}: the client ended before the session did")
        outcomes = [json.loads(it) for it in result.outcomes]
        made = [outcome for step, outcome in outcomes if step["do"] == "tools/call"]
        if len(made) != len(self.listed.calls):
            raise run.Failure(f"{how}: {len(made)} of {len(self.listed.calls)} calls were answered")
        for step, outcome in outcomes:
            # `fails` is a result with `isError`. An `error` of the protocol is the client's to check.
            has_failed = outcome.get("result", {}).get("isError", False)
            if has_failed != step.get("fails", False):
                raise run.Failure(f"{how}: {step['params']['name']} gave {json.dumps(outcome)[:600]}")


def filled(value, files):
    """The value with `${DIR}` and, for each text, `${its name}` replaced in all strings."""
    if isinstance(value, dict):
        return {key: filled(it, files) for key, it in value.items()}
    if isinstance(value, list):
        return [filled(it, files) for it in value]
    if not isinstance(value, str):
        return value
    return re.sub(r"\$\{([^}]+)\}", lambda it: str(files) if it[1] == "DIR" else text(it[1]), value)


def text(name):
    with open(HERE / "texts" / name, encoding="utf-8", newline="") as file:
        return file.read()


@dataclass
class Row:
    """The outcome for one server."""

    listed: Listed
    version: str
    client: str
    calls: int = 0
    tools: int = 0
    messages: int = 0
    findings: list = field(default_factory=list)
    differences: list = field(default_factory=list)
    problems: list = field(default_factory=list)

    @property
    def is_good(self):
        return not self.differences and not self.problems

    def columns(self):
        name = self.listed.name
        same = "no" if self.differences else "yes" if self.messages else "?"
        counted = ", ".join(f"`{rule}` × {count}" for rule, count in sorted(counts(self.findings).items()))
        numbers = self.calls, self.tools, self.messages
        return [name, self.version, self.client, *map(str, numbers), counted or "none", same]


def counts(findings):
    total = Counter()
    for it in findings:
        total[it["rule"]] += it.get("count") or 1
    return total


def surveyed(session, hardline):
    """Runs all sessions of one server. Returns its row."""
    row = Row(session.listed, version(session.listed), CLIENTS[SOURCES[session.listed.source][1]][0])
    shutil.rmtree(session.folder / "state", ignore_errors=True)
    try:
        direct = session.run("direct", [])
        for how in ("first", "second"):
            compare(row, session, hardline, direct, how)
    except run.Failure as failure:
        row.problems.append(str(failure))
    return row


def compare(row, session, hardline, direct, how):
    """Runs a session behind `wrap`, and writes into the row what it had."""
    audit = session.folder / f"{how}.db"
    for path in session.folder.glob(f"{how}.db*"):
        path.unlink()
    options = ["--profile", "strict", "--name", session.server_name, "--audit", str(audit)]
    options += ["--state-dir", str(session.folder / "state"), "--config-dir", str(session.folder / "config")]
    try:
        wrapped = session.run(how, [str(hardline), "wrap", *options, "--"])
    finally:
        if audit.exists():
            row.findings = findings(hardline, audit)
            row.problems += (f"{how}: {it}" for it in surprises(session.listed, row.findings))
    if not audit.exists():
        raise run.Failure(f"{how}: there is no audit log")
    outcomes = [json.loads(it) for it in wrapped.outcomes]
    row.calls = sum(step["do"] == "tools/call" for step, _ in outcomes)
    lists = (outcome for step, outcome in outcomes if step["do"] == "tools/list")
    row.tools = sum(len(it.get("result", {}).get("tools", [])) for it in lists)
    row.messages = wrapped.count("sent") + wrapped.count("received")
    expected = without_noise(direct) if session.listed.has_noise else direct
    row.differences += (f"{how}: {it}" for it in transcript.differences(expected, wrapped))


def without_noise(direct):
    """The transcript without the lines that are no JSON: `wrap` keeps them off the protocol."""
    streams = {
        key: b"".join(it for it in data.splitlines(keepends=True) if it.startswith((b"{", b"[")))
        for key, data in direct.streams.items()
    }
    return replace(direct, streams=streams)


def findings(hardline, audit):
    query = [str(hardline), "audit", "findings", "--format", "json", "--audit", str(audit)]
    printed = subprocess.run(query, capture_output=True, check=True, timeout=MAX_QUERY_SECONDS).stdout
    return json.loads(printed)["findings"]


def surprises(listed, found):
    """Findings that the list does not have, and those that it has and that did not occur."""
    expected = {it["rule"]: it["count"] for it in listed.expected}
    for rule, count in (counts(found) - Counter(expected)).items():
        yield f"{rule}: {count} more than expected"
        yield from (f"    {json.dumps(it, ensure_ascii=False)}" for it in found if it["rule"] == rule)
    for rule, count in (Counter(expected) - counts(found)).items():
        yield f"{rule}: {count} fewer than expected"


def version(listed):
    source = HERE.parent / SOURCES[listed.source][2]
    if listed.source.startswith("npm"):
        return json.loads((source / "package.json").read_text())["dependencies"][listed.name]
    wanted = normal(listed.name)
    lines = (source / "requirements.txt").read_text().splitlines()
    return next(line.split("==")[1] for line in lines if normal(line.split("==")[0]) == wanted)


def normal(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def sessions(arguments):
    clients = run.clients(None, arguments.clients)
    roots = {"survey": arguments.survey, "servers": arguments.servers}
    for entry in json.loads((HERE / "servers.json").read_text(encoding="utf-8")):
        listed = Listed(**entry)
        base, *rest = SOURCES[listed.source][0].split("/")
        programs = roots[base].joinpath(*rest)
        client = SOURCES[listed.source][1]
        program, *options = listed.command
        program = programs / program
        command = [*(["node"] if listed.source.startswith("npm") else []), str(program), *options]
        server = run.Server(command, env=listed.env | (fixture.GIT if listed.has_repository else {}))
        name = re.sub(r"[^a-z0-9-]+", "-", listed.name).strip("-")
        folder = arguments.survey / "work" / name
        folder.mkdir(parents=True, exist_ok=True)
        mode = CLIENTS[client][1]
        yield program, Survey(name, clients[client][0], mode, name, server, folder, False, listed=listed)


def table(rows):
    head = ["server", "version", "client", "calls", "tools", "messages", "findings", "equal"]
    lines = [head, ["---", "---", "---", "--:", "--:", "--:", "---", "---"], *(row.columns() for row in rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def reasons(rows):
    """The reasons for the expected findings, and the notes, for the page."""
    servers_of = {}
    for row in rows:
        for it in row.listed.expected:
            servers_of.setdefault((it["rule"], it["reason"]), []).append(row.listed.name)
    if servers_of:
        yield "\nThe findings, and why they are right:\n\n"
    for (rule, reason), names in servers_of.items():
        yield f"- `{rule}` ({', '.join(names)}): {reason}\n"
    noted = [row.listed for row in rows if row.listed.note]
    if noted:
        yield "\nNotes:\n\n"
    for it in noted:
        yield f"- {it.name}: {it.note}\n"


def summary(rows, skipped):
    calls, tools = sum(row.calls for row in rows), sum(row.tools for row in rows)
    good = sum(row.is_good for row in rows)
    text = f"{good} of {len(rows)} servers ({tools} tools, {calls} calls): equal, without an unexpected finding.\n"
    if skipped:
        text += f"\nNot installed, and skipped: {', '.join(skipped)}.\n"
    return text


def arguments_of(words=None):
    parser = argparse.ArgumentParser()
    for name in ("hardline", "servers", "clients", "survey"):
        parser.add_argument(f"--{name}", type=run.absolute, required=True)
    parser.add_argument("--save", type=run.absolute)
    parser.add_argument("names", nargs="*")
    return parser.parse_args(words)


def main():
    arguments = arguments_of()
    known = list(sessions(arguments))
    wanted = arguments.names or [""]
    chosen = [it for it in known if any(name in it[1].listed.name for name in wanted)]
    if not chosen:
        sys.exit(f"no server has a name with {' or '.join(wanted)}")
    skipped = [it.listed.name for program, it in chosen if not program.exists()]
    ready = [it for program, it in chosen if program.exists()]
    rows = []
    with ThreadPoolExecutor(max_workers=2) as pool:
        for row in pool.map(lambda it: surveyed(it, arguments.hardline), ready):
            rows.append(row)
            print(f"{'ok  ' if row.is_good else 'FAIL'} {row.listed.name} {row.version}", flush=True)
            for line in row.problems + row.differences:
                print(f"    {line}", flush=True)
    page = table(rows) + "\n" + summary(rows, skipped)
    print(f"\n{page}")
    failed = [row.listed.name for row in rows if not row.is_good]
    if failed:
        sys.exit(f"{len(failed)} failed: {', '.join(failed)}")
    if not arguments.names and len(rows) < MIN_SERVERS:
        sys.exit(f"only {len(rows)} servers are installed, and {MIN_SERVERS} are needed")
    if arguments.save:
        arguments.save.write_text(INTRODUCTION + page + "".join(reasons(rows)), encoding="utf-8")


if __name__ == "__main__":
    main()
