import { tableOf } from '../../base/own.ts';
import { numberIn } from './tar-numbers.ts';

/** A run of bytes of a sparse file that the archive holds. */
export interface SparsePart {
  readonly offset: number;
  readonly size: number;
}

/** What of a sparse file an archive holds; the rest is holes. */
export interface SparseMap {
  /** The size of the file with its holes, bytes. */
  readonly realSize: number;
  /** The runs, in their order; the content of the entry has them one after the other. */
  readonly parts: readonly SparsePart[];
}

/** A map as headers have it, which may go on in blocks after the header or at the beginning of the content. */
export interface SparseSource extends SparseMap {
  readonly goesOn: 'no' | 'in-blocks' | 'in-content';
}

const gnuMagic = 'ustar  \0';
/** Where a header block has its first runs, and how many there are; and the same of the blocks after it. */
const inHeader = { at: 386, count: 4, flagAt: 482 };
const inBlock = { at: 0, count: 21, flagAt: 504 };
const partBytes = 24;

/** Reads the map in the header of a sparse file in GNU's own format (type `S`). @throws {Error} for another format */
export function sparseOfHeader(block: Buffer, name: string): SparseSource {
  if (block.toString('latin1', 257, 265) !== gnuMagic)
    throw new Error(`${JSON.stringify(name)} is a sparse file in no format of GNU's`);
  const realSize = numberIn(block, 483, 12, 'the size of a sparse file');
  const { parts, goesOn } = partsIn(block, inHeader);
  return { realSize, parts, goesOn: goesOn ? 'in-blocks' : 'no' };
}

/** Reads a block with more runs. */
export const sparseOfBlock = (
  block: Buffer,
): { readonly parts: readonly SparsePart[]; readonly goesOn: boolean } => partsIn(block, inBlock);

function partsIn(
  block: Buffer,
  { at, count, flagAt }: typeof inHeader,
): { readonly parts: readonly SparsePart[]; readonly goesOn: boolean } {
  const parts: SparsePart[] = [];
  for (let index = 0; index < count; index++) {
    const from = at + index * partBytes;
    if (block[from + 12] === 0) break;
    parts.push({
      offset: numberIn(block, from, 12, 'an offset of a sparse file'),
      size: numberIn(block, from + 12, 12, 'a size in a sparse file'),
    });
  }
  return { parts, goesOn: block[flagAt] !== 0 };
}

/** What the pax records of an entry say of a sparse file. */
export interface SparseRecords {
  readonly source: SparseSource;
  /** The name of the file, in place of that of the entry; absent in the oldest version. */
  readonly name: string | undefined;
}

const prefix = 'GNU.sparse.';
const versions: Readonly<Record<string, SparseSource['goesOn']>> = tableOf({
  '0.0': 'no',
  '0.1': 'no',
  '1.0': 'in-content',
});

/** Reads a sparse file of pax records, versions 0.0, 0.1 and 1.0. @returns nothing for other files @throws {Error} for wrong records */
export function sparseOfRecords(records: readonly (readonly [string, string])[]): SparseRecords | undefined {
  const own = records.filter(([name]) => name.startsWith(prefix));
  if (own.length === 0) return undefined;
  const all = new Map(own.map(([name, value]) => [name.slice(prefix.length), value]));
  const version = all.has('major')
    ? `${all.get('major')}.${all.get('minor')}`
    : all.has('map')
      ? '0.1'
      : '0.0';
  const goesOn = versions[version];
  const name = all.get('name');
  if (goesOn === undefined)
    throw new Error(`the sparse file ${JSON.stringify(name ?? '')} has the unknown version ${version}`);
  const runs = all.has('map')
    ? (all.get('map') ?? '').split(',').filter((text) => text !== '')
    : own.filter(([name]) => /\.(?:offset|numbytes)$/.test(name)).map(([, value]) => value);
  return {
    name,
    source: {
      realSize: decimalOf(all.get('realsize') ?? all.get('size') ?? ''),
      parts: goesOn === 'no' ? pairsOf(runs.map(decimalOf)) : [],
      goesOn,
    },
  };
}

/** Returns how many lines the map at the beginning of a content has; nothing while the first is not whole. @throws {Error} for no number */
export const linesOfMap = (text: string): number | undefined => {
  const end = text.indexOf('\n');
  return end < 0 ? undefined : 1 + 2 * decimalOf(text.slice(0, end));
};

/** Reads the map at the beginning of a content: the number of runs, then offset and size of each, a number a line. @throws {Error} for no number */
export const sparseOfText = (text: string): readonly SparsePart[] =>
  pairsOf(text.split('\n').slice(1, linesOfMap(text)).map(decimalOf));

/**
 * Returns the map of a file whose content holds `size` bytes.
 *
 * @throws {Error} for runs that overlap, lie beyond the file or are not those of the content
 */
export function sparseMap(realSize: number, parts: readonly SparsePart[], size: number): SparseMap {
  let [end, sum] = [0, 0];
  for (const part of parts) {
    if (part.offset < end || part.size < 0) throw new Error('its runs of a sparse file overlap');
    end = part.offset + part.size;
    sum += part.size;
  }
  if (!Number.isSafeInteger(realSize) || end > realSize)
    throw new Error(`it is a sparse file of ${realSize} bytes with content at ${end}`);
  if (sum !== size) throw new Error(`it is a sparse file whose runs have ${sum} bytes, its content ${size}`);
  return { realSize, parts };
}

function pairsOf(numbers: readonly number[]): readonly SparsePart[] {
  if (numbers.length % 2 !== 0) throw new Error('a sparse file has an offset without a size');
  return numbers.flatMap((offset, at) => (at % 2 === 0 ? [{ offset, size: numbers[at + 1] ?? 0 }] : []));
}

function decimalOf(text: string): number {
  const number = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (Number.isSafeInteger(number)) return number;
  throw new Error(`a number of a sparse file is none: ${JSON.stringify(text.slice(0, 40))}`);
}
