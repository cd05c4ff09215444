/**
 * A registry of one generated image on loopback, in a process of its own. Argument: the kind of the image. Prints `{ ref, layers, files, bytes, packedBytes }` and ends
 * with its standard input.
 */
import { createHash } from 'node:crypto';
import { createInterface } from 'node:readline';
import { gzipSync } from 'node:zlib';
import type { TestImage } from '../../test/support/images.ts';
import { startRegistry } from '../../test/support/registry.ts';
import { tarOf, type TarEntry } from '../../test/support/tar.ts';

/** What an image holds. */
export interface ImageFacts {
  readonly ref: string;
  readonly layers: number;
  readonly files: number;
  /** bytes of its files */
  readonly bytes: number;
  /** bytes of its layers as they are transferred */
  readonly packedBytes: number;
}

const mebi = 2 ** 20;
/** Files and bytes of each layer: an application of many small files, and one large file. */
const kinds = {
  files: [
    { files: 9000, fileBytes: 6000 },
    { files: 4000, fileBytes: 10_000 },
    { files: 2000, fileBytes: 3000 },
  ],
  large: [{ files: 1, fileBytes: 512 * mebi }],
} as const;

const digestOf = (bytes: Buffer): string => `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));

/** Returns bytes that are the same in each run and shrink to about a half: 8 random bytes, then 8 letters. */
function content(bytes: number): Buffer {
  const words = new Uint32Array(Math.ceil(bytes / 4));
  let state = 88_172_645;
  for (let at = 0; at < words.length; at++) {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    words[at] = at % 4 < 2 ? state : 0x61_62_63_64;
  }
  return Buffer.from(words.buffer, 0, bytes);
}

function entriesOf(layer: number, files: number, fileBytes: number): readonly TarEntry[] {
  const text = content(fileBytes + files);
  const entries: TarEntry[] = [{ path: `opt/layer-${layer}/` }];
  for (let at = 0; at < files; at++) {
    if (at % 100 === 0) entries.push({ path: `opt/layer-${layer}/${at / 100}/` });
    const path = `opt/layer-${layer}/${Math.floor(at / 100)}/file-${at}.txt`;
    entries.push({ path, content: text.subarray(at, at + fileBytes) });
  }
  return entries;
}

function imageOf(kind: keyof typeof kinds): TestImage {
  const tars = kinds[kind].map(({ files, fileBytes }, at) => tarOf(entriesOf(at, files, fileBytes)));
  const blobs = tars.map((tar) => gzipSync(tar, { level: 6 }));
  const config = json({
    architecture: process.arch === 'x64' ? 'amd64' : process.arch,
    os: 'linux',
    config: { Cmd: ['/bin/sh'] },
    rootfs: { type: 'layers', diff_ids: tars.map(digestOf) },
  });
  const describe = (mediaType: string, blob: Buffer): object => ({
    mediaType: `application/vnd.oci.image.${mediaType}`,
    digest: digestOf(blob),
    size: blob.length,
  });
  const manifest = json({
    schemaVersion: 2,
    mediaType: 'application/vnd.oci.image.manifest.v1+json',
    config: describe('config.v1+json', config),
    layers: blobs.map((blob) => describe('layer.v1.tar+gzip', blob)),
  });
  return {
    ref: `x/${kind}:1`,
    manifestDigest: digestOf(manifest),
    configDigest: digestOf(config),
    blobs: new Map([...blobs, config, manifest].map((blob) => [digestOf(blob), blob])),
  };
}

const kind = process.argv[2] === 'large' ? 'large' : 'files';
const image = imageOf(kind);
const { port } = await startRegistry([image]);
const facts: ImageFacts = {
  ref: `127.0.0.1:${port}/${kind}:1`,
  layers: kinds[kind].length,
  files: kinds[kind].reduce((sum, { files }) => sum + files, 0),
  bytes: kinds[kind].reduce((sum, { files, fileBytes }) => sum + files * fileBytes, 0),
  packedBytes: [...image.blobs.values()].reduce((sum, { length }) => sum + length, 0),
};
process.stdout.write(`${JSON.stringify(facts)}\n`);
createInterface({ input: process.stdin }).on('close', () => {
  process.exit();
});
