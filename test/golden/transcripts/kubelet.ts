import type { IncomingMessage } from 'node:http';
import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { connect, type Socket } from 'node:net';
import { whyNoContainerd } from '../../support/containerd.ts';
import { Bindings } from './bindings.ts';
import { differ } from './compare.ts';
import { type KubeletBed, makeKubeletBed } from './kubelet-bed.ts';
import type { Deviation, Player, Step, TranscriptCase } from './transcript.ts';
import { channelsOf, encodeFrame, FrameParser } from './websocket-frames.ts';

/** What steps of the kubelet's families have beside those of the API server's. */
interface KubeletStep extends Step {
  readonly port?: string;
  readonly stillOpen?: boolean;
  readonly stillOpenAfter3s?: boolean;
  readonly protocol?: string | null;
  readonly sent?: readonly { readonly opcode?: number; readonly base64?: string; readonly sleep?: number }[];
  readonly frames?: readonly RecordedFrame[];
  readonly received?: string;
  readonly authorizerCalls?: readonly { readonly resource: string; readonly spec: unknown }[];
}

/** A frame as it was recorded: as text, or as bytes where it is none. */
export interface RecordedFrame {
  readonly opcode: number;
  readonly channel?: number;
  readonly text?: string;
  readonly base64?: string;
  readonly code?: number;
}

type Found = Omit<Deviation, 'step'>;

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Plays one case against a bed that all share. */
class CasePlay {
  readonly #bed: KubeletBed;
  readonly #bindings = new Bindings();

  constructor(bed: KubeletBed) {
    this.#bed = bed;
    const web = bed.podUids.get('web');
    if (web !== undefined) this.#bindings.values.set('$uid1', web);
  }

  async play({ steps = [] }: TranscriptCase): Promise<Deviation[]> {
    for (const [i, step] of (steps as readonly KubeletStep[]).entries()) {
      const found = await this.#step(step);
      if (found.length > 0) return found.map((one) => ({ ...one, step: i }));
    }
    return [];
  }

