import { tableOf } from '../../base/own.ts';
import { blockBytes, numberIn } from './tar-numbers.ts';
import { sparseOfHeader, sparseOfRecords, type SparseMap, type SparseSource } from './tar-sparse.ts';

/** What an entry of a tar archive is; `label`: the name of the archive; `other`: a kind that is not read, such as a part of a volume. */
export type TarKind =
  | 'file'
  | 'link'
  | 'symlink'
  | 'character-device'
  | 'block-device'
  | 'directory'
  | 'fifo'
  | 'label'
  | 'other';

/** The head of an entry of a tar archive. */
export interface TarEntry {
  readonly name: string;
  readonly kind: TarKind;
  /** bytes of content in the archive; 0 for all but files, `label` and `other` */
  readonly size: number;
  /** Where the content is in a file with holes. */
  readonly sparse?: SparseMap;
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  /** s since the epoch */
  readonly mtime: number;
  /** The target of a link. */
  readonly linkname: string;
}

/** What the extended headers before an entry say of it, in place of the entry's own header. */
export type TarExtension = Partial<Omit<TarEntry, 'kind' | 'sparse'>> & { readonly source?: SparseSource };

/** A header block that stands for no entry of its own. */
export type ExtensionKind = 'pax' | 'pax-global' | 'long-name' | 'long-link';

const entryKinds: Readonly<Record<string, TarKind>> = tableOf({
  '\0': 'file',
  '0': 'file',
  '7': 'file',
  '1': 'link',
  '2': 'symlink',
  '3': 'character-device',
  '4': 'block-device',
  '5': 'directory',
  '6': 'fifo',
  S: 'file',
  V: 'label',
});
const extensionKinds: Readonly<Record<string, ExtensionKind>> = tableOf({
  x: 'pax',
  g: 'pax-global',
  L: 'long-name',
  K: 'long-link',
});

/** A header block as it is in the archive. */
export type RawHeader = TarEntry & {
  readonly extension: ExtensionKind | undefined;
  /** The map of a sparse file. */
  readonly source?: SparseSource;
};

/**
 * Reads a header block in the formats v7, ustar, pax and GNU.
 *
 * @throws {Error} for a wrong checksum or a number that is none
 */
export function headerOf(block: Buffer): RawHeader {
  checkSum(block);
  const flag = String.fromCharCode(block[156] ?? 0);
  const name = nameIn(block);
  const plain = entryKinds[flag] ?? 'other';
  return {
    name,
    kind: plain === 'file' && name.endsWith('/') ? 'directory' : plain, // as v7 archives have directories
    extension: extensionKinds[flag],
    ...(flag === 'S' && { source: sparseOfHeader(block, name) }),
    mode: numberIn(block, 100, 8, 'the mode'),
    uid: numberIn(block, 108, 8, 'the owner'),
    gid: numberIn(block, 116, 8, 'the group'),
    size: numberIn(block, 124, 12, 'the size'),
    mtime: numberIn(block, 136, 12, 'the time'),
    linkname: textIn(block, 157, 100),
  };
}

function checkSum(block: Buffer): void {
  let sum = 8 * 0x20; // the checksum counts as spaces
  for (let at = 0; at < blockBytes; at++) if (at < 148 || at >= 156) sum += block[at] ?? 0;
  if (sum !== numberIn(block, 148, 8, 'the checksum')) throw new Error('a header has a wrong checksum');
}

function nameIn(block: Buffer): string {
  const prefix = block.toString('latin1', 257, 263) === 'ustar\0' ? textIn(block, 345, 155) : '';
  const short = textIn(block, 0, 100);
  return prefix === '' ? short : `${prefix}/${short}`;
}

/** Reads the content of an extended header. @throws {Error} for records that are damaged */
export function extensionOf(kind: ExtensionKind, content: Buffer): TarExtension {
  if (kind === 'long-name') return { name: textIn(content, 0, content.length) };
  if (kind === 'long-link') return { linkname: textIn(content, 0, content.length) };
  const list = paxRecords(content);
  const records = new Map(list);
  const sparse = kind === 'pax' ? sparseOfRecords(list) : undefined;
  const text = (name: string): string | undefined => {
    const value = records.get(name) ?? '';
    return value === '' ? undefined : value;
  };
  const number = (name: string): number | undefined => {
    const value = text(name);
    if (value === undefined) return undefined;
    const found = Number(value);
    if (!/^-?\d+(?:\.\d*)?$/.test(value) || !Number.isFinite(found))
      throw new Error(`the pax record ${name} is no number: ${JSON.stringify(value.slice(0, 100))}`);
    return found;
  };
  const all: Record<keyof TarExtension, unknown> = {
    name: sparse?.name ?? text('path'),
    source: sparse?.source,
    linkname: text('linkpath'),
    size: number('size'),
    uid: number('uid'),
    gid: number('gid'),
    mtime: number('mtime'),
    mode: undefined,
  };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
}

/** Joins a header with what its extended headers say. @throws {Error} for numbers out of their range */
export function entryOf(
  header: RawHeader,
  extension: TarExtension,
): { readonly entry: TarEntry; readonly source: SparseSource | undefined } {
  const { extension: _, ...own } = header;
  const { source, ...entry } = { ...own, ...extension };
  const hasContent = ['file', 'label', 'other'].includes(entry.kind);
  if (source && entry.kind !== 'file')
    throw new Error(`${JSON.stringify(entry.name.slice(0, 100))} is a sparse file and a ${entry.kind}`);
  for (const [what, value] of [
    ['size', entry.size],
    ['owner', entry.uid],
    ['group', entry.gid],
  ] as const)
    if (!Number.isSafeInteger(value) || value < 0)
      throw new Error(`${JSON.stringify(entry.name.slice(0, 100))} has the ${what} ${value}`);
  return { entry: hasContent ? entry : { ...entry, size: 0 }, source };
}

function paxRecords(content: Buffer): readonly (readonly [string, string])[] {
  const records: [string, string][] = [];
  for (let at = 0; at < content.length;) {
    const space = content.indexOf(0x20, at);
    const digits = space < 0 ? '' : content.toString('latin1', at, Math.min(space, at + 10));
    const end = at + Number(digits);
    const equals = content.indexOf(0x3d, space);
    if (!/^\d+$/.test(digits) || end > content.length || equals < 0 || equals >= end)
      throw new Error('a pax header is damaged');
    records.push([
      content.toString('utf8', space + 1, equals),
      content.toString('utf8', equals + 1, end - 1),
    ]);
    at = end;
  }
  return records;
}

function textIn(block: Buffer, from: number, length: number): string {
  const end = block.indexOf(0, from);
  return block.toString('utf8', from, end < 0 ? from + length : Math.min(end, from + length));
}
