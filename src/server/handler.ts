import { tableOf } from '../base/own.ts';
import { messageOf } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';
import {
  anonymous,
  type Authenticator,
  type Authorizer,
  subresourcesOf,
  type User,
  verbOf,
} from './access.ts';
import { route, splitTarget } from './mux.ts';
import { httpError, pageNotFound, type Reply, type ServerRequest, text } from './reply.ts';
import { partsBelow, serve, type Service } from './services.ts';

/** Access rules and services of a {@link RequestHandler}. */
export interface HandlerOptions {
  readonly nodeName: string;
  readonly logger: Logger;
  readonly services: readonly Service[];
  /** Tried in order. `none`: requests are not authenticated, as on a read-only port. */
  readonly authenticators: readonly Authenticator[] | 'none';
  readonly authorizer: Authorizer;
  /** Whether requests without credentials are served as `system:anonymous`. */
  readonly anonymousAuth: boolean;
}

const unauthorized = text(401, 'Unauthorized');

/**
 * RequestHandler answers requests of the kubelet API without a socket: it finds the service, authenticates, authorizes and serves.
 * Unknown paths are answered before authentication (K1).
 */
export class RequestHandler {
  readonly #options: HandlerOptions;
  readonly #services: ReadonlyMap<string, Service>;
  readonly #patterns: ReadonlySet<string>;

  constructor(options: HandlerOptions) {
    this.#options = options;
    this.#services = new Map(
      options.services.flatMap((service) => service.patterns.map((pattern) => [pattern, service] as const)),
    );
    this.#patterns = new Set(this.#services.keys());
  }

  async handle(request: ServerRequest): Promise<Reply> {
    try {
      return await this.#answer(request);
    } catch (reason) {
      this.#options.logger.error('cannot serve request', {
        method: request.method,
        path: splitTarget(request.target).path,
        err: messageOf(reason),
      });
      return httpError(500, 'internal server error');
    }
  }

  async #answer(request: ServerRequest): Promise<Reply> {
    const found = route(this.#patterns, request.target);
    if (found.kind === 'none') return pageNotFound;
    if (found.kind === 'redirect') return redirect(request.method, found.location);
    const refusal = await this.#refusal(request);
    if (refusal) return refusal;
    const { path, search } = splitTarget(request.target);
    const service = this.#services.get(found.pattern);
    if (!service) return pageNotFound;
    const call = {
      request,
      query: new URLSearchParams(search),
      parts: partsBelow(found.pattern, path),
    };
    return typeof service.routes === 'function' ? service.routes(call) : serve(service.routes, call);
  }

  /** Returns the reply that rejects a request, or undefined when it is allowed. */
  async #refusal(request: ServerRequest): Promise<Reply | undefined> {
    if (this.#options.authenticators === 'none') return undefined;
    const user = await this.#userOf(request);
    if (!user) return unauthorized;
    const { authorizer, nodeName, logger } = this.#options;
    const verb = verbOf(request.method);
    const subresources = subresourcesOf(request.target);
    const attributes = `user=${user.name}, verb=${verb}, resource=nodes, subresource(s)=[${subresources.join(' ')}]`;
    try {
      for (const subresource of subresources)
        if (await authorizer.authorize({ user, verb, subresource, nodeName })) return undefined;
    } catch (reason) {
      logger.error('cannot authorize request', { user: user.name, err: messageOf(reason) });
      return text(500, `Authorization error (${attributes})`);
    }
    return text(403, `Forbidden (${attributes})\n`);
  }

  async #userOf(request: ServerRequest): Promise<User | undefined> {
    const { authenticators, anonymousAuth, logger } = this.#options;
    if (authenticators === 'none') return anonymous;
    for (const authenticator of authenticators) {
      try {
        const user = await authenticator.authenticate(request);
        if (user === 'refused') return undefined;
        if (user) return user;
      } catch (reason) {
        logger.error('cannot check credentials', { err: messageOf(reason) });
        return undefined;
      }
    }
    // An invalid client certificate does not fall back to anonymous (`NewFailOnError`); another valid credential would have counted.
    return anonymousAuth && request.peer !== 'unverified' ? anonymous : undefined;
  }
}

const htmlEscapes: Readonly<Record<string, string>> = tableOf({
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&#34;',
  "'": '&#39;',
});

/** Returns a redirect as Go's `http.Redirect` writes it: only GET has a body; GET and HEAD have a content type. */
function redirect(method: string, location: string): Reply {
  if (method !== 'GET' && method !== 'HEAD')
    return { status: 307, headers: { Location: location }, body: '' };
  const href = location.replace(/[&<>"']/g, (character) => htmlEscapes[character] ?? '');
  return {
    status: 307,
    headers: { 'Content-Type': 'text/html; charset=utf-8', Location: location },
    body: method === 'GET' ? `<a href="${href}">Temporary Redirect</a>.\n\n` : '',
  };
}
