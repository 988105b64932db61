"""The official Python SDK, 2.x: client.py legacy|modern COMMAND [ARGUMENT...]

Prints one line per check and ends with status 1 at the first that fails.
"""

import os
import sys
import traceback

import anyio
import mcp.client.stdio
from mcp import Client, StdioServerParameters

DEADLINE_SECONDS = 60
GONE_WITHIN_SECONDS = 5
STEPS = 5

# mode -> how the SDK calls it, and the version that must come of it
MODES = {"legacy": ("legacy", "2025-11-25"), "modern": ("auto", "2026-07-28")}


class Check:
    """`with Check(what): ...` prints whether the block went through, and ends the run if not."""

    def __init__(self, what):
        self.what = what

    def __enter__(self):
        return self

    def __exit__(self, kind, error, _):
        if error is None:
            print(f"ok   {self.what}", flush=True)
            return
        print(f"FAIL {self.what}", flush=True)
        traceback.print_exception(error, file=sys.stdout)
        end(1)


def end(status):
    """Not by an exception: the servers that are still there are ended first, whatever they do."""
    sys.stdout.flush()
    for process in servers:
        if process.returncode is None:
            process.terminate()
    os._exit(status)


def expect(actual, expected):
    assert actual == expected, f"expected {expected!r}, not {actual!r}"


# The SDK does not show the process it starts, so we look over its shoulder.
servers = []
start = mcp.client.stdio._create_platform_compatible_process


async def remember(*arguments, **options):
    servers.append(await start(*arguments, **options))
    return servers[-1]


mcp.client.stdio._create_platform_compatible_process = remember


def text(result):
    expect(len(result.content), 1)
    expect(result.content[0].type, "text")
    return result.content[0].text


async def echoes(client, words):
    result = await client.call_tool("echo", {"text": words})
    expect((text(result), bool(result.is_error)), (words, False))


async def surprise(message):
    if isinstance(message, Exception):
        print(f"FAIL no message from the server surprises the client: {message}", flush=True)
        end(1)


async def use(client, version):
    with Check(f"connects with {version}"):
        expect(client.protocol_version, version)
        expect(len(servers), 1)
    with Check("lists the six tools"):
        tools = (await client.list_tools()).tools
        names = sorted(tool.name for tool in tools)
        expect(names, ["big", "echo", "env", "fail", "progress", "sleep"])
        for tool in tools:
            expect(tool.input_schema["type"], "object")
            expect(tool.annotations.read_only_hint, True)
    with Check("echo: the text back"):
        await echoes(client, 'Grüße, "wörld"\n\u2028\0 😀')
    with Check("big: a megabyte"):
        result = await client.call_tool("big", {"bytes": 1_000_000})
        expect(len(text(result).encode()), 1_000_000)
    with Check("fail: a result that is an error"):
        result = await client.call_tool("fail", {"message": "as asked"})
        expect((text(result), result.is_error), ("as asked", True))
    with Check("progress: every step, then the result"):
        seen = []

        async def on_progress(progress, total, _):
            seen.append((progress, total))

        arguments = {"steps": STEPS, "ms": 1}
        await client.call_tool("progress", arguments, progress_callback=on_progress)
        expect(seen, [(step, STEPS) for step in range(1, STEPS + 1)])
    with Check("the resource"):
        result = await client.read_resource("demo://greeting")
        expect(result.contents[0].text.split(" ")[0], "Hello")
    with Check("the prompt"):
        result = await client.get_prompt("greet", {"name": "Ada"})
        expect("Ada" in result.messages[0].content.text, True)
    with Check("sleep: cancelled, and the session goes on"):
        outcome = []

        async def sleep(scope):
            with scope:
                await client.call_tool("sleep", {"ms": 3_600_000})
                outcome.append("answered")

        async with anyio.create_task_group() as tasks:
            scope = anyio.CancelScope()
            tasks.start_soon(sleep, scope)
            # A request is written when its task runs; ours is next after this.
            await anyio.lowlevel.checkpoint()
            await echoes(client, "the server has read the call by now")
            scope.cancel()
        expect(outcome, [])
        await echoes(client, "after the cancelled call")


async def main(mode, command, *arguments):
    how, version = MODES[mode]
    report = os.environ.get("HARDLINE_SHIM_REPORT")
    env = {"HARDLINE_SHIM_REPORT": report} if report else None
    server = StdioServerParameters(command=command, args=list(arguments), env=env)
    with Check("the whole, in time"), anyio.fail_after(DEADLINE_SECONDS):
        async with Client(server, mode=how, message_handler=surprise) as client:
            await use(client, version)
            closing = anyio.current_time()
        with Check("closes: the server is gone in time, with status 0"):
            expect([process.returncode for process in servers], [0])
            expect(anyio.current_time() - closing < GONE_WITHIN_SECONDS, True)


anyio.run(main, *sys.argv[1:])
