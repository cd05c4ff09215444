import { tableOf } from '../../base/own.ts';
import type { IncomingMessage } from 'node:http';
import { decodedPath } from '../../go/url-path.ts';
import { parseDuration } from '../../kube/duration.ts';
import { findKind, type Kind, type Subresource } from '../../apimachinery/kinds.ts';
import { selectedName } from '../../apimachinery/selectors.ts';
import { badRequest, methodNotAllowed, noSuchResource } from '../../apimachinery/status-error.ts';
import type { AuditRecord } from './audit-record.ts';
import type { Upgrading } from './upgrading.ts';
import type { User } from '../authentication/users.ts';

/** Finds the kind that is served under a group, version and plural. */
export type KindFinder = (group: string, version: string, resource: string) => Kind | undefined;

/** A parsed path of the resource API; `kind` is absent when the server does not serve it. */
export interface ResourcePath {
  readonly group: string;
  readonly version: string;
  readonly namespace: string;
  readonly resource: string;
  readonly name: string;
  readonly subresource: string;
  /** The path after a proxied subresource. */
  readonly rest: string;
  /** Whether the path has a namespace, possibly an empty one. */
  readonly nested: boolean;
  /** Whether the path is one of the resource API; otherwise it is not found. */
  readonly isRouted: boolean;
  readonly kind: Kind | undefined;
}

/** A parsed request before authentication. */
export type UnauthenticatedRequest = Omit<ApiRequest, 'user'>;

/** A parsed request. */
export interface ApiRequest {
  readonly raw: IncomingMessage;
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly user: User;
  readonly target: ResourcePath | undefined;
  /** The request's audit event; absent without auditing. */
  readonly audit?: AuditRecord;
  /** The connection of a client that requests an upgrade. */
  readonly upgrading?: Upgrading;
}

/** Parses the query of a URL. Pairs with a semicolon or an invalid escape are ignored, as in Go. */
export function queryOf(url: string): URLSearchParams {
  const cut = url.indexOf('?');
  if (cut < 0) return new URLSearchParams();
  const search = url.slice(cut + 1);
  const broken = /;|%(?![0-9a-fA-F]{2})/;
  return new URLSearchParams(
    search
      .split('&')
      .filter((pair) => !broken.test(pair))
      .join('&'),
  );
}

const namespaced = new Set(['status', 'finalize']);
const watchPath = /^(\/+api\/+[^/]+\/+|\/+apis\/+[^/]+\/+[^/]+\/+)watch\/+(?=[^/])/;

/** Reports whether a URL is an old watch path, `/api/v1/watch/pods`, which only accepts GET. */
export const isWatchPath = (url: string): boolean => watchPath.test(url);

/** Converts an old watch path, `/api/v1/watch/…`, to a path and query; returns others unchanged. @throws {StatusError} 400 */
export function withoutWatchPath(path: string, query: URLSearchParams, find: KindFinder = findKind): string {
  if (!isWatchPath(path)) return path;
  const plain = path.replace(watchPath, '$1');
  query.set('watch', 'true');
  const target = parseResourcePath(plain, find);
  return target && isObjectOf(target) ? watchOfOne(plain, target, query) : plain;
}

const isObjectOf = ({ name, subresource, namespace, kind }: ResourcePath): boolean =>
  name !== '' && subresource === '' && (namespace !== '' || kind?.namespaced !== true);

/** Converts a watch of one object to a watch of all with its name. */
function watchOfOne(plain: string, { resource, name }: ResourcePath, query: URLSearchParams): string {
  const selector = query.get('fieldSelector') ?? '';
  if (selector !== '' && selectedName(selector) !== name)
    throw badRequest("fieldSelector metadata.name doesn't match requested name");
  query.set('fieldSelector', `metadata.name=${name}`);
  return plain.slice(0, plain.lastIndexOf(`${resource}/`) + resource.length);
}

/** Rejects paths without a route, and methods that a route does not have. @throws {StatusError} 404, 405 */
export function checkRoute(method: string, target: ResourcePath, kind: Kind): void {
  if (target.subresource !== 'proxy' && target.rest !== '') throw noSuchResource();
  if (!kind.namespaced || target.nested) return;
  if (target.name !== '' || !kind.verbs.includes('list')) throw noSuchResource();
  if (method !== 'GET') throw methodNotAllowed();
}

