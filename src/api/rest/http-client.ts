import { type Clock, steadyNow } from '../../base/clock.ts';
import { type Logger, silentLogger } from '../../base/logger.ts';
import { type Random, systemRandom } from '../../base/random.ts';
import type { Tracer } from '../../base/tracing.ts';
import type { KubeList, KubeObject } from '../../kube/types.ts';
import {
  type ApiClient,
  ApiError,
  type DeleteCollectionOptions,
  type DeleteOptions,
  type ListOptions,
  type ObjectRef,
  type Patch,
  type RequestOptions,
  type WatchEvent,
  type WatchOptions,
  type WithKnown,
  type WriteOptions,
} from '../client.ts';
import type { ApiConnection } from './connection.ts';
import {
  glance,
  type KnownObjects,
  likeKnown,
  restOf,
  versionAt,
  versionInEvent,
  withoutManagedFields,
} from '../cache/known-objects.ts';
import { errorOf } from './answer-error.ts';
import { LineCutter } from './lines.ts';
import { asKind, metadataOf } from './metadata-only.ts';
import { collectionPath, objectPath, type Query, withQuery } from './paths.ts';
import { type Priority, RateLimiter } from './rate-limiter.ts';
import type { Resource } from '../resources.ts';
import { deleteBody, listQuery, watchQuery, priorityOf, withItems } from './call-parts.ts';
import { observedTransport, type RequestObserver } from './observed-transport.ts';
import { tracedTransport, type Wire } from './traced-transport.ts';
import {
  answerBytes,
  type HttpAnswer,
  type HttpRequest,
  tooLong,
  tooLongReason,
  Transport,
  unreachable,
} from './transport.ts';

/** Dependencies and tuning of a client. */
export interface ApiClientDeps {
  readonly clock: Clock;
  readonly random?: Random;
  readonly logger?: Logger;
  /** Calls per second; 0: no limit. Default 50 (kubelet kubeAPIQPS). */
  readonly qps?: number;
  /** Calls that may be sent at once. Default 100 (kubelet kubeAPIBurst). */
  readonly burst?: number;
  /** Deadline of a call that sets none, ms. Default 30 s, a list's 60 s. */
  readonly timeoutMs?: number;
  /** The part before the slash is the default field manager. */
  readonly userAgent?: string;
  /** Sockets for calls. Default 16. */
  readonly connections?: number;
  /** One multiplexed connection instead; docs/decisions/api-transport.md says why that is not the default. */
  readonly http2?: boolean;
  /** Traces every request. */
  readonly tracer?: Tracer;
  /** Receives what the requests cost. */
  readonly observer?: RequestObserver;
  /** Limits on the server's responses. */
  readonly answers?: Partial<AnswerLimits>;
}

/** Limits on the server's responses, in bytes; a longer response is cut and the call fails. */
export interface AnswerLimits {
  /** Of a call. Default 32 MiB. */
  readonly answerBytes: number;
  /** Of a list or a page of one. Default 256 MiB. */
  readonly listBytes: number;
  /** Of one event of a watch, and of an error response to it. Default 32 MiB. */
  readonly eventBytes: number;
}

/** Options of a raw call. */
export interface RawRequest extends RequestOptions, WithKnown {
  readonly method: HttpRequest['method'];
  readonly body?: object | string;
  readonly contentType?: string;
  readonly query?: Query;
  readonly priority?: Priority;
  /** The media types that are accepted. Default: JSON. */
  readonly accept?: string;
  /** As in {@link DeleteOptions}. */
  readonly discardAnswer?: boolean;
  /** Maximum size of the response in bytes. */
  readonly mostBytes?: number;
}

/** An {@link ApiClient} over HTTP, with operations for the owner of its connections. */
export interface HttpApiClient extends ApiClient {
  /** Makes a call outside of the resources, e.g. `/version`; text that is not JSON is returned unchanged. */
  raw(path: string, request: RawRequest): Promise<unknown>;
  /** Closes all connections; calls in flight fail. */
  close(): Promise<void>;
}

/**
 * Returns a client of one API server with one set of connections and one rate limit. Nothing is opened before the first call.
 *
 * @example
 * const client = createApiClient({ server: 'https://127.0.0.1:6443', ca, token }, { clock: systemClock });
 * const pod = await client.get<Pod>(podResource, { namespace: 'default', name: 'web' });
 * await client.close();
 */
export function createApiClient(connection: ApiConnection, deps: ApiClientDeps): HttpApiClient {
  return new Client(connection, deps);
}

/** Calls per second by default. */
const defaultQps = 50;
/** How often a call that the server asks to retry later is retried (client-go). */
const maxPutOffs = 10;

