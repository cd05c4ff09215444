import { findKind, type Kind } from '../../apimachinery/kinds.ts';
import {
  type JsonObject,
  listAt,
  metadataOf,
  objectAt,
  sameJson,
  stringAt,
} from '../../apimachinery/json.ts';
import type { Strategy } from '../registry/strategy.ts';
import type { Store } from '../storage/store.ts';
import { type CustomKind, customKindsOf } from './custom-kinds.ts';
import { type ConversionDeps, ConversionWebhook } from './conversion-webhook.ts';
import { Conversions } from './conversions.ts';
import { customStrategy, storedShape } from './custom-strategy.ts';
import { isEstablished } from './definition-names.ts';
import { definitionKind } from './definition-strategy.ts';

/** A definition, and what is served of it. */
interface Served {
  readonly definition: JsonObject;
  readonly kinds: readonly CustomKind[];
  /** Aborts when the spec or the accepted names change, or the definition goes. */
  readonly replacement: AbortController;
}

/** Returns the place of a kind in paths. No part of it contains a slash. */
const placeOf = (group: string, version: string, resource: string): string =>
  `${group}/${version}/${resource}`;

const acceptedNamesOf = (definition: JsonObject): unknown => objectAt(definition, 'status')['acceptedNames'];

/** Reports whether watches of a definition's objects go on in its next state. */
const keepsWatches = (a: JsonObject, b: JsonObject): boolean =>
  a === b ||
  (stringAt(metadataOf(a), 'uid') === stringAt(metadataOf(b), 'uid') &&
    sameJson(a['spec'], b['spec']) &&
    sameJson(acceptedNamesOf(a), acceptedNamesOf(b)));

/** Whether two states of a definition serve the same. */
const servesSame = (a: JsonObject, b: JsonObject): boolean =>
  keepsWatches(a, b) &&
  isEstablished(a) === isEstablished(b) &&
  listAt(objectAt(a, 'status'), 'storedVersions')[0] === listAt(objectAt(b, 'status'), 'storedVersions')[0];

/** Returns what is served of a definition after a change. */
function nextOf(previous: Served | undefined, definition: JsonObject): Served {
  const isKept = previous && keepsWatches(previous.definition, definition);
  const replacement = isKept ? previous.replacement : new AbortController();
  return { definition, kinds: customKindsOf(definition), replacement };
}

/** The kinds that CustomResourceDefinitions declare, as they stand in the store. */
export class CustomResources {
  readonly #store: Store;
  readonly #deps: ConversionDeps;
  #served = new Map<string, Served>();
  #kinds: readonly Kind[] = [];
  #all: readonly CustomKind[] = [];
  #byPlace: ReadonlyMap<string, Kind> = new Map();
  readonly #strategies = new WeakMap<Kind, Strategy>();
  readonly #customs = new WeakMap<Kind, CustomKind>();
  readonly #replacements = new WeakMap<Kind, AbortSignal>();

  constructor(store: Store, deps: ConversionDeps) {
    this.#store = store;
    this.#deps = deps;
    this.#load();
    store.onChange((storage) => {
      if (storage === definitionKind.storage) this.#load();
    });
  }

  #load(): void {
    const before = this.#served;
    const now = new Map<string, Served>();
    for (const { key, object } of this.#store.list(definitionKind.storage)) {
      const previous = before.get(key);
      const same = previous !== undefined && servesSame(previous.definition, object);
      now.set(key, same ? previous : nextOf(previous, object));
    }
    const isSame = now.size === before.size && [...now].every(([key, one]) => before.get(key) === one);
    if (isSame) return;
    this.#served = now;
    for (const { kinds, replacement } of now.values())
      for (const custom of kinds) {
        this.#customs.set(custom.kind, custom);
        this.#replacements.set(custom.kind, replacement.signal);
      }
    this.#all = [...now.values()].flatMap(({ kinds }) => kinds);
    this.#kinds = this.#all.map(({ kind }) => kind);
    this.#byPlace = new Map(
      this.#kinds.map((kind) => [placeOf(kind.group, kind.version, kind.resource), kind]),
    );
    for (const [key, { replacement }] of before)
      if (now.get(key)?.replacement !== replacement) replacement.abort();
  }

  /** Every custom kind that is served, in the order of discovery. */
  get kinds(): readonly Kind[] {
    return this.#kinds;
  }

  /** Every custom kind with its schema, for the OpenAPI documents. */
  get described(): readonly CustomKind[] {
    return this.#all;
  }

  /** Finds a served kind, built in or not, by its place in a path. */
  find(group: string, version: string, resource: string): Kind | undefined {
    return findKind(group, version, resource) ?? this.#byPlace.get(placeOf(group, version, resource));
  }

  /** What is special about a custom kind. */
  customOf(kind: Kind): CustomKind | undefined {
    return this.#customs.get(kind);
  }

  /** Returns a signal that aborts when the definition of a custom kind changes what it serves, or goes; undefined for a built-in kind. */
  replacementOf(kind: Kind): AbortSignal | undefined {
    return this.#replacements.get(kind);
  }

  /** Returns the webhook that converts a custom kind; undefined: its versions differ in their name only. */
  webhookOf(kind: Kind): ConversionWebhook | undefined {
    const webhook = this.#customs.get(kind)?.webhook;
    return webhook && new ConversionWebhook(webhook, this.#deps);
  }

  /** Returns the rules of a custom kind for one request, where a webhook converts its objects. */
  strategyForRequest(kind: Kind): Strategy | undefined {
    const custom = this.#customs.get(kind);
    const webhook = this.webhookOf(kind);
    if (!custom || !webhook) return undefined;
    const shape = (stored: JsonObject): JsonObject => storedShape(custom, stored);
    return customStrategy(custom, new Conversions(kind, custom.versions, { webhook, shape }));
  }

  /** The rules of a custom kind, without conversion by webhook. */
  strategyOf(kind: Kind): Strategy | undefined {
    const standing = this.#strategies.get(kind);
    const custom = this.#customs.get(kind);
    if (standing || !custom) return standing;
    const strategy = customStrategy(custom);
    this.#strategies.set(kind, strategy);
    return strategy;
  }
}
