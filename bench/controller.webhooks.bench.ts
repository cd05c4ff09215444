/**
 * Measures admission webhooks: reviews a second of a validating and a mutating one, the CPU time of each and the memory, over TLS with 16
 * connections that are kept alive, as an API server calls them. In turns with a server written by hand on node:https, and with any program
 * that prints what webhook-peer.ts prints; it gets the words `webhooks`, the folder of its certificate, and a port.
 *
 * `npm run build && npm run bench -- controller.webhooks [REVIEWS] [--program=FILE]`
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Pool } from 'undici';
import { systemClock } from '../src/index.ts';
import { Authority, hour } from '../src/pki/certificates.ts';
import { inParallel, LineProcess, type LineProcessOptions, percentile, round } from './support/processes.ts';

interface Peer extends LineProcessOptions {
  readonly name: string;
  readonly file: string;
  readonly args: readonly string[];
}

interface Usage {
  readonly cpuMs: number;
  readonly rss: number;
}

const [amount = '20000'] = process.argv.slice(2).filter((word) => !word.startsWith('--'));
const reviews = Number(amount);
const program = process.argv.find((word) => word.startsWith('--program='))?.slice('--program='.length);

const dir = await mkdtemp(join(tmpdir(), 'webhook-bench-'));
const now = systemClock.now();
const authority = Authority.create('bench-ca', now);
const { cert, key } = authority.issue({
  subject: { commonName: 'bench' },
  ...{ notBefore: now - hour, notAfter: now + hour, usages: ['server auth'], hosts: ['localhost'] },
});
await writeFile(join(dir, 'tls.crt'), cert);
await writeFile(join(dir, 'tls.key'), key);

const managedFields = [
  {
    ...{ manager: 'bench', operation: 'Update', apiVersion: 'v1', time: '2026-03-04T05:06:07Z' },
    ...{ fieldsType: 'FieldsV1', fieldsV1: { 'f:data': { '.': {}, 'f:text': {} } } },
  },
];
/** A review as kube-apiserver writes it, of about 1.2 KB. */
const reviewOf = (at: number): string =>
  JSON.stringify({
    kind: 'AdmissionReview',
    apiVersion: 'admission.k8s.io/v1',
    request: {
      uid: `00000000-0000-4000-8000-${String(at).padStart(12, '0')}`,
      kind: { group: '', version: 'v1', kind: 'ConfigMap' },
      resource: { group: '', version: 'v1', resource: 'configmaps' },
      requestKind: { group: '', version: 'v1', kind: 'ConfigMap' },
      requestResource: { group: '', version: 'v1', resource: 'configmaps' },
      ...{ name: `bench-${at}`, namespace: 'default', operation: 'CREATE' },
      userInfo: { username: 'admin', groups: ['system:masters', 'system:authenticated'] },
      object: {
        ...{ kind: 'ConfigMap', apiVersion: 'v1' },
        metadata: {
          ...{ name: `bench-${at}`, namespace: 'default', labels: { app: 'bench' } },
          ...{ creationTimestamp: '2026-03-04T05:06:07Z', managedFields },
        },
        data: { text: 'x'.repeat(200) },
      },
      ...{ oldObject: null, dryRun: false },
      options: { kind: 'CreateOptions', apiVersion: 'meta.k8s.io/v1', fieldManager: 'bench' },
    },
  });

const peers: readonly Peer[] = [
  {
    name: 'podtender',
    file: 'webhook-peer.ts',
    args: ['podtender', dir],
    nodeFlags: ['--max-semi-space-size=4'],
  },
  { name: 'node:https by hand', file: 'webhook-peer.ts', args: ['by-hand', dir] },
  ...(program === undefined
    ? []
    : [{ name: program, file: program, args: ['webhooks', dir, '19443'], isProgram: true }]),
];

const rows: Record<string, unknown>[] = [];
for (const { name, file, args, ...options } of peers) {
  const child = new LineProcess(file, args, options);
  const { port } = await child.read<{ readonly port: number }>();
  const pool = new Pool(`https://localhost:${port}`, {
    connections: 16,
    connect: { ca: authority.cert, autoSelectFamily: true },
  });
  const call = async (path: string, at: number): Promise<void> => {
    const { body, statusCode } = await pool.request({
      ...{ path: `${path}?timeout=10s`, method: 'POST', body: reviewOf(at) },
      headers: { 'content-type': 'application/json' },
    });
    const answer = (await body.json()) as { readonly response?: { readonly allowed?: boolean } };
    if (statusCode !== 200 || answer.response?.allowed !== true)
      throw new Error(`${name} ${path}: ${statusCode} ${JSON.stringify(answer)}`);
  };
  // the server may print its port before it listens
  for (let attempt = 0; ; attempt++) {
    const failure = await call('/validate', 0).catch((reason: unknown) => reason);
    if (failure === undefined) break;
    if (attempt >= 50) throw failure as Error;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  for (const path of ['/validate', '/mutate']) {
    await inParallel(reviews / 10, 16, (at) => call(path, at));
    const before = await child.ask<Usage>();
    const startedAt = performance.now();
    const times: number[] = [];
    await inParallel(reviews, 16, async (at) => {
      const since = performance.now();
      await call(path, at);
      times.push(performance.now() - since);
    });
    const seconds = (performance.now() - startedAt) / 1000;
    const after = await child.ask<Usage>();
    rows.push({
      server: name,
      webhook: path,
      'reviews a second': Math.round(reviews / seconds),
      'CPU µs each': round(((after.cpuMs - before.cpuMs) * 1000) / reviews),
      'p50 ms': round(percentile(times, 0.5), 2),
      'p99 ms': round(percentile(times, 0.99), 2),
      'RSS MiB': Math.round(after.rss / 2 ** 20),
    });
  }
  await pool.destroy();
  child.stop();
}
console.log(`${reviews} reviews of each webhook, 16 at a time, after a tenth as many to warm up`);
console.table(rows);
await rm(dir, { recursive: true });
