import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { EmbeddedApiServer } from '../../../src/apiserver/index.ts';
import { Authority, hour } from '../../../src/pki/certificates.ts';
import { call } from '../support.ts';

let server: EmbeddedApiServer | undefined;
let hook: Server | undefined;
afterEach(async () => {
  await server?.stop();
  hook?.closeAllConnections();
  await new Promise((done) => hook?.close(done));
});

test('the webhook’s own certificate may be the caBundle, and its path is cleaned, as with Go', async () => {
  const now = Date.now();
  const { cert, key } = Authority.create('ca', now).issue({
    ...{ subject: { commonName: 'hook' }, notBefore: now - hour, notAfter: now + hour },
    ...{ usages: ['server auth'], hosts: ['127.0.0.1'] },
  });
  const paths: string[] = [];
  const listening = createServer({ cert, key }, (request, response) => {
    paths.push(request.url ?? '');
    response.writeHead(500).end();
  });
  hook = listening;
  await new Promise<void>((done) => listening.listen(0, '127.0.0.1', done));
  const { port } = listening.address() as AddressInfo;
  server = await EmbeddedApiServer.start();
  await call(server, 'POST', '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations', {
    metadata: { name: 'v' },
    webhooks: [
      {
        ...{ name: 'v.example.com', sideEffects: 'None', admissionReviewVersions: ['v1'] },
        clientConfig: {
          url: `https://127.0.0.1:${port}//validate/./pods/`,
          caBundle: Buffer.from(cert).toString('base64'),
        },
        rules: [{ operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'] }],
      },
    ],
  });
  await call(server, 'POST', '/api/v1/namespaces/default/configmaps', { metadata: { name: 'x' } });
  expect(paths).toEqual(['/validate/pods?timeout=10s']);
});
