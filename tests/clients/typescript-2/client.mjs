// The official TypeScript SDK, 2.x: client.mjs legacy|modern COMMAND [ARGUMENT...]

import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

import { run } from './checks.mjs';

const VERSIONS = { legacy: '2025-11-25', modern: '2026-07-28' };

const [mode, command, ...args] = process.argv.slice(2);
if (!(mode in VERSIONS)) throw new Error(`this SDK has no mode ${mode}`);

const { HARDLINE_SHIM_REPORT } = process.env;
const transport = new StdioClientTransport({
  command,
  args,
  env: HARDLINE_SHIM_REPORT ? { HARDLINE_SHIM_REPORT } : {},
});
// `auto` asks a short-lived second server which era it is of, before it starts the real one.
const versionNegotiation = { mode: mode === 'modern' ? 'auto' : 'legacy' };
const name = { name: 'hardline-test-typescript-2', version: '1.0.0' };
const client = new Client(name, { versionNegotiation });
await run({
  client,
  transport,
  call: (params, options) => client.callTool(params, options),
  version: () => client.getNegotiatedProtocolVersion(),
  expected: VERSIONS[mode],
});
