import { readFileSync, statSync } from 'node:fs';

/** The file's text; absent when there is no such file. */
export function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}

/** When the file was last written, ms since the epoch with fractions; absent when there is no such file. */
export function writtenAt(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs;
}

/** JSON that keeps byte strings (environment values are bytes in CRI). */
export function toJson(value: unknown): string {
  return JSON.stringify(value, (_key, item: unknown) => {
    if (item instanceof Uint8Array) return { $base64: Buffer.from(item).toString('base64') };
    if (isBufferJson(item)) return { $base64: Buffer.from(item.data).toString('base64') };
    return item;
  });
}

/** Reads what {@link toJson} wrote; absent when it is damaged. */
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

/** A Buffer has become this before a replacer sees it. */
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
