/** One entry of a tar archive. */
export interface TarEntry {
  readonly path: string;
  readonly mode?: number;
  /** A file's content; absent for directories and links. */
  readonly content?: Buffer;
  readonly linkTo?: string;
}

const blockBytes = 512;

/** Makes a ustar archive of the entries, owned by root and with time 0, so that equal entries produce equal bytes. */
export function tarOf(entries: readonly TarEntry[]): Buffer {
  const blocks = entries.flatMap((entry) => [header(entry), padded(entry.content ?? Buffer.alloc(0))]);
  return Buffer.concat([...blocks, Buffer.alloc(2 * blockBytes)]);
}

function padded(content: Buffer): Buffer {
  return Buffer.concat([content, Buffer.alloc((blockBytes - (content.length % blockBytes)) % blockBytes)]);
}

const octal = (value: number, digits: number): string => value.toString(8).padStart(digits, '0');

function header({ path, mode, content, linkTo }: TarEntry): Buffer {
  const kind = linkTo !== undefined ? '2' : content ? '0' : '5';
  const block = Buffer.alloc(blockBytes);
  block.write(path, 0, 100);
  block.write(octal(mode ?? (kind === '0' ? 0o644 : 0o755), 7), 100);
  block.write(octal(0, 7), 108);
  block.write(octal(0, 7), 116);
  block.write(octal(content?.length ?? 0, 11), 124);
  block.write(octal(0, 11), 136);
  block.write(' '.repeat(8), 148);
  block.write(kind, 156);
  block.write(linkTo ?? '', 157, 100);
  block.write('ustar\u000000', 257);
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${octal(sum, 6)}\0 `, 148);
  return block;
}
