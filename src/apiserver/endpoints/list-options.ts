import { ownMember } from '../../base/own.ts';
import {
  fault,
  type FieldFault,
  badRequest,
  expired,
  invalid,
  tooLargeVersion,
} from '../../apimachinery/status-error.ts';
import { parseJson } from '../../go/json-fault.ts';
import { goKind, jsonFault } from '../../apimachinery/serializer/json-scan.ts';
import { isObject, stringAt } from '../../apimachinery/json.ts';
import { isTrue } from '../request/request.ts';
import type { Entry, Store } from '../storage/store.ts';
import type { Matcher } from '../../apimachinery/selectors.ts';

/** Options of a list or watch. */
export interface ListOptions {
  readonly resourceVersion: string;
  readonly match: string;
  readonly limit: number;
  readonly continue: string;
  readonly sendInitialEvents: boolean | undefined;
  readonly bookmarks: boolean;
  readonly watch: boolean;
  readonly timeoutSeconds: number | undefined;
}

const listInvalid = (faults: readonly FieldFault[]): Error =>
  invalid('ListOptions', 'meta.k8s.io', '', faults);

function integer(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  const why = /^[+-]?\d+$/.test(text) ? 'value out of range' : 'invalid syntax';
  if (why === 'invalid syntax' || BigInt.asIntN(64, BigInt(text)) !== BigInt(text))
    throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(text)}: ${why}`);
  return Number(text);
}

/** Parses the options of a list or watch. @throws {StatusError} 400 */
export function readListOptions(query: URLSearchParams): ListOptions {
  const sie = query.get('sendInitialEvents');
  const timeoutSeconds = integer(query, 'timeoutSeconds');
  return {
    resourceVersion: query.get('resourceVersion') ?? '',
    match: query.get('resourceVersionMatch') ?? '',
    limit: integer(query, 'limit') ?? 0,
    continue: query.get('continue') ?? '',
    sendInitialEvents: sie === null ? undefined : isTrue(sie),
    bookmarks: isTrue(query.get('allowWatchBookmarks')),
    watch: isTrue(query.get('watch')),
    timeoutSeconds,
  };
}

/** @throws {StatusError} 422 for invalid combinations of options */
export function checkListOptions(options: ListOptions): void {
  const faults: FieldFault[] = [];
  const { match, resourceVersion, watch, sendInitialEvents } = options;
  if (watch) faults.push(...watchFaults(options));
  else {
    faults.push(...matchFaults(match, resourceVersion, options.continue));
    if (sendInitialEvents !== undefined)
      faults.push(fault.forbidden('sendInitialEvents', 'sendInitialEvents is forbidden for list'));
  }
  if (faults.length > 0) throw listInvalid(faults);
}

function watchFaults({ match, sendInitialEvents, continue: token }: ListOptions): FieldFault[] {
  const field = 'resourceVersionMatch';
  const faults: FieldFault[] = [];
  if (sendInitialEvents !== undefined && match !== 'NotOlderThan')
    faults.push(
      fault.forbidden(field, 'sendInitialEvents requires setting resourceVersionMatch to NotOlderThan'),
    );
  if (sendInitialEvents === undefined && match !== '')
    faults.push(
      fault.forbidden(
        field,
        'resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided',
      ),
    );
  if (match !== '' && match !== 'NotOlderThan')
    faults.push(fault.unsupported(field, match, ['NotOlderThan']));
  if (token !== '')
    faults.push(fault.forbidden(field, 'resourceVersionMatch is forbidden when continue is provided'));
  return faults;
}

function matchFaults(match: string, version: string, token: string): FieldFault[] {
  if (match === '') return [];
  const field = 'resourceVersionMatch';
  const faults: FieldFault[] = [];
  if (version === '')
    faults.push(
      fault.forbidden(field, 'resourceVersionMatch is forbidden unless resourceVersion is provided'),
    );
  if (token !== '')
    faults.push(fault.forbidden(field, 'resourceVersionMatch is forbidden when continue is provided'));
  if (match !== 'Exact' && match !== 'NotOlderThan')
    faults.push(fault.unsupported(field, match, ['Exact', 'NotOlderThan', '']));
  if (match === 'Exact' && version === '0')
    faults.push(fault.forbidden(field, 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'));
  return faults;
}

interface Token {
  readonly version: number;
  readonly after: string;
}

const unreadable = (why: string): Error =>
  badRequest(`invalid continue token: continue key is not valid: ${why}`);

/** @throws {StatusError} 400 if it is not JSON in URL-safe base64 */
function tokenJson(text: string): unknown {
  const wrong = text.search(/[^A-Za-z0-9_-]/);
  if (wrong >= 0 || text.length % 4 === 1)
    throw unreadable(`illegal base64 data at input byte ${wrong >= 0 ? wrong : text.length - 1}`);
  const json = Buffer.from(text, 'base64url').toString();
  try {
    return parseJson(json) ?? {};
  } catch {
    throw unreadable(jsonFault(json));
  }
}

const members: Readonly<Record<string, 'string' | 'int64'>> = { v: 'string', rv: 'int64', start: 'string' };

/** Decodes a continue token and checks the types of its members. @throws {StatusError} 400 */
function tokenBody(text: string): { readonly v: string; readonly rv: number; readonly start: string } {
  const body = tokenJson(text);
  const cannot = (value: unknown, into: string): Error =>
    unreadable(`json: cannot unmarshal ${goKind(value)} into Go ${into}`);
  if (!isObject(body)) throw cannot(body, 'value of type storage.continueToken');
  for (const [key, type] of Object.entries(members)) {
    const value = ownMember(body, key) ?? undefined;
    const fits = type === 'int64' ? Number.isInteger(value) : typeof value === 'string';
    if (value !== undefined && !fits)
      throw cannot(value, `struct field continueToken.${key} of type ${type}`);
  }
  return { v: stringAt(body, 'v'), rv: Number(body['rv'] ?? 0), start: stringAt(body, 'start') };
}

function readToken(text: string): Token {
  const { v, rv, start } = tokenBody(text);
  if (v !== 'meta.k8s.io/v1') throw unreadable(`server does not recognize this encoded version ${v}`);
  if (rv === 0) throw unreadable('incorrect encoded start resourceVersion (version meta.k8s.io/v1)');
  if (start === '') throw unreadable('encoded start key empty (version meta.k8s.io/v1)');
  if (/\/\.{0,2}(\/|$)/.test(start.startsWith('/') ? start : `/${start}`)) throw unreadable(start);
  return { version: rv, after: start };
}

/** Returns a token like kube-apiserver's: with the last key relative to the listed prefix. */
const writeToken = (version: number, after: string, prefix: string): string =>
  Buffer.from(
    JSON.stringify({ v: 'meta.k8s.io/v1', rv: version, start: `/${after.slice(prefix.length)}\u0000` }),
  ).toString('base64url');

/** A page of a list and its metadata. */
export interface Page {
  readonly entries: readonly Entry[];
  readonly metadata: {
    readonly resourceVersion: string;
    readonly continue?: string;
    readonly remainingItemCount?: number;
  };
}

/** Parses a resource version. @throws {StatusError} 400 */
export function parseVersion(text: string): number {
  if (text === '') return 0;
  if (!/^\d+$/.test(text))
    throw badRequest(
      `invalid resource version: resourceVersion: Invalid value: ${JSON.stringify(text)}: strconv.ParseUint: parsing ${JSON.stringify(text)}: invalid syntax`,
    );
  return Number(text);
}

/** The part of the store that a list shows. */
export interface Selection {
  readonly storage: string;
  /** `namespace/`, or `''` for all */
  readonly prefix: string;
  readonly matches: Matcher;
  /** Whether there are selectors; the number of remaining items is then omitted. */
  readonly selective: boolean;
  /** Whether a selector names one object. */
  readonly ofOneName?: boolean;
}

/** Returns the page of a list for the options (A8). @throws {StatusError} 400, 410, 504 */
export function listPage(store: Store, selection: Selection, options: ListOptions): Page {
  if (options.continue !== '') return continued(store, selection, options);
  const requested = parseVersion(options.resourceVersion);
  const exact = options.match === 'Exact' || (options.match === '' && options.limit > 0 && requested > 0);
  // a list of one name is read past the cache, which alone asks to try again
  if (requested > store.version)
    throw tooLargeVersion(requested, store.version, !(exact && selection.ofOneName));
  const version = exact ? requested : store.version;
  // version 0 is answered from the cache, which does not page
  const limit = options.resourceVersion === '0' ? 0 : options.limit;
  return page(store, selection, { version, after: '', limit });
}

function continued(store: Store, selection: Selection, options: ListOptions): Page {
  const token = readToken(options.continue);
  if (options.resourceVersion !== '' && options.resourceVersion !== '0')
    throw badRequest('specifying resource version is not allowed when using continue');
  const after = selection.prefix + token.after.replace(/^\//, '').slice(0, -1);
  const version = token.version > 0 ? token.version : store.version;
  try {
    return page(store, selection, { version, after, limit: options.limit });
  } catch {
    throw inconsistent(writeToken(-1, after, selection.prefix));
  }
}

/** Returns the error for an expired continue token, with a token that continues at the current version. */
function inconsistent(token: string): Error {
  const error = expired(
    'The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.',
  );
  Object.assign(error.body, { metadata: { continue: token } });
  return error;
}

/** Reports whether a storage has the same objects now as at a version. */
const isCurrent = (store: Store, storage: string, version: number): boolean =>
  version === store.version ||
  (!store.busy && version < store.version && store.changesSince(storage, version)?.length === 0);

interface PageStart {
  readonly version: number;
  /** The last key of the page before. */
  readonly after: string;
  /** 0: no limit. */
  readonly limit: number;
}

function page(store: Store, selection: Selection, at: PageStart): Page {
  const { storage, prefix } = selection;
  if (!isCurrent(store, storage, at.version)) {
    const past = store.listAt(storage, at.version, prefix, at.after);
    return pageOf(past.entries, () => past.count, selection, at);
  }
  const left = (): number => store.countAfter(storage, prefix, at.after);
  return pageOf(store.list(storage, prefix, at.after), left, selection, at);
}

/** @param total returns the number of all entries, of which the first ones may be in the page */
function pageOf(entries: Iterable<Entry>, total: () => number, selection: Selection, at: PageStart): Page {
  const found: Entry[] = [];
  let more = false;
  for (const entry of entries) {
    if (!selection.matches(entry.object)) continue;
    more = at.limit > 0 && found.length >= at.limit;
    if (more) break;
    found.push(entry);
  }
  const last = found.at(-1);
  return {
    entries: found,
    metadata: {
      resourceVersion: String(at.version),
      ...(more && last && { continue: writeToken(at.version, last.key, selection.prefix) }),
      ...(more && !selection.selective && { remainingItemCount: total() - found.length }),
    },
  };
}
