import { AgentError, messageOf } from '../../base/errors.ts';
import type { AuthConfig } from '../../provider/cri-messages.ts';
import { acceptedTypes, maxDocumentBytes } from './documents.ts';
import type { ImageReference } from './reference.ts';
import { RegistryAuth } from './registry-auth.ts';
import { readBody } from './registry-body.ts';
import { RegistryFault, registryFault } from './registry-fault.ts';
import type { Endpoint, EndpointCapability } from './registry-hosts.ts';
import type { RegistryResponse, RegistryTransport } from './registry-transport.ts';
import type { LockClock } from './store-lock.ts';

/** Dependencies of RegistryClient. */
export interface RegistryClientDeps {
  readonly clock: LockClock;
  readonly transport: RegistryTransport;
  /** Mirrors first, the registry itself last. */
  readonly endpoints: readonly Endpoint[];
  readonly auth?: AuthConfig;
  readonly signal?: AbortSignal;
}

/** A request below a repository. */
interface RepositoryRequest {
  readonly path: string;
  readonly capability: EndpointCapability;
  readonly headers: Readonly<Record<string, string>>;
}

/** The number of times that all endpoints are asked when registry or network fail. */
const attempts = 4;
/** The longest time that a registry may ask to wait, ms; beyond it the pull fails, and the kubelet's back-off waits. */
const longestWaitMs = 30_000;
/** The number of challenges that one request answers: one for an expired token, one for its successor. */
const maxChallenges = 2;

interface Source {
  readonly endpoint: Endpoint;
  readonly auth: RegistryAuth;
}

/**
 * RegistryClient reads one repository from its mirrors and its registry. Each request asks the endpoints in their order until one succeeds, and
 * starts again after a pause when the last one failed for a reason that may pass. Credentials go to the registry itself and the token server that it
 * names, neither to mirrors nor to where a redirect leads.
 */
export class RegistryClient {
  readonly #reference: ImageReference;
  readonly #deps: RegistryClientDeps;
  readonly #sources: readonly Source[];

  constructor(reference: ImageReference, deps: RegistryClientDeps) {
    this.#reference = reference;
    this.#deps = deps;
    const { transport, auth, signal } = deps;
    this.#sources = deps.endpoints.map((endpoint) => ({
      endpoint,
      auth: new RegistryAuth({
        transport,
        endpoint,
        repository: reference.path,
        image: reference.name,
        ...(auth && endpoint.mirrorOf === undefined && { auth }),
        ...(signal && { signal }),
      }),
    }));
  }

  /** Reads a manifest by tag or digest. @throws {AgentError} `not_found`, `unauthenticated`, `unavailable` */
  async manifest(key: string): Promise<Buffer> {
    const request: RepositoryRequest = {
      path: `manifests/${key}`,
      capability: key.includes(':') ? 'pull' : 'resolve',
      headers: { accept: acceptedTypes.join(', ') },
    };
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#document(await this.#get(request), key);
      } catch (reason) {
        await this.pause(attempt, reason);
      }
    }
  }

  /** Requests a blob from an offset. A response with status 200 begins at the start. */
  blob(digest: string, from: number): Promise<RegistryResponse> {
    const headers: Readonly<Record<string, string>> = from > 0 ? { range: `bytes=${from}-` } : {};
    return this.#get({ path: `blobs/${digest}`, capability: 'pull', headers });
  }

  /**
   * Waits before the next attempt, as long as the registry asks for.
   *
   * @param attempt the number of attempts that have failed
   * @throws what failed when another attempt is of no use
   */
  async pause(attempt: number, reason: unknown): Promise<void> {
    const { clock, signal } = this.#deps;
    signal?.throwIfAborted();
    const error = AgentError.from(reason, 'unavailable');
    const own = error instanceof RegistryFault ? (error.retryAfterMs ?? 0) : 0;
    if (error.code !== 'unavailable' || attempt >= attempts || own > longestWaitMs) throw error;
    await clock.sleep(Math.max(own, 100 * 2 ** attempt), signal);
  }

  async #document({ body }: RegistryResponse, key: string): Promise<Buffer> {
    try {
      return await readBody(body, maxDocumentBytes, `manifest ${key}`);
    } catch (cause) {
      this.#deps.signal?.throwIfAborted();
      throw AgentError.from(cause, 'unavailable');
    }
  }

  /** Asks the endpoints in their order. The last one's failure counts; those of mirrors are named after it. */
  async #get(request: RepositoryRequest): Promise<RegistryResponse> {
    const mirrors: string[] = [];
    const sources = this.#sources.filter(({ endpoint }) => endpoint.capabilities.has(request.capability));
    for (const source of sources) {
      try {
        return await this.#getFrom(source, request);
      } catch (reason) {
        this.#deps.signal?.throwIfAborted();
        if (source === sources.at(-1)) throw withMirrors(AgentError.from(reason, 'unavailable'), mirrors);
        mirrors.push(messageOf(reason));
      }
    }
    throw new AgentError('failed_precondition', `${this.#reference.name}: no endpoint is configured`);
  }

  async #getFrom({ endpoint, auth }: Source, request: RepositoryRequest): Promise<RegistryResponse> {
    const { transport, signal } = this.#deps;
    const { base, tls, mirrorOf } = endpoint;
    const query = mirrorOf === undefined ? '' : `?ns=${encodeURIComponent(mirrorOf)}`;
    const url = `${base}/${this.#reference.path}/${request.path}${query}`;
    for (let challenges = 0; ; challenges++) {
      const { authorization } = auth;
      const headers = {
        ...endpoint.headers,
        ...request.headers,
        ...(authorization !== undefined && { authorization }),
      };
      const response = await transport.send({ url, headers, tls, ...(signal && { signal }) });
      if (response.status === 200 || response.status === 206) return response;
      const challenge = response.header('www-authenticate') ?? '';
      if (response.status !== 401 || challenge === '' || challenges >= maxChallenges)
        throw await registryFault(response, `${this.#subject(endpoint)}: ${request.path}`);
      response.body.destroy();
      await auth.answer(challenge, authorization);
    }
  }

  #subject({ base, mirrorOf }: Endpoint): string {
    return mirrorOf === undefined ? this.#reference.name : `mirror ${new URL(base).host}`;
  }
}

function withMirrors(error: AgentError, mirrors: readonly string[]): AgentError {
  if (mirrors.length === 0) return error;
  const message = [error.message, ...mirrors].join('; ');
  if (!(error instanceof RegistryFault)) return new AgentError(error.code, message, { cause: error });
  return new RegistryFault(error.code, message, error);
}
