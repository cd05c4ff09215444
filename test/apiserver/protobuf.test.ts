import { request } from 'node:https';
import { afterAll, beforeAll, expect, test } from 'vitest';
import numbers from '../../src/apimachinery/serializer/api-protobuf.json' with { type: 'json' };
import types from '../../src/apimachinery/api-types.json' with { type: 'json' };
import { readProtobuf } from '../../src/apimachinery/serializer/protobuf-body.ts';
import { writeProtobuf } from '../../src/apimachinery/serializer/protobuf-writer.ts';
import { EmbeddedApiServer } from '../../src/apiserver/index.ts';
import { call, podsPath } from './support.ts';

let server: EmbeddedApiServer;
beforeAll(async () => {
  server = await EmbeddedApiServer.start({ controllers: false });
  await call(server, 'POST', '/api/v1/namespaces/default/serviceaccounts', { metadata: { name: 'default' } });
});
afterAll(() => server.stop());

const protobuf = 'application/vnd.kubernetes.protobuf';

/** Asks and takes the answer as it stands on the wire. */
const ask = (
  method: string,
  path: string,
  { accept = protobuf, body }: { readonly accept?: string; readonly body?: Buffer } = {},
): Promise<{ readonly status: number; readonly type: string; readonly body: Buffer }> =>
  new Promise((resolve, reject) => {
    const { port, ca, admin } = server;
    const headers = { accept, ...(body && { 'content-type': protobuf, 'content-length': body.length }) };
    const options = { host: '127.0.0.1', port, ca, cert: admin.cert, key: admin.key, agent: false };
    request({ ...options, path, method, headers }, (response) => {
      const parts: Buffer[] = [];
      response.on('data', (part: Buffer) => parts.push(part));
      response.on('end', () => {
        const type = response.headers['content-type'] ?? '';
        resolve({ status: response.statusCode ?? 0, type, body: Buffer.concat(parts) });
      });
    })
      .on('error', reject)
      .end(body);
  });

const full = {
  metadata: {
    name: 'full',
    labels: { b: '2', a: '1' },
    annotations: { 'x/y': 'ä' },
    finalizers: ['x.io/y'],
  },
  spec: {
    // bound, so that no scheduler writes a condition
    nodeName: 'n1',
    terminationGracePeriodSeconds: 0,
    tolerations: [{ operator: 'Exists', tolerationSeconds: -5, effect: 'NoExecute' }],
    securityContext: { runAsUser: 0, sysctls: [{ name: 'kernel.shm_rmid_forced', value: '0' }] },
    containers: [
      {
        name: 'c',
        image: 'x',
        ports: [{ containerPort: 80, name: 'web' }],
        env: [
          { name: 'A', value: '' },
          { name: 'B', valueFrom: { resourceFieldRef: { resource: 'limits.cpu', divisor: '1m' } } },
        ],
        resources: { limits: { memory: '1Gi', cpu: '250m' }, requests: { cpu: '100m' } },
        livenessProbe: { httpGet: { path: '/', port: 'web' }, periodSeconds: 3 },
        readinessProbe: { tcpSocket: { port: 80 } },
        lifecycle: { postStart: { exec: { command: ['a', ''] } }, preStop: { sleep: { seconds: 0 } } },
        volumeMounts: [{ name: 'v', mountPath: '/v' }],
      },
    ],
    volumes: [
      { name: 'v', emptyDir: { sizeLimit: '1Mi' } },
      { name: 'h', hostPath: { path: '/h', type: '' } },
      { name: 'p', projected: { sources: [{ configMap: { name: 'm', optional: false } }] } },
    ],
  },
};

test('an object goes out as a message and comes in again as what it was', async () => {
  const { status, body: made } = await call(server, 'POST', podsPath, full);
  expect([status, made]).toEqual([201, made]);
  const answer = await ask('GET', `${podsPath}/full`);
  expect([answer.status, answer.type]).toEqual([200, protobuf]);
  const again = await ask('PUT', `${podsPath}/full`, { accept: 'application/json', body: answer.body });
  expect(JSON.parse(again.body.toString())).toEqual(made);
});

