import { ownMember, setOwn } from '../../base/own.ts';
import { goQuote } from '../../go/go-quote.ts';
import { embeddedIn } from './embedded-structs.ts';
import { cannotUnmarshal } from '../../go/go-types.ts';
import { podStructs } from './pod-structs.ts';
import { canonicalQuantity, tryParseQuantity } from '../resources/quantity.ts';
import { instantOf, timeFault } from '../../go/time-fault.ts';

/** A decoding error with the kubelet's message and the path of the value. */
export interface DecodeFault {
  readonly message: string;
  readonly path: readonly (string | number)[];
}

/** Result of decoding a value: without unknown fields and nulls, or its first error. */
export type Decoded =
  { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly fault: DecodeFault };

/** Aborts decoding: a value with its own parser is invalid. */
class Stop extends Error {
  readonly fault: DecodeFault;

  constructor(fault: DecodeFault) {
    super(fault.message);
    this.fault = fault;
  }
}

interface Place {
  /** The struct that owns the field. */
  readonly owner: string;
  /** Go's name of the field: without indexes and map keys. */
  readonly dotted: string;
  readonly path: readonly (string | number)[];
}

type Fields = ReadonlyMap<string, string>;
const tables = new Map<string, Fields>();

function fieldsOf(struct: string): Fields | undefined {
  const cached = tables.get(struct);
  const text = podStructs[struct];
  if (cached || text === undefined) return cached;
  const fields = new Map(
    text.split(' ').map((entry) => {
      const colon = entry.indexOf(':');
      return [entry.slice(0, colon), entry.slice(colon + 1)] as const;
    }),
  );
  tables.set(struct, fields);
  return fields;
}

/**
 * Decodes a JSON value as a Kubernetes struct of {@link podStructs} like Go: unknown fields and nulls are dropped; the first field
 * of a wrong type is the error, unless a later quantity, time or int-or-string cannot be parsed.
 *
 * @param inOrder true: read keys in their order; false: sorted, as for YAML
 */
export function decodeStruct(value: unknown, struct: string, inOrder = false): Decoded {
  const reader = new Reader(inOrder);
  try {
    const read = reader.read(value, struct, { owner: struct, dotted: '', path: [] });
    return reader.first ? { ok: false, fault: reader.first } : { ok: true, value: read };
  } catch (stop) {
    if (stop instanceof Stop) return { ok: false, fault: stop.fault };
    throw stop;
  }
}

/** Returns the value of a null in a list. */
function zeroOf(type: string): unknown {
  if (Object.hasOwn(podStructs, type)) return {};
  return type.startsWith('int') ? 0 : type === 'bool' ? false : '';
}

type Scalar = (value: unknown, place: Place) => unknown;

class Reader {
  first: DecodeFault | undefined;
  readonly #inOrder: boolean;

  constructor(inOrder: boolean) {
    this.#inOrder = inOrder;
  }

  read(value: unknown, type: string, place: Place): unknown {
    if (value === null || value === undefined || type === 'any') return value ?? undefined;
    if (type.startsWith('[]')) return this.#list(value, type, place);
    if (type.startsWith('map:')) return this.#map(value, type, place);
    const fields = fieldsOf(type);
    if (fields) return this.#struct(value, type, fields, place);
    const scalar = ownMember(this.#scalars, type);
    if (scalar) return scalar(value, place);
    return typeof value === 'string' ? value : this.#wrong(value, goTypeOf(type), place);
  }

  #wrong(value: unknown, goType: string, place: Place): unknown {
    this.first ??= { message: cannotUnmarshal(value, place.owner, place.dotted, goType), path: place.path };
    return undefined;
  }

  #keys(value: object): string[] {
    const keys = Object.keys(value);
    return this.#inOrder ? keys : keys.sort();
  }

  #struct(value: unknown, type: string, fields: Fields, place: Place): unknown {
    if (!isMapping(value)) return this.#wrong(value, goTypeOf(type), place);
    const out: Record<string, unknown> = {};
    for (const key of this.#keys(value)) {
      const fieldType = fields.get(key);
      if (fieldType === undefined) continue;
      const dotted = [place.dotted, embeddedIn(type, key), key].filter(Boolean).join('.');
      const read = this.read(ownMember(value, key), fieldType, {
        owner: type,
        dotted,
        path: [...place.path, key],
      });
      if (read !== undefined) setOwn(out, key, read);
    }
    return out;
  }

  #list(value: unknown, type: string, place: Place): unknown {
    if (!Array.isArray(value)) return this.#wrong(value, goTypeOf(type), place);
    const inner = type.slice(2);
    return value.map(
      (item: unknown, i) => this.read(item, inner, { ...place, path: [...place.path, i] }) ?? zeroOf(inner),
    );
  }

  #map(value: unknown, type: string, place: Place): unknown {
    if (!isMapping(value)) return this.#wrong(value, goTypeOf(type), place);
    const inner = type.slice('map:'.length);
    const zero = inner === 'Quantity' ? '0' : '';
    return Object.fromEntries(
      this.#keys(value).map((key) => [
        key,
        this.read(ownMember(value, key) ?? zero, inner, { ...place, path: [...place.path, key] }),
      ]),
    );
  }

  #integer(bits: 32 | 64): Scalar {
    const limit = 2 ** (bits - 1);
    return (value, place) =>
      typeof value === 'number' && Number.isInteger(value) && value >= -limit && value <= limit - 1
        ? value
        : this.#wrong(value, `int${bits}`, place);
  }

  readonly #scalars: Readonly<Record<string, Scalar>> = {
    string: (value, place) => (typeof value === 'string' ? value : this.#wrong(value, 'string', place)),
    bool: (value, place) => (typeof value === 'boolean' ? value : this.#wrong(value, 'bool', place)),
    int32: this.#integer(32),
    int64: this.#integer(64),
    Quantity: (value, { path }) => {
      // Blanks around a quantity are ignored, as in the kubelet.
      const text = typeof value === 'string' ? value.replace(/^ +| +$/g, '') : JSON.stringify(value);
      const parsed = tryParseQuantity(text);
      if (typeof parsed === 'string') throw new Stop({ message: parsed, path });
      return canonicalQuantity(text);
    },
    Time: (value, place) => {
      if (typeof value !== 'string') throw new Stop(stopped(value, 'string', place));
      const at = instantOf(value);
      const message =
        timeFault(value) ?? (Number.isNaN(at) ? `parsing time ${goQuote(value)}: out of range` : undefined);
      if (message === undefined) return `${new Date(at).toISOString().slice(0, 19)}Z`;
      throw new Stop({ message, path: place.path });
    },
    IntOrString: (value, place) => {
      if (typeof value === 'string' || value === (Number(value) | 0)) return value;
      throw new Stop(stopped(value, 'int32', place));
    },
  };
}

const stopped = (value: unknown, goType: string, { owner, dotted, path }: Place): DecodeFault => ({
  message: cannotUnmarshal(value, owner, dotted, goType),
  path,
});

const isMapping = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Formats a type of the table as Go prints it. */
function goTypeOf(type: string): string {
  if (type.startsWith('[]')) return `[]${goTypeOf(type.slice(2))}`;
  if (type === 'map:Quantity') return 'v1.ResourceList';
  if (type.startsWith('map:')) return `map[string]${goTypeOf(type.slice('map:'.length))}`;
  const name = type.replace(/^~/, '');
  return /^[a-z]/.test(name) ? name : `v1.${name}`;
}
