// What every TypeScript client is put through, and the record of it: `session.mjs` is copied next to
// the files that say how each version of the SDK is called.
//
// The session comes as a JSON file, named by the only argument (`run.py` writes it). The record is a
// file of JSON lines: every chunk that the client wrote to or read from each process it started, and
// what each step gave to the caller. What a process ended with is not in it: the SDKs send a signal to
// one that is still there two seconds after its input was closed, so on a busy machine it means little.

import childProcess from 'node:child_process';
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

const WAIT_MS = 20_000;

export const session = JSON.parse(fs.readFileSync(process.argv[2], 'utf8'));
const record = (event) => fs.appendFileSync(session.record, `${JSON.stringify(event)}\n`);

/** What came over the wire, as far as steps wait for it. */
class Wire {
  #rest = { sent: '', received: '' };
  #unanswered = new Map();
  #came = new Map();
  #waiting = [];

  see(direction, chunk) {
    const lines = (this.#rest[direction] + chunk.toString('latin1')).split('\n');
    this.#rest[direction] = lines.pop();
    for (const line of lines.filter(Boolean)) this.#message(direction, JSON.parse(line));
    for (const check of this.#waiting) check();
  }

  /** A request has come when it was answered, so that the answer and what follows keep their order. */
  #message(direction, { id, method }) {
    if (direction === 'received' && method !== undefined) {
      if (id === undefined) this.#count(method);
      else this.#unanswered.set(id, method);
    } else if (direction === 'sent' && method === undefined && this.#unanswered.has(id)) {
      this.#count(this.#unanswered.get(id));
      this.#unanswered.delete(id);
    }
  }

  #count(method) {
    this.#came.set(method, (this.#came.get(method) ?? 0) + 1);
  }

  /** Waits for one more message of this method than earlier calls waited for. */
  next(method) {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`no ${method} in ${WAIT_MS} ms`)), WAIT_MS);
      const check = () => {
        const left = this.#came.get(method) ?? 0;
        if (left === 0) return;
        this.#came.set(method, left - 1);
        this.#waiting = this.#waiting.filter((it) => it !== check);
        clearTimeout(timer);
        resolve();
      };
      this.#waiting.push(check);
      check();
    });
  }
}

const wire = new Wire();
const ended = [];

// Both SDKs start processes through this function, one of them more than one process.
const { spawn } = childProcess;
childProcess.spawn = (...rest) => {
  const child = spawn(...rest);
  const number = ended.length;
  const see = (direction, chunk) => {
    record({ event: direction, process: number, data: Buffer.from(chunk).toString('base64') });
    wire.see(direction, Buffer.from(chunk));
  };
  const write = child.stdin.write.bind(child.stdin);
  child.stdin.write = (chunk, ...more) => {
    see('sent', chunk);
    return write(chunk, ...more);
  };
  child.stdout.on('data', (chunk) => see('received', chunk));
  ended.push(new Promise((resolve) => child.once('close', resolve)));
  return child;
};
syncBuiltinESMExports();

/** What a client answers the server, by the method that it is asked. */
export const answers = {
  'roots/list': () => ({ roots: session.roots }),
  'sampling/createMessage': () => session.answers.sampling,
  'elicitation/create': () => session.answers.elicitation,
};

export const capabilities = { roots: { listChanged: true }, sampling: {}, elicitation: { form: {} } };

/**
 * Runs the session. `call` is called with a tool's parameters and the SDK's request options;
 * `version` is asked for the protocol version, once connected.
 */
export async function run({ client, transport, call, version }) {
  const methods = {
    'tools/list': (params) => client.listTools(params),
    'tools/call': call,
    'resources/list': (params) => client.listResources(params),
    'resources/templates/list': (params) => client.listResourceTemplates(params),
    'resources/read': (params) => client.readResource(params),
    'resources/subscribe': (params) => client.subscribeResource(params),
    'resources/unsubscribe': (params) => client.unsubscribeResource(params),
    'prompts/list': (params) => client.listPrompts(params),
    'prompts/get': (params) => client.getPrompt(params),
    'completion/complete': (params) => client.complete(params),
    'logging/setLevel': ({ level }) => client.setLoggingLevel(level),
    'notifications/roots/list_changed': () => client.sendRootsListChanged(),
    ping: () => client.ping(),
  };

  // Which progress reports reach a callback is not recorded: both SDKs forget the callback when they
  // read a report together with the result. All of them are on the wire.
  async function request(step, options = step.progress ? { onprogress() {} } : undefined) {
    const outcome = await methods[step.do](step.params, options).then(
      (result) => ({ result }),
      (error) => ({ error: { code: error.code, message: error.message, data: error.data } }),
    );
    record({ event: 'outcome', step, outcome });
    if ('error' in outcome !== (step.error ?? false)) {
      throw new Error(`${JSON.stringify(step)}: ${JSON.stringify(outcome)}`);
    }
  }

  async function take(step) {
    if ('wait' in step) return wire.next(step.wait);
    if ('notify' in step) return methods[step.notify]();
    if ('together' in step) return Promise.all(step.together.map((it) => request(it)));
    if ('do' in step) return request(step);
    if ('end' in step) return; // The SDKs do that by themselves.
    const abort = new AbortController();
    const cancelled = { do: step.cancel, params: step.params, error: true };
    const outcome = request(cancelled, { signal: abort.signal });
    await takeAll(step.meanwhile);
    abort.abort('changed my mind');
    return outcome;
  }

  async function takeAll(steps) {
    for (const step of steps) await take(step);
  }

  await client.connect(transport);
  record({ event: 'connected', version: version() });
  const era = version() >= '2026-07-28' ? 'modern' : 'legacy';
  const isOurs = (step) => (step.era ?? era) === era && !('version' in step);
  await takeAll(session.steps.filter(isOurs));
  await client.close();
  await Promise.all(ended);
  record({ event: 'done' });
  process.exit(0);
}
