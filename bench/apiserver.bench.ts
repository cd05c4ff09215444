/**
 * Measures the embedded API server as a process of its own, in memory, with the load in this process: start, objects created, read, patched and
 * listed, custom resources, watches and memory. With `--binaries=DIR` also the kube-apiserver and etcd of that directory, in turn, row by row.
 * Aim: ahead of them in each row.
 *
 * Options: `--objects=N` of the first rows (2,000), `--many=N` of the large lists (50,000), `--watches=N` (1,000), `--only=LIST` of the groups
 * `requests`, `customs`, `watches` and `lists`, `--profile=DIR` writes a CPU profile of podtender for each row, which makes it slower.
 */
import { once } from 'node:events';
import { connect, type ClientHttp2Session, type ClientHttp2Stream } from 'node:http2';
import { setTimeout as sleep } from 'node:timers/promises';
import { Pool } from 'undici';
import { type MeasuredServer, startKube, startPodtender } from './support/api-servers.ts';
import { inParallel, percentile, round } from './support/processes.ts';
import { Profiler } from './support/profiles.ts';

const option = (name: string): string | undefined =>
  process.argv.find((word) => word.startsWith(`--${name}=`))?.slice(name.length + 3);
const objects = Number(option('objects') ?? 2000);
const many = Number(option('many') ?? 50_000);
const watches = Number(option('watches') ?? 1000);
const only = option('only')?.split(',');
const binaries = option('binaries');
const profiles = option('profile');
const inspectorPort = 9322;

/** Requests at a time. */
const width = 16;
const starts = 3;
/** How long a server is left alone before its memory is read, ms. */
const quietMs = 15_000;

type Method = 'GET' | 'POST' | 'PATCH';

/** One server, its client, and what was measured of it by row. */
interface Side {
  readonly server: MeasuredServer;
  readonly pool: Pool;
  readonly results: Map<string, string>;
  readonly profiler?: Profiler;
}

const sides: Side[] = [];
const rows: string[] = [];

async function sideOf(server: MeasuredServer, profiler?: Profiler): Promise<Side> {
  const { server: url, ca, cert, key } = server.connection;
  const pool = new Pool(url, {
    connections: width,
    connect: { ca, cert, key },
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  return { server, pool, results: new Map(), ...(profiler && { profiler }) };
}

/** Sends a request and reads its answer whole. @returns status and body */
async function ask(
  { pool }: Side,
  method: Method,
  path: string,
  body?: object,
): Promise<{ readonly status: number; readonly body: Buffer }> {
  const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
  const answer = await pool.request({
    method,
    path,
    headers: { 'user-agent': 'bench-driver', ...(body && { 'content-type': type }) },
    body: body ? JSON.stringify(body) : null,
  });
  return { status: answer.statusCode, body: Buffer.from(await answer.body.arrayBuffer()) };
}

/** As {@link ask}. @throws for an answer that is no success */
async function must(side: Side, method: Method, path: string, body?: object): Promise<Buffer> {
  const answer = await ask(side, method, path, body);
  if (answer.status < 300) return answer.body;
  throw new Error(`${side.server.name}: ${method} ${path}: ${answer.status} ${answer.body.toString()}`);
}

/** Measures a row of all servers, one after the other. */
async function row(name: string, measure: (side: Side) => Promise<string>): Promise<void> {
  rows.push(name);
  for (const side of sides) {
    await side.profiler?.start();
    const result = await measure(side);
    await side.profiler?.stop(`${profiles ?? '.'}/${name.replace(/\W+/g, '-')}.cpuprofile`);
    side.results.set(name, result);
    process.stdout.write(`${name}: ${side.server.name}: ${result}\n`);
  }
}

/** Measures how many requests a second a server answers, and its CPU time for each. */
const rate = (
  name: string,
  times: number,
  each: (side: Side, i: number) => Promise<unknown>,
): Promise<void> =>
  row(name, async (side) => {
    const [startedAt, cpuMs] = [performance.now(), side.server.cpuMs()];
    await inParallel(times, width, async (i) => {
      await each(side, i);
    });
    const seconds = (performance.now() - startedAt) / 1000;
    const cpu = (side.server.cpuMs() - cpuMs) / times;
    return `${Math.round(times / seconds)} /s, CPU ${round(cpu, cpu < 10 ? 2 : 1)} ms`;
  });

/** Measures the median of some runs. */
const median = (
  name: string,
  times: number,
  each: (side: Side, i: number) => Promise<number>,
): Promise<void> =>
  row(name, async (side) => {
    const found: number[] = [];
    const cpuMs = side.server.cpuMs();
    for (let i = 0; i < times; i++) found.push(await each(side, i));
    const cpu = (side.server.cpuMs() - cpuMs) / times;
    return `${round(percentile(found, 0.5))} ms, CPU ${round(cpu)} ms`;
  });

/** Measures the resident memory after a rest. */
const memory = (name: string): Promise<void> =>
  row(name, async ({ server }) => {
    await sleep(quietMs);
    return `${server.memory().map(Math.round).join(' + ')} MiB`;
  });

async function timed(act: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await act();
  return performance.now() - startedAt;
}

const inNamespace = (namespace: string, resource: string): string =>
  `/api/v1/namespaces/${namespace}/${resource}`;
const configMaps = inNamespace('default', 'configmaps');

/** A ConfigMap of some 1.2 KB. */
const configMap = (i: number): object => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: `c${i}`, labels: { app: 'bench', part: `p${i % 10}` } },
  data: Object.fromEntries(Array.from({ length: 10 }, (_, n) => [`key-${n}`, `${i}-`.padEnd(80, 'v')])),
});

