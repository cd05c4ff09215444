import type { PullProgress } from '../../app/images.ts';
import { shortId, sizeText } from './image-table.ts';

/** ImageProgress sums up the steps of one pull or import as a line of text. */
export class ImageProgress {
  readonly #name: string;
  readonly #bytes = new Map<string, number>();
  #size = 0;
  #blobs = 0;
  #layer = '';

  constructor(name: string) {
    this.#name = name;
  }

  /** Takes a step in, and returns the text for those that are worth a line of their own. */
  add(progress: PullProgress): string | undefined {
    switch (progress.type) {
      case 'resolved': {
        const missing = progress.blobs.filter(({ present }) => !present);
        this.#size = missing.reduce((sum, { size }) => sum + size, 0);
        this.#blobs = missing.length;
        return `${this.#name}: ${progress.digest}: ${missing.length} of ${progress.blobs.length} blobs to fetch, ${sizeText(this.#size)}`;
      }
      case 'blob': {
        const { digest, bytes, size } = progress;
        const before = this.#bytes.get(digest) ?? 0;
        this.#bytes.set(digest, bytes);
        return bytes === size && before < size
          ? `${this.#name}: ${shortId(digest)}: ${sizeText(size)}`
          : undefined;
      }
      case 'unpack':
        this.#layer = `unpacking layer ${progress.layer} of ${progress.layers}`;
        return `${this.#name}: ${this.#layer}`;
    }
  }

  /** Returns the line for a terminal, which is written over the one before. */
  line(): string {
    if (this.#layer !== '') return `${this.#name}: ${this.#layer}`;
    if (this.#blobs === 0) return `${this.#name}: ${this.#bytes.size} blobs`;
    const bytes = [...this.#bytes.values()].reduce((sum, part) => sum + part, 0);
    const percent = this.#size === 0 ? 100 : Math.floor((100 * Math.min(bytes, this.#size)) / this.#size);
    return `${this.#name}: ${percent} % of ${sizeText(this.#size)}`;
  }
}
