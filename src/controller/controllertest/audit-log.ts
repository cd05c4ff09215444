import { deepStrictEqual } from 'node:assert/strict';

/** A request as an audit log records it: an `Event` of `audit.k8s.io/v1`. */
export interface AuditedRequest {
  readonly verb: string;
  readonly requestURI: string;
  readonly user: { readonly username?: string };
  readonly userAgent?: string;
  readonly objectRef?: {
    readonly apiGroup?: string;
    readonly resource?: string;
    readonly subresource?: string;
    readonly namespace?: string;
    readonly name?: string;
  };
  readonly responseStatus?: { readonly code?: number };
}

/** Which requests of an audit log are looked at. */
export interface AuditLogOptions {
  /** Only requests of this user, e.g. the one that the manager connects as. Default: of all users. */
  readonly user?: string;
  /** Only requests for these resources, such as `deployments` or `memcacheds.cache.example.com`. Default: for all. */
  readonly resources?: readonly string[];
}

/** The verbs that change nothing. */
const reads: ReadonlySet<string> = new Set(['get', 'list', 'watch']);

/**
 * AuditLog shows the requests that an API server has answered, as lines that a test compares: `create deployments.apps default/web`,
 * `patch memcacheds.cache.example.com/status default/web`, with the status behind those that were refused: `… 409`. It starts at the
 * moment it is made.
 *
 * @example
 * const log = new AuditLog(env);
 * await driver.run();
 * log.assertWrites(['create deployments.apps default/web', 'patch memcacheds.cache.example.com/status default/web']);
 */
export class AuditLog {
  readonly #source: { readonly audit: readonly AuditedRequest[] };
  readonly #options: AuditLogOptions;
  #from: number;

  /** @param source where the requests are recorded: a `TestEnvironment`, or a server of `startApiServer` */
  constructor(source: { readonly audit: readonly AuditedRequest[] }, options: AuditLogOptions = {}) {
    this.#source = source;
    this.#options = options;
    this.#from = source.audit.length;
  }

  /** The requests since the log was made or {@link clear} was called, in the order of their answers. */
  get requests(): readonly AuditedRequest[] {
    return this.#source.audit.slice(this.#from).filter((request) => isSelected(request, this.#options));
  }

  /** The requests that change something, as lines; dry runs have ` (dry run)` at the end. */
  get writes(): readonly string[] {
    return this.requests.filter(({ verb }) => !reads.has(verb)).map(lineOf);
  }

  /** The requests that read, as lines. */
  get reads(): readonly string[] {
    return this.requests.filter(({ verb }) => reads.has(verb)).map(lineOf);
  }

  /** Forgets the requests so far. */
  clear(): void {
    this.#from = this.#source.audit.length;
  }

  /** @throws {AssertionError} with the difference, unless the writes are these lines in this order */
  assertWrites(expected: readonly string[]): void {
    deepStrictEqual(this.writes, [...expected]);
  }

  /** @throws {AssertionError} when something was written */
  assertNoWrites(): void {
    this.assertWrites([]);
  }
}

function isSelected(request: AuditedRequest, { user, resources }: AuditLogOptions): boolean {
  if (user !== undefined && request.user.username !== user) return false;
  const { resource = '' } = request.objectRef ?? {};
  return resources === undefined || resources.includes(resource) || resources.includes(resourceOf(request));
}

/** Returns `RESOURCE.GROUP`, as kubectl writes it. */
const resourceOf = ({ objectRef: { resource = '', apiGroup = '' } = {} }: AuditedRequest): string =>
  apiGroup === '' ? resource : `${resource}.${apiGroup}`;

function lineOf(request: AuditedRequest): string {
  const { verb, requestURI, objectRef, responseStatus } = request;
  const { pathname, searchParams } = new URL(requestURI, 'http://localhost');
  if (!objectRef?.resource) return `${verb} ${pathname}`;
  const { subresource, namespace, name } = objectRef;
  const resource = `${resourceOf(request)}${subresource === undefined ? '' : `/${subresource}`}`;
  const place = [namespace, name].filter((part) => part !== undefined && part !== '').join('/');
  const { code = 200 } = responseStatus ?? {};
  const parts = [
    verb,
    resource,
    place,
    code >= 400 ? String(code) : '',
    searchParams.has('dryRun') ? '(dry run)' : '',
  ];
  return parts.filter((part) => part !== '').join(' ');
}
