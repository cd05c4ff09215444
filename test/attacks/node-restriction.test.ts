import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { EmbeddedApiServer } from '../../src/apiserver/index.ts';
import { createKey, type KeyPair, writeSigningRequest } from '../../src/pki/certificates.ts';
import { type Answer, call } from '../apiserver/support.ts';

let server: EmbeddedApiServer;
let node: KeyPair;
const pods = '/api/v1/namespaces/default/pods';
const csrs = '/apis/certificates.k8s.io/v1/certificatesigningrequests';
const uidOf = (answer: Answer): string =>
  (answer.body as unknown as { metadata: { uid: string } }).metadata.uid;

/** A request of the node `n1`. */
const asNode = (method: string, path: string, body?: unknown, type?: string): Promise<Answer> =>
  call({ port: server.port, ca: server.ca, admin: node } as EmbeddedApiServer, method, path, body, type);
const asAdmin = (method: string, path: string, body?: unknown, type?: string): Promise<Answer> =>
  call(server, method, path, body, type);

const container = { name: 'c', image: 'x' };
let nodeUid = '';
let podUid = '';

beforeAll(async () => {
  server = await EmbeddedApiServer.start({ minimalScheduler: false });
  node = server.clientCertificate('system:node:n1', ['system:nodes']);
  const addresses = [
    { type: 'Hostname', address: 'n1' },
    { type: 'InternalIP', address: '192.0.2.1' },
  ];
  for (const name of ['n1', 'n2'])
    await asAdmin('POST', '/api/v1/nodes', {
      metadata: { name },
      status: name === 'n1' ? { addresses } : {},
    });
  nodeUid = uidOf(await asAdmin('GET', '/api/v1/nodes/n1'));
  const audience = { serviceAccountToken: { path: 't', audience: 'vault' } };
  const volumes = [
    { name: 'v', projected: { sources: [audience] } },
    { name: 'd', persistentVolumeClaim: { claimName: 'data' } },
  ];
  await asAdmin('POST', '/api/v1/namespaces/default/persistentvolumeclaims', {
    metadata: { name: 'data' },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
  });
  for (const [name, nodeName] of [
    ['mine', 'n1'],
    ['other', 'n2'],
  ])
    await asAdmin('POST', pods, { metadata: { name }, spec: { nodeName, containers: [container], volumes } });
  podUid = uidOf(await asAdmin('GET', `${pods}/mine`));
});
afterAll(() => server.stop());

const forbidden = async (answer: Promise<Answer>, why: string): Promise<void> => {
  const { status, body } = await answer;
  expect([status, String(body['message'])]).toEqual([403, expect.stringContaining(why)]);
};

describe('objects of other nodes', () => {
  test('CSINodes', async () => {
    const path = '/apis/storage.k8s.io/v1/csinodes';
    const why = 'can only access CSINode with the same name as the requesting node';
    await forbidden(asNode('POST', path, { metadata: { name: 'n2' }, spec: { drivers: [] } }), why);
    await forbidden(asNode('POST', path, { metadata: { generateName: 'n1' }, spec: { drivers: [] } }), why);
    expect((await asNode('POST', path, { metadata: { name: 'n1' }, spec: { drivers: [] } })).status).toBe(
      201,
    );
  });

  test('ResourceSlices', async () => {
    const path = '/apis/resource.k8s.io/v1/resourceslices';
    const slice = (name: string, nodeName?: string): object => ({
      metadata: { name },
      spec: {
        driver: 'a.b',
        ...(nodeName && { nodeName }),
        pool: { name: 'p', generation: 1, resourceSliceCount: 1 },
        devices: [],
      },
    });
    const why = 'can only create ResourceSlice with the same NodeName as the requesting node';
    await forbidden(asNode('POST', path, slice('a', 'n2')), why);
    await forbidden(asNode('POST', path, slice('a')), why);
    expect((await asNode('POST', path, slice('a', 'n1'))).status).toBe(201);
    await asAdmin('POST', path, slice('b', 'n2'));
    const all = await asNode('DELETE', `${path}?fieldSelector=spec.nodeName%3Dn1`);
    expect(all.status).toBe(200);
    expect((await asAdmin('GET', `${path}/b`)).status).toBe(200);
  });

  test('leases', async () => {
    const lease = (namespace: string): string =>
      `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`;
    await forbidden(
      asNode('POST', lease('default'), { metadata: { name: 'n1' } }),
      'can only access leases in the "kube-node-lease" system namespace',
    );
    await forbidden(
      asNode('POST', lease('kube-node-lease'), { metadata: { name: 'n2' } }),
      'can only access node lease with the same name as the requesting node',
    );
    expect((await asNode('POST', lease('kube-node-lease'), { metadata: { name: 'n1' } })).status).toBe(201);
  });

  test('nodes, whatever the door', async () => {
    const why = 'node "n1" is not allowed to modify node "n2"';
    const labels = { metadata: { labels: { a: 'b' } } };
    const merge = 'application/merge-patch+json';
    await forbidden(asNode('PATCH', '/api/v1/nodes/n2', labels, merge), why);
    await forbidden(asNode('PATCH', '/api/v1/nodes/n2/status', labels, merge), why);
    await forbidden(
      asNode('POST', '/api/v1/nodes', { metadata: { name: 'n3' } }),
      'not allowed to modify node "n3"',
    );
  });
});

