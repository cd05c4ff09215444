/**
 * Measures the cost of the API layer: lists of 5,000 and 50,000 pods, watch events and status patches, each compared with the informer and
 * client of `@kubernetes/client-node`. Server and subject run in separate processes. Aim: at least 4 × its patch throughput and half its
 * memory.
 */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

interface Measure {
  readonly ms: number;
  readonly cpuMs: number;
  readonly retainedMiB: number;
  readonly rssMiB: number;
}

const run = promisify(execFile);
const support = (file: string): string => join(import.meta.dirname, 'support', file);
const round = (value: number): number => Math.round(value * 10) / 10;

async function withServer<R>(
  pods: number,
  events: number,
  work: (url: string) => Promise<R>,
  tls: readonly string[] = [],
): Promise<R> {
  const child = spawn(process.execPath, [support('api-load.ts'), String(pods), String(events), ...tls], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [port] = (await once(child.stdout, 'data')) as [Buffer];
  try {
    return await work(`${tls.length > 0 ? 'https' : 'http'}://127.0.0.1:${port.toString().trim()}`);
  } finally {
    child.kill();
  }
}

async function measure(who: string, what: string, server: string, amount: number): Promise<Measure> {
  const { stdout } = await run(process.execPath, [support('api-case.ts'), who, what, server, String(amount)]);
  return JSON.parse(stdout) as Measure;
}

const connectionsOf = async (server: string): Promise<number> =>
  Number(await (await fetch(`${server}/connections`)).text());

const subjects = ['ours', 'client-node'];
const rows: Record<string, unknown>[] = [];
for (const pods of [5000, 50_000]) {
  await withServer(pods, 1, async (server) => {
    for (const who of subjects) {
      const { ms, cpuMs, retainedMiB, rssMiB } = await measure(who, 'list', server, 0);
      rows.push({
        case: `list of ${pods} pods`,
        who,
        ms: round(ms),
        'CPU ms': round(cpuMs),
        'retained MiB': round(retainedMiB),
        'RSS MiB': round(rssMiB),
      });
    }
  });
}
const events = 20_000;
await withServer(1000, events, async (server) => {
  for (const who of subjects) {
    const { ms, cpuMs, rssMiB } = await measure(who, 'watch', server, events);
    rows.push({
      case: `watch, ${events} events`,
      who,
      ms: round(ms),
      'per second': Math.round((events / ms) * 1000),
      'CPU µs each': round((cpuMs / events) * 1000),
      'RSS MiB': round(rssMiB),
    });
  }
});
const patches = 4000;
await withServer(10, 1, async (server) => {
  for (const who of subjects) {
    await connectionsOf(server);
    const { ms, cpuMs, rssMiB } = await measure(who, 'patch', server, patches);
    rows.push({
      case: `status patch, 32 at once, ${patches}`,
      who,
      ms: round(ms),
      'per second': Math.round((patches / ms) * 1000),
      'CPU µs each': round((cpuMs / patches) * 1000),
      'RSS MiB': round(rssMiB),
      connections: await connectionsOf(server),
    });
  }
});
const dir = await mkdtemp(join(tmpdir(), 'api-bench-'));
const [key, cert] = [join(dir, 'key.pem'), join(dir, 'cert.pem')];
await run('openssl', [
  ...'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 1 -subj /CN=bench'.split(' '),
  '-keyout',
  key,
  '-out',
  cert,
]);
await withServer(
  10,
  1,
  async (server) => {
    for (const who of ['ours', 'ours-h2']) {
      const { ms, cpuMs, rssMiB } = await measure(who, 'patch', server, patches);
      rows.push({
        case: `the same over TLS`,
        who,
        ms: round(ms),
        'per second': Math.round((patches / ms) * 1000),
        'CPU µs each': round((cpuMs / patches) * 1000),
        'RSS MiB': round(rssMiB),
      });
    }
  },
  [key, cert],
);
await rm(dir, { recursive: true });
console.table(rows);
