/** A path as Go's `url.URL` writes it: what is no letter, digit or one of the marks that a path may have is escaped, byte for byte. */
export const escapedPath = (bytes: string): string =>
  bytes.replace(
    /[^A-Za-z0-9\-_.~$&+,/:;=@]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
  );

/** The bytes that an escaped path stands for, one a character; what is no escape stays. */
export const unescapedPath = (path: string): string =>
  path.replace(/%([0-9a-fA-F]{2})/g, (_escape, hex: string) => String.fromCharCode(parseInt(hex, 16)));

/** A path as Go's `URL.Path` has it: decoded as a whole, so that an escaped slash parts as any other; one that is no good stays as it is. */
export function decodedPath(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}
