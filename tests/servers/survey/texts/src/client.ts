/** Sends one request to the station, and waits for its answer. */
import { createInterface } from 'node:readline';

type Message = { jsonrpc: '2.0'; id?: number; method?: string; result?: unknown; error?: { code: number } };

const text = `Grüße, "wörld" \\ \u4e16\u754c \u{1f600}\n\ttab and ${'template'}`;

export async function call(method: string, params: Record<string, unknown> = {}): Promise<unknown> {
  const request: Message & { params: unknown } = { jsonrpc: '2.0', id: 1, method, params };
  process.stdout.write(JSON.stringify(request) + '\n');
  for await (const line of createInterface({ input: process.stdin })) {
    const { id, result, error } = JSON.parse(line) as Message;
    if (id === 1) return error ? Promise.reject(new Error(`code ${error.code}`)) : result;
  }
  throw new Error(`no answer to ${method}: ${text}`);
}