const pod = (i: number): object => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: `p${i}`, labels: { app: 'bench' } },
  spec: {
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

const group = 'bench.example.com';

/** A definition with a schema as operators have them: nested objects, lists by key, patterns, defaults, and rules. */
const definition = (plural: string): object => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `${plural}.${group}` },
  spec: {
    group,
    scope: 'Namespaced',
    names: { plural, singular: plural.slice(0, -1), kind: `K${plural}`, listKind: `K${plural}List` },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: { openAPIV3Schema: schema },
      },
    ],
  },
});

const text = { type: 'string', maxLength: 63 };
const schema = {
  type: 'object',
  required: ['spec'],
  properties: {
    spec: {
      type: 'object',
      required: ['replicas', 'image'],
      'x-kubernetes-validations': [
        { rule: 'self.minReplicas <= self.replicas', message: 'replicas must be at least minReplicas' },
        { rule: "self.image.matches('^[a-z0-9./:-]+$')" },
        {
          rule: 'self.ports.all(p, p.port > 0 && p.port < 65536)',
          message: 'ports must be between 1 and 65535',
        },
      ],
      properties: {
        replicas: { type: 'integer', minimum: 0, maximum: 1000 },
        minReplicas: { type: 'integer', default: 0 },
        image: { type: 'string', maxLength: 200 },
        mode: { type: 'string', enum: ['Fast', 'Safe'], default: 'Safe' },
        selector: { type: 'object', maxProperties: 20, additionalProperties: text },
        ports: {
          type: 'array',
          maxItems: 20,
          default: [],
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['name'],
          items: {
            type: 'object',
            required: ['name', 'port'],
            properties: {
              name: { ...text, pattern: '^[a-z]([-a-z0-9]*[a-z0-9])?$' },
              port: { type: 'integer' },
              protocol: { type: 'string', enum: ['TCP', 'UDP'], default: 'TCP' },
            },
          },
        },
        limits: {
          type: 'object',
          properties: {
            cpu: {
              anyOf: [{ type: 'integer' }, { type: 'string' }],
              'x-kubernetes-int-or-string': true,
            },
            memory: { type: 'string', pattern: '^[0-9]+(Ki|Mi|Gi)$' },
          },
        },
      },
    },
    status: {
      type: 'object',
      properties: { readyReplicas: { type: 'integer' }, message: { type: 'string' } },
    },
  },
};

