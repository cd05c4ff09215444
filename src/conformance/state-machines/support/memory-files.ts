import type { ManifestFileSystem } from '../../../config/manifest-files.ts';

/** A file system with one directory level, in memory: a path holds text, or is a directory. */
export class MemoryFiles implements ManifestFileSystem {
  readonly #entries = new Map<string, string | undefined>();

  write(path: string, text: string): void {
    this.mkdir(parentOf(path));
    this.#entries.set(path, text);
  }

  mkdir(path: string): void {
    if (parentOf(path) !== '' && !this.#entries.has(parentOf(path))) this.mkdir(parentOf(path));
    if (!this.#entries.has(path) || this.#entries.get(path) !== undefined) this.#entries.set(path, undefined);
  }

  remove(path: string): void {
    for (const name of [...this.#entries.keys()])
      if (name === path || name.startsWith(`${path}/`)) this.#entries.delete(name);
  }

  async kindOf(path: string): Promise<'file' | 'directory'> {
    if (!this.#entries.has(path)) throw refusal('ENOENT');
    return this.#entries.get(path) === undefined ? 'directory' : 'file';
  }

  async namesIn(path: string): Promise<readonly string[]> {
    return [...this.#entries.keys()]
      .filter((name) => parentOf(name) === path)
      .map((name) => name.slice(path.length + 1));
  }

  async readText(path: string, maxBytes: number): Promise<string> {
    if (!this.#entries.has(path)) throw refusal('ENOENT');
    const text = this.#entries.get(path);
    if (text === undefined) throw refusal('EISDIR');
    if (Buffer.byteLength(text) > maxBytes) throw refusal('EFBIG');
    return text;
  }
}

const parentOf = (path: string): string => path.slice(0, path.lastIndexOf('/'));

/** What Node throws. */
export const refusal = (code: string): Error => Object.assign(new Error(code), { code });