describe('its own node', () => {
  const patch = (body: object, to = '/api/v1/nodes/n1'): Promise<Answer> =>
    asNode('PATCH', to, body, 'application/merge-patch+json');

  test.for([
    ['taints', { spec: { taints: [] } }, 'is not allowed to modify taints'],
    [
      'owners',
      { metadata: { ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: 'a', uid: 'u' }] } },
      'is not allowed to modify ownerReferences',
    ],
    [
      'labels that steer workloads',
      { metadata: { labels: { 'node-restriction.kubernetes.io/pci': 'yes', 'kubernetes.io/role': 'x' } } },
      'is not allowed to modify labels: kubernetes.io/role, node-restriction.kubernetes.io/pci',
    ],
  ] as const)('%s', async ([, body, why]) => {
    await forbidden(patch(body), why);
    await forbidden(patch(body, '/api/v1/nodes/n1/status'), why);
  });

  test('labels that are its own, or of no domain of Kubernetes', async () => {
    const labels = { 'kubernetes.io/os': 'linux', 'example.com/a': 'b', 'x.node.kubernetes.io/a': 'b' };
    expect((await patch({ metadata: { labels } })).status).toBe(200);
  });
});

describe('pods', () => {
  const owner = (): object => ({
    apiVersion: 'v1',
    kind: 'Node',
    name: 'n1',
    uid: nodeUid,
    controller: true,
  });
  const mirror = (spec: object, metadata: object = {}): object => ({
    metadata: {
      name: `m${Object.keys(spec).join('').toLowerCase()}`,
      annotations: { 'kubernetes.io/config.mirror': 'x' },
      ownerReferences: [owner()],
      ...metadata,
    },
    spec: { nodeName: 'n1', containers: [container], ...spec },
  });

  test.for([
    ['that are no mirrors', {}, { annotations: {} }, 'can only create mirror pods'],
    ['on another node', { nodeName: 'n2' }, {}, 'can only create pods with spec.nodeName set to itself'],
    ['without an owner', {}, { ownerReferences: [] }, 'with an owner reference set to itself'],
    [
      'with an account',
      { serviceAccountName: 'default' },
      {},
      'a mirror pod may not reference service accounts',
    ],
    [
      'with a secret',
      { volumes: [{ name: 'v', secret: { secretName: 's' } }] },
      {},
      'a mirror pod may not reference secrets',
    ],
    [
      'with a config map',
      { volumes: [{ name: 'v', configMap: { name: 's' } }] },
      {},
      'node "n1" can not create pods that reference configmaps',
    ],
    [
      'with a CSI volume',
      { volumes: [{ name: 'v', csi: { driver: 'd' } }] },
      {},
      'node "n1" can not create pods that reference csidrivers (via CSI volumes)',
    ],
    [
      'with an ephemeral volume',
      {
        volumes: [
          {
            name: 'v',
            ephemeral: {
              volumeClaimTemplate: {
                spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1' } } },
              },
            },
          },
        ],
      },
      {},
      'node "n1" can not create pods that reference persistentvolumeclaims (via ephemeral volumes)',
    ],
    [
      'with claims of devices',
      { resourceClaims: [{ name: 'c', resourceClaimName: 'x' }] },
      {},
      'node "n1" can not create pods that reference resourceclaims',
    ],
    [
      'with a trust bundle',
      {
        volumes: [{ name: 'v', projected: { sources: [{ clusterTrustBundle: { name: 'b', path: 'p' } }] } }],
      },
      {},
      'node "n1" can not create pods that reference clustertrustbundles',
    ],
  ] as const)('%s', async ([, spec, metadata, why]) => {
    await forbidden(asNode('POST', pods, mirror(spec, metadata)), why);
  });

  test('of the uid of another node', async () => {
    const ownerReferences = [{ ...owner(), uid: 'other' }];
    await forbidden(
      asNode('POST', pods, mirror({}, { ownerReferences })),
      'node n1 UID mismatch: expected other got',
    );
  });

  test('that run elsewhere are neither deleted nor evicted, and their status is not written', async () => {
    await forbidden(
      asNode('DELETE', `${pods}/other`),
      'can only delete pods with spec.nodeName set to itself',
    );
    const eviction = (name: string): object => ({
      apiVersion: 'policy/v1',
      kind: 'Eviction',
      metadata: { name },
    });
    await forbidden(
      asNode('POST', `${pods}/other/eviction`, eviction('other')),
      'node n1 can only evict pods with spec.nodeName set to itself',
    );
    expect((await asNode('POST', `${pods}/none/eviction`, eviction('none'))).status).toBe(404);
    const merge = 'application/merge-patch+json';
    await forbidden(
      asNode('PATCH', `${pods}/other/status`, { status: { phase: 'Failed' } }, merge),
      'can only update pod status for pods with spec.nodeName set to itself',
    );
  });

  test('of its own change in their status alone, and not in labels or claims', async () => {
    const merge = 'application/merge-patch+json';
    const status = `${pods}/mine/status`;
    await forbidden(
      asNode('PATCH', status, { metadata: { labels: { a: 'b' } } }, merge),
      'cannot update labels through pod status',
    );
    await forbidden(
      asNode(
        'PATCH',
        status,
        { status: { resourceClaimStatuses: [{ name: 'c', resourceClaimName: 'x' }] } },
        merge,
      ),
      'cannot update resource claim statues',
    );
    expect((await asNode('PATCH', status, { status: { phase: 'Running' } }, merge)).status).toBe(200);
  });
});

