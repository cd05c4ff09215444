import type { IncomingMessage } from 'node:http';
import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { connect, type Socket } from 'node:net';
import { Bindings } from './bindings.ts';
import { differ } from './compare.ts';
import {
  comparable,
  type Found,
  jsonFaults,
  type KubeletStep,
  metricFaults,
  type Metrics,
  other,
  reviewText,
  runtimeText,
  sameLog,
  statusFault,
  withoutTime,
} from './kubelet-answers.ts';
import type { Deviation, TranscriptCase } from './transcript.ts';
import { differentUpstream, type Upstream } from './upstream.ts';
import { channelsOf, encodeFrame, FrameParser } from './websocket-frames.ts';

/** What is asked: a kubelet, or an API server in front of one. */
export interface Played {
  readonly port: number;
  readonly healthzPort?: number;
  /** Reviews that were asked for so far. */
  readonly reviews: readonly { readonly resource: string; readonly spec: unknown }[];
  readonly podUids: ReadonlyMap<string, string>;
  /** What went to the kubelet since it was last asked for. */
  readonly upstream?: () => readonly Upstream[];
}

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Plays one case against what all share. */
export class CasePlay {
  readonly #bed: Played;
  readonly #bindings = new Bindings();

  constructor(bed: Played) {
    this.#bed = bed;
    const web = bed.podUids.get('web');
    if (web !== undefined) this.#bindings.values.set('$uid1', web);
  }

  async play({ steps = [] }: TranscriptCase): Promise<Deviation[]> {
    for (const [i, step] of (steps as readonly KubeletStep[]).entries()) {
      const found = await this.#step(step);
      const upstream = this.#bed.upstream?.();
      if (upstream && step.upstream)
        found.push(...differentUpstream(step.upstream, upstream, this.#bindings));
      if (found.length > 0) return found.map((one) => ({ ...one, step: i }));
    }
    return [];
  }

  #step(step: KubeletStep): Promise<Found[]> {
    switch (step.op) {
      case 'request':
        return this.#request(step);
      case 'spdy-handshake':
        return this.#handshake(step);
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
      headers['Authorization'] = `Bearer ${step.as === 'wrong' ? 'unknown' : `${step.as}-token`}`;
    const path = this.#bindings.fill(step.path ?? '/').replace(/[ "]/g, encodeURIComponent);
    const where = { host: '127.0.0.1', path, method: step.method ?? 'GET', headers, agent: false };
    if (step.port === 'healthz') return httpRequest({ ...where, port: this.#bed.healthzPort ?? 0 });
    return httpsRequest({ ...where, port: this.#bed.port, rejectUnauthorized: false });
  }

  async #handshake(step: KubeletStep): Promise<Found[]> {
    const request = this.#open(step, { Host: '127.0.0.1' });
    const upgraded = new Promise<IncomingMessage>((resolve) => {
      request.once('upgrade', (message: IncomingMessage, socket: Socket) => {
        socket.destroy();
        resolve(message);
      });
    });
    const first = await Promise.race([upgraded, collect(request, 8000)]);
    if ('text' in first) return this.#answered(step, first);
    return [...statusFault(step, first.statusCode ?? 0, ''), ...this.#headers(step, first)];
  }

  #answered(step: KubeletStep, { status, text, message }: Answer): Found[] {
    return [...statusFault(step, status, text), ...this.#headers(step, message), ...this.#body(step, text)];
  }

  async #request(step: KubeletStep): Promise<Found[]> {
    const asked = this.#bed.reviews.length;
    const stays = step.stillOpen ?? step.stillOpenAfter3s;
    const answer = await collect(this.#open(step), stays === true ? 1200 : 8000, sentBody(step));
    if (step.res?.connectionError !== undefined) return []; // the real server broke down
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
    const logs = /^\/containerLogs\/|^\/api\/v1\/namespaces\/[^/]+\/pods\/[^/]+\/log\b/.test(step.path ?? '');
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
      Host: '127.0.0.1',
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
    if (!('socket' in first)) return this.#answered(step, first);
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

interface Answer {
  readonly status: number;
  readonly message: IncomingMessage;
  readonly text: string;
  readonly open: boolean;
}

/** An answer's whole body, or what of it came within `ms`. */
function collect(request: ReturnType<typeof httpRequest>, ms: number, body?: string): Promise<Answer> {
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
    request.end(body);
  });
}

/** What a step sends. */
const sentBody = ({ body, rawBody }: KubeletStep): string | undefined =>
  rawBody ?? (body === undefined ? undefined : JSON.stringify(body));
