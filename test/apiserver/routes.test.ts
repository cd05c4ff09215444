import { connect } from 'node:tls';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { EmbeddedApiServer } from '../../src/apiserver/index.ts';
import { call, pod, podsPath } from './support.ts';

let server: EmbeddedApiServer;
beforeAll(async () => {
  server = await EmbeddedApiServer.start({ minimalScheduler: false });
});
afterAll(() => server.stop());

test.for([
  ['DELETE', '/api/v1/pods', 405],
  ['POST', '/api/v1/pods', 405],
  ['GET', '/api/v1/pods/x', 404],
  ['GET', '/api/v1/namespaces/x/nodes', 404],
  ['GET', '/api/v1/namespaces/default/pods/x/log/y', 404],
  ['POST', '/apis/authorization.k8s.io/v1/localsubjectaccessreviews', 404],
  ['POST', '/api/v1/componentstatuses', 405],
  ['POST', '/api', 405],
  ['HEAD', '/api/v2', 404],
  ['POST', '/apis', 200],
  ['POST', '/openapi/v3', 200],
  ['PURGE', podsPath, 405],
] as const)('%s %s is answered %i', async ([method, path, status]) => {
  expect((await call(server, method, path, method === 'POST' ? {} : undefined)).status).toBe(status);
});

/** What comes back for bytes that Node would not send. */
function raw(text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const { port, ca, admin } = server;
    const socket = connect({ host: '127.0.0.1', port, ca, cert: admin.cert, key: admin.key });
    let all = '';
    socket.setEncoding('utf8').on('data', (chunk: string) => (all += chunk));
    socket.on('error', reject).on('end', () => {
      resolve(all);
    });
    socket.write(text);
  });
}

test('an unknown method is refused like any other that a route does not have', async () => {
  const answer = await raw(`FOO ${podsPath} HTTP/1.1\r\nHost: x\r\nAccept: application/json\r\n\r\n`);
  expect(answer).toMatch(/^HTTP\/1\.1 405 /);
  expect(answer).toContain('"reason":"MethodNotAllowed","details":{},"code":405');
  expect(await raw('BLAH\r\n\r\n')).toMatch(/^HTTP\/1\.1 400 Bad Request/);
});

test('the old paths of watches are watches still', async () => {
  await call(server, 'POST', podsPath, pod('seen'));
  await call(server, 'POST', podsPath, pod('other'));
  const first = (path: string): Promise<string> =>
    raw(`GET ${path} HTTP/1.0\r\nHost: x\r\nConnection: close\r\n\r\n`);
  const one = await first('/api/v1/watch/namespaces/default/pods/seen?timeoutSeconds=1');
  expect(one).toContain('"type":"ADDED"');
  expect(one).not.toContain('"name":"other"');
  expect(await call(server, 'GET', `/api/v1/watch/pods/x`)).toMatchObject({ status: 404 });
  const odd = '/api/v1/watch/namespaces/default/pods/seen?fieldSelector=metadata.name%3Dother';
  expect(await call(server, 'GET', odd)).toMatchObject({ status: 400 });
});

test('aggregated discovery is tagged by its content alone, and sent once', async () => {
  const Accept = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
  const { headers } = await call(server, 'GET', '/api', undefined, '', { Accept });
  expect(headers.etag).toBe(
    '"4D7E1BED90B364BC86049DD9E636494980AEF65B7F8CFAA267616FA062B514A8A3CC2C2851CC9337B8D28B4C80960E2353DE5E0B152E87CC223E02EA3C5C37AC"',
  );
  const again = { Accept, 'If-None-Match': String(headers.etag) };
  expect((await call(server, 'GET', '/api', undefined, '', again)).status).toBe(304);
});

test('invalid options of a deletion are reported as they are', async () => {
  const wrong = await call(server, 'DELETE', `${podsPath}/none`, { gracePeriodSeconds: 'x' });
  expect(wrong).toMatchObject({
    status: 400,
    body: {
      message:
        'json: cannot unmarshal string into Go struct field DeleteOptions.gracePeriodSeconds of type int64',
    },
  });
});

test('a media type of a body is one in capitals, too', async () => {
  const path = '/api/v1/namespaces/default/configmaps?dryRun=All';
  const named = { metadata: { name: 'x' } };
  expect((await call(server, 'POST', path, named, 'APPLICATION/JSON')).status).toBe(201);
  expect((await call(server, 'POST', path, named, 'text/plain')).status).toBe(415);
});
