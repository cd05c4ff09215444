import type { IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { gunzipSync } from 'node:zlib';
import { EmbeddedApiServer, type TokenUser } from '../../../src/apiserver/index.ts';
import { createApiClient } from '../../../src/api/rest/http-client.ts';
import { namespaceResource, podResource } from '../../../src/api/resources.ts';
import { systemClock } from '../../../src/base/clock.ts';
import type { Pod } from '../../../src/kube/types.ts';
import { Bindings } from './bindings.ts';
import { differ, type Difference } from './compare.ts';
import { isExact } from './raw-numbers.ts';
import type { Deviation, Player, Step, TranscriptCase } from './transcript.ts';

const user = (name: string, groups: readonly string[], id = name): TokenUser => ({
  token: `${id}-token`,
  user: { name, uid: `${id}-uid`, groups },
});

/** Who may ask, as in the recording. */
export const users: readonly TokenUser[] = [
  user('admin', ['system:masters']),
  user('system:node:node-a', ['system:nodes'], 'nodea'),
  user('system:node:node-b', ['system:nodes'], 'nodeb'),
  user('system:node:', ['system:nodes'], 'badnode'),
  user('notanode', ['system:nodes'], 'oddnode'),
  user('alice', ['dev']),
  user('viewer', ['dev']),
];

interface OpenWatch {
  readonly events: unknown[];
  taken: number;
  closed: boolean;
  lastAt: number;
  readonly end: () => void;
}

type Found = Omit<Deviation, 'step'>;

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const told = (what: string, differences: readonly Difference[]): Found[] =>
  differences.map((difference) => ({ what, ...difference }));

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

/** One case against one embedded server. */
class CasePlay {
  readonly #server: EmbeddedApiServer;
  readonly #bindings = new Bindings();
  readonly #watches = new Map<string, OpenWatch>();
  readonly #quietMs = 60;

  constructor(server: EmbeddedApiServer) {
    this.#server = server;
  }

  /** What stands for versions that a case asks for without having seen them. */
  forget(version: string): void {
    this.#bindings.unseenVersion = version;
  }

  async play(one: TranscriptCase): Promise<Deviation[]> {
    const found: Deviation[] = [];
    for (const [i, step] of (one.steps ?? []).entries()) {
      const later = one.steps?.slice(i + 1) ?? [];
      const differences = (await this.#step(step)).filter(
        (found) =>
          !(found.what === 'body' && isOfRecorder(found, later, (value) => this.#bindings.fillValue(value))),
      );
      found.push(...differences.map((difference) => ({ ...difference, step: i })));
      if (found.length > 0) break;
    }
    for (const watch of this.#watches.values()) watch.end();
    if (found.length === 0)
      for (const text of this.#bindings.disorder())
        found.push({ step: -1, what: 'order of versions', path: '', expected: 'rising', actual: text });
    return found;
  }

  #step(step: Step): Promise<Found[]> {
    switch (step.op) {
      case 'request':
        return this.#request(step);
      case 'watch':
        return this.#watch(step);
      case 'events':
        return this.#events(step);
      case 'closed':
        return this.#closed(step);
      default:
        return Promise.resolve([
          { what: 'operation', path: '', expected: 'one that is known', actual: step.op },
        ]);
    }
  }

  #headersOf(step: Step): Record<string, string> {
    const headers: Record<string, string> = { 'User-Agent': 'transcript/1.0' };
    for (const [name, value] of Object.entries(step.headers ?? {}))
      if (value !== null) headers[name] = this.#bindings.fill(value);
    if (step.as === 'wrong') headers['Authorization'] = 'Bearer unknown';
    else if (step.as === '$token' || step.bearer !== undefined)
      headers['Authorization'] = `Bearer ${this.#bindings.fill(step.bearer ?? '')}`;
    else if (step.as !== null && step.as !== undefined) headers['Authorization'] = `Bearer ${step.as}-token`;
    return headers;
  }

  #bodyOf(step: Step): Buffer | undefined {
    if (step.rawBodyBase64 !== undefined) return Buffer.from(step.rawBodyBase64, 'base64');
    if (step.rawBody !== undefined) return Buffer.from(this.#bindings.fill(step.rawBody));
    return step.body === undefined
      ? undefined
      : Buffer.from(JSON.stringify(this.#bindings.fillValue(inflated(step.body))));
  }

  #open(step: Step): Promise<IncomingMessage> {
    const headers = this.#headersOf(step);
    const body = this.#bodyOf(step);
    if (body) headers['Content-Length'] = String(body.length);
    const path = this.#bindings.fill(step.path ?? '/').replace(/ /g, '%20');
    return new Promise((resolve, reject) => {
      const { port, ca } = this.#server;
      const request = httpsRequest(
        { host: '127.0.0.1', port, ca, path, method: step.method ?? 'GET', headers },
        resolve,
      );
      request.on('error', reject);
      request.end(body);
    });
  }

  async #request(step: Step): Promise<Found[]> {
    const message = await this.#open(step);
    const chunks: Buffer[] = [];
    for await (const chunk of message) chunks.push(chunk as Buffer);
    const bytes = Buffer.concat(chunks);
    const text = (message.headers['content-encoding'] === 'gzip' ? gunzipSync(bytes) : bytes).toString();
    const status = message.statusCode ?? 0;
    const { res } = step;
    if (!res) return [];
    if (step.setup && (status === 409 || (res.status === 409 && status < 300))) return [];
    const found: Found[] = [];
    if (status !== res.status)
      found.push({
        what: 'status',
        path: '',
        expected: `${res.status} ${JSON.stringify(res.body ?? res.text ?? '')}`,
        actual: `${status} ${text}`,
      });
    found.push(...this.#checkHeaders(step, message.headersDistinct), ...this.#checkBody(step, text));
    return found;
  }

  #checkHeaders(step: Step, actual: NodeJS.Dict<string[]>): Found[] {
    return Object.entries(step.res?.headers ?? {}).flatMap(([name, values]) => {
      if (['etag', 'content-encoding', 'transfer-encoding'].includes(name)) return [];
      const got = (actual[name] ?? []).flatMap((value) =>
        name === 'warning' ? value.split(/, (?=299 )/) : [value],
      );
      return told(`header ${name}`, differ(values, got, this.#bindings));
    });
  }

  #checkBody(step: Step, text: string): Found[] {
    const { res } = step;
    if (!res || res.bodyOmitted !== undefined || res.truncated !== undefined) return [];
    if (step.path === '/openid/v1/jwks') return []; // keys are left out of the recording, whatever the answer was
    if (res.body !== undefined) return told('body', differ(inflated(res.body), parsed(text), this.#bindings));
    // lengths in a protobuf message go by what stands in it
    if (res.text === undefined || res.text.startsWith('k8s\0')) return [];
    const yaml = res.text.startsWith('apiVersion: ');
    return told(
      'body',
      yaml ? differ(own(res.text), own(text), this.#bindings) : this.#lines(res.text, text),
    );
  }

  /** A text of JSON documents, a line each, compared as such; any other as it is. */
  #lines(expected: string, actual: string): Difference[] {
    const documents = (text: string): unknown => text.trimEnd().split('\n').map(parsed);
    return expected.startsWith('{"type":')
      ? differ(documents(expected), documents(actual), this.#bindings)
      : differ(expected, actual, this.#bindings);
  }

  async #watch(step: Step): Promise<Found[]> {
    const message = await this.#open(step);
    const watch: OpenWatch = {
      events: [],
      taken: 0,
      closed: false,
      lastAt: Date.now(),
      end: () => {
        message.destroy();
      },
    };
    this.#watches.set(step.id ?? '', watch);
    collect(message, watch);
    const { res } = step;
    if (!res) return [];
    const found: Found[] = [];
    if (res.status !== message.statusCode)
      found.push({ what: 'status of the watch', path: '', expected: res.status, actual: message.statusCode });
    if (res.status !== 200) {
      for (let i = 0; i < 50 && !watch.closed; i++) await sleep(10);
      const [body] = watch.events.splice(0);
      if (res.body !== undefined) found.push(...told('body', differ(res.body, body, this.#bindings)));
    }
    return found;
  }

  async #events(step: Step): Promise<Found[]> {
    const watch = this.#watches.get(step.id ?? '');
    if (!watch) return [{ what: 'events', path: '', expected: 'an open watch', actual: step.id }];
    const wanted = step.events?.length ?? 0;
    const start = Date.now();
    const limit = step.closed ? 8000 : 2000;
    while (Date.now() - start < limit && !watch.closed) {
      const enough = watch.events.length - watch.taken >= wanted;
      const quiet = Date.now() - Math.max(watch.lastAt, start) > this.#quietMs;
      if (enough && quiet && !step.closed) break;
      await sleep(5);
    }
    const came = watch.events.slice(watch.taken);
    watch.taken = watch.events.length;
    const found = told('events', differ(step.events ?? [], came, this.#bindings));
    if (step.closed !== undefined && step.closed !== watch.closed)
      found.push({ what: 'stream closed', path: '', expected: step.closed, actual: watch.closed });
    return found;
  }

  async #closed(step: Step): Promise<Found[]> {
    const watch = this.#watches.get(step.id ?? '');
    for (let i = 0; i < 300 && step.closedByServer && watch && !watch.closed; i++) await sleep(20);
    return watch?.closed === (step.closedByServer ?? false)
      ? []
      : [{ what: 'closed by the server', path: '', expected: step.closedByServer, actual: watch?.closed }];
  }
}

/** What stands at a path such as `.spec.containers[0].image`. */
const valueAt = (body: unknown, path: string): unknown =>
  path
    .split(/[.[\]]+/)
    .filter((key) => key !== '')
    .reduce((at: unknown, key) => (at as Record<string, unknown> | undefined)?.[key], body);

/** The recorder changed some answers in place before it sent them back: what differs then stands in a request that follows. */
const isOfRecorder = (
  { path, expected }: Found,
  later: readonly Step[],
  fill: (value: unknown) => unknown,
): boolean =>
  later.some(
    ({ method, body }) =>
      method === 'PUT' && JSON.stringify(fill(valueAt(body, path))) === JSON.stringify(fill(expected)),
  );
/** YAML without versions: no placeholders stand for them in a text. */
const own = (yaml: string): string => yaml.replace(/^( *resourceVersion: ).*$/gm, '$1…');

/** Gathers the events of a watch: JSON by line, any other answer whole. */
function collect(message: IncomingMessage, watch: OpenWatch): void {
  const byLine = message.statusCode === 200 && !String(message.headers['content-type']).includes('yaml');
  let rest = '';
  const push = (text: string): void => {
    if (text.trim() === '') return;
    watch.lastAt = Date.now();
    watch.events.push(parsed(text));
  };
  message.on('data', (chunk: Buffer) => {
    rest += chunk.toString();
    if (!byLine) return;
    const lines = rest.split('\n');
    rest = lines.pop() ?? '';
    lines.forEach(push);
  });
  message.on('end', () => {
    push(rest);
    watch.closed = true;
  });
  message.on('error', () => {
    watch.closed = true;
  });
}

/** Big bodies are described in the recording: `{omitted: …}` whole, `x*200000` a text. */
function inflated(body: unknown): unknown {
  const { omitted } = (body ?? {}) as { readonly omitted?: unknown };
  return typeof omitted === 'string' ? described(omitted) : unfolded(body);
}

function unfolded(value: unknown): unknown {
  if (typeof value === 'string' && /^x\*\d+$/.test(value)) return 'x'.repeat(Number(value.slice(2)));
  if (Array.isArray(value)) return value.map(unfolded);
  if (typeof value !== 'object' || value === null || isExact(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, unfolded(inner)]));
}

function described(text: string): unknown {
  const [, count] = /\b(\d{4,})\b/.exec(text) ?? [];
  const long = 'x'.repeat(Number(count));
  if (text.startsWith('data.'))
    return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'x' }, data: { a: long } };
  const spec = { containers: [{ name: 'c', image: 'localhost/busybox:1' }] };
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'x', annotations: { a: long } }, spec };
}

/**
 * The objects of the family `expired`, on a server that has forgotten how they came to be.
 *
 * @returns a version that is forgotten
 */
async function agedObjects(server: EmbeddedApiServer): Promise<string> {
  const client = createApiClient(
    { server: server.url, ca: server.ca, token: 'admin-token' },
    {
      clock: systemClock,
      qps: 0,
      userAgent: 'transcript/1.0',
    },
  );
  const namespace = 'expired';
  await client.create(namespaceResource, { metadata: { name: namespace } });
  await client.create(
    { ...podResource, resource: 'serviceaccounts', kind: 'ServiceAccount' },
    { metadata: { name: 'default', namespace } },
  );
  for (const name of ['c0', 'c1', 'c2'])
    await client.create(
      { ...podResource, resource: 'configmaps', kind: 'ConfigMap' },
      { metadata: { name, namespace } },
    );
  const version = String(server.store.version);
  const containers = [{ name: 'c', image: 'localhost/busybox:1' }];
  for (const name of ['p0', 'p1', 'p2'])
    await client.create<Pod>(podResource, { metadata: { name, namespace }, spec: { containers } });
  const labels = { metadata: { labels: { a: 'b' } } };
  await client.patch(podResource, { namespace, name: 'p1' }, { type: 'merge', body: labels });
  await client.create(namespaceResource, { metadata: { name: 'later' } });
  await client.close();
  server.compact();
  return version;
}

const families = new Set(
  (
    'auth configmaps-secrets csr discovery errors events expired leases misc-objects namespaces negotiation noderestriction nodes pods-crud ' +
    'pods-defaulting pods-delete pods-fieldvalidation pods-immutable pods-invalid pods-list pods-patch pods-subresources pods-table pods-watch ' +
    'serviceaccounts services'
  ).split(' '),
);

/** Plays recordings of kube-apiserver: an empty embedded server in memory for each case, without controllers, as the recording was made. */
export const apiServerPlayer: Player = {
  families,
  async play(one) {
    const server = await EmbeddedApiServer.start({
      tokens: users,
      controllers: false,
      minimalScheduler: false,
    });
    try {
      const play = new CasePlay(server);
      if (one.family === 'expired') play.forget(await agedObjects(server));
      return await play.play(one);
    } finally {
      await server.stop();
    }
  },
  close: () => Promise.resolve(),
};