test('of claims a node writes the size and the progress of a resize, and nothing else', async () => {
  const path = '/api/v1/namespaces/default/persistentvolumeclaims/data/status';
  const patch = (body: object): Promise<Answer> =>
    asNode('PATCH', path, body, 'application/merge-patch+json');
  await forbidden(
    patch({ metadata: { labels: { a: 'b' } } }),
    'fields other than status.quantity and status.conditions',
  );
  await forbidden(
    patch({ status: { phase: 'Lost' } }),
    'fields other than status.quantity and status.conditions',
  );
  expect((await patch({ status: { capacity: { storage: '2Gi' } } })).status).toBe(200);
});

describe('tokens', () => {
  const path = '/api/v1/namespaces/default/serviceaccounts/default/token';
  const request = (spec: object): Promise<Answer> => asNode('POST', path, { spec });
  const ref = (name: string, uid: string): object => ({ apiVersion: 'v1', kind: 'Pod', name, uid });

  test('are bound to a pod of the node', async () => {
    await forbidden(request({}), 'node requested token not bound to a pod');
    await forbidden(
      request({ boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name: 'mine' } }),
      'node requested token with a pod binding without a uid',
    );
    await forbidden(request({ boundObjectRef: ref('mine', 'x') }), 'does not match the UID in record');
    const other = uidOf(await asAdmin('GET', `${pods}/other`));
    await forbidden(
      request({ boundObjectRef: ref('other', other) }),
      'node requested token bound to a pod scheduled on a different node',
    );
  });

  test('are for audiences that the pod uses', async () => {
    const boundObjectRef = ref('mine', podUid);
    expect((await request({ boundObjectRef })).status).toBe(201);
    expect((await request({ boundObjectRef, audiences: ['vault'] })).status).toBe(201);
    await forbidden(
      request({ boundObjectRef, audiences: ['a', 'b'] }),
      'node may only request 0 or 1 audiences',
    );
    const { status, body } = await request({ boundObjectRef, audiences: ['bank'] });
    expect([status, body['message']]).toEqual([403, expect.stringContaining('audience "bank"')]);
  });
});

