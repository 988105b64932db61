// The official TypeScript SDK, 2.x. In mode `auto` it asks a short-lived second server which era it is
// of, before it starts the real one.

import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

import { answers, capabilities, run, session } from './session.mjs';

const [command, ...args] = session.command;
const transport = new StdioClientTransport({ command, args, env: session.env, cwd: session.folder });
const client = new Client(
  { name: 'hardline-test', version: '1.0.0' },
  { capabilities, versionNegotiation: { mode: session.mode } },
);
for (const [method, answer] of Object.entries(answers)) client.setRequestHandler(method, answer);

await run({
  client,
  transport,
  call: (params, options) => client.callTool(params, options),
  version: () => client.getNegotiatedProtocolVersion(),
});
