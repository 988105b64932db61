"""Real clients on real servers, with and without a proxy between them: what they get must be the same.

    run.py --hardline FILE --rmcp FILE --servers FOLDER --clients FOLDER [--prefix COMMAND] [NAME]...

Each session runs twice on the same files, directly and with the prefix (`FILE wrap --` unless told
otherwise) before the server's command, and the two transcripts are compared. NAMEs choose sessions by
any part of their name. What was recorded is kept in FOLDER/work.

Needs nothing but Python's standard library. `session.mjs`, `python.py`, `raw.py` and an example of
`hardline-cli` for rmcp are the clients, `steps/` says what they do.
"""

import argparse
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import fixture
import tamper
import transcript

HERE = Path(__file__).resolve().parent
MAX_SECONDS = 60
# Much of a session is waiting.
WORKERS = 2 * (os.cpu_count() or 1)
LEGACY = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]
MODERN = "2026-07-28"

# Fewer messages than this, and the session did not do what it was to do.
MIN_RECEIVED = 10

ANSWERS = {
    "sampling": {
        "role": "assistant",
        "content": {"type": "text", "text": 'Hello, "世界"'},
        "model": "a-model",
        "stopReason": "endTurn",
    },
    "elicitation": {
        "action": "accept",
        "content": {"name": "Ada", "check": True, "integer": 7, "interpretation": "technical"},
    },
}


@dataclass
class Server:
    command: list
    # Whether it speaks 2026-07-28 too.
    is_modern: bool = False
    # `${DIR}` in a value is the session's folder.
    env: dict = None
    has_repository: bool = False


def servers(hardline, folder):
    node = folder / "node/node_modules/@modelcontextprotocol"
    python = folder / "python/venv" / ("Scripts" if os.name == "nt" else "bin")
    return {
        "everything": Server(["node", f"{node}/server-everything/dist/index.js", "stdio"]),
        "filesystem": Server(["node", f"{node}/server-filesystem/dist/index.js", "${DIR}"]),
        "memory": Server(
            ["node", f"{node}/server-memory/dist/index.js"],
            env={"MEMORY_FILE_PATH": "${DIR}/memory.jsonl"},
        ),
        "time": Server([f"{python}/mcp-server-time", "--local-timezone", "UTC"], is_modern=True),
        "git": Server(
            [f"{python}/mcp-server-git", "--repository", "${DIR}"],
            is_modern=True,
            env=fixture.GIT,
            has_repository=True,
        ),
        "demo": Server([str(hardline), "demo-server"], is_modern=True),
    }


def clients(rmcp, folder):
    """name -> the command that runs it, and its modes."""
    venv = folder / "python/venv" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    return {
        "typescript-1": (["node", f"{folder}/typescript-1/typescript-1.mjs"], ["legacy"]),
        "typescript-2": (["node", f"{folder}/typescript-2/typescript-2.mjs"], ["legacy", "auto"]),
        "python": ([str(venv), "-B", "-W", "ignore", f"{HERE}/python.py"], ["legacy", "auto"]),
        "rmcp": ([str(rmcp)], ["legacy", "auto"]),
        "raw": ([sys.executable, "-B", f"{HERE}/raw.py"], [*LEGACY, MODERN]),
    }