test.for([
  ['a secret', '/api/v1/namespaces/default/secrets', { data: { k: 'AAH/' }, immutable: true }],
  [
    'a lease',
    '/apis/coordination.k8s.io/v1/namespaces/default/leases',
    { spec: { holderIdentity: 'me', renewTime: '2026-01-02T03:04:05.000067Z', leaseTransitions: 0 } },
  ],
  ['a config map', '/api/v1/namespaces/default/configmaps', { data: { b: '', a: '1' } }],
  [
    'a node',
    '/api/v1/nodes',
    { spec: { taints: [{ key: 'a', effect: 'NoSchedule', timeAdded: '2026-01-02T03:04:05Z' }] } },
  ],
  [
    'a deployment',
    '/apis/apps/v1/namespaces/default/deployments',
    {
      spec: {
        replicas: 0,
        selector: { matchLabels: { a: 'b' } },
        strategy: { rollingUpdate: { maxSurge: '50%', maxUnavailable: 1 } },
        template: {
          metadata: { labels: { a: 'b' } },
          spec: { containers: [{ name: 'c', image: 'x' }] },
        },
      },
    },
  ],
  [
    'a webhook configuration',
    '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations',
    {
      webhooks: [
        {
          name: 'a.example.com',
          clientConfig: { url: 'https://127.0.0.1:1/x', caBundle: 'YQ==' },
          rules: [{ operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['pods'] }],
          sideEffects: 'None',
          admissionReviewVersions: ['v1'],
          failurePolicy: 'Ignore',
          timeoutSeconds: 3,
        },
      ],
    },
  ],
  [
    'a policy with named rules',
    '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings',
    {
      spec: {
        policyName: 'p',
        validationActions: ['Deny'],
        matchResources: {
          resourceRules: [
            {
              ...{ resourceNames: ['x'], operations: ['UPDATE'], apiGroups: ['apps'], apiVersions: ['*'] },
              ...{ resources: ['deployments'], scope: 'Namespaced' },
            },
          ],
        },
      },
    },
  ],
  [
    'an autoscaler',
    '/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers',
    {
      spec: {
        scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'd' },
        minReplicas: 2,
        maxReplicas: 3,
        metrics: [
          {
            type: 'Resource',
            resource: { name: 'cpu', target: { type: 'AverageValue', averageValue: '250m' } },
          },
        ],
        behavior: { scaleDown: { stabilizationWindowSeconds: 0 } },
      },
    },
  ],
  [
    'a flow schema',
    '/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas',
    {
      spec: {
        priorityLevelConfiguration: { name: 'exempt' },
        matchingPrecedence: 5,
        distinguisherMethod: { type: 'ByUser' },
        rules: [
          {
            subjects: [{ kind: 'Group', group: { name: 'g' } }],
            nonResourceRules: [{ verbs: ['*'], nonResourceURLs: ['/x'] }],
          },
        ],
      },
    },
  ],
] as const)('%s goes there and back', async ([, path, object]) => {
  await call(server, 'POST', path, { metadata: { name: 'one' }, ...object });
  const { body: made } = await call(server, 'GET', `${path}/one`);
  const { body } = await ask('GET', `${path}/one`);
  const again = await ask('PUT', `${path}/one`, { accept: 'application/json', body });
  expect(JSON.parse(again.body.toString())).toEqual(made);
});

test('a definition goes there and back, with what is one of several types in its schema', async () => {
  const leaf = { type: 'string', default: 'x', enum: ['x', 'y'], maxLength: 5 };
  const schema = {
    type: 'object',
    required: ['items'],
    properties: {
      items: { type: 'array', items: leaf, 'x-kubernetes-list-type': 'atomic', minItems: 0 },
      map: { type: 'object', additionalProperties: { type: 'number', minimum: 0.5, multipleOf: 0.5 } },
      open: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true, nullable: true },
      port: { 'x-kubernetes-int-or-string': true, anyOf: [{ type: 'integer' }, { type: 'string' }] },
      rules: { type: 'integer', 'x-kubernetes-validations': [{ rule: 'self >= 0', message: 'no' }] },
    },
  };
  const name = { metadata: { name: 'things.example.com' } };
  const spec = {
    group: 'example.com',
    scope: 'Cluster',
    names: { plural: 'things', kind: 'Thing', shortNames: ['th'] },
    versions: [
      {
        ...{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: schema } },
        subresources: { status: {}, scale: { specReplicasPath: '.spec.n', statusReplicasPath: '.status.n' } },
        additionalPrinterColumns: [{ name: 'A', type: 'string', jsonPath: '.spec.a', priority: 1 }],
      },
    ],
  };
  const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
  expect((await call(server, 'POST', path, { ...name, spec })).status).toBe(201);
  const { body: made } = await call(server, 'GET', `${path}/things.example.com`);
  const { body } = await ask('GET', `${path}/things.example.com`);
  expect(body.subarray(0, 3).toString()).toBe('k8s');
  const again = await ask('PUT', `${path}/things.example.com`, { accept: 'application/json', body });
  expect(JSON.parse(again.body.toString())).toEqual(made);
});

