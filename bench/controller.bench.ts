/**
 * Measures what a reconcile costs: config maps of a first list, then an update of each, with the API server in a separate process. The
 * reconciler reads the object from the cache. In turns with others, each in a process of its own: client-node's informer with a queue
 * written by hand; TLS and JSON.parse alone; `@dot-i/k8s-operator`, when it is installed in a folder; any program that prints what
 * controller-peer.ts prints.
 *
 * `npm run build && npm run bench -- controller [KEYS] [--rounds=N] [--operator=DIR] [--program=FILE]`
 *
 * Aims: 1.5 times what Go's controller-runtime 0.25.2 takes, which is 38 µs a key of the first list and 98 µs an update, and 70 to 80 MB
 * (on a real API server).
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectionFromKubeconfig, systemClock } from '../src/index.ts';
import { kinds, newClient } from '../src/controller/index.ts';
import { inParallel, LineProcess, type LineProcessOptions, percentile } from './support/processes.ts';

interface Phase {
  readonly cpuMs: number;
  readonly rss: number;
}

/** A controller that is measured. */
interface Peer extends LineProcessOptions {
  readonly name: string;
  readonly file: string;
  readonly args: readonly string[];
}

const [keys = '10000'] = process.argv.slice(2).filter((word) => !word.startsWith('--'));
const amount = Number(keys);
const option = (name: string): string | undefined =>
  process.argv.find((word) => word.startsWith(`--${name}=`))?.slice(name.length + 3);
const rounds = Number(option('rounds') ?? 1);
const [operator, program] = [option('operator'), option('program')];

const dir = await mkdtemp(join(tmpdir(), 'controller-bench-'));
const server = new LineProcess('agent-server.ts', [dir, 'bench']);
await server.read();
const kubeconfig = join(dir, 'admin.kubeconfig');
const client = newClient(await connectionFromKubeconfig(systemClock, kubeconfig));
const text = 'x'.repeat(200);

const script = (name: string, options: Partial<Peer> = {}): Peer => ({
  ...{ name, file: 'controller-peer.ts', args: [name, kubeconfig, keys] },
  ...options,
});
/** How `podtender new-controller` starts a controller. */
const nodeFlags = ['--max-semi-space-size=4'];
const peers: readonly Peer[] = [
  script('podtender', { nodeFlags }),
  script('podtender', { name: 'podtender, Node.js without flags' }),
  script('client-node'),
  script('floor', { name: 'TLS and JSON.parse alone' }),
  ...(operator === undefined
    ? []
    : [
        script('k8s-operator', {
          args: ['k8s-operator', kubeconfig, keys, operator],
          env: { ...process.env, KUBECONFIG: kubeconfig },
        }),
      ]),
  ...(program === undefined
    ? []
    : [{ name: program, file: program, args: [kubeconfig, keys], isProgram: true }]),
];

await inParallel(amount, 32, async (at) => {
  const metadata = { namespace: 'default', name: `bench-${at}` };
  await client.create(kinds.ConfigMap, { metadata, data: { text } });
});

let version = 0;
async function measured({ file, args, ...options }: Peer): Promise<readonly [Phase, Phase]> {
  const child = new LineProcess(file, args, options);
  const first = await child.read<Phase>();
  const updated = child.read<Phase>();
  await inParallel(amount, 32, async (at) => {
    const object = { metadata: { namespace: 'default', name: `bench-${at}` } };
    const data = { version: String(version++) };
    await client.patch(kinds.ConfigMap, object, { type: 'merge', data: () => ({ data }) });
  });
  const second = await updated;
  child.stop();
  return [first, second];
}

const results = new Map<string, (readonly [Phase, Phase])[]>();
for (let round = 0; round < rounds; round++)
  for (const peer of peers) results.set(peer.name, [...(results.get(peer.name) ?? []), await measured(peer)]);

const median = (phases: readonly Phase[], value: (phase: Phase) => number): number =>
  Number(percentile(phases.map(value), 0.5).toFixed(1));
const micros = ({ cpuMs }: Phase): number => (cpuMs * 1000) / amount;
const mebibytes = ({ rss }: Phase): number => rss / 2 ** 20;
console.log(
  `${amount} config maps, ${rounds} rounds, medians: CPU of the controller's process, and its memory`,
);
console.table(
  [...results].map(([name, phases]) => {
    const [first, second] = [phases.map(([phase]) => phase), phases.map(([, phase]) => phase)];
    return {
      controller: name,
      'first list µs a key': median(first, micros),
      'RSS after it MiB': median(first, mebibytes),
      'µs an update': median(second, micros),
      'RSS at the end MiB': median(second, mebibytes),
    };
  }),
);
server.stop();
await client.close();
await rm(dir, { recursive: true });
