import { LRUCache } from 'lru-cache';
import { uidOf } from '../../kube/names.ts';
import type { KubeObject } from '../../kube/types.ts';

/** Identifies one version of an object. */
export interface ObjectVersion {
  /** As in a store: `namespace/name`, or the name alone. */
  readonly key: string;
  readonly uid: string;
  readonly resourceVersion: string;
}

/**
 * KnownObjects holds versions of objects that were received recently, so that JSON with one of them need not be parsed: the response to a
 * client's own write repeats a moment later as a watch event, and a read before a write mostly returns the last event's state. A UID and
 * a resourceVersion identify one state.
 */
export interface KnownObjects<T extends KubeObject = KubeObject> {
  /** Whether they are stored without `managedFields`, half of a pod's JSON; received objects then need not be parsed with them. */
  readonly unmanaged: boolean;
  /** True while nothing of a response is recorded: then no event repeats one. */
  readonly isEmpty: boolean;
  /** Returns this version from the cache; it is shared, do not modify it. */
  find(version: ObjectVersion): T | undefined;
  /** Returns this version from a response and removes it: the caller owns it. */
  take(version: ObjectVersion): T | undefined;
  /** Records an object of a response that a watch will repeat. */
  note(object: T): void;
  /** Records the text of a response after the metadata (`restOf`): the next events of the object mostly repeat it. */
  noteRest(object: T, rest: string): void;
  /** Returns the object of this UID if that text was recorded for it recently. */
  alike(uid: string, rest: Buffer): T | undefined;
  /**
   * Returns the newest version that this client has received of an object; undefined if it may have received one that is not stored here.
   */
  newest(key: string): T | undefined;
}

/** Limits the responses whose event never comes, for example of objects that the watch does not select. */
const mostAnswers = 128;

/** Returns the versions in a cache together with those in responses that the cache has not received yet. */
export function knownObjects<T extends KubeObject>(
  cached: (key: string) => T | undefined,
  { unmanaged = false }: { readonly unmanaged?: boolean } = {},
): KnownObjects<T> {
  let spare: Buffer | undefined;
  let newestForgotten = 0;
  const answers = new LRUCache<string, T>({
    max: mostAnswers,
    dispose: (object, _uid, reason) => {
      if (reason === 'evict') newestForgotten = Math.max(newestForgotten, versionOf(object));
    },
  });
  const rests = new LRUCache<string, NotedRest<T>>({
    max: mostAnswers,
    dispose: ({ bytes }, _uid, reason) => {
      if (reason === 'evict') spare = bytes;
    },
  });
  return {
    unmanaged,
    get isEmpty() {
      return answers.size === 0 && rests.size === 0;
    },
    find: (version) => {
      const object = cached(version.key);
      return isOf(object, version) ? object : undefined;
    },
    take: (version) => {
      const object = answers.peek(version.uid);
      if (!isOf(object, version)) return undefined;
      answers.delete(version.uid);
      return object;
    },
    alike: (uid, rest) => {
      const previous = rests.peek(uid);
      return previous && rest.compare(previous.bytes, 0, previous.length) === 0 ? previous.object : undefined;
    },
    noteRest: (object, rest) => {
      const uid = uidOf(object);
      const bytes = roomFor(Buffer.byteLength(rest), rests.peek(uid)?.bytes ?? spare);
      if (bytes === spare) spare = undefined;
      rests.set(uid, { object, bytes, length: bytes.write(rest) });
    },
    note: (object) => {
      answers.set(uidOf(object), object);
    },
    newest: (key) => {
      const shown = cached(key);
      const answer = shown && answers.peek(uidOf(shown));
      const newest = answer && versionOf(answer) > versionOf(shown) ? answer : shown;
      return newest && versionOf(newest) >= newestForgotten ? newest : undefined;
    },
  };
}

/** The text of a response after the metadata: the first `length` bytes. */
interface NotedRest<T> {
  readonly object: T;
  readonly bytes: Buffer;
  readonly length: number;
}

/** Texts of similar length reuse a buffer; step in bytes. */
const roomStep = 1024;

/**
 * Returns a buffer of `length` bytes: that of a discarded text if it is not far too large. New memory for each text of a burst would
 * fragment malloc's heap; and it is not part of Node's pool, whose 64 KiB live as long as their longest-lived part.
 */
function roomFor(length: number, old: Buffer | undefined): Buffer {
  const needed = Math.ceil(length / roomStep) * roomStep;
  return old && old.length >= needed && old.length <= 2 * needed ? old : Buffer.allocUnsafeSlow(needed);
}

