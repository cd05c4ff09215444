import { LRUCache } from 'lru-cache';
import {
  type JsonObject,
  metadataOf,
  sameJson,
  stringAt,
  without,
  withMetadata,
} from '../../apimachinery/json.ts';
import { groupVersionOf, type Kind } from '../../apimachinery/kinds.ts';
import type { Conversion } from '../registry/strategy.ts';
import type { ConversionWebhook } from './conversion-webhook.ts';

/** In which versions the objects of a definition are stored. */
export interface StoredVersions {
  /** Group and version in which objects are written. */
  readonly current: string;
  /** Group and version of stored objects that do not name one: the first that the definition ever stored. */
  readonly first: string;
  /** True where stored objects name their version, as there are several. */
  readonly isNamed: boolean;
}

/** Returns the group and version of a stored object. */
export const storedVersionOf = (stored: JsonObject, { first }: StoredVersions): string =>
  stringAt(stored, 'apiVersion') || first;

/** Returns a stored object without the name of its version. */
export const withoutVersion = (stored: JsonObject): JsonObject =>
  stored['apiVersion'] === undefined ? stored : without(stored, 'apiVersion');

/** One object in both forms. */
interface Pair {
  readonly stored: JsonObject;
  readonly served: JsonObject;
}

/** Members that a conversion webhook may change: all but the metadata, and of that labels and annotations. */
function content(object: JsonObject): readonly unknown[] {
  const { labels, annotations } = metadataOf(object);
  return [labels, annotations, without(object, 'metadata', 'apiVersion', 'kind')];
}

/** Returns converted content with the metadata of an object that is its source but for metadata of the server. */
const moved = (converted: JsonObject, source: JsonObject): JsonObject => {
  const { labels, annotations } = metadataOf(converted);
  return { ...converted, metadata: metadataOf(withMetadata(source, { labels, annotations })) };
};

/** Objects whose forms are remembered, of one request. */
const pairsMost = 256;

/**
 * Conversions converts the objects of one request by a webhook: ahead, so that everything that reads and writes them stays synchronous. What
 * a request converts is not reused by another.
 */
export class Conversions implements Conversion {
  readonly #kind: Kind;
  readonly #versions: StoredVersions;
  readonly #webhook: ConversionWebhook;
  readonly #shape: (stored: JsonObject) => JsonObject;
  readonly #own: string;
  readonly #served = new WeakMap<JsonObject, JsonObject>();
  /** The latest forms of objects, by UID. */
  readonly #pairs = new LRUCache<string, Pair>({ max: pairsMost });

  /** @param shape returns a converted object as it is stored: by the schema of that version */
  constructor(
    kind: Kind,
    versions: StoredVersions,
    {
      webhook,
      shape,
    }: { readonly webhook: ConversionWebhook; readonly shape: (stored: JsonObject) => JsonObject },
  ) {
    this.#kind = kind;
    this.#versions = versions;
    this.#webhook = webhook;
    this.#shape = shape;
    this.#own = groupVersionOf(kind);
  }

  async load(objects: () => readonly JsonObject[]): Promise<void> {
    for (;;) {
      const missing = objects().filter((one) => this.#isForeign(one) && !this.#served.has(one));
      if (missing.length === 0) return;
      const converted = await this.#convert(missing, this.#own);
      for (const [i, stored] of missing.entries()) this.#note(stored, converted[i] ?? {});
    }
  }

  async prepare(served: JsonObject): Promise<void> {
    const { current } = this.#versions;
    if (current === this.#own) return;
    const [converted = {}] = await this.#webhook.convert([this.#typed(served, this.#own)], current);
    const stored = this.#shape(bare(converted));
    const [again = {}] = await this.#webhook.convert([this.#typed(stored, current)], this.#own);
    this.#pairs.set(uidOf(served), { stored, served });
    this.#pairs.set(`${uidOf(served)} again`, { stored, served: bare(again) });
  }

  /** Returns a stored object in the version of the request. */
  up(stored: JsonObject): JsonObject {
    if (!this.#isForeign(stored)) return withoutVersion(stored);
    const found = this.#served.get(stored);
    if (found) return found;
    for (const key of [`${uidOf(stored)} again`, uidOf(stored)]) {
      const pair = this.#pairs.get(key);
      if (pair && sameJson(content(pair.stored), content(stored))) return moved(pair.served, stored);
    }
    throw new Error(`${this.#kind.kind} was not converted before it was read`);
  }

  /** Returns an object of the request in the version in which it is stored. */
  down(served: JsonObject): JsonObject {
    if (this.#versions.current === this.#own) return served;
    for (const key of [uidOf(served), `${uidOf(served)} again`]) {
      const pair = this.#pairs.get(key);
      if (pair && sameJson(content(pair.served), content(served))) return moved(pair.stored, served);
    }
    throw new Error(`${this.#kind.kind} was not converted before it was stored`);
  }

  #isForeign(stored: JsonObject): boolean {
    return storedVersionOf(stored, this.#versions) !== this.#own;
  }

  #typed(object: JsonObject, apiVersion: string): JsonObject {
    return { kind: this.#kind.kind, apiVersion, ...withoutVersion(object) };
  }

  async #convert(objects: readonly JsonObject[], to: string): Promise<readonly JsonObject[]> {
    const typed = objects.map((one) => this.#typed(one, storedVersionOf(one, this.#versions)));
    return (await this.#webhook.convert(typed, to)).map(bare);
  }

  #note(stored: JsonObject, served: JsonObject): void {
    this.#served.set(stored, served);
    this.#pairs.set(uidOf(stored), { stored, served });
  }
}

const uidOf = (object: JsonObject): string => stringAt(metadataOf(object), 'uid');

const bare = (object: JsonObject): JsonObject => without(object, 'kind', 'apiVersion');