const answerLimits: AnswerLimits = {
  answerBytes,
  listBytes: 8 * answerBytes,
  eventBytes: answerBytes,
};

const patchTypes: Readonly<Record<Patch['type'], string>> = {
  json: 'application/json-patch+json',
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  apply: 'application/apply-patch+yaml',
};

class Client implements HttpApiClient {
  readonly #transport: Wire;
  readonly #limiter: RateLimiter;
  readonly #deps: ApiClientDeps;
  readonly #logger: Logger;
  readonly #random: Random;
  readonly #answers: AnswerLimits;
  readonly #base: string;
  readonly #userAgent: string;

  constructor(connection: ApiConnection, deps: ApiClientDeps) {
    this.#deps = deps;
    this.#logger = deps.logger ?? silentLogger;
    this.#random = deps.random ?? systemRandom;
    this.#answers = { ...answerLimits, ...deps.answers };
    const transport = new Transport(connection, deps.clock, deps);
    const observed = deps.observer ? observedTransport(transport, deps.clock, deps.observer) : transport;
    this.#transport = deps.tracer ? tracedTransport(observed, connection.server, deps.tracer) : observed;
    this.#limiter = new RateLimiter(deps.clock, deps.qps ?? defaultQps, deps.burst ?? 100);
    this.#base = new URL(connection.server).pathname.replace(/\/$/, '');
    this.#userAgent = deps.userAgent ?? 'podtender';
  }

