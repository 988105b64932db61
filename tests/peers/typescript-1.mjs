// A server of the official TypeScript SDK, 1.x: typescript-1.mjs stdio|http

import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';

import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import * as z from 'zod';

import { listen, offer, refuse } from './tools.mjs';

const sessions = new Map();

function build() {
  const server = new McpServer({ name: 'typescript-1', version: '1.0.0' });
  return offer(server, z, {
    meta: (extra) => extra._meta,
    signal: (extra) => extra.signal,
    notify: (extra, notification) => extra.sendNotification(notification),
    ask: async (extra, question) => {
      const answer = await server.server.elicitInput(question, { relatedRequestId: extra.requestId });
      return answer.content.name;
    },
    change: () => server.sendToolListChanged(),
    sessions: () => sessions.size,
    args: (shape) => shape,
  });
}

async function start() {
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    onsessioninitialized: (id) => sessions.set(id, transport),
    onsessionclosed: (id) => sessions.delete(id),
  });
  await build().connect(transport);
  return transport;
}

if (process.argv[2] === 'http') {
  const http = createServer(async (request, response) => {
    const session = request.headers['mcp-session-id'];
    const transport = session ? sessions.get(session) : await start();
    if (!transport) return refuse(response, session);
    await transport.handleRequest(request, response);
  });
  listen(http);
} else {
  await build().connect(new StdioServerTransport());
}
