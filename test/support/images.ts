import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { arch } from 'node:os';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { tarOf } from './tar.ts';

/** The path of the program in Debian's `busybox-static`. */
export const busyboxPath = '/bin/busybox';

/** An image in the form of a registry or an OCI layout. */
export interface TestImage {
  /** `host/name:tag` */
  readonly ref: string;
  readonly manifestDigest: string;
  /** The digest of its configuration, which is the image ID in CRI. */
  readonly configDigest: string;
  readonly blobs: ReadonlyMap<string, Buffer>;
  /** The digests of manifests that the manifest, an index, names. */
  readonly further?: readonly string[];
}

const manifestType = 'application/vnd.oci.image.manifest.v1+json';
const indexType = 'application/vnd.oci.image.index.v1+json';
const digestOf = (bytes: Buffer): string => `sha256:${createHash('sha256').update(bytes).digest('hex')}`;

/** The defaults of an image, after the OCI image configuration. */
export interface ImageRun {
  readonly Cmd?: readonly string[];
  readonly Entrypoint?: readonly string[];
  readonly Env?: readonly string[];
  readonly User?: string;
  readonly WorkingDir?: string;
  readonly StopSignal?: string;
}

/** A layer of an image. */
export interface TestLayer {
  /** The uncompressed archive. */
  readonly archive: Buffer;
  readonly compression?: 'gzip' | 'zstd';
}

/** An image whose file system is busybox with a link for each of its applets. */
export const busyboxImage = (ref: string, run: ImageRun = { Cmd: ['/bin/sh'] }): TestImage =>
  layeredImage(ref, [{ archive: busyboxLayer() }], { Env: ['PATH=/bin'], ...run });

/** An image of this machine's architecture. */
export function layeredImage(ref: string, layers: readonly TestLayer[], run: ImageRun = {}): TestImage {
  const packed = layers.map((layer) => ({ ...packedOf(layer), diffId: digestOf(layer.archive) }));
  const config = json({
    architecture: arch() === 'x64' ? 'amd64' : arch(),
    os: 'linux',
    config: run,
    rootfs: { type: 'layers', diff_ids: packed.map(({ diffId }) => diffId) },
  });
  const manifest = json({
    schemaVersion: 2,
    mediaType: manifestType,
    config: descriptor('application/vnd.oci.image.config.v1+json', config),
    layers: packed.map(({ type, blob }) => descriptor(type, blob)),
  });
  return {
    ref,
    manifestDigest: digestOf(manifest),
    configDigest: digestOf(config),
    blobs: new Map([...packed.map(({ blob }) => blob), config, manifest].map((one) => [digestOf(one), one])),
  };
}

function packedOf({ archive, compression }: TestLayer): { readonly type: string; readonly blob: Buffer } {
  const type = 'application/vnd.oci.image.layer.v1.tar';
  if (compression === undefined) return { type, blob: archive };
  const blob = compression === 'gzip' ? gzipSync(archive) : zstdCompressSync(archive);
  return { type: `${type}+${compression}`, blob };
}

/** An index of images by platform, such as `linux/arm64/v8`. */
export function indexOf(ref: string, images: Readonly<Record<string, TestImage>>): TestImage {
  const manifests = Object.entries(images).map(([platform, { manifestDigest, blobs }]) => {
    const [os, architecture, variant] = platform.split('/');
    const blob = blobs.get(manifestDigest) ?? Buffer.alloc(0);
    return { ...descriptor(manifestType, blob), platform: { os, architecture, variant } };
  });
  const index = json({ schemaVersion: 2, mediaType: indexType, manifests });
  return {
    ref,
    manifestDigest: digestOf(index),
    configDigest: '',
    blobs: new Map([
      ...Object.values(images).flatMap(({ blobs }) => [...blobs]),
      [digestOf(index), index] as const,
    ]),
    further: Object.values(images).map(({ manifestDigest }) => manifestDigest),
  };
}

/** The image of pod sandboxes, which sleeps. */
export const pauseImage = (ref: string): TestImage =>
  busyboxImage(ref, { Cmd: ['/bin/sleep', '2147483647'] });

const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));

const descriptor = (mediaType: string, blob: Buffer): object => ({
  mediaType,
  digest: digestOf(blob),
  size: blob.length,
});

let layerMade: Buffer | undefined;

function busyboxLayer(): Buffer {
  if (layerMade) return layerMade;
  const applets = execFileSync(busyboxPath, ['--list'], { encoding: 'utf8' }).split('\n').filter(Boolean);
  layerMade = tarOf([
    { path: 'bin/' },
    { path: 'bin/busybox', mode: 0o755, content: readFileSync(busyboxPath) },
    ...applets
      .filter((applet) => applet !== 'busybox')
      .map((applet) => ({ path: `bin/${applet}`, mode: 0o777, linkTo: 'busybox' })),
    { path: 'etc/' },
    {
      path: 'etc/passwd',
      content: Buffer.from(
        'root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/sh\nworker:x:1234:1234:worker:/:/bin/sh\n',
      ),
    },
    { path: 'etc/group', content: Buffer.from('root:x:0:\nnobody:x:65534:\nextra:x:50000:worker\n') },
    { path: 'root/', mode: 0o700 },
    { path: 'tmp/', mode: 0o1777 },
  ]);
  return layerMade;
}

/** An OCI layout of the images in one tar, as `ctr images import` reads it. */
export function layoutOf(images: readonly TestImage[]): Buffer {
  const blobs = new Map(images.flatMap((image) => [...image.blobs]));
  const manifests = images.map(({ ref, manifestDigest }) => ({
    ...descriptor(manifestType, blobs.get(manifestDigest) ?? Buffer.alloc(0)),
    annotations: { 'io.containerd.image.name': ref },
  }));
  return tarOf([
    { path: 'oci-layout', content: json({ imageLayoutVersion: '1.0.0' }) },
    { path: 'index.json', content: json({ schemaVersion: 2, manifests }) },
    ...[...blobs].map(([digest, content]) => ({ path: `blobs/${digest.replace(':', '/')}`, content })),
  ]);
}
