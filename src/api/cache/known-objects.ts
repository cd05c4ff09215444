import { LRUCache } from 'lru-cache';
import { uidOf } from '../../kube/names.ts';
import type { KubeObject } from '../../kube/types.ts';

/** What tells one version of an object from all others. */
export interface ObjectVersion {
  /** As in a store: `namespace/name`, or the name alone. */
  readonly key: string;
  readonly uid: string;
  readonly resourceVersion: string;
}

/**
 * Versions of objects that are at hand, so that a text that holds one of them needs no parsing: what a client's own write answers comes
 * back a moment later as a watch event, and what it reads before it writes is mostly what the last event said. One UID at one
 * resourceVersion is one state.
 */
export interface KnownObjects<T extends KubeObject = KubeObject> {
  /** They are kept without `managedFields`, half of a pod's text, so what comes need not be parsed with them. */
  readonly unmanaged: boolean;
  /** This version, as it is kept; nobody may write to it. */
  find(version: ObjectVersion): T | undefined;
  /** This version as an answer had it, once: whoever takes it has it alone. */
  take(version: ObjectVersion): T | undefined;
  /** An answer that a watch will repeat. */
  note(object: T): void;
  /** What an answer said after the metadata (`restOf`): the next events of the object most often repeat it. */
  noteRest(object: T, rest: string): void;
  /** The object of this UID, if that rest was noted of it lately. */
  alike(uid: string, rest: Buffer): T | undefined;
  /** The newest version that this client has seen of an object, unless it may have seen one that is not at hand. */
  newest(key: string): T | undefined;
}

/** Answers whose event never comes, say of objects that the watch does not select, shall not pile up. */
const mostAnswers = 128;

/** The versions in a cache, and those of answers that the cache has not seen yet. */
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
      const known = rests.peek(uid);
      return known && rest.compare(known.bytes, 0, known.length) === 0 ? known.object : undefined;
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

/** What an answer said after the metadata: the first `length` of these bytes. */
interface NotedRest<T> {
  readonly object: T;
  readonly bytes: Buffer;
  readonly length: number;
}

/** Texts of about one length share room, bytes. */
const roomStep = 1024;

/**
 * Room of `length` bytes: that of a text that is forgotten, if it is not far too large. New memory for each text of a burst would be given
 * back in holes that malloc keeps; and it is not a part of Node's pool, whose 64 KiB live as long as their longest-lived part.
 */
function roomFor(length: number, old: Buffer | undefined): Buffer {
  const needed = Math.ceil(length / roomStep) * roomStep;
  return old && old.length >= needed && old.length <= 2 * needed ? old : Buffer.allocUnsafeSlow(needed);
}

/** Versions of one kind are numbers that grow; `NaN`, which is neither less nor more than another, where a server has it otherwise. */
const versionOf = ({ metadata }: KubeObject): number => Number(metadata?.resourceVersion ?? NaN);

const isOf = (object: KubeObject | undefined, { uid, resourceVersion }: ObjectVersion): boolean =>
  object?.metadata?.uid === uid && object.metadata.resourceVersion === resourceVersion;

/** How API servers begin an object: the members in the order of their Go structs. No text before the version may hold a quote. */
const beginning =
  /\{"kind":"\w+","apiVersion":"[\w./-]+","metadata":\{"name":"([^"\\]+)",(?:"generateName":"[^"\\]*",)?(?:"namespace":"([^"\\]+)",)?"uid":"([^"\\]+)","resourceVersion":"([^"\\]+)"/y;

/**
 * Which version of which object the JSON at `start` holds, as far as that can be seen at a glance: a twentieth of the time that parsing a pod
 * takes (`bench/shortcuts.bench.ts`).
 */
export function versionAt(text: string, start = 0): ObjectVersion | undefined {
  beginning.lastIndex = start;
  const found = beginning.exec(text);
  if (!found) return undefined;
  const [, name = '', namespace, uid = '', resourceVersion = ''] = found;
  return { key: namespace === undefined ? name : `${namespace}/${name}`, uid, resourceVersion };
}

const eventBeginning = /^\{"type":"(ADDED|MODIFIED|DELETED)","object":/;

/** What a line of a watch is about. */
export interface EventVersion {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly version: ObjectVersion;
}

/** The same of a line of a watch that shows an object. */
export function versionInEvent(line: string): EventVersion | undefined {
  const found = eventBeginning.exec(line);
  const version = found && versionAt(line, found[0].length);
  return version ? { type: found[1] as EventVersion['type'], version } : undefined;
}

/** Bytes at the beginning of an answer or of a line of a watch, in which a version is if it can be told at a glance. */
const glanceBytes = 1024;

/** The beginning of JSON as text, enough for {@link versionAt} and {@link versionInEvent}: what they look for is ASCII. */
export const glance = (json: Buffer): string => json.toString('latin1', 0, glanceBytes);

/** The metadata come first, so nothing of the object's own stands before them. */
const metadataFirst =
  /^(?:\{"type":"[A-Z]+","object":)?\{"kind":"\w+","apiVersion":"[\w./-]+","metadata":\{"name":/;

/**
 * One object's JSON, or that of a watch event about one, without its `metadata.managedFields`; all of it where it does not begin as API
 * servers write it. Only for kinds that have no other member of that name. `json` is written to.
 *
 * A quotation mark before a letter opens a name or a text, for inside of one it is escaped: so what is found is never part of a text.
 */
export function withoutManagedFields(json: Buffer, beginning: string = glance(json)): Buffer {
  const from = metadataFirst.test(beginning) ? json.indexOf(listBegin) : -1;
  if (from < 0) return json;
  // there is no other list among managed fields: the first one that ends is theirs, and with it the metadata
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

/** The metadata end and the rest begins; nothing in metadata, but for managed fields, is named so. */
const specBegin = '},"spec":{';

/** What an object's JSON says after the metadata, if it has a spec that comes next. */
export function restOf(json: string): string | undefined {
  const at = json.indexOf(specBegin);
  return at < 0 || !metadataFirst.test(json) ? undefined : json.slice(at + 1).trimEnd();
}

/**
 * Of an event whose object says after the metadata what one that is at hand says: that object, and the event's text without what they say
 * alike. Of the events that follow an own write most change the metadata alone.
 *
 * @param line without managed fields
 */
export function likeKnown<T extends KubeObject>(
  line: Buffer,
  uid: string,
  known: KnownObjects<T>,
): { readonly object: T; readonly news: string } | undefined {
  const at = line.indexOf(specBegin);
  // the last brace is the event's own
  const object = at < 0 ? undefined : known.alike(uid, line.subarray(at + 1, -1));
  return object && { object, news: `${line.toString('utf8', 0, at)}}}}` };
}