  get<T extends KubeObject>(
    resource: Resource,
    ref: ObjectRef,
    options: RequestOptions & WithKnown & { readonly resourceVersion?: string } = {},
  ): Promise<T> {
    return this.#call<T>(objectPath(resource, ref, options.subresource), {
      ...options,
      method: 'GET',
      query: { resourceVersion: options.resourceVersion },
      priority: priorityOf(resource, options.subresource),
      ...(options.metadataOnly === true && { accept: metadataOf('PartialObjectMetadata') }),
    }).then((object) => (options.metadataOnly === true ? asKind(object, resource) : object));
  }

  list<T extends KubeObject>(resource: Resource, options: ListOptions = {}): Promise<KubeList<T>> {
    return this.#call<KubeList<T>>(collectionPath(resource, options.namespace), {
      timeoutMs: this.#deps.timeoutMs ?? 60_000,
      mostBytes: this.#answers.listBytes,
      ...options,
      method: 'GET',
      query: listQuery(options),
      priority: priorityOf(resource),
      ...(options.metadataOnly === true && { accept: metadataOf('PartialObjectMetadataList') }),
    }).then((answer) => {
      const list = withItems(answer);
      return options.metadataOnly === true
        ? { ...list, items: list.items.map((item) => asKind(item, resource)) }
        : list;
    });
  }

  async *watch<T extends KubeObject>(
    resource: Resource,
    options: WatchOptions = {},
  ): AsyncGenerator<WatchEvent<T>> {
    const { knownObjects, metadataOnly = false } = options;
    const path = withQuery(collectionPath(resource, options.namespace), watchQuery(options));
    const body = await this.#openWatch(path, options);
    const cutter = new LineCutter(this.#answers.eventBytes);
    for await (const chunk of body) {
      for (const line of cutter.cut(chunk)) {
        if (isBlank(line)) continue;
        const event = eventOf(knownObjects, line) as WatchEvent<T>;
        yield metadataOnly && event.type !== 'ERROR'
          ? { ...event, object: asKind(event.object, resource) }
          : event;
      }
    }
    cutter.end();
  }

  /** Opens a watch and returns the bytes of its events. @throws {ApiError} the server refuses it */
  async #openWatch(
    path: string,
    { signal, metadataOnly, timeoutMs = 30_000, onOpen }: WatchOptions,
  ): Promise<AsyncIterable<Buffer>> {
    await this.#throttle('GET', 1, signal);
    const stream = await this.#transport.stream({
      method: 'GET',
      path: this.#base + path,
      headers: {
        accept: metadataOnly === true ? metadataOf('PartialObjectMetadata') : 'application/json',
        'user-agent': this.#userAgent,
      },
      timeoutMs,
      ...(signal && { signal }),
    });
    if (stream.status !== 200) {
      const text = await textOf(stream.body, this.#answers.eventBytes, path);
      throw errorOf({ ...stream, text }, 'GET', path, this.#deps.clock);
    }
    onOpen?.();
    return stream.body;
  }

  create<T extends KubeObject>(
    resource: Resource,
    object: T,
    options: WriteOptions & { readonly name?: string } = {},
  ): Promise<T> {
    const namespace = object.metadata?.namespace;
    const path =
      options.name === undefined
        ? collectionPath(resource, namespace)
        : objectPath(
            resource,
            { name: options.name, ...(namespace !== undefined && { namespace }) },
            options.subresource,
          );
    return this.#write<T>('POST', path, resource, { ...options, body: object });
  }

  update<T extends KubeObject>(resource: Resource, object: T, options: WriteOptions = {}): Promise<T> {
    const { namespace, name = '' } = object.metadata ?? {};
    const path = objectPath(
      resource,
      { name, ...(namespace !== undefined && { namespace }) },
      options.subresource,
    );
    return this.#write<T>('PUT', path, resource, { ...options, body: object });
  }

  patch<T extends KubeObject>(
    resource: Resource,
    ref: ObjectRef,
    patch: Patch,
    options: WriteOptions & WithKnown = {},
  ): Promise<T> {
    const manager =
      options.fieldManager ?? (patch.type === 'apply' ? this.#userAgent.split('/')[0] : undefined);
    return this.#write<T>('PATCH', objectPath(resource, ref, options.subresource), resource, {
      ...options,
      ...(manager !== undefined && { fieldManager: manager }),
      body: patch.body,
      contentType: patchTypes[patch.type],
      ...(patch.force === true && { force: true }),
    });
  }

  delete(resource: Resource, ref: ObjectRef, options: DeleteOptions = {}): Promise<KubeObject> {
    return this.#call<KubeObject>(objectPath(resource, ref, options.subresource), {
      ...options,
      method: 'DELETE',
      ...deleteBody(options),
      priority: priorityOf(resource),
    });
  }

  deleteCollection(resource: Resource, options: DeleteCollectionOptions = {}): Promise<KubeObject> {
    return this.#call<KubeObject>(collectionPath(resource, options.namespace), {
      timeoutMs: this.#deps.timeoutMs ?? 60_000,
      mostBytes: this.#answers.listBytes,
      ...options,
      method: 'DELETE',
      ...deleteBody(options),
      query: { labelSelector: options.labelSelector, fieldSelector: options.fieldSelector },
      priority: priorityOf(resource),
    });
  }

  raw(path: string, request: RawRequest): Promise<unknown> {
    return this.#call(path, request);
  }

  close(): Promise<void> {
    return this.#transport.close();
  }

  #write<T>(
    method: 'POST' | 'PUT' | 'PATCH',
    path: string,
    resource: Resource,
    options: WriteOptions & WithKnown & { body: object | string; contentType?: string; force?: boolean },
  ): Promise<T> {
    return this.#call<T>(path, {
      ...options,
      method,
      query: {
        dryRun: options.dryRun === true ? 'All' : undefined,
        fieldManager: options.fieldManager,
        fieldValidation: options.fieldValidation,
        force: options.force,
      },
      priority: priorityOf(resource, options.subresource),
    });
  }

  /** Makes one call; retries as long as the server asks to retry later, and once when a kept-alive socket was dead. */
  async #call<T>(path: string, request: RawRequest): Promise<T> {
    const { signal, priority = 1 } = request;
    const out = this.#prepare(path, request);
    for (let attempt = 0; ; attempt++) {
      const token = this.#throttle(out.method, priority, signal);
      if (token) await token;
      const answer = await this.#once(out, attempt);
      if (answer === undefined) {
        this.#deps.observer?.retried(out.method, 0);
        continue;
      }
      if (answer.status >= 200 && answer.status < 300) return read(answer, request) as T;
      const error = errorOf(answer, out.method, path, this.#deps.clock);
      if (answer.status !== 401 || attempt > 0) await this.#putOff(error, attempt, signal);
      this.#deps.observer?.retried(out.method, answer.status);
    }
  }

  /** Takes a token of the rate limit; undefined when there is one. */
  #throttle(
    method: HttpRequest['method'],
    priority: Priority,
    signal?: AbortSignal,
  ): Promise<void> | undefined {
    const { observer, clock, qps = defaultQps } = this.#deps;
    const token = this.#limiter.acquire(priority, signal);
    if (!observer || qps <= 0) return token;
    const since = steadyNow(clock);
    if (token)
      return token.then(() => {
        observer.throttled(method, steadyNow(clock) - since);
      });
    observer.throttled(method, 0);
    return undefined;
  }

  #prepare(path: string, request: RawRequest): HttpRequest {
    const { method, signal, body } = request;
    return {
      method,
      path: this.#base + (request.query ? withQuery(path, request.query) : path),
      headers: this.#headers(request),
      timeoutMs: request.timeoutMs ?? this.#deps.timeoutMs ?? 30_000,
      mostBytes: request.mostBytes ?? this.#answers.answerBytes,
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      ...(request.discardAnswer === true && { discardAnswer: true }),
      ...(request.knownObjects?.unmanaged === true && { textOf: unmanagedText }),
      ...(signal && { signal }),
    };
  }

  /** Waits as long as the server requests; rethrows errors that do not ask for a retry (client-go: only 429 and 5xx with Retry-After). */
  async #putOff(error: ApiError, attempt: number, signal?: AbortSignal): Promise<void> {
    const { retryAfterMs, status } = error;
    if (retryAfterMs === undefined || (status !== 429 && status < 500) || attempt >= maxPutOffs) throw error;
    this.#logger.debug('API server asks to retry later', { status, attempt });
    await this.#deps.clock.sleep(
      retryAfterMs + this.#random.float() * 0.5 * Math.min(retryAfterMs, 1000),
      signal,
    );
  }

  /** @returns undefined when a read met a dead socket for the first time: worth one retry */
  async #once(request: HttpRequest, attempt: number): Promise<HttpAnswer | undefined> {
    try {
      return await this.#transport.send(request);
    } catch (reason) {
      const again = request.method === 'GET' && attempt === 0 && reason instanceof ApiError;
      if (
        again &&
        reason.status === 0 &&
        reason.reason !== tooLongReason &&
        !(request.signal?.aborted ?? false)
      )
        return undefined;
      throw reason;
    }
  }

  #headers(request: RawRequest): Record<string, string> {
    const { accept = 'application/json' } = request;
    const headers: Record<string, string> = { accept, 'user-agent': this.#userAgent };
    if (request.body !== undefined) headers['content-type'] = request.contentType ?? 'application/json';
    return headers;
  }
}

