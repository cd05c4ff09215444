import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { EmbeddedApiServer } from '../../../../src/apiserver/index.ts';
import { Authority, hour, pem } from '../../../../src/pki/certificates.ts';
import { call, pod, podsPath } from '../../support.ts';

const path = '/apis/certificates.k8s.io/v1beta1/clustertrustbundles';
const now = Date.parse('2026-01-01T00:00:00Z');
const authority = (): Authority => Authority.create('ca', now);
const ca = authority().cert;
const leaf = authority().issue({
  subject: { commonName: 'leaf' },
  notBefore: now,
  notAfter: now + hour,
  usages: ['client auth'],
}).cert;
const bundle = (name: string, trustBundle: string, signerName?: string): object => ({
  metadata: { name },
  spec: { trustBundle, ...(signerName !== undefined && { signerName }) },
});
const projecting = pod('p', {
  volumes: [{ name: 'v', projected: { sources: [{ clusterTrustBundle: { name: 'x', path: 'x.pem' } }] } }],
});

describe('a server with cluster trust bundles enabled', () => {
  let server: EmbeddedApiServer;
  beforeAll(async () => {
    server = await EmbeddedApiServer.start({ clusterTrustBundles: true });
  });
  afterAll(() => server.stop());

  const omitted = (why: string): readonly string[] => [
    'spec.trustBundle',
    `Invalid value: "<value omitted>": ${why}`,
  ];
  test.for([
    [
      bundle('a:b', ca),
      'metadata.name',
      'Invalid value: "a:b": ClusterTrustBundle without signer name must not have ":" in its name',
    ],
    [
      bundle('x', ca, 'example.com/s'),
      'metadata.name',
      'Invalid value: "x": ClusterTrustBundle for signerName example.com/s must be named with prefix example.com:s:',
    ],
    [
      bundle('nowhere:x', ca, 'nowhere'),
      'spec.signerName',
      `Invalid value: "nowhere": must be a fully qualified domain and path of the form 'example.com/signer-name'`,
    ],
    [
      bundle('local:s:x', ca, 'local/s'),
      'spec.signerName',
      'Invalid value: "local": should be a domain with at least two segments separated by dots',
    ],
    [bundle('x', ''), ...omitted('at least one trust anchor must be provided')],
    [bundle('x', 'no certificate'), ...omitted('at least one trust anchor must be provided')],
    [bundle('x', leaf), ...omitted('entry 0 does not have the CA bit set')],
    [bundle('x', pem('CERTIFICATE', Buffer.from('x'))), ...omitted('entry 0 does not parse as X.509')],
    [
      bundle('x', ca + pem('PUBLIC KEY', Buffer.from('x'))),
      ...omitted('entry 1 has bad block type: PUBLIC KEY'),
    ],
    [bundle('x', ca.replace('-----\n', '-----\na: b\n\n')), ...omitted('entry 0 has PEM block headers')],
    [bundle('x', ca + ca), ...omitted('duplicate trust anchor (indices [0 1])')],
    [
      bundle('x', ca + ' '.repeat(1024 * 1024)),
      'spec.trustBundle',
      'Too long: may not be more than 1048576 bytes',
    ],
  ] as const)('refuses %#', async ([object, field, message]) => {
    const answer = await call(server, 'POST', path, object);
    expect(answer).toMatchObject({ status: 422, body: { details: { causes: [{ field, message }] } } });
  });

  test('keeps those that are right, finds them by signer, and their signer stays', async () => {
    for (const object of [bundle('plain', ca), bundle('example.com:s:1', ca, 'example.com/s')])
      expect((await call(server, 'POST', path, object)).status).toBe(201);
    const list = await call(server, 'GET', `${path}?fieldSelector=spec.signerName%3Dexample.com/s`);
    expect(list.body).toMatchObject({ items: [{ metadata: { name: 'example.com:s:1' } }] });
    const patch = (spec: object): ReturnType<typeof call> =>
      call(server, 'PATCH', `${path}/example.com:s:1`, { spec }, 'application/merge-patch+json');
    expect((await patch({ trustBundle: authority().cert })).status).toBe(200);
    expect((await patch({ trustBundle: 'no certificate' })).status).toBe(422);
    expect((await patch({ signerName: 'example.com/t' })).body).toMatchObject({
      details: {
        causes: [
          { field: 'metadata.name' },
          { message: 'Invalid value: "example.com/t": field is immutable' },
        ],
      },
    });
  });

  test('serves them, and accepts pods that project them', async () => {
    const group = await call(server, 'GET', '/apis/certificates.k8s.io');
    expect(group.body).toMatchObject({ versions: [{ version: 'v1' }, { version: 'v1beta1' }] });
    const documents = await call(server, 'GET', '/openapi/v3');
    expect(documents.body['paths']).toHaveProperty(['apis/certificates.k8s.io/v1beta1']);
    expect((await call(server, 'POST', podsPath, projecting)).body).toMatchObject({
      spec: { volumes: [{ projected: { sources: [{ clusterTrustBundle: { name: 'x' } }] } }, {}] },
    });
  });
});

describe('a server as it starts by default', () => {
  let server: EmbeddedApiServer;
  beforeAll(async () => {
    server = await EmbeddedApiServer.start();
  });
  afterAll(() => server.stop());

  test('has none, and drops them from pods', async () => {
    expect((await call(server, 'GET', path)).status).toBe(404);
    const group = await call(server, 'GET', '/apis/certificates.k8s.io');
    expect(group.body).toMatchObject({ versions: [{ version: 'v1' }] });
    const documents = await call(server, 'GET', '/openapi/v3');
    expect(documents.body['paths']).not.toHaveProperty(['apis/certificates.k8s.io/v1beta1']);
    const made = await call(server, 'POST', podsPath, projecting);
    expect(made.status).toBe(201);
    expect(JSON.stringify(made.body)).not.toContain('"clusterTrustBundle"');
  });
});