type Subject = readonly [commonName: string, organizations: readonly string[], hosts?: readonly string[]];

describe('certificates', () => {
  let made = 0;
  const ask = async (
    by: typeof asNode,
    signer: string,
    [commonName, organizations, hosts]: Subject,
    usages: readonly string[],
  ): Promise<Answer> => {
    const request = writeSigningRequest(
      createKey(),
      { commonName, organizations: [...organizations] },
      hosts,
    );
    const name = `c${made++}`;
    const created = await by('POST', csrs, {
      metadata: { name },
      spec: { signerName: signer, usages, request: Buffer.from(request).toString('base64') },
    });
    return created.status === 201 ? asAdmin('GET', `${csrs}/${name}`) : created;
  };
  const serving = (hosts: readonly string[]): Promise<Answer> =>
    ask(
      asNode,
      'kubernetes.io/kubelet-serving',
      ['system:node:n1', ['system:nodes'], hosts],
      ['digital signature', 'server auth'],
    );
  const conditionsOf = ({ body }: Answer): unknown =>
    (body as unknown as { status: { conditions?: unknown } }).status.conditions;

  test.for([
    ['the API server', ['localhost', '127.0.0.1', 'kubernetes.default.svc']],
    ['another node', ['n2']],
    ['an address that is not its own', ['n1', '192.0.2.2']],
    ['a name besides its own', ['n1', 'example.com']],
  ] as const)('to serve as %s are not approved by themselves', async ([, hosts]) => {
    expect(conditionsOf(await serving(hosts))).toBeUndefined();
  });

  test('to serve under its own names are approved, also when the Node learns its addresses later', async () => {
    expect(conditionsOf(await serving(['n1', '192.0.2.1']))).toMatchObject([{ type: 'Approved' }]);
    const early = await serving(['192.0.2.7']);
    expect(conditionsOf(early)).toBeUndefined();
    const addresses = [
      { type: 'Hostname', address: 'n1' },
      { type: 'InternalIP', address: '192.0.2.1' },
      { type: 'InternalIP', address: '192.0.2.7' },
    ];
    await asNode(
      'PATCH',
      '/api/v1/nodes/n1/status',
      { status: { addresses } },
      'application/merge-patch+json',
    );
    const late = await asAdmin('GET', `${csrs}/${(early.body.metadata as { name: string }).name}`);
    expect(conditionsOf(late)).toMatchObject([{ type: 'Approved' }]);
  });

  test('in the name of another node are refused', async () => {
    const answer = ask(
      asNode,
      'kubernetes.io/kube-apiserver-client-kubelet',
      ['system:node:n2', ['system:nodes']],
      ['digital signature', 'client auth'],
    );
    await forbidden(answer, 'can only create a node CSR with CN=system:node:n1');
  });

  test('of the group system:masters are refused to everybody', async () => {
    const usages = ['digital signature', 'client auth'];
    const answer = ask(
      asAdmin,
      'kubernetes.io/kube-apiserver-client',
      ['root', ['a', 'system:masters']],
      usages,
    );
    await forbidden(
      answer,
      'use of kubernetes.io/kube-apiserver-client signer with system:masters group is not allowed',
    );
  });
});
