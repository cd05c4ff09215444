import { X509Certificate } from 'node:crypto';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createApiClient, type HttpApiClient } from '../../../src/api/rest/http-client.ts';
import type { Resource } from '../../../src/api/resources.ts';
import { EmbeddedApiServer } from '../../../src/apiserver/index.ts';
import { createKey, type KeyPair, writeSigningRequest } from '../../../src/pki/certificates.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { call } from '../support.ts';
import type { KubeObject } from '../../../src/kube/types.ts';

const resource: Resource = {
  group: 'certificates.k8s.io',
  version: 'v1',
  resource: 'certificatesigningrequests',
  kind: 'CertificateSigningRequest',
  namespaced: false,
};
type Csr = KubeObject & {
  status?: {
    certificate?: string;
    conditions?: readonly { type: string; reason: string; message?: string }[];
  };
};

let server: EmbeddedApiServer;
const clients: HttpApiClient[] = [];

beforeEach(async () => {
  server = await EmbeddedApiServer.start();
});
afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close()));
  await server.stop();
});

const connect = (user: KeyPair): HttpApiClient => {
  const client = createApiClient({ server: server.url, ca: server.ca, ...user }, { clock: systemClock });
  clients.push(client);
  return client;
};

interface Wish {
  readonly signer: 'kubelet-serving' | 'kube-apiserver-client-kubelet';
  readonly usages: readonly string[];
  readonly organizations?: readonly string[];
  readonly hosts?: readonly string[];
  readonly as?: string;
  readonly groups?: readonly string[];
  readonly expirationSeconds?: number;
}

const makeNode = (): Promise<unknown> =>
  call(server, 'POST', '/api/v1/nodes', {
    metadata: { name: 'n1' },
    status: {
      addresses: [
        { type: 'Hostname', address: 'n1' },
        { type: 'InternalIP', address: '192.0.2.1' },
        { type: 'InternalIP', address: '2001:db8::1' },
      ],
    },
  });

/** What became of a request for `system:node:n1`, approved by the administrator where nobody does it by himself. */
async function outcome(wish: Wish, approve = true): Promise<string> {
  await makeNode();
  const { signer, usages, organizations = ['system:nodes'], hosts, as = 'system:node:n1' } = wish;
  const { groups = ['system:nodes'], expirationSeconds } = wish;
  const request = writeSigningRequest(createKey(), { commonName: 'system:node:n1', organizations }, hosts);
  const object = {
    apiVersion: 'certificates.k8s.io/v1',
    kind: 'CertificateSigningRequest',
    metadata: { name: 'x' },
    spec: {
      request: Buffer.from(request).toString('base64'),
      signerName: `kubernetes.io/${signer}`,
      usages,
      ...(expirationSeconds !== undefined && { expirationSeconds }),
    },
  };
  await connect(server.clientCertificate(as, groups)).create(resource, object);
  const admin = connect(server.admin);
  const now = (): Promise<Csr> => admin.get<Csr>(resource, { name: 'x' });
  if (approve && !(await now()).status?.conditions) {
    const condition = { type: 'Approved', status: 'True', reason: 'ByHand', message: '' };
    const patch = { type: 'merge', body: { status: { conditions: [condition] } } } as const;
    await admin.patch(resource, { name: 'x' }, patch, { subresource: 'approval' });
  }
  const { conditions = [], certificate } = (await now()).status ?? {};
  const told = conditions.map(({ type, reason, message }) => `${type} ${reason} ${message ?? ''}`.trim());
  if (certificate === undefined) return told.join('; ');
  const { validFrom, validTo, keyUsage } = new X509Certificate(Buffer.from(certificate, 'base64'));
  const seconds = (Date.parse(validTo) - Date.parse(validFrom)) / 1000;
  return [...told, `issued for ${seconds} s`, keyUsage.join()].join('; ');
}

const client = {
  signer: 'kube-apiserver-client-kubelet',
  usages: ['digital signature', 'client auth'],
} as const;
const serving = { signer: 'kubelet-serving', usages: ['digital signature', 'server auth'] } as const;
const year = 365 * 24 * 3600;
const forClients = '1.3.6.1.5.5.7.3.2';
const selfClient =
  'Approved AutoApproved Auto approving self kubelet client certificate after SubjectAccessReview.';

test.for<readonly [string, Wish, string]>([
  ['a node for itself', client, `${selfClient}; issued for ${year} s; ${forClients}`],
  [
    'a bootstrapper for a node',
    { ...client, as: 'b', groups: ['system:bootstrappers'] },
    `Approved AutoApproved Auto approving kubelet client certificate after SubjectAccessReview.; issued for ${year} s; ${forClients}`,
  ],
  [
    'a short life: it is not cut short by its early beginning',
    { ...client, expirationSeconds: 3600 },
    `${selfClient}; issued for 3900 s; ${forClients}`,
  ],
  [
    'a serving certificate',
    { ...serving, hosts: ['n1', '192.0.2.1'] },
    `Approved AutoApproved The node asked for its own serving certificate.; issued for ${year} s; 1.3.6.1.5.5.7.3.1`,
  ],
  [
    'a serving certificate for an address that is written another way',
    { ...serving, hosts: ['N1', '2001:DB8:0::1'] },
    `Approved AutoApproved The node asked for its own serving certificate.; issued for ${year} s; 1.3.6.1.5.5.7.3.1`,
  ],
  [
    'a serving certificate without names',
    serving,
    'Approved ByHand; Failed SignerValidationFailure DNS or IP subjectAltName is required',
  ],
  [
    'a client certificate with names',
    { ...client, hosts: ['n1'] },
    'Approved ByHand; Failed SignerValidationFailure DNS subjectAltNames are not allowed',
  ],
  [
    'another organization',
    { ...client, organizations: ['system:masters'] },
    'Approved ByHand; Failed SignerValidationFailure subject organization is not system:nodes',
  ],
  [
    'usages of another kind',
    { ...client, usages: ['digital signature', 'server auth'] },
    'Approved ByHand; Failed SignerValidationFailure usages did not match [client auth digital signature key encipherment]',
  ],
])('%s', async ([, wish, wanted]) => {
  expect(await outcome(wish)).toBe(wanted);
});

test('a serving certificate is not approved for another user', async () => {
  const wish = { ...serving, hosts: ['n1'], as: 'b', groups: ['system:masters'] };
  expect(await outcome(wish, false)).toBe('');
});
