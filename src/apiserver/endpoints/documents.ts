import type { ServerResponse } from 'node:http';
import {
  aggregatedDiscovery,
  coreVersions,
  groupList,
  isGroup,
  isServed,
  oneGroup,
  resourceList,
  type Tagged,
} from './discovery.ts';
import type { JsonObject } from '../../apimachinery/json.ts';
import type { Kind } from '../../apimachinery/kinds.ts';
import { checkConsumed, checkOffered, mediaTypes, negotiate, type Views, wantsPretty } from './negotiate.ts';
import { swaggerProtobuf } from './openapi-protobuf.ts';
import { type Described, type Document, openApi, openApiIndex, swagger } from './openapi.ts';
import { writeProtobuf } from '../../apimachinery/serializer/protobuf-writer.ts';
import { noSniff } from '../request/headers.ts';
import type { ApiRequest } from '../request/request.ts';
import { sendBody, sendText } from './respond.ts';
import { methodNotAllowed, noSuchResource } from '../../apimachinery/status-error.ts';

/** @param consumes accepted content types of the absent body; absent: any @throws {StatusError} 405, 415 */
export function readOnly(request: ApiRequest, consumes?: readonly string[]): void {
  if (request.method !== 'GET') throw methodNotAllowed();
  if (consumes) checkConsumed(request.raw.headers['content-type'], consumes);
}

export const notFoundText = (request: ApiRequest, response: ServerResponse): Promise<void> =>
  sendText(request.raw, response, {
    status: 404,
    type: 'text/plain; charset=utf-8',
    text: '404 page not found\n',
    extras: { headers: noSniff },
  });

