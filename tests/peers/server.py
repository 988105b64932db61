"""A server of the official Python SDK, 2.x: server.py stdio|http"""

import json
import os
import socket
import sys
from typing import Annotated

import anyio
import uvicorn
from mcp.server import MCPServer
from mcp.server.mcpserver import AcceptedElicitation, Context, Elicit, ElicitationResult, Resolve
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import BaseModel

mcp = MCPServer("python", version="1.0.0")
cancelled = 0


@mcp.tool()
async def echo(text: str) -> str:
    """Returns the text."""
    return text


@mcp.tool(structured_output=False)
async def big(bytes: int) -> str:
    """Returns as many bytes as asked for."""
    return "x" * bytes


@mcp.tool()
async def fail(message: str) -> str:
    """Fails with the message."""
    raise ToolError(message)


@mcp.tool()
async def progress(steps: int, ctx: Context) -> str:
    """Reports as many steps."""
    for step in range(1, steps + 1):
        await ctx.report_progress(step, total=steps)
    return "done"


@mcp.tool()
async def sleep(ms: int) -> str:
    """Waits."""
    global cancelled
    try:
        await anyio.sleep(ms / 1000)
    except anyio.get_cancelled_exc_class():
        cancelled += 1
        raise
    return "awake"


class Name(BaseModel):
    name: str


async def who() -> Elicit[Name]:
    return Elicit("Who are you?", Name)


@mcp.tool()
async def ask(answer: Annotated[ElicitationResult[Name], Resolve(who)]) -> str:
    """Asks the user for a name."""
    assert isinstance(answer, AcceptedElicitation)
    return f"Hello, {answer.data.name}!"


@mcp.tool()
async def change(ctx: Context) -> str:
    """Tells that the list of tools has changed."""
    if ctx.protocol_version == "2026-07-28":
        await ctx.notify_tools_changed()
    else:
        await ctx.session.send_tool_list_changed()
    return "changed"


@mcp.tool()
async def mark(file: str, line: str) -> str:
    """Adds a line to a file."""
    with open(file, "a") as marks:
        marks.write(f"{line}\n")
    return "marked"


@mcp.tool()
async def about() -> str:
    """Tells about the process."""
    sessions = len(mcp.session_manager._server_instances) if is_http else 0
    return json.dumps({"pid": os.getpid(), "cancelled": cancelled, "sessions": sessions})


@mcp.resource("peer://greeting")
def greeting() -> str:
    return "Hello from the resource"


@mcp.prompt()
def greet(name: str) -> str:
    """Greets."""
    return f"Greet {name}"


is_http = sys.argv[1] == "http"
if is_http:
    app = mcp.streamable_http_app()
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", int(os.environ.get("PORT", 0))))
        listener.listen()
        print(f"listening on http://127.0.0.1:{listener.getsockname()[1]}/mcp", flush=True)
        uvicorn.Server(uvicorn.Config(app, log_level="warning")).run([listener])
else:
    mcp.run()