  #step(step: KubeletStep): Promise<Found[]> {
    switch (step.op) {
      case 'request':
        return this.#request(step);
      case 'websocket':
        return this.#webSocket(step);
      case 'raw':
        return this.#raw(step);
      default:
        return Promise.resolve([
          { what: 'operation', path: '', expected: 'one that is known', actual: step.op },
        ]);
    }
  }

  #open(step: KubeletStep, more: Record<string, string> = {}): ReturnType<typeof httpRequest> {
    const headers: Record<string, string> = { 'User-Agent': 'transcript/1.0', ...more };
    for (const [name, value] of Object.entries(step.headers ?? {})) if (value !== null) headers[name] = value;
    if (step.as !== null && step.as !== undefined)
      headers['Authorization'] = `Bearer ${step.as === 'wrong' ? 'unknown' : `token-of-${step.as}`}`;
    const path = this.#bindings.fill(step.path ?? '/').replace(/[ "]/g, encodeURIComponent);
    const where = { host: '127.0.0.1', path, method: step.method ?? 'GET', headers, agent: false };
    if (step.port === 'healthz') return httpRequest({ ...where, port: this.#bed.healthzPort });
    return httpsRequest({ ...where, port: this.#bed.port, rejectUnauthorized: false });
  }

  async #request(step: KubeletStep): Promise<Found[]> {
    const asked = this.#bed.reviews.length;
    const stays = step.stillOpen ?? step.stillOpenAfter3s;
    const answer = await collect(this.#open(step), stays === true ? 1200 : 8000);
    const found = [...statusFault(step, answer.status, answer.text), ...this.#headers(step, answer.message)];
    if (stays !== undefined && stays !== answer.open)
      found.push({ what: 'still open', path: '', expected: stays, actual: answer.open });
    found.push(...this.#body(step, answer.text), ...this.#reviews(step, asked));
    return found;
  }

  #headers({ res }: KubeletStep, message: IncomingMessage): Found[] {
    return Object.entries(res?.headers ?? {}).flatMap(([name, values]) => {
      if (['sec-websocket-accept', 'transfer-encoding', 'last-modified', 'connection'].includes(name))
        return [];
      const actual = message.headersDistinct[name] ?? [];
      const same =
        name === 'warning' ? actual.join(', ') === values.join(', ') : actual.join() === values.join();
      return same ? [] : [{ what: `header ${name}`, path: '', expected: values, actual }];
    });
  }

  #body(step: KubeletStep, actual: string): Found[] {
    const res = step.res as (KubeletStep['res'] & { htmlListing?: boolean; metrics?: Metrics }) | undefined;
    if (!res || res.bodyOmitted !== undefined || res.truncated !== undefined) return [];
    if (res.htmlListing)
      return actual.startsWith('<!doctype html>') ? [] : [other('body', 'a listing', actual)];
    if (res.metrics) return metricFaults(res.metrics, actual);
    if (res.text !== undefined) return this.#text(step, res.text, actual);
    return res.body === undefined ? [] : jsonFaults(res.body, actual);
  }

  #text(step: KubeletStep, expected: string, actual: string): Found[] {
    if (expected.includes('z\nWarning: This endpoint'))
      return actual.slice(0, 160) === expected.slice(0, 160) ? [] : [other('body', expected, actual)];
    if (expected.includes('\0')) return actual.includes('\0') ? [] : [other('body', expected, actual)];
    const logs = step.path?.startsWith('/containerLogs') ?? false;
    const limited = /limitBytes|tailLines/.test(step.path ?? '');
    if (logs && limited) return sameLog(expected, actual) ? [] : [other('body', expected, actual)];
    const order = (text: string): string =>
      logs ? text.split('\n').map(withoutTime).sort().join('\n') : runtimeText(text);
    return differ(order(expected), order(actual), this.#bindings).map((one) => ({ what: 'body', ...one }));
  }

  /** Those that were recorded were asked for, in this order; ours caches nothing, so it asks for more. */
  #reviews({ authorizerCalls }: KubeletStep, from: number): Found[] {
    if (!authorizerCalls || authorizerCalls.length === 0) return [];
    const asked = this.#bed.reviews.slice(from).map(({ resource, spec }) => reviewText(resource, spec));
    let at = 0;
    for (const { resource, spec } of authorizerCalls) {
      const wanted = reviewText(resource, spec);
      at = asked.indexOf(wanted, at) + 1;
      if (at === 0) return [{ what: 'reviews', path: '', expected: wanted, actual: asked.join('\n') }];
    }
    return [];
  }

  async #webSocket(step: KubeletStep): Promise<Found[]> {
    const request = this.#open(step, {
      Connection: 'Upgrade',
      Upgrade: 'websocket',
      'Sec-WebSocket-Version': '13',
      'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
      ...(step.protocol !== null &&
        step.protocol !== undefined && { 'Sec-WebSocket-Protocol': step.protocol }),
    });
    const upgraded = new Promise<{ message: IncomingMessage; socket: Socket; head: Buffer }>((resolve) => {
      request.once('upgrade', (message: IncomingMessage, socket: Socket, head: Buffer) => {
        resolve({ message, socket, head });
      });
    });
    const answered = collect(request, 8000);
    const first = await Promise.race([upgraded, answered]);
    if (!('socket' in first))
      return [
        ...statusFault(step, first.status, first.text),
        ...this.#headers(step, first.message),
        ...this.#body(step, first.text),
      ];
    const faults = [...statusFault(step, 101, ''), ...this.#headers(step, first.message)];
    if (faults.length > 0) return faults;
    return this.#frames(step, await this.#talk(step, first.socket, first.head));
  }

  async #talk(step: KubeletStep, socket: Socket, head: Buffer): Promise<FrameParser> {
    const parser = new FrameParser();
    parser.push(head);
    socket.on('data', (chunk: Buffer) => {
      parser.push(chunk);
    });
    socket.on('error', () => undefined);
    for (const { opcode, base64 = '', sleep: seconds } of step.sent ?? [])
      if (seconds !== undefined) await sleep(seconds * 1000);
      else socket.write(encodeFrame(opcode ?? 2, Buffer.from(base64, 'base64')));
    const closes = step.frames?.some(({ opcode }) => opcode === 8) ?? false;
    for (let i = 0; i < (closes ? 400 : 40); i++) {
      if (parser.frames.some(({ opcode }) => opcode === 8)) break;
      await sleep(20);
    }
    socket.destroy();
    return parser;
  }

  #frames({ frames = [], closedByServer }: KubeletStep, parser: FrameParser): Found[] {
    const found: Found[] = [];
    const expected = channelsOf(frames);
    const actual = channelsOf(parser.frames);
    for (const [channel, text] of expected) {
      const got = actual.get(channel) ?? '';
      const [left, right] = [comparable(text), comparable(got)];
      if (!this.#bindings.matches(left, right)) found.push(other(`channel ${channel}`, left, right));
    }
    const closed = parser.frames.some(({ opcode }) => opcode === 8);
    if (closedByServer !== undefined && closedByServer !== closed)
      found.push({ what: 'closed by the server', path: '', expected: closedByServer, actual: closed });
    return found;
  }

  async #raw({ received = '' }: KubeletStep): Promise<Found[]> {
    const socket = connect(this.#bed.port, '127.0.0.1');
    let text = '';
    socket.on('data', (chunk: Buffer) => (text += chunk.toString()));
    socket.write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n');
    await new Promise((resolve) => socket.once('close', resolve).once('end', resolve));
    socket.destroy();
    return text === received ? [] : [other('answer', received, text)];
  }
}

const other = (what: string, expected: string, actual: string): Found => ({
  what,
  path: '',
  expected,
  actual,
});

interface Answer {
  readonly status: number;
  readonly message: IncomingMessage;
  readonly text: string;
  readonly open: boolean;
}