function parse(text: string, what: string): unknown {
  try {
    return JSON.parse(text);
  } catch (reason) {
    throw unreachable(`${what} from the API server is not whole JSON`, reason);
  }
}

function read(answer: HttpAnswer, { knownObjects, discardAnswer }: RawRequest): unknown {
  if (discardAnswer === true) return {};
  if (!knownObjects) return parseAnswer(answer);
  const version = versionAt(answer.text);
  if (!version) return parseAnswer(answer);
  const found = knownObjects.find(version);
  const object = found ?? (parseAnswer(answer) as KubeObject);
  if (!found) knownObjects.note(object);
  const rest = knownObjects.unmanaged ? restOf(answer.text) : undefined;
  if (rest !== undefined) knownObjects.noteRest(object, rest);
  return object;
}

const isBlank = (line: Buffer): boolean => line.length === 0 || (line.length === 1 && line[0] === 0x0d);

/** Parses a line of a watch. */
function eventOf(knownObjects: KnownObjects | undefined, line: Buffer): unknown {
  if (!knownObjects) return parse(line.toString(), 'a watch event');
  if (!knownObjects.isEmpty) return eventLike(knownObjects, line);
  return parse((knownObjects.unmanaged ? withoutManagedFields(line) : line).toString(), 'a watch event');
}

/** Parses a line of a watch. For an object that a response has already delivered, only its identity is read. */
function eventLike(knownObjects: KnownObjects, line: Buffer): unknown {
  const beginning = glance(line);
  const seen = versionInEvent(beginning);
  const object = seen && seen.type !== 'DELETED' ? knownObjects.take(seen.version) : undefined;
  if (object) return { type: seen?.type, object };
  if (!knownObjects.unmanaged) return parse(line.toString(), 'a watch event');
  const unmanaged = withoutManagedFields(line, beginning);
  const like = seen && likeKnown(unmanaged, seen.version.uid, knownObjects);
  const event = parse(like?.news ?? unmanaged.toString(), 'a watch event') as WatchEvent;
  return like ? { ...event, object: { ...like.object, ...event.object } } : event;
}

const unmanagedText = (json: Buffer): string => withoutManagedFields(json).toString();

function parseAnswer({ headers, text }: HttpAnswer): unknown {
  const type = headers['content-type'];
  return typeof type === 'string' && !type.includes('json') ? text : parse(text, 'an answer');
}

/** Reads the text of a stream. @throws {ApiError} status 0 when it is too long */
async function textOf(body: AsyncIterable<Buffer>, mostBytes: number, path: string): Promise<string> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > mostBytes) throw tooLong({ method: 'GET', path }, mostBytes);
    parts.push(chunk);
  }
  return Buffer.concat(parts).toString();
}