const custom = (plural: string, i: number): object => ({
  apiVersion: `${group}/v1`,
  kind: `K${plural}`,
  metadata: { name: `x${i}`, labels: { app: 'bench' } },
  spec: {
    replicas: i % 1000,
    image: 'registry/app:1',
    selector: { app: 'bench', part: `p${i % 10}` },
    ports: [
      { name: 'http', port: 80 },
      { name: 'metrics', port: 9090, protocol: 'TCP' },
    ],
    limits: { cpu: '100m', memory: '64Mi' },
  },
});
const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const customPath = (plural: string): string => `/apis/${group}/v1/namespaces/default/${plural}`;

/** Creates a definition and waits until its kind is served. */
async function served(side: Side, plural: string): Promise<void> {
  await must(side, 'POST', definitions, definition(plural));
  while ((await ask(side, 'GET', customPath(plural))).status !== 200) await sleep(1);
}

/** Watches of one server, over HTTP/2 as client-go has them: some connections with many watches each. */
class Watches {
  readonly #sessions: ClientHttp2Session[] = [];
  readonly #streams: ClientHttp2Stream[] = [];
  #lines = 0;

  async open({ server }: Side, count: number, path: string): Promise<void> {
    const { server: url, ca, cert, key } = server.connection;
    const perConnection = 100;
    for (let left = count; left > 0; left -= perConnection) {
      const session = connect(url, {
        ...(ca !== undefined && { ca }),
        ...(cert !== undefined && { cert, key }),
      });
      this.#sessions.push(session);
      const answered = Array.from({ length: Math.min(left, perConnection) }, async () => {
        const stream = session.request({ ':path': path, 'user-agent': 'bench-driver' });
        stream.on('data', (chunk: Buffer) => {
          for (const byte of chunk) if (byte === 10) this.#lines++;
        });
        stream.on('error', () => undefined);
        this.#streams.push(stream);
        await once(stream, 'response');
      });
      await Promise.all(answered);
    }
  }