/** An answer's whole body, or what of it came within `ms`. */
function collect(request: ReturnType<typeof httpRequest>, ms: number): Promise<Answer> {
  return new Promise((resolve, reject) => {
    request.on('error', reject);
    request.on('response', (message: IncomingMessage) => {
      const chunks: Buffer[] = [];
      const done = (open: boolean): void => {
        clearTimeout(timer);
        resolve({ status: message.statusCode ?? 0, message, text: Buffer.concat(chunks).toString(), open });
        if (open) message.destroy();
      };
      const timer = setTimeout(() => {
        done(true);
      }, ms);
      message.on('data', (chunk: Buffer) => chunks.push(chunk));
      message.on('end', () => {
        done(false);
      });
      message.on('error', () => undefined);
    });
    request.end();
  });
}

const statusFault = ({ res }: KubeletStep, status: number, text: string): Found[] =>
  res && res.status !== status
    ? [{ what: 'status', path: '', expected: `${res.status} ${res.text ?? ''}`, actual: `${status} ${text}` }]
    : [];

/** A review without the token. */
const reviewText = (resource: string, spec: unknown): string =>
  resource === 'tokenreviews' ? resource : `${resource} ${sortedJson(spec)}`;

const sortedJson = (value: unknown): string =>
  JSON.stringify(value, (_key, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );

const withoutTime = (line: string): string => line.replace(/^(\$t\d+|\d{4}-\d\d-\d\dT\S+) /, '$t ');

/** Which of the two streams' lines came first is chance; a log that is cut shows as many bytes all the same. */
const sameLog = (expected: string, actual: string): boolean =>
  /\$t|2026/.test(expected)
    ? actual.split('\n').length === expected.split('\n').length
    : Math.abs(expected.length - actual.length) === 0;

/** The runtime's own words differ by version, and the image that was recorded had fewer folders. */
const runtimeText = (text: string): string =>
  text.replace(/(OCI runtime exec failed)[\s\S]*/, '$1').replace(/^(root|tmp)\n/gm, '');

const comparable = (text: string): string =>
  text
    .replace(/(OCI runtime exec failed)[^}]*/g, '$1')
    .replace(/(error forwarding port \d+ to pod )[\s\S]*/, '$1')
    .replace(/Date: [^\r]*|Last-Modified: [^\r]*|ETag: [^\r]*/g, '')
    .replace(/BusyBox v[^\r]*/g, 'BusyBox')
    .replace(/\u001b\[\d*[A-Za-z]|\/ # /g, '')
    .replace(/exec \\+"[0-9a-f$cid]+\\+"/g, 'exec');

type Metrics = Readonly<Record<string, { readonly type: string; readonly labels: readonly string[] }>>;

/** What is served is a part of what was recorded: names of the same meaning, with the same type and labels. */
function metricFaults(recorded: Metrics, text: string): Found[] {
  const types = new Map(
    [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = '', type = '']) => [name, type]),
  );
  const found: Found[] = [];
  for (const [name, type] of types) {
    const one = recorded[name];
    if (!one) {
      if (!name.startsWith('nodejs_')) found.push(other('metric', 'one that was recorded', name));
      continue;
    }
    if (one.type !== type) found.push(other(`type of ${name}`, one.type, type));
    const line = new RegExp(`^${name}(?:_bucket)?(?:\\{(.*)\\})? `, 'm').exec(text);
    const labels = [...(line?.[1] ?? '').matchAll(/(\w+)="/g)].map(([, label = '']) => label).sort();
    if (line && labels.join() !== [...one.labels].sort().join())
      found.push(other(`labels of ${name}`, one.labels.join(), labels.join()));
  }
  if (types.size === 0 && Object.keys(recorded).length > 0) found.push(other('metrics', 'some', 'none'));
  return found;
}

/** Documents are compared by kind and shape: what stands in them is this machine's. */
function jsonFaults(expected: unknown, text: string): Found[] {
  const wanted = expected as {
    kind?: string;
    code?: number;
    items?: readonly { metadata?: { name?: string; namespace?: string } }[];
  };
  let actual: typeof wanted;
  try {
    actual = JSON.parse(text) as typeof wanted;
  } catch {
    return [other('body', sortedJson(expected), text)];
  }
  if (wanted.kind === 'Status')
    return differ(expected, actual, new Bindings()).map((one) => ({ what: 'body', ...one }));
  const names = ({ items = [] }: typeof wanted): string =>
    items
      .filter(({ metadata }) => metadata?.namespace === 'kapi')
      .map(({ metadata }) => metadata?.name ?? '')
      .sort()
      .join();
  if (names(wanted) !== names(actual)) return [other('pods', names(wanted), names(actual))];
  const keys = (value: object): string => Object.keys(value).sort().join();
  return keys(wanted) === keys(actual) ? [] : [other('members', keys(wanted), keys(actual))];
}

let bed: Promise<KubeletBed> | undefined;

/** Plays recordings of the kubelet's HTTP API against an agent with a real container runtime. */
export const kubeletPlayer: Player = {
  families: new Set(['kubelet-http']),
  async play(one) {
    const why = whyNoContainerd();
    if (why !== undefined) throw new Error(`cannot be played here: ${why}`);
    bed ??= makeKubeletBed();
    return new CasePlay(await bed).play(one);
  },
  async close() {
    await (await bed)?.stop();
  },
};
