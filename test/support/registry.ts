import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { TestImage } from './images.ts';

/** A fault that replaces a response. */
export interface RegistryFault {
  /** The part of the path to match, e.g. `/manifests/`. */
  readonly path: string;
  /** The status of the response; absent for the normal response. */
  readonly status?: number;
  /** Breaks the connection in the middle of the response. */
  readonly cut?: true;
  /** The delay before the response, ms. */
  readonly delayMs?: number;
}

/** A small image registry on loopback. */
export interface Registry {
  readonly port: number;
  /** `localhost:PORT`, for image references. */
  readonly host: string;
  /** `METHOD path` of every request so far. */
  readonly requests: string[];
  /** `Authorization` of every request so far that had one. */
  readonly credentials: string[];
  /** The current faults. */
  readonly faults: RegistryFault[];
  /** The maximum number of responses that were delayed (`delayMs`) at the same time. */
  readonly mostHeld: () => number;
  close(): Promise<void>;
}

export interface RegistryOptions {
  /** The port. Default: any free one. */
  readonly port?: number;
  /** `name:password`; absent when no authentication is required. */
  readonly basicAuth?: string;
}

/** Serves the images under their path without the host, so `x/app:1` is pulled as `localhost:PORT/app:1`. */
export async function startRegistry(
  images: readonly TestImage[],
  options: RegistryOptions = {},
): Promise<Registry> {
  const requests: string[] = [];
  const credentials: string[] = [];
  const faults: RegistryFault[] = [];
  const held = { now: 0, most: 0 };
  const server = createServer((request, response) => {
    requests.push(`${request.method ?? ''} ${request.url ?? ''}`);
    if (request.headers.authorization !== undefined) credentials.push(request.headers.authorization);
    void answer(request, response, { images, faults, held, ...options });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(options.port ?? 0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  const close = async (): Promise<void> => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return {
    port,
    host: `localhost:${port}`,
    requests,
    credentials,
    faults,
    mostHeld: () => held.most,
    close,
  };
}

interface Shelf extends RegistryOptions {
  readonly images: readonly TestImage[];
  readonly faults: readonly RegistryFault[];
  readonly held: { now: number; most: number };
}

async function answer(request: IncomingMessage, response: ServerResponse, shelf: Shelf): Promise<void> {
  const { pathname } = new URL(request.url ?? '/', 'http://registry');
  const fault = shelf.faults.find(({ path }) => pathname.includes(path));
  if (fault?.delayMs !== undefined) {
    shelf.held.most = Math.max(shelf.held.most, ++shelf.held.now);
    await delay(fault.delayMs);
    shelf.held.now--;
  }
  if (fault?.status !== undefined) refuse(response, fault.status, 'UNKNOWN');
  else if (fault?.cut) {
    response.writeHead(200, { 'content-length': 1000 }).write('half');
    response.destroy();
  } else if (!mayPull(request, shelf)) {
    response.setHeader('www-authenticate', 'Basic realm="registry"');
    refuse(response, 401, 'UNAUTHORIZED');
  } else if (pathname === '/v2/') response.end('{}');
  else give(request, response, findBlob(pathname, shelf.images));
}

const mayPull = ({ headers }: IncomingMessage, { basicAuth }: Shelf): boolean =>
  basicAuth === undefined || headers.authorization === `Basic ${Buffer.from(basicAuth).toString('base64')}`;

interface Found {
  readonly digest: string;
  readonly content: Buffer;
  readonly type: string;
}

function findBlob(path: string, images: readonly TestImage[]): Found | undefined {
  const [, name, kind, key = ''] = /^\/v2\/(.+)\/(manifests|blobs)\/([^/]+)$/.exec(path) ?? [];
  for (const image of images) {
    const [, ownName, tag] = /^[^/]+\/(.+):([^:]+)$/.exec(image.ref) ?? [];
    if (ownName !== name) continue;
    const digest = kind === 'manifests' && key === tag ? image.manifestDigest : key;
    const content = image.blobs.get(digest);
    const isManifest = digest === image.manifestDigest;
    if (content && isManifest === (kind === 'manifests'))
      return {
        digest,
        content,
        type: isManifest ? 'application/vnd.oci.image.manifest.v1+json' : 'application/octet-stream',
      };
  }
  return undefined;
}

function give(request: IncomingMessage, response: ServerResponse, found: Found | undefined): void {
  if (!found) {
    refuse(response, 404, 'MANIFEST_UNKNOWN');
    return;
  }
  const { type, digest, content } = found;
  response.writeHead(200, {
    'content-type': type,
    'content-length': content.length,
    'docker-content-digest': digest,
  });
  response.end(request.method === 'HEAD' ? undefined : content);
}

function refuse(response: ServerResponse, status: number, code: string): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ errors: [{ code, message: code.toLowerCase() }] }));
}
