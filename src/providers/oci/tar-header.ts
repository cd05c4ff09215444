import { tableOf } from '../../base/own.ts';

/** What an entry of a tar archive is; `other`: a kind that is not unpacked, such as a part of a volume. */
export type TarKind =
  'file' | 'link' | 'symlink' | 'character-device' | 'block-device' | 'directory' | 'fifo' | 'other';

/** The head of an entry of a tar archive. */
export interface TarEntry {
  readonly name: string;
  readonly kind: TarKind;
  /** bytes of content; 0 for all but files and `other` */
  readonly size: number;
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  /** s since the epoch */
  readonly mtime: number;
  /** The target of a link. */
  readonly linkname: string;
}

/** What the extended headers before an entry say of it, in place of the entry's own header. */
export type TarExtension = Partial<Omit<TarEntry, 'kind'>>;

/** A header block that stands for no entry of its own. */
export type ExtensionKind = 'pax' | 'pax-global' | 'long-name' | 'long-link';

export const blockBytes = 512;

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
});
const extensionKinds: Readonly<Record<string, ExtensionKind>> = tableOf({
  x: 'pax',
  g: 'pax-global',
  L: 'long-name',
  K: 'long-link',
});

/** A header block as it is in the archive. */
export type RawHeader = TarEntry & { readonly extension: ExtensionKind | undefined };

/**
 * Reads a header block in the formats v7, ustar, pax and GNU.
 *
 * @throws {Error} for a wrong checksum or a number that is none
 */
export function headerOf(block: Buffer): RawHeader {
  let sum = 8 * 0x20; // the checksum counts as spaces
  for (let at = 0; at < blockBytes; at++) if (at < 148 || at >= 156) sum += block[at] ?? 0;
  if (sum !== numberIn(block, 148, 8, 'the checksum')) throw new Error('a header has a wrong checksum');
  const flag = String.fromCharCode(block[156] ?? 0);
  const prefix = block.toString('latin1', 257, 263) === 'ustar\0' ? textIn(block, 345, 155) : '';
  const short = textIn(block, 0, 100);
  const name = prefix === '' ? short : `${prefix}/${short}`;
  const plain = entryKinds[flag] ?? 'other';
  return {
    name,
    kind: plain === 'file' && name.endsWith('/') ? 'directory' : plain, // as v7 archives have directories
    extension: extensionKinds[flag],
    mode: numberIn(block, 100, 8, 'the mode'),
    uid: numberIn(block, 108, 8, 'the owner'),
    gid: numberIn(block, 116, 8, 'the group'),
    size: numberIn(block, 124, 12, 'the size'),
    mtime: numberIn(block, 136, 12, 'the time'),
    linkname: textIn(block, 157, 100),
  };
}

/** Reads the content of an extended header. @throws {Error} for records that are damaged */
export function extensionOf(kind: ExtensionKind, content: Buffer): TarExtension {
  if (kind === 'long-name') return { name: textIn(content, 0, content.length) };
  if (kind === 'long-link') return { linkname: textIn(content, 0, content.length) };
  const records = paxRecords(content);
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
  const all: Record<keyof TarExtension, string | number | undefined> = {
    name: text('path'),
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
export function entryOf(header: RawHeader, extension: TarExtension): TarEntry {
  const { extension: _, ...own } = header;
  const entry = { ...own, ...extension };
  const hasContent = entry.kind === 'file' || entry.kind === 'other';
  for (const [what, value] of [
    ['size', entry.size],
    ['owner', entry.uid],
    ['group', entry.gid],
  ] as const)
    if (!Number.isSafeInteger(value) || value < 0)
      throw new Error(`${JSON.stringify(entry.name.slice(0, 100))} has the ${what} ${value}`);
  return hasContent ? entry : { ...entry, size: 0 };
}

function paxRecords(content: Buffer): ReadonlyMap<string, string> {
  const records = new Map<string, string>();
  for (let at = 0; at < content.length;) {
    const space = content.indexOf(0x20, at);
    const digits = space < 0 ? '' : content.toString('latin1', at, Math.min(space, at + 10));
    const end = at + Number(digits);
    const equals = content.indexOf(0x3d, space);
    if (!/^\d+$/.test(digits) || end > content.length || equals < 0 || equals >= end)
      throw new Error('a pax header is damaged');
    records.set(content.toString('utf8', space + 1, equals), content.toString('utf8', equals + 1, end - 1));
    at = end;
  }
  return records;
}

function textIn(block: Buffer, from: number, length: number): string {
  const end = block.indexOf(0, from);
  return block.toString('utf8', from, end < 0 ? from + length : Math.min(end, from + length));
}

/** Reads a number: octal digits, or binary with the highest bit set, as GNU has large ones. */
function numberIn(block: Buffer, from: number, length: number, what: string): number {
  const first = block[from] ?? 0;
  if ((first & 0x80) !== 0) {
    let value = (first & 0x40) === 0 ? first & 0x3f : (first & 0x3f) - 0x40;
    for (let at = from + 1; at < from + length; at++) value = value * 256 + (block[at] ?? 0);
    return value;
  }
  const text = block
    .toString('latin1', from, from + length)
    .replace(/\0.*$/s, '')
    .trim();
  if (text === '') return 0;
  if (!/^[0-7]+$/.test(text)) throw new Error(`${what} in a header is no number: ${JSON.stringify(text)}`);
  return Number.parseInt(text, 8);
}
