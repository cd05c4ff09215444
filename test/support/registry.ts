import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
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
  /** Breaks the connection after so many bytes of the content. */
  readonly cutAfter?: number;
  /** Sends so many bytes of the content, and then nothing more on an open connection. */
  readonly holdAfter?: number;
  /** Seconds or a date for `Retry-After`, with `status`. */
  readonly retryAfter?: number | string;
  /** Content in place of the true one. */
  readonly content?: Buffer;
  /** Sends the client elsewhere. */
  readonly redirect?: string;
  /** The number of responses that it replaces; absent: all. */
  times?: number;
  /** The delay before the response, ms. */
  readonly delayMs?: number;
  /** The delay begins once so many responses have been delayed at the same time, or after 20 s. */
  readonly together?: number;
}

/** Counts responses that are delayed. */
class Held {
  /** The maximum number at the same time. */
  most = 0;
  #now = 0;
  readonly #waiting = new Set<() => void>();

  /** Delays a response. */
  async delay({ delayMs = 0, together = 0 }: RegistryFault): Promise<void> {
    this.most = Math.max(this.most, ++this.#now);
    for (const look of this.#waiting) look();
    await this.#reached(together);
    await delay(delayMs);
    this.#now--;
  }

  #reached(count: number): Promise<void> {
    if (this.most >= count) return Promise.resolve();
    return new Promise((resolve) => {
      const end = (): void => {
        clearTimeout(timer);
        this.#waiting.delete(look);
        resolve();
      };
      const look = (): void => {
        if (this.most >= count) end();
      };
      const timer = setTimeout(end, 20_000);
      this.#waiting.add(look);
    });
  }
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
  /** `Range` of every request so far that had one. */
  readonly ranges: string[];
  /** Makes all tokens given so far invalid. */
  readonly expireTokens: () => void;
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
  /** Has clients get tokens: `name:password` for which they are given, or `''` for anybody. */
  readonly tokensFor?: string;
  /** True when a request for a part gets the whole, as of some registries. */
  readonly ignoresRanges?: boolean;
}

/** Serves the images under their path without the host, so `x/app:1` is pulled as `localhost:PORT/app:1`. */
export async function startRegistry(
  images: readonly TestImage[],
  options: RegistryOptions = {},
): Promise<Registry> {
  const requests: string[] = [];
  const credentials: string[] = [];
  const faults: RegistryFault[] = [];
  const ranges: string[] = [];
  const tokens = new Set<string>();
  const held = new Held();
  const server = createServer((request, response) => {
    requests.push(`${request.method ?? ''} ${request.url ?? ''}`);
    if (request.headers.authorization !== undefined) credentials.push(request.headers.authorization);
    if (request.headers.range !== undefined) ranges.push(request.headers.range);
    void answer(request, response, { images, faults, held, tokens, ...options });
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
    ranges,
    expireTokens: () => {
      tokens.clear();
    },
    faults,
    mostHeld: () => held.most,
    close,
  };
}

interface Shelf extends RegistryOptions {
  readonly images: readonly TestImage[];
  readonly faults: readonly RegistryFault[];
  readonly held: Held;
  readonly tokens: Set<string>;
}

async function answer(request: IncomingMessage, response: ServerResponse, shelf: Shelf): Promise<void> {
  const { pathname } = new URL(request.url ?? '/', 'http://registry');
  const fault = faultFor(pathname, shelf.faults);
  if (fault?.delayMs !== undefined) await shelf.held.delay(fault);
  if (fault?.retryAfter !== undefined) response.setHeader('retry-after', fault.retryAfter);
  if (fault?.status !== undefined) refuse(response, fault.status, 'UNKNOWN');
  else if (fault?.redirect !== undefined) response.writeHead(307, { location: fault.redirect }).end();
  else if (fault?.cut) {
    response.writeHead(200, { 'content-length': 1000 }).write('half');
    response.destroy();
  } else if (pathname === '/token' && shelf.tokensFor !== undefined)
    await giveToken(request, response, shelf);
  else if (!mayPull(request, shelf)) challenge(request, response, shelf);
  else if (pathname === '/v2/') response.end('{}');
  else give(request, response, { found: findBlob(pathname, shelf.images), fault, shelf });
}

function faultFor(path: string, faults: readonly RegistryFault[]): RegistryFault | undefined {
  const fault = faults.find((one) => path.includes(one.path) && one.times !== 0);
  if (fault?.times !== undefined) fault.times--;
  return fault;
}

function challenge(request: IncomingMessage, response: ServerResponse, { tokensFor }: Shelf): void {
  const host = request.headers.host ?? '';
  response.setHeader(
    'www-authenticate',
    tokensFor === undefined
      ? 'Basic realm="registry"'
      : `Bearer realm="http://${host}/token",service="registry",scope="repository:box:pull"`,
  );
  refuse(response, 401, 'UNAUTHORIZED');
}

/** Gives a token for name and password, or for the password as an identity token. */
async function giveToken(request: IncomingMessage, response: ServerResponse, shelf: Shelf): Promise<void> {
  const { tokensFor = '', tokens } = shelf;
  const form = new URLSearchParams(await text(request));
  const [, password = ''] = tokensFor.split(':');
  const isKnown =
    tokensFor === '' ||
    request.headers.authorization === basic(tokensFor) ||
    (form.get('grant_type') === 'refresh_token' && form.get('refresh_token') === password);
  if (!isKnown) {
    refuse(response, 401, 'UNAUTHORIZED');
    return;
  }
  const token = `token-${randomUUID()}`;
  tokens.add(`Bearer ${token}`);
  response.end(JSON.stringify({ token }));
}

const basic = (auth: string): string => `Basic ${Buffer.from(auth).toString('base64')}`;

const mayPull = ({ headers }: IncomingMessage, { basicAuth, tokensFor, tokens }: Shelf): boolean =>
  tokensFor === undefined
    ? basicAuth === undefined || headers.authorization === basic(basicAuth)
    : tokens.has(headers.authorization ?? '');

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
    const isManifest = [image.manifestDigest, ...(image.further ?? [])].includes(digest);
    if (content && isManifest === (kind === 'manifests'))
      return { digest, content, type: isManifest ? mediaTypeOf(content) : 'application/octet-stream' };
  }
  return undefined;
}

