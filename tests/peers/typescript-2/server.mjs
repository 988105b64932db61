// A server of the official TypeScript SDK, 2.x: server.mjs stdio|http

import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';

import {
  NodeStreamableHTTPServerTransport,
  toNodeHandler,
  toWebRequest,
} from '@modelcontextprotocol/node';
import {
  McpServer,
  acceptedContent,
  createMcpHandler,
  inputRequired,
  isInitializeRequest,
  isLegacyRequest,
} from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import * as z from 'zod';

import { listen, offer, refuse } from './tools.mjs';

const sessions = new Map();
let publish = () => {};

function build({ era }) {
  const capabilities = { tools: { listChanged: true } };
  const server = new McpServer({ name: 'typescript-2', version: '1.0.0' }, { capabilities });
  return offer(server, z, {
    meta: (context) => context.mcpReq._meta,
    signal: (context) => context.mcpReq.signal,
    notify: (context, notification) => context.mcpReq.notify(notification),
    ask: async (context, question) => {
      if (era === 'legacy') {
        return (await context.mcpReq.elicitInput({ mode: 'form', ...question })).content.name;
      }
      const answer = acceptedContent(context.mcpReq.inputResponses, 'name');
      return answer?.name ?? inputRequired({ inputRequests: { name: inputRequired.elicit(question) } });
    },
    change: async () => {
      // What one request's server says reaches nobody over HTTP: there `publish` does it.
      await server.sendToolListChanged();
      publish();
    },
    sessions: () => sessions.size,
    args: (shape) => z.object(shape),
  });
}

/** The 2025 versions, in sessions. */
async function serveOld(request, response, body) {
  const session = request.headers['mcp-session-id'];
  let transport = sessions.get(session);
  if (!transport && !session && isInitializeRequest(body)) {
    transport = new NodeStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => sessions.set(id, transport),
      onsessionclosed: (id) => sessions.delete(id),
    });
    await build({ era: 'legacy' }).connect(transport);
  }
  if (!transport) return refuse(response, session);
  await transport.handleRequest(request, response, body);
}

if (process.argv[2] === 'http') {
  const handler = createMcpHandler(build, { legacy: 'reject' });
  publish = () => handler.notify.toolsChanged();
  const serveNew = toNodeHandler(handler);
  const http = createServer(async (request, response) => {
    const web = await toWebRequest(request);
    const serve = (await isLegacyRequest(web)) ? serveOld : serveNew;
    const body = request.method === 'POST' ? await web.json().catch(() => {}) : undefined;
    await serve(request, response, body);
  });
  listen(http);
} else {
  serveStdio(build);
}