/** Sends a JSON document that is not an API object. @throws {StatusError} 405, 406 */
export async function sendDocument(
  request: ApiRequest,
  response: ServerResponse,
  text: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<void> {
  readOnly(request);
  checkOffered(request.raw.headers.accept, ['application/json']);
  await sendText(request.raw, response, { status: 200, type: 'application/json', text, extras: { headers } });
}

/** The kinds that discovery lists, and the views of its roots that clients may request. */
export interface Discovered {
  readonly kinds: readonly Kind[];
  readonly views: Views;
}

/** Answers `/api`, `/apis` and the paths right below. @throws {StatusError} */
export async function discovery(
  request: ApiRequest,
  response: ServerResponse,
  [root, first, second]: readonly string[],
  discovered: Discovered,
): Promise<void> {
  const core = root === 'api';
  const { kinds } = discovered;
  if (first === undefined) return discoveryRoot(request, response, core, discovered);
  const [group, version] = core ? ['', first] : [first, second];
  if (!core && !isGroup(kinds, group)) return notFoundText(request, response);
  if (version !== undefined && !isServed(kinds, group, version)) throw noSuchResource();
  if (version !== undefined) readOnly(request, mediaTypes);
  const body = version === undefined ? oneGroup(kinds, group) : resourceList(kinds, group, version);
  const representation = negotiate(request.raw.headers.accept, {
    views: [],
    pretty: wantsPretty(request.query, request.raw.headers['user-agent']),
  });
  await sendBody(request.raw, response, { status: 200, body: body ?? {}, representation });
}

async function discoveryRoot(
  request: ApiRequest,
  response: ServerResponse,
  core: boolean,
  { kinds, views }: Discovered,
): Promise<void> {
  if (core) readOnly(request, mediaTypes);
  const representation = negotiate(request.raw.headers.accept, {
    produces: core && mediaTypes,
    views,
    pretty: wantsPretty(request.query, request.raw.headers['user-agent']),
  });
  if (representation.as)
    return aggregated(
      request,
      response,
      aggregatedDiscovery(kinds, core),
      representation.format === 'protobuf',
    );
  const body = core ? coreVersions(request.raw.headers.host ?? '') : groupList(kinds);
  await sendBody(request.raw, response, { status: 200, body, representation });
}

async function aggregated(
  request: ApiRequest,
  response: ServerResponse,
  { text, etag }: Tagged,
  protobuf: boolean,
): Promise<void> {
  const headers = { 'Cache-Control': 'public', ETag: etag, Vary: 'Accept' };
  if (request.raw.headers['if-none-match'] === etag) {
    response.writeHead(304, headers);
    response.end();
    return;
  }
  const message = protobuf ? writeProtobuf(JSON.parse(text) as JsonObject) : undefined;
  const type = message ? 'application/vnd.kubernetes.protobuf' : 'application/json';
  await sendText(request.raw, response, {
    status: 200,
    type: `${type};g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList`,
    text: message ?? text,
    extras: { headers },
  });
}

/** The kinds of the OpenAPI documents, and their modification time. */
export interface DescribedSince extends Described {
  /** ms since epoch */
  readonly since: number;
}

/** Answers `/openapi/v2`, `/openapi/v3` and the documents below it (A20), for any method. */
export async function openapi(
  request: ApiRequest,
  response: ServerResponse,
  [, version, ...rest]: readonly string[],
  { since, ...described }: DescribedSince,
): Promise<void> {
  const file = { 'Accept-Ranges': 'bytes', 'Last-Modified': new Date(since).toUTCString() };
  if (version === 'v2' && rest.length === 0) return sendSwagger(request, response, swagger(described), file);
  if (version !== 'v3') return notFoundText(request, response);
  if (rest.length === 0)
    return sendText(request.raw, response, {
      status: 200,
      type: 'text/plain; charset=utf-8',
      text: `${JSON.stringify(openApiIndex(described))}\n`,
      extras: { headers: file },
    });
  const document = openApi(described, rest.join('/'));
  if (!document) return notFoundText(request, response);
  const hash = request.query.get('hash');
  const forever = hash !== null && { 'Cache-Control': 'public, immutable' };
  if (hash === null || hash === document.hash)
    return sendHashed(request, response, document, { ...file, ...forever });
  response.writeHead(301, {
    Location: `${request.path}?hash=${document.hash}`,
    'Cache-Control': 'no-cache, private',
  });
  response.end();
}

function sendSwagger(
  request: ApiRequest,
  response: ServerResponse,
  document: Document,
  file: Readonly<Record<string, string>>,
): Promise<void> {
  if (!(request.raw.headers.accept ?? '').includes('proto-openapi.spec.v2'))
    return sendHashed(request, response, document, file);
  const message = swaggerMessages.get(document) ?? swaggerProtobuf(JSON.parse(document.text) as JsonObject);
  swaggerMessages.set(document, message);
  response.writeHead(200, {
    'Content-Type': swaggerType,
    'Content-Length': message.length,
    ...file,
    ETag: `"${document.hash}"`,
    Vary: 'Accept',
  });
  response.end(message);
  return Promise.resolve();
}

/** Sends a document with its hash as ETag; 304 when the client has it. */
async function sendHashed(
  request: ApiRequest,
  response: ServerResponse,
  document: { readonly text: string; readonly hash: string },
  extra: Readonly<Record<string, string>>,
): Promise<void> {
  const headers = { ETag: `"${document.hash}"`, Vary: 'Accept', ...extra };
  if (request.raw.headers['if-none-match'] === headers.ETag) {
    response.writeHead(304, headers);
    response.end();
    return;
  }
  const { text } = document;
  await sendText(request.raw, response, { status: 200, type: 'application/json', text, extras: { headers } });
}

const swaggerType = 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf';
const swaggerMessages = new WeakMap<Document, Buffer>();

/** Answer of `/version`: the Kubernetes release that this server follows, with this program's own build after the plus sign. */
export const versionInfo: JsonObject = {
  major: '1',
  minor: '36',
  emulationMajor: '1',
  emulationMinor: '36',
  minCompatibilityMajor: '1',
  minCompatibilityMinor: '35',
  gitVersion: 'v1.36.2+podtender',
  gitCommit: '',
  gitTreeState: 'clean',
  buildDate: '1970-01-01T00:00:00Z',
  goVersion: `node${process.versions.node}`,
  compiler: 'v8',
  platform: `${process.platform}/${process.arch === 'x64' ? 'amd64' : process.arch}`,
};
