/** Escapes a path like Go's `url.URL`: bytes other than letters, digits and the marks allowed in a path. */
export const escapedPath = (bytes: string): string =>
  bytes.replace(
    /[^A-Za-z0-9\-_.~$&+,/:;=@]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
  );

/** Unescapes a path to bytes, one per character; invalid escapes stay. */
export const unescapedPath = (path: string): string =>
  path.replace(/%([0-9a-fA-F]{2})/g, (_escape, hex: string) => String.fromCharCode(parseInt(hex, 16)));

/**
 * Returns a path like Go's `URL.Path`: unescaped as a whole, so that an escaped slash separates elements; an invalid path is returned
 * unchanged.
 */
export function decodedPath(path: string): string {
  try {
    return path.includes('%') ? decodeURIComponent(path) : path;
  } catch {
    return path;
  }
}
