import { type JsonObject, without } from '../../apimachinery/json.ts';
import { decodeKind, groupVersionOf, type Kind, storedKinds } from '../../apimachinery/kinds.ts';
import { strategies } from '../registry/strategy-table.ts';
import type { Strategy } from '../registry/strategy.ts';
import type { CustomResources } from './custom-resources.ts';

const partOf = (kind: Kind, subresource: string): Kind['subresources'][number] | undefined =>
  kind.subresources.find(({ name }) => name === subresource);

/** ServedObjects reads and converts objects of every served kind, built-in or custom, for admission webhooks. */
export class ServedObjects {
  readonly #customs: CustomResources;

  constructor(customs: CustomResources) {
    this.#customs = customs;
  }

  /** Returns the other kinds that serve the same objects, and have the subresource. */
  equivalents(kind: Kind, subresource: string): readonly Kind[] {
    return [...storedKinds, ...this.#customs.kinds].filter(
      (other) =>
        other !== kind &&
        other.storage === kind.storage &&
        (subresource === '' || partOf(other, subresource) !== undefined),
    );
  }

  /** Returns an object as the API reads it: without unknown fields, with defaults. @throws {DecodeError} */
  read(kind: Kind, subresource: string, object: JsonObject): JsonObject {
    const part = partOf(kind, subresource);
    if (part !== undefined && part.kind !== kind.kind) return object;
    return this.#strategyOf(kind).defaults(decodeKind(kind, object).object);
  }

  /** Returns an object of one kind as another one of the same objects. */
  async convert(object: JsonObject, from: Kind, to: Kind): Promise<JsonObject> {
    const webhook = this.#customs.webhookOf(from);
    if (webhook) {
      const typed = { kind: from.kind, apiVersion: groupVersionOf(from), ...object };
      const [converted = {}] = await webhook.convert([typed], groupVersionOf(to));
      return this.read(to, '', without(converted, 'kind', 'apiVersion'));
    }
    const stored = this.#strategyOf(from).toStorage?.(object) ?? object;
    return this.#strategyOf(to).fromStorage?.(stored) ?? stored;
  }

  /** Returns a stored object as a kind serves it: a promise where a webhook converts it. */
  served(stored: JsonObject, kind: Kind): JsonObject | Promise<JsonObject> {
    const strategy = this.#customs.strategyForRequest(kind) ?? this.#strategyOf(kind);
    const { conversion } = strategy;
    const read = (): JsonObject => strategy.fromStorage?.(stored) ?? stored;
    return conversion ? conversion.load(() => [stored]).then(read) : read();
  }

  #strategyOf(kind: Kind): Strategy {
    const strategy = strategies.get(kind) ?? this.#customs.strategyOf(kind);
    if (!strategy) throw new Error(`no rules for ${kind.kind}`);
    return strategy;
  }
}
