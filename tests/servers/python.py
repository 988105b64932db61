"""The official Python SDK, 2.x: python.py SESSION"""

import json
import sys

import anyio
import mcp.client.stdio
import mcp_types as types
from mcp import Client, MCPError, StdioServerParameters

from recorder import Recorder, steps

WAIT_SECONDS = 20
POLL_SECONDS = 0.005

with open(sys.argv[1], encoding="utf-8") as file:
    session = json.load(file)
recorder = Recorder(session["record"])

# The SDK does not show what it reads and writes, so we look over its shoulder.
start = mcp.client.stdio._create_platform_compatible_process


async def watch(*arguments, **options):
    process = await start(*arguments, **options)
    receive, send = process.stdout.receive, process.stdin.send

    async def watched_receive(*arguments):
        chunk = await receive(*arguments)
        recorder.see("received", bytes(chunk))
        return chunk

    async def watched_send(chunk):
        recorder.see("sent", bytes(chunk))
        await send(chunk)

    process.stdout.receive, process.stdin.send = watched_receive, watched_send
    return process


mcp.client.stdio._create_platform_compatible_process = watch


async def roots(_context):
    return types.ListRootsResult.model_validate({"roots": session["roots"]})


async def sample(_context, _params):
    return types.CreateMessageResult.model_validate(session["answers"]["sampling"])


async def elicit(_context, _params):
    return types.ElicitResult.model_validate(session["answers"]["elicitation"])


async def progress(*_):
    """What is reported is on the wire."""


async def request(client, step):
    try:
        result = await call(client, step["do"], step.get("params") or {}, step.get("progress"))
    except MCPError as error:
        outcome = {"error": error.error.model_dump(mode="json", by_alias=True, exclude_unset=True)}
    else:
        outcome = {"result": result.model_dump(mode="json", by_alias=True, exclude_unset=True)}
    recorder.outcome(step, outcome)


async def call(client, method, params, wants_progress):
    match method:
        case "tools/list":
            return await client.list_tools()
        case "tools/call":
            callback = progress if wants_progress else None
            return await client.call_tool(params["name"], params["arguments"], progress_callback=callback)
        case "resources/list":
            return await client.list_resources()
        case "resources/templates/list":
            return await client.list_resource_templates()
        case "resources/read":
            return await client.read_resource(params["uri"])
        case "resources/subscribe":
            return await client.subscribe_resource(params["uri"])
        case "resources/unsubscribe":
            return await client.unsubscribe_resource(params["uri"])
        case "prompts/list":
            return await client.list_prompts()
        case "prompts/get":
            return await client.get_prompt(params["name"], params.get("arguments"))
        case "completion/complete":
            ref = params["ref"]
            kind = {"ref/prompt": types.PromptReference, "ref/resource": types.ResourceTemplateReference}
            return await client.complete(kind[ref["type"]].model_validate(ref), params["argument"])
        case "logging/setLevel":
            return await client.set_logging_level(params["level"])
        case "ping":
            return await client.send_ping()
    raise AssertionError(f"no way to call {method}")


async def take(client, step):
    match step:
        case {"wait": method}:
            with anyio.fail_after(WAIT_SECONDS):
                while not recorder.take(method):
                    await anyio.sleep(POLL_SECONDS)
        case {"notify": "notifications/roots/list_changed"}:
            await client.send_roots_list_changed()
        case {"together": together}:
            async with anyio.create_task_group() as tasks:
                for it in together:
                    tasks.start_soon(request, client, it)
        case {"cancel": method, "params": params, "meanwhile": meanwhile}:
            await cancel(client, {"do": method, "params": params}, meanwhile)
        case {"end": _}:
            pass  # The SDK does that by itself.
        case _:
            await request(client, step)


async def cancel(client, step, meanwhile):
    """Starts a request and leaves it, once the other steps are done."""
    sent = recorder.sent

    async def leave(scope):
        with scope:
            await request(client, step)
            raise AssertionError(f"{json.dumps(step)} was answered before it was cancelled")

    async with anyio.create_task_group() as tasks:
        scope = anyio.CancelScope()
        tasks.start_soon(leave, scope)
        while recorder.sent == sent:
            await anyio.sleep(POLL_SECONDS)
        for it in meanwhile:
            await take(client, it)
        scope.cancel()


async def main():
    command, *arguments = session["command"]
    server = StdioServerParameters(
        command=command, args=arguments, env=session["env"], cwd=session["folder"]
    )
    callbacks = {
        "list_roots_callback": roots,
        "sampling_callback": sample,
        "elicitation_callback": elicit,
    }
    name = types.Implementation(name="hardline-test", version="1.0.0")
    async with Client(server, mode=session["mode"], client_info=name, **callbacks) as client:
        recorder.write("connected", version=client.protocol_version)
        for step in steps(session, client.protocol_version):
            if "version" not in step:
                await take(client, step)
    recorder.write("done")


anyio.run(main)