@dataclass
class Session:
    name: str
    client: list
    mode: str
    server_name: str
    server: Server
    folder: Path
    has_tap: bool
    max_seconds: int = MAX_SECONDS

    @property
    def expected_version(self):
        if self.mode in LEGACY:
            return self.mode
        return MODERN if self.mode in ("auto", MODERN) and self.server.is_modern else LEGACY[-1]

    def run(self, how, prefix):
        """Runs it once. Returns its transcript, or raises `Failure`."""
        files = self.folder / "files"
        self.make_files(files)
        shutil.rmtree(self.folder / "home", ignore_errors=True)
        record, tap = self.folder / f"{how}.record", self.folder / f"{how}.tap"
        record.unlink(missing_ok=True)
        description = self.folder / f"{how}.json"
        tapped = [sys.executable, str(HERE / "tap.py"), str(tap)] if self.has_tap else []
        command = [*prefix, *tapped, *self.server.command]
        described = {
            "record": str(record),
            "mode": self.mode,
            "command": [word.replace("${DIR}", str(files)) for word in command],
            "env": self.env(files),
            "folder": str(files),
            "roots": [{"uri": files.as_uri(), "name": "files"}],
            "answers": ANSWERS,
            "steps": self.steps(files),
        }
        description.write_text(json.dumps(described), encoding="utf-8")
        self.finish(how, [*self.client, str(description)])
        result = transcript.read(record, tap if self.has_tap else None)
        self.check(how, result)
        return result

    def make_files(self, files):
        fixture.make(files, self.server.has_repository)

    def steps(self, files):
        return fixture.steps(HERE / "steps" / f"{self.server_name}.json", str(files))

    def check(self, how, result):
        """Raises `Failure` if the session did not do what it was to do."""
        if not result.is_done:
            raise Failure(f"{how}: the client ended before the session did")
        if result.version != self.expected_version:
            raise Failure(f"{how}: {result.version} was negotiated, not {self.expected_version}")
        if result.count("received") < MIN_RECEIVED:
            raise Failure(f"{how}: only {result.count('received')} messages were received")

    def env(self, files):
        home = str(self.folder / "home")
        fixed = {"HOME": home, "XDG_STATE_HOME": home, "XDG_CONFIG_HOME": home}
        fixed |= {"TZ": "UTC", "LC_ALL": "C.UTF-8"}
        # Tells these processes from all others: none may be left.
        mark = {"HARDLINE_TEST_SESSION": str(self.folder)}
        own = (self.server.env or {}).items()
        own = {key: value.replace("${DIR}", str(files)) for key, value in own}
        return {"PATH": os.environ["PATH"]} | fixed | mark | own

    def finish(self, how, command):
        """Runs the client to its end, which must come in time, and good."""
        log = self.folder / f"{how}.log"
        with open(log, "wb") as output:
            client = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True
            )
            try:
                status = client.wait(self.max_seconds)
            except subprocess.TimeoutExpired:
                status = f"not ended in {self.max_seconds} s"
            finally:
                client.kill()
                client.wait()
        left = list(self.left_over())
        if status != 0:
            tail = log.read_text(encoding="utf-8", errors="replace")[-3_000:]
            raise Failure(f"{how}: the client ended with {status}; it and the server wrote:\n{tail}")
        if left:
            raise Failure(f"{how}: processes were left, now killed: {left}")

    def left_over(self):
        """Kills what is still there a moment after the session's end. Yields the commands."""
        deadline = time.monotonic() + 2
        while (found := list(self.processes())) and time.monotonic() < deadline:
            time.sleep(0.05)
        for number, words in found:
            try:
                os.kill(number, signal.SIGKILL)
            except ProcessLookupError:
                continue
            yield words

    def processes(self):
        """Where the system tells: on Linux."""
        mark = f"HARDLINE_TEST_SESSION={self.folder}".encode()
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                if mark in (entry / "environ").read_bytes().split(b"\0"):
                    words = (entry / "cmdline").read_bytes().replace(b"\0", b" ")
                    yield int(entry.name), words.decode(errors="replace").strip()
            except OSError:
                continue  # Gone, or not ours.


class Failure(Exception):
    """A session that did not come to its end, so that there is nothing to compare."""


def compared(session, prefix):
    """Runs a session both ways. Returns what differs, and how many messages it had."""
    direct = session.run("direct", [])
    wrapped = session.run("wrapped", prefix)
    return list(transcript.differences(direct, wrapped)), direct.count("received") + direct.count("sent")


def outcome(session, prefix):
    start = time.monotonic()
    try:
        found, messages = compared(session, prefix)
    except Failure as failure:
        found, messages = [str(failure)], 0
    took = time.monotonic() - start
    return session, found, f"{session.expected_version}, {messages} messages, {took:.1f} s"


def all_sessions(arguments):
    for server_name, server in servers(arguments.hardline, arguments.servers).items():
        for client_name, (client, modes) in clients(arguments.rmcp, arguments.clients).items():
            for mode in modes:
                name = f"{server_name}/{client_name}/{mode}"
                folder = arguments.servers / "work" / name
                folder.mkdir(parents=True, exist_ok=True)
                yield Session(name, client, mode, server_name, server, folder, client_name == "raw")


def check_the_comparison(sessions):
    """A proxy that is not honest must be found out. Returns the ways that were not."""
    name = "memory/raw/2025-06-18"
    session = next(it for it in sessions if it.name == name)
    missed = []
    for how in tamper.HOW:
        _, found, _ = outcome(session, [sys.executable, "-B", str(HERE / "tamper.py"), how])
        is_right = bool(found) == (how != "copy")
        what = found[0] if found else "no difference"
        print(f"{'ok  ' if is_right else 'FAIL'} a proxy that does {how}: {what}", flush=True)
        if not is_right:
            missed.append(f"tamper {how}")
    return missed


def absolute(path):
    return Path(path).resolve()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--hardline", type=absolute, required=True)
    parser.add_argument("--rmcp", type=absolute, required=True)
    parser.add_argument("--servers", type=absolute, required=True)
    parser.add_argument("--clients", type=absolute, required=True)
    parser.add_argument("--prefix", type=shlex.split)
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    prefix = arguments.prefix or [str(arguments.hardline), "wrap", "--"]
    sessions = list(all_sessions(arguments))
    failed = [] if arguments.names else check_the_comparison(sessions)
    wanted = arguments.names or [""]
    chosen = [it for it in sessions if any(name in it.name for name in wanted)]
    with ThreadPoolExecutor(max_workers=WORKERS) as pool:
        for session, found, note in pool.map(lambda it: outcome(it, prefix), chosen):
            print(f"{'FAIL' if found else 'ok  '} {session.name} ({note})", flush=True)
            for line in found:
                print(f"    {line}", flush=True)
            if found:
                failed.append(session.name)
    if failed:
        sys.exit(f"{len(failed)} failed: {', '.join(failed)}")
    print(f"{len(chosen)} sessions are the same with and without the proxy")


if __name__ == "__main__":
    main()
