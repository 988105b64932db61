// What both TypeScript servers offer; tests/peers/server.py and crates/hardline/examples/peer_server.rs
// offer the same. `crates/hardline/examples/check_server` calls it.

import { appendFileSync } from 'node:fs';

let cancelled = 0;

/**
 * `sdk` says what the two versions of the SDK do differently: `signal` and `notify` of a call's context,
 * `ask` for the name of the user, `change` to tell that the list of tools has changed, and `sessions`.
 */
export function offer(server, z, sdk) {
  const text = (words) => ({ content: [{ type: 'text', text: words }] });
  const tool = (name, description, input, call) =>
    server.registerTool(name, { description, inputSchema: z.object(input) }, call);

  tool('echo', 'Returns the text.', { text: z.string() }, async (it) => text(it.text));
  tool('big', 'Returns as many bytes as asked for.', { bytes: z.number() }, async (it) =>
    text('x'.repeat(it.bytes)),
  );
  tool('fail', 'Fails with the message.', { message: z.string() }, async (it) => ({
    ...text(it.message),
    isError: true,
  }));
  tool('progress', 'Reports as many steps.', { steps: z.number() }, async (it, context) => {
    const progressToken = sdk.meta(context)?.progressToken;
    for (let progress = 1; progress <= it.steps; progress++) {
      const params = { progressToken, progress, total: it.steps };
      await sdk.notify(context, { method: 'notifications/progress', params });
    }
    return text('done');
  });
  tool('sleep', 'Waits.', { ms: z.number() }, async (it, context) => {
    await new Promise((resolve) => {
      const timer = setTimeout(resolve, it.ms);
      sdk.signal(context).addEventListener('abort', () => {
        cancelled++;
        clearTimeout(timer);
        resolve();
      });
    });
    return text('awake');
  });
  tool('ask', 'Asks the user for a name.', {}, async (_, context) => {
    const schema = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] };
    const answer = await sdk.ask(context, { message: 'Who are you?', requestedSchema: schema });
    return typeof answer === 'string' ? text(`Hello, ${answer}!`) : answer;
  });
  tool('change', 'Tells that the list of tools has changed.', {}, async () => {
    await sdk.change(server);
    return text('changed');
  });
  tool('mark', 'Adds a line to a file.', { file: z.string(), line: z.string() }, async (it) => {
    appendFileSync(it.file, `${it.line}\n`);
    return text('marked');
  });
  tool('about', 'Tells about the process.', {}, async () =>
    text(JSON.stringify({ pid: process.pid, cancelled, sessions: sdk.sessions() })),
  );
  server.registerResource('greeting', 'peer://greeting', {}, async (uri) => ({
    contents: [{ uri: uri.href, text: 'Hello from the resource' }],
  }));
  const greet = { description: 'Greets.', argsSchema: sdk.args({ name: z.string() }) };
  server.registerPrompt('greet', greet, async ({ name }) => ({
    messages: [{ role: 'user', content: { type: 'text', text: `Greet ${name}` } }],
  }));
  return server;
}

/** Listens on the port that the environment names, or on a free one, and prints the URL. */
export function listen(http) {
  http.listen(Number(process.env.PORT ?? 0), '127.0.0.1', () =>
    console.log(`listening on http://127.0.0.1:${http.address().port}/mcp`),
  );
}

/** Ends a session that nobody knows, as the protocol wants. */
export function refuse(response, session) {
  const [status, message] = session ? [404, 'Session not found'] : [400, 'No session'];
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ jsonrpc: '2.0', error: { code: -32_001, message }, id: null }));
}
