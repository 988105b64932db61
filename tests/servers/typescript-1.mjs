// The official TypeScript SDK, 1.x.

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import * as types from '@modelcontextprotocol/sdk/types.js';

import { answers, capabilities, run, session } from './session.mjs';

const [command, ...args] = session.command;
const transport = new StdioClientTransport({ command, args, env: session.env, cwd: session.folder });
// The client tells the transport what was negotiated, and nobody else.
let negotiated;
transport.setProtocolVersion = (version) => (negotiated = version);

const client = new Client({ name: 'hardline-test', version: '1.0.0' }, { capabilities });
client.setRequestHandler(types.ListRootsRequestSchema, answers['roots/list']);
client.setRequestHandler(types.CreateMessageRequestSchema, answers['sampling/createMessage']);
client.setRequestHandler(types.ElicitRequestSchema, answers['elicitation/create']);

await run({
  client,
  transport,
  call: (params, options) => client.callTool(params, undefined, options),
  version: () => negotiated,
});
