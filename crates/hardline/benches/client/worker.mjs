// The TypeScript SDK's client. Reads "SIZE IN_FLIGHT CALLS" from standard input, makes the calls, and
// writes the seconds that all took and the median of one.
import { createInterface } from "node:readline";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const target = process.argv.at(-1);
const transport = target.startsWith("http:")
  ? new StreamableHTTPClientTransport(new URL(target))
  : new StdioClientTransport({ command: target, args: ["--serve", "stdio"] });
const client = new Client({ name: "bench", version: "1" });
await client.connect(transport);

for await (const line of createInterface({ input: process.stdin })) {
  const [size, inFlight, calls] = line.split(" ").map(Number);
  const text = "x".repeat(size);
  const times = [];
  const start = performance.now();
  const work = async () => {
    for (let call = 0; call < calls / inFlight; call += 1) {
      const begun = performance.now();
      const result = await client.callTool({ name: "echo", arguments: { text } });
      if (result.content[0].text.length !== size) throw new Error("another text");
      times.push(performance.now() - begun);
    }
  };
  await Promise.all(Array.from({ length: inFlight }, work));
  const seconds = (performance.now() - start) / 1000;
  times.sort((a, b) => a - b);
  console.log(`${seconds} ${times[Math.floor(times.length / 2)] / 1000}`);
}
await client.close();
