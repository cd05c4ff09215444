import type { IncomingMessage } from 'node:http';
import { Agent, request } from 'node:https';
import { isIP } from 'node:net';
import { LRUCache } from 'lru-cache';
import type { Clock } from '../../base/clock.ts';
import { type HostPort, joinHostPort } from '../../base/host-port.ts';
import { cleanPath } from '../../go/clean-path.ts';
import { goQuote } from '../../go/go-quote.ts';
import { type JsonObject, objectAt, stringAt } from '../../apimachinery/json.ts';
import type { Store } from '../storage/store.ts';
import { connectionFault } from './connection-fault.ts';
import { failedAnswer, objectOf, type WebhookAnswer } from './server-response.ts';
import { resolveService } from './service-resolver.ts';

export interface WebhookClientDeps {
  /** Services and their endpoints are read from here. */
  readonly store: Store;
  readonly clock: Clock;
  /** Ends every call when the server stops. */
  readonly stopping: AbortSignal;
}

/** One call of a webhook. */
export interface WebhookCall {
  /** `clientConfig` of the webhook: a `url` or a `service`, and the `caBundle`. */
  readonly config: JsonObject;
  readonly body: JsonObject;
  /** Time limit of the whole call, seconds. */
  readonly timeoutSeconds: number;
}

/** Where a webhook is called. */
interface Target {
  /** `https://host[:port]`, as it appears in messages. */
  readonly origin: string;
  readonly path: string;
  /** Host in the handshake, in the certificate and in the `Host` header. */
  readonly host: string;
  readonly port: number;
  /** Returns the address to connect to. @throws {StatusError} */
  readonly address: () => HostPort;
}

/** Answers above this size are refused, bytes. */
const answerMost = 16 * 1024 * 1024;
/** Number of webhooks whose connections are reused. */
const agentsMost = 200;

/** @throws {Error} for a configuration that names no place */
function targetOf(config: JsonObject, store: Store): Target {
  const { service } = config;
  if (service !== undefined) {
    const {
      namespace,
      name,
      path,
      port = 443,
    } = objectAt(config, 'service') as Readonly<{
      namespace: string;
      name: string;
      path?: string;
      port?: number;
    }>;
    const host = `${name}.${namespace}.svc`;
    const address = (): HostPort => resolveService(store, { namespace, name, port });
    return { origin: `https://${host}:${port}`, path: pathOf(path), host, port, address };
  }
  const text = stringAt(config, 'url');
  if (text === '') throw new Error('webhook configuration must have either service or URL');
  const url = new URL(text);
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const port = Number(url.port) || 443;
  const [origin = ''] = /^[^:]*:\/\/[^/?#]*/.exec(text) ?? [];
  return { origin, path: pathOf(url.pathname), host, port, address: () => ({ host, port }) };
}

/** Returns the path as client-go writes it into the request: cleaned, without a trailing slash. */
const pathOf = (path = ''): string => cleanPath(`/${path}`);

/** Returns the authorities of a `caBundle`, which is PEM in base64; an empty one means those of the machine. */
function authoritiesOf(config: JsonObject): string | undefined {
  const text = Buffer.from(stringAt(config, 'caBundle'), 'base64').toString();
  return text.trim() === '' ? undefined : text;
}

/** WebhookClient calls webhooks of admission and of conversion, by URL or by service, over HTTPS only. */
export class WebhookClient {
  readonly #deps: WebhookClientDeps;
  /** Connections, by authorities and target. */
  readonly #agents = new LRUCache<string, Agent>({
    max: agentsMost,
    dispose: (agent) => {
      agent.destroy();
    },
  });

  constructor(deps: WebhookClientDeps) {
    this.#deps = deps;
    deps.stopping.addEventListener('abort', () => {
      this.#agents.clear();
    });
  }

  /**
   * Posts a review and returns the answered one.
   *
   * @throws {StatusError} for a webhook that answers with an error
   * @throws {Error} for a webhook that cannot be reached or answers with something else, in the words of Go's HTTP client
   */
  async post({ config, body, timeoutSeconds }: WebhookCall): Promise<JsonObject> {
    const target = targetOf(config, this.#deps.store);
    const path = `${target.path}?timeout=${timeoutSeconds}s`;
    const ended = new AbortController();
    const stop = this.#deps.clock.timer(timeoutSeconds * 1000, () => {
      ended.abort(new Error('context deadline exceeded'));
    });
    const signal = AbortSignal.any([ended.signal, this.#deps.stopping]);
    let answer: WebhookAnswer;
    try {
      answer = await this.#exchange(target, path, config, { text: JSON.stringify(body), signal });
    } catch (cause) {
      const why = ended.signal.aborted ? 'context deadline exceeded' : (cause as Error).message;
      throw new Error(`Post ${goQuote(target.origin + path)}: ${why}`, { cause });
    } finally {
      stop();
    }
    if (answer.status < 200 || answer.status > 206) throw failedAnswer(answer);
    return objectOf(answer);
  }

  async #exchange(
    target: Target,
    path: string,
    config: JsonObject,
    sent: { readonly text: string; readonly signal: AbortSignal },
  ): Promise<WebhookAnswer> {
    const at = target.address();
    const ca = authoritiesOf(config);
    const agent = this.#agentOf(`${ca ?? ''} ${target.origin} ${joinHostPort(at.host, at.port)}`);
    const headers = {
      Host: joinHostPort(target.host, target.port),
      'Content-Type': 'application/json',
      Accept: 'application/json, */*',
      'Content-Length': Buffer.byteLength(sent.text),
      'User-Agent': 'kube-apiserver-admission',
    };
    const options = {
      ...at,
      path,
      method: 'POST',
      headers,
      agent,
      signal: sent.signal,
      servername: isIP(target.host) === 0 ? target.host : '',
      allowPartialTrustChain: true, // as in Go, any certificate of the bundle is trusted: also the webhook's own
      ...(ca !== undefined && { ca }),
    };
    for (;;) {
      const outgoing = request(options);
      const answered = answerOf(outgoing);
      outgoing.end(sent.text);
      try {
        return await answered;
      } catch (reason) {
        // the webhook has closed an idle connection: it has seen nothing of the request
        const isStale = outgoing.reusedSocket && (reason as NodeJS.ErrnoException).code === 'ECONNRESET';
        if (isStale && !sent.signal.aborted) continue;
        throw new Error(connectionFault(reason, at), { cause: reason });
      }
    }
  }

  #agentOf(key: string): Agent {
    let agent = this.#agents.get(key);
    if (!agent) {
      agent = new Agent({ keepAlive: true });
      this.#agents.set(key, agent);
    }
    return agent;
  }
}

/** Resolves with the whole answer of a request. */
function answerOf(outgoing: ReturnType<typeof request>): Promise<WebhookAnswer> {
  return new Promise((resolve, reject) => {
    outgoing.on('error', reject);
    outgoing.on('response', (incoming: IncomingMessage) => {
      const chunks: Buffer[] = [];
      let size = 0;
      incoming.on('error', reject);
      incoming.on('data', (chunk: Buffer) => {
        chunks.push(chunk);
        size += chunk.length;
        if (size > answerMost) outgoing.destroy(new Error('http: response body too large'));
      });
      incoming.on('end', () => {
        resolve({
          status: incoming.statusCode ?? 0,
          type: incoming.headers['content-type'] ?? '',
          text: Buffer.concat(chunks).toString(),
        });
      });
    });
  });
}
