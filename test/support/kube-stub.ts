import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import type { KubeObject } from '../../src/kube/types.ts';
import { soon } from './found.ts';

interface LogEntry {
  readonly version: number;
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly object: KubeObject;
}

/** A request to the stub. */
export interface SeenRequest {
  readonly method: string;
  readonly url: URL;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

type Answer = (request: SeenRequest, response: ServerResponse) => boolean | Promise<boolean>;

/**
 * A small API server of one collection over real HTTP: list with pages, watch with history, bookmarks and streamed lists. Tests
 * change objects through it directly and may answer a request themselves first.
 */
export class KubeStub {
  readonly objects = new Map<string, KubeObject>();
  readonly requests: SeenRequest[] = [];
  readonly sockets = new Set<Socket>();
  /** Called before the stub's own response; returns whether it has responded. */
  intercept: Answer | undefined;
  streamingLists = true;
  connections = 0;
  #version = 1;
  #oldest = 1;
  #log: LogEntry[] = [];
  readonly #snapshots = new Map<string, readonly KubeObject[]>();
  readonly #watchers = new Set<{
    follows: boolean;
    send: (entry: LogEntry) => void;
    bookmark: () => void;
    response: ServerResponse;
  }>();
  readonly #server: Server;

  constructor() {
    this.#server = createServer((request, response) => {
      void this.#handle(request, response);
    });
    this.#server.on('connection', (socket) => {
      this.connections++;
      this.sockets.add(socket);
      socket.on('close', () => this.sockets.delete(socket));
    });
  }

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  get version(): number {
    return this.#version;
  }

  /** Watches that follow changes; streamed lists do not count. */
  get watchers(): number {
    return [...this.#watchers].filter(({ follows }) => follows).length;
  }

  /** Creates or changes an object; a new UID means another object with the same name. */
  put(name: string, uid: string, extra: Readonly<Record<string, unknown>> = {}): KubeObject {
    const before = this.objects.get(name);
    if (this.replaces(name, uid)) this.remove(name);
    const object = {
      kind: 'Pod',
      apiVersion: 'v1',
      metadata: { name, namespace: 'default', uid, resourceVersion: String(++this.#version) },
      ...extra,
    };
    this.objects.set(name, object);
    this.#emit({
      version: this.#version,
      type: before?.metadata?.uid === uid ? 'MODIFIED' : 'ADDED',
      object,
    });
    return object;
  }

  /** True when putting this object first deletes another one with the same name. */
  replaces(name: string, uid: string): boolean {
    const before = this.objects.get(name);
    return before !== undefined && before.metadata?.uid !== uid;
  }

  remove(name: string): void {
    const object = this.objects.get(name);
    if (!object) return;
    this.objects.delete(name);
    const last = { ...object, metadata: { ...object.metadata, resourceVersion: String(++this.#version) } };
    this.#emit({ version: this.#version, type: 'DELETED', object: last });
  }

  /** Clears the history: watches from earlier versions get 410. */
  compact(): void {
    this.#log = [];
    this.#oldest = this.#version;
  }

  /** Restarts the resource versions, as after a restore from a backup. */
  goBackTo(version: number): void {
    this.#version = version;
    this.#oldest = 1;
    this.#log = [];
  }

  bookmark(): void {
    for (const watcher of this.#watchers) watcher.bookmark();
  }

  /** Ends every watch gracefully. */
  endWatches(): void {
    for (const watcher of this.#watchers) watcher.response.end();
  }

  /** Cuts every watch's connection. */
  cutWatches(): void {
    for (const watcher of this.#watchers) watcher.response.socket?.destroy();
  }

  #emit(entry: LogEntry): void {
    this.#log.push(entry);
    if (this.#log.length > 20_000) {
      const dropped = this.#log.splice(0, 10_000);
      this.#oldest = dropped.at(-1)?.version ?? this.#oldest;
    }
    for (const watcher of this.#watchers) watcher.send(entry);
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://stub');
    const body = await text(request).catch(() => '');
    const seen: SeenRequest = { method: request.method ?? '', url, headers: request.headers, body };
    this.requests.push(seen);
    if (await this.intercept?.(seen, response)) return;
    if (url.searchParams.get('watch') === 'true') this.#watch(url, response);
    else if (seen.method === 'GET') this.#list(url, response);
    else this.json(response, 200, body === '' ? { kind: 'Status' } : (JSON.parse(body) as object));
  }

  json(response: ServerResponse, status: number, body: object, headers: Record<string, string> = {}): true {
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
    return true;
  }

  status(response: ServerResponse, code: number, reason: string, headers: Record<string, string> = {}): true {
    return this.json(response, code, { kind: 'Status', code, reason, message: `${code} ${reason}` }, headers);
  }

  #list(url: URL, response: ServerResponse): void {
    const limit = Number(url.searchParams.get('limit') ?? 0);
    const token = url.searchParams.get('continue');
    const [at = '', from = '0'] = token?.split('.') ?? [];
    if (token !== null && Number(at) < this.#oldest) {
      this.status(response, 410, 'Expired');
      return;
    }
    const all = (token === null ? undefined : this.#snapshots.get(at)) ?? [...this.objects.values()];
    const start = Number(from);
    const page = limit > 0 ? all.slice(start, start + limit) : all;
    const version = token === null ? String(this.#version) : at;
    const more = limit > 0 && start + limit < all.length;
    if (more && token === null) this.#keep(version, all);
    this.json(response, 200, {
      kind: 'PodList',
      apiVersion: 'v1',
      metadata: { resourceVersion: version, ...(more && { continue: `${version}.${start + limit}` }) },
      items: page.map(({ kind: _kind, apiVersion: _version, ...rest }) => rest),
    });
  }

  /** All pages of a list show the same version. */
  #keep(version: string, all: readonly KubeObject[]): void {
    this.#snapshots.set(version, all);
    for (const oldest of this.#snapshots.keys())
      if (this.#snapshots.size > 20) this.#snapshots.delete(oldest);
  }

  #watch(url: URL, response: ServerResponse): void {
    const initial = url.searchParams.get('sendInitialEvents') === 'true';
    if (initial && !this.streamingLists) {
      this.status(response, 422, 'Invalid');
      return;
    }
    response.writeHead(200, { 'content-type': 'application/json' });
    response.flushHeaders();
    const write = (type: string, object: object): void => {
      response.write(`${JSON.stringify({ type, object })}\n`);
    };
    const bookmark = (annotations?: object): void => {
      write('BOOKMARK', {
        kind: 'Pod',
        apiVersion: 'v1',
        metadata: { resourceVersion: String(this.#version), ...(annotations && { annotations }) },
      });
    };
    const from = Number(url.searchParams.get('resourceVersion') ?? 0);
    if (!initial && from < this.#oldest && from !== 0) {
      write('ERROR', { kind: 'Status', code: 410, reason: 'Expired', message: 'too old resource version' });
      response.end();
      return;
    }
    if (initial) {
      for (const object of this.objects.values()) write('ADDED', object);
      bookmark({ 'k8s.io/initial-events-end': 'true' });
    } else for (const entry of this.#log) if (entry.version > from) write(entry.type, entry.object);
    const watcher = {
      follows: !initial,
      send: (entry: LogEntry) => {
        write(entry.type, entry.object);
      },
      bookmark,
      response,
    };
    this.#watchers.add(watcher);
    response.on('close', () => this.#watchers.delete(watcher));
    const seconds = Number(url.searchParams.get('timeoutSeconds') ?? 0);
    if (seconds > 0) setTimeout(() => response.end(), seconds * 1000).unref();
  }
}

/** Resolves once `test` returns true; for events of real sockets. */
export const until = (test: () => boolean, limitMs = 5000): Promise<void> =>
  soon(test.toString(), test, { withinMs: limitMs, everyMs: 2 });
