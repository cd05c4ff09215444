import { closeSync, fstatSync, openSync, readFileSync, readSync, statSync } from 'node:fs';

/** Returns the text of a file; `undefined` when it does not exist. */
export function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}

/** Returns the modification time of a file, ms since the epoch with fractions; `undefined` when it does not exist. */
export function writtenAt(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs;
}

/** Serializes JSON with Buffers, as CRI environment values are bytes. */
export function toJson(value: unknown): string {
  return JSON.stringify(value, (_key, item: unknown) => {
    if (item instanceof Uint8Array) return { $base64: Buffer.from(item).toString('base64') };
    if (isBufferJson(item)) return { $base64: Buffer.from(item.data).toString('base64') };
    return item;
  });
}

/** Parses {@link toJson}'s output; `undefined` when it is corrupt. */
export function fromJson(text: string): unknown {
  try {
    return JSON.parse(text, (_key, item: unknown) =>
      typeof item === 'object' && item !== null && '$base64' in item && typeof item.$base64 === 'string'
        ? Buffer.from(item.$base64, 'base64')
        : item,
    );
  } catch {
    return undefined;
  }
}

/** True for the form in which a replacer receives a Buffer. */
function isBufferJson(item: unknown): item is { readonly type: 'Buffer'; readonly data: number[] } {
  return (
    typeof item === 'object' &&
    item !== null &&
    'type' in item &&
    item.type === 'Buffer' &&
    'data' in item &&
    Array.isArray(item.data)
  );
}

/** Returns the last bytes of a file as text; empty when it cannot be read. */
export function endOf(path: string, bytes: number): string {
  try {
    const file = openSync(path, 'r');
    try {
      const part = Buffer.alloc(bytes);
      return part.toString(
        'utf8',
        0,
        readSync(file, part, 0, bytes, Math.max(0, fstatSync(file).size - bytes)),
      );
    } finally {
      closeSync(file);
    }
  } catch {
    return '';
  }
}
