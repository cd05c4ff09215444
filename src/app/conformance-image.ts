import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { pack } from 'tar-stream';
import { AgentError, messageOf } from '../base/errors.ts';
import { hostPrograms } from '../base/programs.ts';
import { lawFolder } from './conformance-world-parts.ts';

/** The image of the laws' containers. */
export interface ConformanceImage {
  readonly name: string;
  /** Calls `act` with the path of an archive or an OCI layout that holds the image. */
  readonly use: <T>(act: (path: string) => Promise<T>) => Promise<T>;
}

const name = 'localhost/conformance:1';
const places = ['/bin/busybox', '/usr/bin/busybox', '/usr/local/bin/busybox'];

/**
 * conformanceImage returns the image of an archive, or one whose file system is this machine's busybox with a link for each of its applets.
 *
 * @throws {AgentError} `not_found` there is no such archive; `failed_precondition` this machine has no busybox that runs without libraries
 */
export async function conformanceImage(archive?: string): Promise<ConformanceImage> {
  if (archive !== undefined) {
    if (!existsSync(archive))
      throw new AgentError('not_found', `--image ${archive}: there is no such archive`);
    return { name, use: (act) => act(archive) };
  }
  const layer = await busyboxLayer();
  return {
    name,
    use: async (act) => {
      const { dir, remove } = await lawFolder();
      try {
        writeLayout(dir, layer);
        return await act(dir);
      } finally {
        await remove();
      }
    },
  };
}

async function busyboxLayer(): Promise<Buffer> {
  const busybox = places.find((place) => existsSync(place));
  const program = busybox === undefined ? undefined : readFileSync(busybox);
  if (busybox === undefined || program === undefined || !isStatic(program))
    throw new AgentError(
      'failed_precondition',
      `--provider oci: there is no statically linked busybox at ${places.join(', ')}; install busybox-static, or pass --image FILE, the archive of an image with /bin/sh`,
    );
  const applets = await hostPrograms.output(busybox, ['--list']).catch((cause: unknown) => {
    throw new AgentError('failed_precondition', `${busybox} --list: ${messageOf(cause)}`, { cause });
  });
  const layer = pack();
  for (const folder of ['bin', 'etc', 'tmp'])
    layer.entry({ name: `${folder}/`, type: 'directory', mode: 0o755 });
  layer.entry({ name: 'bin/busybox', mode: 0o755 }, program);
  for (const applet of applets.split('\n'))
    if (applet !== '' && applet !== 'busybox')
      layer.entry({ name: `bin/${applet}`, type: 'symlink', linkname: 'busybox' });
  layer.entry({ name: 'etc/passwd' }, 'root:x:0:0:root:/:/bin/sh\n');
  layer.finalize();
  return buffer(layer);
}

/** True for an ELF program that names no dynamic loader. */
function isStatic(program: Buffer): boolean {
  const interpreter = 3; // PT_INTERP of the ELF specification
  if (program.length < 64 || program.subarray(0, 4).toString('latin1') !== '\x7fELF') return false;
  const [headers, size, count] = [
    program.readBigUInt64LE(32),
    program.readUInt16LE(54),
    program.readUInt16LE(56),
  ];
  const types = Array.from({ length: count }, (_, index) =>
    program.readUInt32LE(Number(headers) + index * size),
  );
  return !types.includes(interpreter);
}

/** Writes an OCI layout of one image of one layer. */
function writeLayout(dir: string, layer: Buffer): void {
  mkdirSync(join(dir, 'blobs/sha256'), { recursive: true });
  const blob = (mediaType: string, bytes: Buffer) => {
    const hash = createHash('sha256').update(bytes).digest('hex');
    writeFileSync(join(dir, 'blobs/sha256', hash), bytes);
    return {
      mediaType: `application/vnd.oci.image.${mediaType}`,
      digest: `sha256:${hash}`,
      size: bytes.length,
    };
  };
  const files = blob('layer.v1.tar', layer);
  const architecture = process.arch === 'x64' ? 'amd64' : process.arch;
  const config = blob(
    'config.v1+json',
    json({
      ...{ architecture, os: 'linux', rootfs: { type: 'layers', diff_ids: [files.digest] } },
      config: { Env: ['PATH=/bin'], Cmd: ['/bin/sh'] },
    }),
  );
  const manifest = blob('manifest.v1+json', json({ schemaVersion: 2, config, layers: [files] }));
  writeFileSync(join(dir, 'oci-layout'), json({ imageLayoutVersion: '1.0.0' }));
  writeFileSync(join(dir, 'index.json'), json({ schemaVersion: 2, manifests: [manifest] }));
}

const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));
