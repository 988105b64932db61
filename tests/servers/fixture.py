"""The files that a session works on, and the texts that its steps name. The same for every run."""

import base64
import json
import os
import shutil
import subprocess

UNICODE = 'Grüße, "wörld" \\ 世界 \u2028 e\u0301 👩‍👩‍👧 \U0001f600 שלום\n\tand a second line'
BIG = "0123456789 äöü 世界 😀\n" * 8_000

README = """# A plain read-me

It shows what a message of the protocol looks like:

```json
{
  "jsonrpc": "2.0",
  "id": 1,
  "method": "tools/call",
  "params": {"name": "echo", "arguments": {"message": "Hello"}}
}
```

The end.
"""

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
WHEN = 1_767_268_800  # 2026-01-01T12:00:00Z

GIT = {
    "GIT_AUTHOR_NAME": "Ada",
    "GIT_AUTHOR_EMAIL": "ada@example.org",
    "GIT_AUTHOR_DATE": f"{WHEN} +0000",
    "GIT_COMMITTER_NAME": "Ada",
    "GIT_COMMITTER_EMAIL": "ada@example.org",
    "GIT_COMMITTER_DATE": f"{WHEN} +0000",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
}


def make(folder, is_repository):
    """Makes the files anew."""
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(os.path.join(folder, "notes"))
    write(folder, "README.md", README.encode())
    write(folder, "big.txt", (BIG * 4).encode())
    write(folder, "pixel.png", PIXEL)
    write(folder, "notes/Grüße.txt", UNICODE.encode())
    if is_repository:
        git(folder, "init", "--quiet", "--initial-branch=main")
        git(folder, "add", ".")
        git(folder, "commit", "--quiet", "--message", "A first commit")
        write(folder, "README.md", README.replace("plain", "changed").encode())


def write(folder, name, data):
    path = os.path.join(folder, name)
    with open(path, "wb") as file:
        file.write(data)
    date(path)


def date(path):
    os.utime(path, (WHEN, WHEN))


def git(folder, *arguments):
    subprocess.run(["git", "-C", folder, *arguments], env=os.environ | GIT, check=True, timeout=30)


def steps(path, folder):
    """The steps of a file, with the names in them replaced."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    for name, value in {"DIR": folder, "UNICODE": UNICODE, "BIG": BIG}.items():
        text = text.replace("${%s}" % name, json.dumps(value)[1:-1])
    return json.loads(text)