  /** Waits until each watch has received so many events. */
  async seen(events: number): Promise<void> {
    while (this.#lines < events * this.#streams.length) await sleep(1);
  }

  close(): void {
    for (const session of this.#sessions) session.destroy();
  }
}

async function requests(): Promise<void> {
  await memory('memory at rest');
  // the client's own code is compiled now, not in the first row of the first server
  for (const side of sides)
    await inParallel(objects, width, async () => {
      await must(side, 'GET', '/version');
    });
  await rate('create a ConfigMap of 1.2 KB', objects, (side, i) =>
    must(side, 'POST', configMaps, configMap(i)),
  );
  await rate('get', objects * 2, (side, i) => must(side, 'GET', `${configMaps}/c${i % objects}`));
  await rate('merge patch', objects, (side, i) =>
    must(side, 'PATCH', `${configMaps}/c${i}`, { data: { more: `of ${i}` } }),
  );
  await rate(`list of all ${objects}`, 100, (side) => must(side, 'GET', configMaps));
  await rate('list, a page of 500', 200, (side) => must(side, 'GET', `${configMaps}?limit=500`));
  await rate('create a Pod', objects, (side, i) =>
    must(side, 'POST', inNamespace('default', 'pods'), pod(i)),
  );
}

async function customs(): Promise<void> {
  await median('new CRD → its kind is served', 21, (side, i) => timed(() => served(side, `news${i}s`)));
  for (const side of sides) await served(side, 'widgets');
  await rate('create a custom resource, validated', objects, (side, i) =>
    must(side, 'POST', customPath('widgets'), custom('widgets', i)),
  );
}

async function watching(): Promise<void> {
  const name = `one change until ${watches} watches have it`;
  const path = `${inNamespace('watched', 'configmaps')}/c0`;
  for (const side of sides) {
    await must(side, 'POST', '/api/v1/namespaces', { metadata: { name: 'watched' } });
    await must(side, 'POST', inNamespace('watched', 'configmaps'), configMap(0));
  }
  const all = new Map<Side, Watches>();
  await row(`memory of ${watches} watches`, async (side) => {
    await sleep(quietMs);
    const before = side.server.memory()[0] ?? 0;
    const opened = new Watches();
    all.set(side, opened);
    await opened.open(side, watches, `${inNamespace('watched', 'configmaps')}?watch=1&resourceVersion=0`);
    await opened.seen(1);
    await sleep(quietMs);
    return `${Math.round((side.server.memory()[0] ?? 0) - before)} MiB`;
  });
  await median(name, 21, (side, i) =>
    timed(async () => {
      await must(side, 'PATCH', path, { data: { round: String(i) } });
      await all.get(side)?.seen(i + 2);
    }),
  );
  for (const opened of all.values()) opened.close();
}

async function largeLists(): Promise<void> {
  const path = inNamespace('many', 'configmaps');
  for (const side of sides) await must(side, 'POST', '/api/v1/namespaces', { metadata: { name: 'many' } });
  await rate(`create ${many} ConfigMaps`, many, (side, i) =>
    must(side, 'POST', path, { metadata: { name: `m${i}` }, data: { key: 'v'.repeat(100) } }),
  );
  await memory(`memory with ${many}`);
  await median(`list of ${many}, whole`, 5, (side) => timed(() => must(side, 'GET', path)));
  await median(`list of ${many}, pages of 500`, 3, (side) =>
    timed(async () => {
      for (let token = ''; ;) {
        const page = await must(side, 'GET', `${path}?limit=500&continue=${token}`);
        // the beginning has the metadata
        token = /"continue":"([^"]+)"/.exec(page.toString('utf8', 0, 400))?.[1] ?? '';
        if (token === '') return;
      }
    }),
  );
  await memory('memory after the lists');
}

/** Starts a server several times. @returns the last, and the median of all starts, ms */
async function started(start: () => Promise<MeasuredServer>): Promise<readonly [MeasuredServer, number]> {
  const found: number[] = [];
  for (;;) {
    const server = await start();
    found.push(server.startMs);
    if (found.length === starts) return [server, percentile(found, 0.5)];
    await server.stop();
  }
}

try {
  const flags = profiles === undefined ? [] : [`--inspect=127.0.0.1:${inspectorPort}`];
  const kinds = [() => startPodtender(flags), ...(binaries === undefined ? [] : [() => startKube(binaries)])];
  const startTimes: number[] = [];
  for (const [i, start] of kinds.entries()) {
    const [server, ms] = await started(start);
    sides.push(
      await sideOf(
        server,
        i === 0 && profiles !== undefined ? await Profiler.connect(inspectorPort) : undefined,
      ),
    );
    startTimes.push(ms);
  }
  await row('start', (side) => Promise.resolve(`${Math.round(startTimes[sides.indexOf(side)] ?? 0)} ms`));
  for (const [name, measure] of Object.entries({ requests, customs, watches: watching, lists: largeLists }))
    if (only?.includes(name) ?? true) await measure();
  const table = rows.map((name) => [name, ...sides.map(({ results }) => results.get(name) ?? '')]);
  console.log(`\n| case | ${sides.map(({ server }) => server.name).join(' | ')} |`);
  console.log(`| --- |${' --- |'.repeat(sides.length)}`);
  for (const cells of table) console.log(`| ${cells.join(' | ')} |`);
} finally {
  for (const { pool, server, profiler } of sides) {
    profiler?.close();
    await pool.destroy();
    await server.stop();
  }
}