const mediaTypeOf = (manifest: Buffer): string =>
  (JSON.parse(manifest.toString()) as { readonly mediaType: string }).mediaType;

interface Gift {
  readonly found: Found | undefined;
  readonly fault: RegistryFault | undefined;
  readonly shelf: Shelf;
}

function give(request: IncomingMessage, response: ServerResponse, { found, fault, shelf }: Gift): void {
  if (!found) {
    refuse(response, 404, 'MANIFEST_UNKNOWN');
    return;
  }
  const { type, digest } = found;
  const content = fault?.content ?? found.content;
  const from =
    shelf.ignoresRanges === true ? 0 : Number(/^bytes=(\d+)-/.exec(request.headers.range ?? '')?.[1] ?? 0);
  if (from > 0 && from >= content.length) {
    refuse(response, 416, 'RANGE_INVALID');
    return;
  }
  response.writeHead(from > 0 ? 206 : 200, {
    'content-type': type,
    'content-length': content.length - from,
    'docker-content-digest': digest,
    ...(from > 0 && { 'content-range': `bytes ${from}-${content.length - 1}/${content.length}` }),
  });
  if (fault?.holdAfter !== undefined) response.write(content.subarray(from, from + fault.holdAfter));
  else if (fault?.cutAfter === undefined)
    response.end(request.method === 'HEAD' ? undefined : content.subarray(from));
  else response.write(content.subarray(from, from + fault.cutAfter), () => response.socket?.end());
}

function refuse(response: ServerResponse, status: number, code: string): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ errors: [{ code, message: code.toLowerCase() }] }));
}
