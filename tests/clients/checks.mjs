// What every TypeScript client is put through. The folders beside this file say how each version of
// the SDK is called; this file is copied next to them.
//
// Prints one line per check and ends the process with status 1 at the first that fails.

import assert from 'node:assert/strict';

const DEADLINE_MS = 60_000;
const GONE_WITHIN_MS = 5_000;
const STEPS = 5;
const MAX_TRIES = 5;

/**
 * `call` is called with a tool's parameters and the SDK's request options; `version` is asked for
 * the protocol version in use, once connected, which must be `expected`.
 */
export async function run({ client, transport, call, version, expected }) {
  let server;
  let isClosing = false;
  let tolerated = /^$/;

  function fail(what, error) {
    console.log(`FAIL ${what}: ${error?.stack ?? error}`);
    (server ?? transport._process)?.kill('SIGTERM');
    process.exit(1);
  }

  async function check(what, body) {
    try {
      await body();
    } catch (error) {
      fail(what, error);
    }
    console.log(`ok   ${what}`);
  }

  setTimeout(() => fail('the whole', `not done after ${DEADLINE_MS} ms`), DEADLINE_MS).unref();
  client.onerror = (error) =>
    tolerated.test(error.message) || fail('no message from the server surprises the client', error);
  client.onclose = () => isClosing || fail('the server stays', 'it closed the connection');

  const text = async (params, options) => {
    const result = await call(params, options);
    assert.equal(result.content.length, 1);
    assert.equal(result.content[0].type, 'text');
    return { text: result.content[0].text, isError: result.isError ?? false };
  };
  const echoes = async (words) => {
    const result = await text({ name: 'echo', arguments: { text: words } });
    assert.deepEqual(result, { text: words, isError: false });
  };

  await check(`connects with ${expected}`, async () => {
    await client.connect(transport);
    server = transport._process;
    assert.ok(server.pid);
    assert.equal(version(client), expected);
  });
  await check('lists the six tools', async () => {
    const { tools } = await client.listTools();
    const names = tools.map((tool) => tool.name).sort();
    assert.deepEqual(names, ['big', 'echo', 'env', 'fail', 'progress', 'sleep']);
    for (const tool of tools) {
      assert.equal(tool.inputSchema.type, 'object');
      assert.equal(tool.annotations.readOnlyHint, true);
    }
  });
  await check('echo: the text back', () => echoes('Grüße, "wörld"\n\u2028\u0000 😀'));
  await check('big: a megabyte', async () => {
    const result = await text({ name: 'big', arguments: { bytes: 1_000_000 } });
    assert.equal(Buffer.byteLength(result.text), 1_000_000);
  });
  await check('fail: a result that is an error', async () => {
    const result = await text({ name: 'fail', arguments: { message: 'as asked' } });
    assert.deepEqual(result, { text: 'as asked', isError: true });
  });
  await check('progress: every step, then the result', async () => {
    const all = Array.from({ length: STEPS }, (_, step) => [step + 1, STEPS]);
    const came = [];
    const { onmessage } = transport;
    transport.onmessage = (message, ...rest) => {
      if (message.method === 'notifications/progress') {
        came.push([message.params.progress, message.params.total]);
      }
      onmessage(message, ...rest);
    };
    // The SDKs forget whom to call when they read a report together with the result: the callback
    // sees no more then, which is no fault of the server, and does not happen every time.
    tolerated = /progress notification for an unknown token/;
    let seen = [];
    for (let tries = 0; seen.length < STEPS && tries < MAX_TRIES; tries++) {
      seen = [];
      came.length = 0;
      const onprogress = ({ progress, total }) => seen.push([progress, total]);
      await text({ name: 'progress', arguments: { steps: STEPS, ms: 10 } }, { onprogress });
      assert.deepEqual(came, all, 'on the wire');
    }
    assert.deepEqual(seen, all, 'to the callback');
    tolerated = /^$/;
    transport.onmessage = onmessage;
  });
  await check('the resource', async () => {
    const { contents } = await client.readResource({ uri: 'demo://greeting' });
    assert.match(contents[0].text, /^Hello/);
  });
  await check('the prompt', async () => {
    const { messages } = await client.getPrompt({ name: 'greet', arguments: { name: 'Ada' } });
    assert.match(messages[0].content.text, /Ada/);
  });
  await check('sleep: cancelled, and the session goes on', async () => {
    const abort = new AbortController();
    const sleep = text({ name: 'sleep', arguments: { ms: 3_600_000 } }, { signal: abort.signal });
    const outcome = sleep.then(() => 'answered', () => 'rejected');
    await echoes('the server has read the call by now');
    abort.abort('changed my mind');
    assert.equal(await outcome, 'rejected');
    await echoes('after the cancelled call');
  });
  await check('closes: the server is gone in time, with status 0', async () => {
    isClosing = true;
    const ended = new Promise((resolve) => server.once('exit', (...status) => resolve(status)));
    const late = new Promise((resolve) => setTimeout(resolve, GONE_WITHIN_MS, ['late']));
    await client.close();
    assert.deepEqual(await Promise.race([ended, late]), [0, null]);
  });
  process.exit(0);
}
