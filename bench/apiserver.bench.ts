/**
 * Measures the cost of the embedded API server: pods created, read, listed, patched and watched by many clients, over TLS, with server and load in
 * separate processes. Aim: 2,000 pods created per second on one core.
 */
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Pool } from 'undici';
import { parse } from 'yaml';
import { cpuMsOf, LineProcess, rssMiBOf } from './support/processes.ts';

interface Kubeconfig {
  readonly clusters: readonly [{ readonly cluster: Readonly<Record<string, string>> }];
  readonly users: readonly [{ readonly user: Readonly<Record<string, string>> }];
}

const [amount = 5000, watchers = 20] = process.argv.slice(2).map(Number);
const base = '/api/v1/namespaces/default/pods';
const dir = await mkdtemp(join(tmpdir(), 'apiserver-bench-'));
const server = new LineProcess('agent-server.ts', [dir, 'bench']);
const { url } = await server.read<{ readonly url: string }>();
const {
  clusters: [{ cluster }],
  users: [{ user }],
} = parse(await readFile(join(dir, 'admin.kubeconfig'), 'utf8')) as Kubeconfig;
const pem = (text: string | undefined): string => Buffer.from(text ?? '', 'base64').toString();
const pool = new Pool(url, {
  connections: 8,
  connect: {
    ca: pem(cluster['certificate-authority-data']),
    cert: pem(user['client-certificate-data']),
    key: pem(user['client-key-data']),
  },
});
const headers = { 'user-agent': 'bench-driver', 'content-type': 'application/json' };

const pod = (i: number): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: `p${i}`, labels: { app: 'bench' } },
    spec: {
      nodeName: 'bench',
      containers: [
        {
          name: 'main',
          image: 'registry/app:1',
          env: [{ name: 'A', value: 'b' }],
          resources: { requests: { cpu: '10m', memory: '16Mi' } },
        },
      ],
    },
  });
const status = (now: string): string =>
  JSON.stringify({
    status: {
      phase: 'Running',
      podIP: '10.0.0.1',
      podIPs: [{ ip: '10.0.0.1' }],
      startTime: now,
      conditions: ['PodScheduled', 'Initialized', 'ContainersReady', 'Ready'].map((type) => ({
        type,
        status: 'True',
        lastTransitionTime: now,
      })),
      containerStatuses: [
        {
          name: 'main',
          ready: true,
          restartCount: 0,
          image: 'registry/app:1',
          imageID: 'sha256:1',
          state: {},
        },
      ],
    },
  });

async function ask(method: 'GET' | 'POST' | 'PATCH', path: string, body?: string): Promise<void> {
  const type = method === 'PATCH' ? 'application/strategic-merge-patch+json' : 'application/json';
  const answer = await pool.request({
    method,
    path,
    headers: { ...headers, 'content-type': type },
    body: body ?? null,
  });
  if (answer.statusCode >= 300) throw new Error(await answer.body.text());
  await answer.body.dump({ limit: 1e9 });
}

const rows: Record<string, unknown>[] = [];
async function measure(what: string, each: (i: number) => Promise<void>, times = amount): Promise<void> {
  const pid = server.child.pid ?? 0;
  const [startedAt, cpuMs] = [performance.now(), cpuMsOf(pid)];
  let next = 0;
  const lane = async (): Promise<void> => {
    while (next < times) await each(next++);
  };
  await Promise.all(Array.from({ length: 32 }, lane));
  const ms = performance.now() - startedAt;
  rows.push({
    case: what,
    'per second': Math.round((times / ms) * 1000),
    'server CPU µs each': Math.round(((cpuMsOf(pid) - cpuMs) / times) * 1000),
    'server MiB': Math.round(rssMiBOf(pid)),
  });
}

await ask('POST', '/api/v1/namespaces/default/serviceaccounts', '{"metadata":{"name":"default"}}').catch(
  () => undefined,
);
await measure('create a pod', (i) => ask('POST', base, pod(i)));
await measure('get a pod', (i) => ask('GET', `${base}/p${i}`));
await measure('list all pods', () => ask('GET', base), 100);
await measure('list a page of 500', () => ask('GET', `${base}?limit=500`), 400);
await measure('patch a status', (i) => ask('PATCH', `${base}/p${i}/status`, status('2026-01-01T00:00:00Z')));

let seen = 0;
const watching = new Pool(url, {
  connections: watchers,
  connect: {
    ca: pem(cluster['certificate-authority-data']),
    cert: pem(user['client-certificate-data']),
    key: pem(user['client-key-data']),
  },
  bodyTimeout: 0,
});
const streams = await Promise.all(
  Array.from({ length: watchers }, async () => {
    const { body } = await watching.request({ method: 'GET', path: `${base}?watch=1`, headers });
    body.on('data', (chunk: Buffer) => {
      for (const byte of chunk) if (byte === 10) seen++;
    });
    body.on('error', () => undefined);
    return body;
  }),
);
await measure(`patch a status that ${watchers} watch`, (i) =>
  ask('PATCH', `${base}/p${i}/status`, status('2026-01-02T00:00:00Z')),
);
while (seen < amount * watchers) await new Promise((resolve) => setTimeout(resolve, 20));
console.table(rows);
console.log(`${seen} events seen`);

for (const stream of streams) stream.destroy();
await Promise.all([pool.destroy(), watching.destroy()]);
server.child.stdin?.end();
await once(server.child, 'exit');
await rm(dir, { recursive: true });
