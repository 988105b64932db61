#!/usr/bin/env python3
"""Stands between a client and a server, and sends the server lines that no client would.

    shim.py run SERVER [ARGUMENT...]    what a client starts instead of the server
    shim.py check REPORT                what became of the lines that were sent

Both directions are copied byte for byte. After the third line from the client, LINES go to the
server too; its answers to them (their ids, or no id at all) are kept from the client and recorded.
At the end of the session the record is written to the file that HARDLINE_SHIM_REPORT names. A session
with fewer than three lines from the client (a probe) writes none.

Needs nothing but Python's standard library, and ends with the server's status.
"""

import json
import os
import signal
import subprocess
import sys
import threading

INJECT_AFTER = 3

LINES = [
    b'{"jsonrpc":"2.0","id":"shim-1","method":"tools/call","params":{"name":"echo","argum\n',
    b"a log line that went astray\n",
    b'{"jsonrpc":"2.0","id":"shim-2","method":"tools/call","params":{"name":"\xff\xfe"}}\n',
    b"\n",
    b'{"jsonrpc":"2.0","id":"shim-3","method":7}\r\n',
]

# The errors that the lines with an id must be answered with.
EXPECTED = {"shim-1": -32700, "shim-2": -32700, "shim-3": -32600}


def run(command):
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def stop(*_):
        server.kill()
        server.wait()
        os._exit(128 + signal.SIGTERM)

    signal.signal(signal.SIGTERM, stop)

    has_injected = threading.Event()
    upstream = threading.Thread(target=send, args=(server.stdin, has_injected), daemon=True)
    upstream.start()
    answers, without_id = receive(server.stdout)
    status = server.wait()
    if has_injected.is_set():
        report = {"answers": answers, "without_id": without_id, "status": status}
        write_report(os.environ["HARDLINE_SHIM_REPORT"], report)
    return status if status >= 0 else 128 - status


def send(server, has_injected):
    """Copies the client's lines, and puts ours in between."""
    try:
        for count, line in enumerate(sys.stdin.buffer, 1):
            server.write(line)
            if count == INJECT_AFTER:
                server.write(b"".join(LINES))
                has_injected.set()
            server.flush()
    except BrokenPipeError:
        pass  # The server is gone: its status says why.
    finally:
        try:
            server.close()
        except BrokenPipeError:
            pass


def receive(server):
    """Copies the server's lines, but for the answers to ours. Returns those."""
    answers, without_id = {}, []
    client = sys.stdout.buffer
    for line in server:
        message = parse(line)
        if message.get("id") in EXPECTED:
            answers.setdefault(message["id"], []).append(message)
        elif "error" in message and message.get("id") is None:
            without_id.append(message)
        else:
            try:
                client.write(line)
                client.flush()
            except BrokenPipeError:
                pass  # The client listens no more; what the server still says is recorded.
    return answers, without_id


def parse(line):
    try:
        message = json.loads(line)
    except ValueError:
        return {}
    is_plain = isinstance(message, dict) and isinstance(message.get("id"), (str, int, type(None)))
    return message if is_plain else {}


def write_report(path, report):
    """All of it or nothing, so that a reader never sees a part."""
    with open(path + ".new", "w", encoding="utf-8") as file:
        json.dump(report, file)
    os.replace(path + ".new", path)


def check(path):
    try:
        with open(path, encoding="utf-8") as file:
            report = json.load(file)
    except FileNotFoundError:
        return fail("the shim wrote no report: the session was too short, or the shim was killed")
    for name, code in EXPECTED.items():
        answers = report["answers"].get(name, [])
        if len(answers) != 1:
            return fail(f"the malformed line with id {name} was answered {len(answers)} times, not once")
        actual = answers[0].get("error", {}).get("code")
        if actual != code:
            return fail(f"the malformed line with id {name} was answered {actual}, not {code}")
        print(f"ok   the malformed line with id {name} was answered {code}", flush=True)
    if report["status"] != 0:
        return fail(f"the server ended with status {report['status']}, not 0")
    print("ok   the server ended with status 0 behind the shim", flush=True)
    return 0


def fail(reason):
    print(f"FAIL {reason}", flush=True)
    return 1


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["run", *command] if command:
            # Not by returning: a thread may still wait for the client's next line.
            os._exit(run(command))
        case ["check", report]:
            sys.exit(check(report))
    sys.exit(__doc__)
