import {
  createServer,
  request as httpRequest,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

/** The faults between a client and its server. */
export const faults = [
  'cut',
  'halfOpen',
  'delay',
  'gone',
  'tooMany',
  'failure',
  'truncated',
  'duplicate',
  'reordered',
] as const;
export type Fault = (typeof faults)[number];

/** The faults of requests: pending responses are cut, so that new requests follow. */
const strikesRequests: ReadonlySet<Fault> = new Set<Fault>(['tooMany', 'failure', 'reordered']);

/** Makes a seeded random generator (mulberry32) for numbers from 0 (inclusive) to 1 (exclusive). */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** ChaosProxy is an HTTP proxy that applies the current fault to requests and their responses. */
export class ChaosProxy {
  readonly injected: Record<Fault, number> = Object.fromEntries(faults.map((fault) => [fault, 0])) as Record<
    Fault,
    number
  >;
  /** The current fault; absent for none. */
  fault: Fault | undefined;
  readonly #upstream: URL;
  readonly #random: () => number;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #live = new Set<(fault: Fault) => void>();

  constructor(upstream: string, random: () => number) {
    this.#upstream = new URL(upstream);
    this.#random = random;
    this.#server = createServer((request, response) => {
      this.#handle(request, response);
    });
    this.#server.on('connection', (socket) => {
      this.#sockets.add(socket);
      socket.on('close', () => this.#sockets.delete(socket));
      socket.on('error', () => undefined);
    });
  }

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  /** Starts a fault, or applies it once more: to pending responses at once, and to some of the following requests. */
  start(fault: Fault): void {
    this.fault = fault;
    for (const strike of this.#live) strike(fault);
  }

  /** Ends the fault for new requests; half-open connections stay as they are. */
  end(): void {
    this.fault = undefined;
  }

  #handle(request: IncomingMessage, response: ServerResponse): void {
    const fault = this.fault !== undefined && this.#random() < 0.6 ? this.fault : undefined;
    const watch = request.url?.includes('watch=true') === true;
    if (fault === 'tooMany') this.#refuse(fault, response, 429, 'TooManyRequests');
    else if (fault === 'failure') this.#refuse(fault, response, 500, 'InternalError');
    else if (fault === 'gone' && !watch) this.#refuse(fault, response, 410, 'Expired');
    else if (fault === 'reordered') this.#later(fault, request, response);
    else this.#forward(request, response, fault);
  }

  #refuse(fault: Fault, response: ServerResponse, code: number, reason: string): void {
    this.injected[fault]++;
    const headers = { 'content-type': 'application/json', ...(code === 429 && { 'retry-after': '1' }) };
    response.writeHead(code, headers).end(JSON.stringify({ kind: 'Status', code, reason, message: reason }));
  }

  /** Lets later requests overtake this one. */
  #later(fault: Fault, request: IncomingMessage, response: ServerResponse): void {
    this.injected[fault]++;
    setTimeout(() => {
      this.#forward(request, response, undefined);
    }, this.#random() * 150);
  }

  #forward(request: IncomingMessage, response: ServerResponse, first: Fault | undefined): void {
    const out = httpRequest(
      {
        host: this.#upstream.hostname,
        port: this.#upstream.port,
        method: request.method,
        path: request.url,
        headers: { ...request.headers, connection: 'close' },
      },
      (answer) => {
        const { 'content-length': _length, connection: _connection, ...headers } = answer.headers;
        response.writeHead(answer.statusCode ?? 502, headers);
        response.flushHeaders();
        this.#pipe(answer, response, { first, watch: request.url?.includes('watch=true') === true });
      },
    );
    out.on('error', () => response.socket?.destroy());
    response.on('close', () => out.destroy());
    request.pipe(out);
  }

  #pipe(
    answer: IncomingMessage,
    response: ServerResponse,
    { first, watch }: { readonly first: Fault | undefined; readonly watch: boolean },
  ): void {
    let fault = first;
    let silent = false;
    let waiting = Promise.resolve();
    let lines: string[] = [];
    const strike = (now: Fault): void => {
      if (this.#random() > 0.8) return;
      if (strikesRequests.has(now)) response.socket?.destroy();
      else fault = now;
    };
    this.#live.add(strike);
    response.on('close', () => this.#live.delete(strike));
    const deliver = (chunk: Buffer): void => {
      if (silent || response.destroyed) return;
      const now = fault;
      fault = undefined;
      switch (now) {
        case 'cut':
          this.injected.cut++;
          silent = true;
          response.write(chunk.subarray(0, Math.floor(chunk.length * this.#random())));
          setImmediate(() => response.socket?.destroy());
          return;
        case 'halfOpen':
          this.injected.halfOpen++;
          silent = true;
          return;
        case 'truncated':
          this.injected.truncated++;
          silent = true;
          response.end(chunk.subarray(0, Math.floor(chunk.length * this.#random())));
          return;
        case 'gone':
          if (!watch) break;
          this.injected.gone++;
          silent = true;
          response.end(
            `\n${JSON.stringify({ type: 'ERROR', object: { kind: 'Status', code: 410, reason: 'Expired', message: 'too old resource version' } })}\n`,
          );
          return;
        case 'duplicate':
          if (!watch || lines.length === 0 || !chunk.toString().endsWith('\n')) break;
          this.injected.duplicate++;
          response.write(chunk);
          response.write(chunk);
          response.write(lines.slice(-8).join(''));
          return;
        default:
      }
      response.write(chunk);
      if (watch) lines = [...lines.slice(-16), ...wholeLines(chunk)];
    };
    answer.on('data', (chunk: Buffer) => {
      const delayMs = this.fault === 'delay' ? this.#random() * 60 : 0;
      if (delayMs > 0) this.injected.delay++;
      waiting = waiting.then(async () => {
        if (delayMs > 0 && this.fault === 'delay')
          await new Promise((resolve) => setTimeout(resolve, delayMs));
        deliver(chunk);
      });
    });
    answer.on('end', () => {
      void waiting.then(() => {
        if (!silent) response.end();
      });
    });
    answer.on('error', () => {
      if (!silent) response.socket?.destroy();
    });
  }
}

/** Only a chunk that is whole lines can be said again without tearing one. */
function wholeLines(chunk: Buffer): string[] {
  const text = chunk.toString();
  return text.startsWith('{"type"') && text.endsWith('\n') ? text.split(/(?<=\n)/) : [];
}