/** Returns the group and version of a path, and the rest; `undefined` for a path that is not of a resource. */
function versionIn(
  parts: readonly string[],
): { readonly group: string; readonly version: string; readonly rest: readonly string[] } | undefined {
  const [root, ...after] = parts;
  const [group, version, ...rest] = root === 'api' ? ['', ...after] : after;
  const isResource = (root === 'api' || root === 'apis') && rest.length > 0;
  return isResource && group !== undefined && version !== undefined ? { group, version, rest } : undefined;
}

/** Parses `/api/v1/…` and `/apis/group/version/…`; `undefined` for every other path, and for those of discovery. */
export function parseResourcePath(path: string, find: KindFinder = findKind): ResourcePath | undefined {
  const decoded = decodedPath(path);
  const head = versionIn(decoded.replace(/^\/+|\/+$/g, '').split('/'));
  if (!head) return undefined;
  const { group, version } = head;
  const { namespace, inner, nested } = inNamespace(head.rest);
  const [resource = '', name = '', subresource = '', ...below] = inner;
  const isRouted = !isAstray(decoded);
  const found = isRouted ? find(group, version, resource) : undefined;
  const kind = found?.namespaced === false && nested ? undefined : found;
  const rest = below.join('/') + (path.endsWith('/') && below.length > 0 ? '/' : '');
  return { group, version, namespace, resource, name, subresource, rest, nested, isRouted, kind };
}

/** Reports whether an empty segment makes a path unknown. */
export const isAstray = (path: string): boolean => /^\/\/|^\/apis\/\//.test(path);

function inNamespace(parts: readonly string[]): {
  readonly namespace: string;
  readonly inner: readonly string[];
  readonly nested: boolean;
} {
  const [first, namespace = '', next] = parts;
  if (first !== 'namespaces') return { namespace: '', inner: parts, nested: false };
  const nested = next !== undefined && !namespaced.has(next);
  return { namespace, inner: nested ? parts.slice(2) : parts, nested };
}

const methodVerbs: Readonly<Record<string, string>> = tableOf({
  POST: 'create',
  GET: 'get',
  HEAD: 'get',
  PUT: 'update',
  PATCH: 'patch',
  DELETE: 'delete',
});

/** Parses a boolean query parameter: everything but `0` and `false` is true. */
export const isTrue = (value: string | null): boolean =>
  value !== null && value !== '0' && value.toLowerCase() !== 'false';

/** Returns the verb of a method on one object; `''` for a method without one. */
export const verbOfMethod = (method: string): string => methodVerbs[method] ?? '';

/** Returns the verb for authorization. */
export function verbOf(method: string, target: ResourcePath | undefined, query: URLSearchParams): string {
  const verb = verbOfMethod(method);
  if (!target) return method.toLowerCase();
  if (target.name !== '') return verb;
  if (verb === 'get') return isTrue(query.get('watch')) ? 'watch' : 'list';
  return verb === 'delete' ? 'deletecollection' : verb;
}

/** Returns the subresource of a path; `undefined` where the kind does not have it. */
export const subresourceOf = (target: ResourcePath): Subresource | undefined =>
  target.kind?.subresources.find((sub) => sub.name === target.subresource);

/** Subresources with long-running requests. */
const lasting: ReadonlySet<string> = new Set(['attach', 'exec', 'proxy', 'log', 'portforward']);

/** Reports whether a request is long-running: a watch, a stream, a log, a proxied connection. */
export const isLongRunning = ({ method, target, query }: UnauthenticatedRequest): boolean =>
  lasting.has(target?.subresource ?? '') || verbOf(method, target, query) === 'watch';

/** Validates the `timeout` parameter, which is otherwise unused: nothing here takes that long. @throws {StatusError} 400 */
function checkTimeout(request: UnauthenticatedRequest): void {
  const timeout = request.query.get('timeout') ?? '';
  if (timeout === '' || isLongRunning(request)) return;
  const read = parseDuration(timeout);
  if (typeof read === 'string') throw badRequest(`invalid timeout specified in the request URL - ${read}`);
}

/** Parses a request. @throws {StatusError} 400 */
export function readRequest(raw: IncomingMessage, find: KindFinder = findKind): UnauthenticatedRequest {
  const url = raw.url ?? '/';
  const cut = url.indexOf('?');
  const query = queryOf(url);
  const path = withoutWatchPath(cut < 0 ? url : url.slice(0, cut), query, find);
  const request = { raw, method: raw.method ?? 'GET', path, query, target: parseResourcePath(path, find) };
  checkTimeout(request);
  return request;
}
