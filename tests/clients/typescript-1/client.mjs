// The official TypeScript SDK, 1.x: client.mjs legacy COMMAND [ARGUMENT...]

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { LATEST_PROTOCOL_VERSION } from '@modelcontextprotocol/sdk/types.js';

import { run } from './checks.mjs';

const [mode, command, ...args] = process.argv.slice(2);
if (mode !== 'legacy') throw new Error(`this SDK has no mode ${mode}`);

const { HARDLINE_SHIM_REPORT } = process.env;
const transport = new StdioClientTransport({
  command,
  args,
  env: HARDLINE_SHIM_REPORT ? { HARDLINE_SHIM_REPORT } : {},
});
// The client tells the transport what was negotiated, and nobody else.
let negotiated;
transport.setProtocolVersion = (version) => (negotiated = version);

const client = new Client({ name: 'hardline-test-typescript-1', version: '1.0.0' });
await run({
  client,
  transport,
  call: (params, options) => client.callTool(params, undefined, options),
  version: () => negotiated,
  expected: LATEST_PROTOCOL_VERSION,
});
