/**
 * Measures what a reconcile costs: 10,000 config maps of a first list, then an update of each, with the API server in a separate process. The
 * reconciler reads the object from the cache. Beside client-node's informer with a queue written by hand, each in a process of its own.
 * Go's controller-runtime 0.25.2 takes 38 µs a key of the first list and 98 µs an update, and 70 to 80 MB (on a real API server).
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectionFromKubeconfig, systemClock } from '../src/index.ts';
import { kinds, newClient } from '../src/controller/index.ts';
import { LineProcess } from './support/processes.ts';

interface Phase {
  readonly cpuMs: number;
  readonly rss: number;
}

const [amount = 10_000] = process.argv.slice(2).map(Number);
const dir = await mkdtemp(join(tmpdir(), 'controller-bench-'));
const server = new LineProcess('agent-server.ts', [dir, 'bench']);
await server.read();
const kubeconfig = join(dir, 'admin.kubeconfig');
const client = newClient(await connectionFromKubeconfig(systemClock, kubeconfig));
const names = Array.from({ length: amount }, (_, i) => `bench-${i}`);
const text = 'x'.repeat(200);

/** Does `work` for each name, 32 at a time. */
async function each(work: (name: string) => Promise<unknown>): Promise<void> {
  const rest = names.values();
  await Promise.all(
    Array.from({ length: 32 }, async () => {
      for (const name of rest) await work(name);
    }),
  );
}

await each((name) =>
  client.create(kinds.ConfigMap, { metadata: { namespace: 'default', name }, data: { text } }),
);
const micros = (cpuMs: number): string => ((cpuMs * 1000) / amount).toFixed(1).padStart(7);
console.log(`${amount} config maps; CPU of the controller's process per reconcile, and its memory`);
for (const peer of ['podtender', 'client-node']) {
  const child = new LineProcess('controller-peer.ts', [peer, kubeconfig, String(amount)]);
  const first = await child.read<Phase>();
  let version = 0;
  const updated = child.read<Phase>();
  await each((name) =>
    client.patch(
      kinds.ConfigMap,
      { metadata: { namespace: 'default', name } },
      { type: 'merge', data: () => ({ data: { version: `${peer} ${version++}` } }) },
    ),
  );
  const second = await updated;
  child.child.kill();
  console.log(
    `${peer.padEnd(12)} first list ${micros(first.cpuMs)} µs, update ${micros(second.cpuMs)} µs, RSS ${(second.rss / 2 ** 20).toFixed(0)} MiB`,
  );
}
server.child.kill();
await client.close();
await rm(dir, { recursive: true });