/** Returns a version as a number that grows; `NaN`, which compares as neither less nor greater, for servers with other versions. */
const versionOf = ({ metadata }: KubeObject): number => Number(metadata?.resourceVersion ?? NaN);

const isOf = (object: KubeObject | undefined, { uid, resourceVersion }: ObjectVersion): boolean =>
  object?.metadata?.uid === uid && object.metadata.resourceVersion === resourceVersion;

/** How API servers start an object: members in the order of their Go structs. No text before the version may contain a quote. */
const beginning =
  /\{"kind":"\w+","apiVersion":"[\w./-]+","metadata":\{"name":"([^"\\]+)",(?:"generateName":"[^"\\]*",)?(?:"namespace":"([^"\\]+)",)?"uid":"([^"\\]+)","resourceVersion":"([^"\\]+)"/y;

/**
 * Returns the identity and version of the object in the JSON at `start`, if they can be read without parsing: it takes a twentieth of the
 * time of parsing a pod (`bench/shortcuts.bench.ts`).
 */
export function versionAt(text: string, start = 0): ObjectVersion | undefined {
  beginning.lastIndex = start;
  const found = beginning.exec(text);
  if (!found) return undefined;
  const [, name = '', namespace, uid = '', resourceVersion = ''] = found;
  return { key: namespace === undefined ? name : `${namespace}/${name}`, uid, resourceVersion };
}

const eventBeginning = /^\{"type":"(ADDED|MODIFIED|DELETED)","object":/;

/** The type and object version of a line of a watch. */
export interface EventVersion {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly version: ObjectVersion;
}

/** The same for a line of a watch that contains an object. */
export function versionInEvent(line: string): EventVersion | undefined {
  const found = eventBeginning.exec(line);
  const version = found && versionAt(line, found[0].length);
  return version ? { type: found[1] as EventVersion['type'], version } : undefined;
}

/** Bytes at the start of a response or a line of a watch that contain the version if it can be read without parsing. */
const glanceBytes = 1024;
/** Bytes at the start of a line of a watch that contain all before the object's name. */
const headBytes = 512;

/** Returns the beginning of JSON as text, enough for {@link versionAt} and {@link versionInEvent}, which look for ASCII only. */
export const glance = (json: Buffer): string => json.toString('latin1', 0, glanceBytes);

/** Matches JSON with the metadata first, so that nothing of the object's own stands before them. */
const metadataFirst =
  /^(?:\{"type":"[A-Z]+","object":)?\{"kind":"\w+","apiVersion":"[\w./-]+","metadata":\{"name":/;

/**
 * Returns the JSON of an object, or of a watch event with one, without `metadata.managedFields`; unchanged where it does not start as API
 * servers write it. Only for kinds without another member of that name. Writes to `json`.
 *
 * A quotation mark before a letter starts a name or a text, since it is escaped inside of one: a match is never inside a text.
 */
export function withoutManagedFields(
  json: Buffer,
  beginning: string = json.toString('latin1', 0, headBytes),
): Buffer {
  const from = metadataFirst.test(beginning) ? json.indexOf(listBegin) : -1;
  if (from < 0) return json;
  // Managed fields contain no other list: the first list end closes them, and with them the metadata.
  for (let end = json.indexOf(listEnd, from); end >= 0; end = json.indexOf(listEnd, end + 1)) {
    if (!isLetter(json[end + listEnd.length])) continue;
    json.copyWithin(from, end + 2);
    return json.subarray(0, json.length - (end + 2 - from));
  }
  return json;
}

const listBegin = Buffer.from(',"managedFields":[{');
const listEnd = Buffer.from('}]},"');

const isLetter = (byte = 0): boolean => /[a-z]/i.test(String.fromCharCode(byte));

/** Where the metadata end and the spec starts; nothing in metadata except managed fields has that name. */
const specBegin = '},"spec":{';

/** Returns the text of an object's JSON after the metadata, if a spec comes next. */
export function restOf(json: string): string | undefined {
  const at = json.indexOf(specBegin);
  return at < 0 || !metadataFirst.test(json) ? undefined : json.slice(at + 1).trimEnd();
}

/**
 * For an event whose object equals a stored one after the metadata: returns that object and the event's text without the common part.
 * Most events that follow an own write change only the metadata.
 *
 * @param line without managed fields
 */
export function likeKnown<T extends KubeObject>(
  line: Buffer,
  uid: string,
  objects: KnownObjects<T>,
): { readonly object: T; readonly news: string } | undefined {
  const at = line.indexOf(specBegin);
  // The last brace closes the event itself.
  const object = at < 0 ? undefined : objects.alike(uid, line.subarray(at + 1, -1));
  return object && { object, news: `${line.toString('utf8', 0, at)}}}}` };
}