test('unions of a schema in all their forms', () => {
  const object = {
    ...{ apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition' },
    spec: {
      versions: [
        {
          schema: {
            openAPIV3Schema: {
              additionalProperties: false,
              additionalItems: true,
              default: false,
              items: [{ type: 'string' }, { type: 'integer' }],
              dependencies: { a: ['b', 'c'], d: { type: 'object' } },
            },
          },
        },
      ],
    },
  };
  const body = writeProtobuf(object);
  const read = readProtobuf(body ?? Buffer.alloc(0), () => 'CustomResourceDefinition');
  expect(read).toMatchObject(object);
});

test('a message without fields is there all the same', () => {
  const versions = [{ name: 'v1', subresources: { status: {} } }];
  const object = {
    ...{ apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition' },
    spec: { versions },
  };
  const body = writeProtobuf(object) ?? Buffer.alloc(0);
  expect(readProtobuf(body, () => 'CustomResourceDefinition')).toMatchObject(object);
  // as Go writes it: number and length, and no byte inside
  expect(body.includes(Buffer.from([0x0a, 0x00]))).toBe(true);
});

test('every kind that the server knows can be read and written', () => {
  const missing = Object.keys(types).filter((type) => !(type in numbers));
  expect(missing).toEqual([]);
});

test('a list, an error and what is found are messages too', async () => {
  for (const [path, status, kind] of [
    [podsPath, 200, 'PodList'],
    [`${podsPath}/nobody`, 404, 'Status'],
    ['/nowhere/at/all', 404, undefined],
    ['/api', 200, 'APIVersions'],
    ['/apis', 200, 'APIGroupList'],
    ['/api/v1', 200, 'APIResourceList'],
  ] as const) {
    const answer = await ask('GET', path);
    expect(answer.status).toBe(status);
    if (kind === undefined) continue;
    expect(answer.type).toBe(protobuf);
    expect(answer.body.subarray(0, 4).toString()).toBe('k8s\0');
    expect(answer.body.subarray(0, 40).toString()).toContain(kind);
  }
});

test('metadata alone is a message, a table is not', async () => {
  const partial = `${protobuf};as=PartialObjectMetadata;g=meta.k8s.io;v=v1`;
  const metadata = await ask('GET', `${podsPath}/full`, { accept: partial });
  expect([metadata.type, metadata.body.toString()]).toEqual([
    protobuf,
    expect.stringContaining('PartialObjectMetadata') as string,
  ]);
  const table = `${protobuf};as=Table;g=meta.k8s.io;v=v1`;
  expect(await ask('GET', podsPath, { accept: table })).toMatchObject({ status: 406 });
  const either = await ask('GET', podsPath, {
    accept: `${table},application/json;as=Table;g=meta.k8s.io;v=v1`,
  });
  expect(either).toMatchObject({ status: 200, type: 'application/json' });
});

test('a kind without a protobuf message is sent as JSON, or not at all', async () => {
  const path = '/apis/example.com/v1/things';
  expect(await ask('GET', path)).toMatchObject({ status: 406 });
  const answer = await ask('GET', path, { accept: `${protobuf},application/json` });
  expect(answer).toMatchObject({ status: 200, type: 'application/json' });
});

test('a watch sends messages, each with its length in front', async () => {
  const path = `${podsPath}?watch=1&timeoutSeconds=1&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan`;
  const { type, body } = await ask('GET', path);
  expect(type).toBe(`${protobuf};stream=watch`);
  const events: string[] = [];
  for (let at = 0; at < body.length;) {
    const length = body.readUInt32BE(at);
    const event = body.subarray(at + 4, at + 4 + length);
    events.push(event.subarray(2, 2 + (event[1] ?? 0)).toString());
    expect(event.includes('k8s\0')).toBe(true);
    at += 4 + length;
  }
  expect(events).toEqual(['ADDED', 'BOOKMARK']);
});

test('every field of a kind that has a message has its number', () => {
  const named = (row: object): string[] =>
    Object.values(row).flatMap((field: object | string) =>
      typeof field === 'string' ? [field] : named(field),
    );
  const without = Object.entries(numbers).flatMap(([type, row]) => {
    const known = new Set([...named(row), 'apiVersion', 'kind']);
    const fields = (types as Readonly<Record<string, object>>)[type] ?? {};
    return Object.keys(fields).filter((field) => !known.has(field));
  });
  expect(without).toEqual([]);
});
