import { afterAll, beforeAll, expect, test } from 'vitest';
import { EmbeddedApiServer } from '../../../src/apiserver/index.ts';
import { podWarnings } from '../../../src/apiserver/registry/validation/pod-warnings.ts';
import { podStatusFaults } from '../../../src/apiserver/registry/validation/pod-status-validation.ts';
import {
  withLabelKeys,
  withObservedGeneration,
} from '../../../src/apiserver/registry/core/pod-preparation.ts';
import { call, pod, podsPath } from '../support.ts';

let server: EmbeddedApiServer;
beforeAll(async () => {
  server = await EmbeddedApiServer.start({ controllers: false, minimalScheduler: false });
  await call(server, 'POST', '/api/v1/namespaces/default/serviceaccounts', { metadata: { name: 'default' } });
});
afterAll(() => server.stop());

const named = (name: string, more: object): object => ({ name, image: 'x', ...more });
const memory = { resources: { limits: { memory: '100m' } } };

test.for([
  [
    'a negative grace',
    { terminationGracePeriodSeconds: -1 },
    'spec.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1',
  ],
  [
    'half a byte',
    { containers: [named('c', memory)] },
    'spec.containers[0].resources.limits[memory]: fractional byte value "100m" is invalid, must be an integer',
  ],
  [
    'an old volume',
    { volumes: [{ name: 'v', gitRepo: {} }] },
    'spec.volumes[0].gitRepo: deprecated in v1.11, and disabled by default in v1.33+',
  ],
  [
    'files in each other’s way',
    { volumes: [{ name: 'v', configMap: { name: 'm', items: [{ path: 'a' }, { path: 'a/b' }] } }] },
    'volume "v" (ConfigMap "m"): overlapping paths: "a/b" with "a"',
  ],
  [
    'ports that overlap',
    {
      containers: [
        named('c', { ports: [{ containerPort: 1, hostPort: 1 }] }),
        named('d', { ports: [{ containerPort: 1 }] }),
      ],
    },
    'spec.containers[1].ports[0]: overlapping port definition with spec.containers[0].ports[0]',
  ],
  [
    'a term that selects nothing',
    { affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: 'k' }] } } },
    'spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].labelSelector: a null labelSelector results in matching no pod',
  ],
] as const)('a pod is warned of %s', ([, spec, warning]) => {
  expect(podWarnings({ metadata: {}, spec })).toEqual([warning]);
});

test('a variable that builds on the one before hides nothing', () => {
  const env = [
    { name: 'A', value: '1' },
    { name: 'A', value: '$(A)2' },
  ];
  expect(podWarnings({ spec: { containers: [named('c', { env })] } })).toEqual([]);
});

test('an AppArmor profile of an annotation becomes a field', async () => {
  const annotations = { 'container.apparmor.security.beta.kubernetes.io/c': 'localhost/mine' };
  const { headers, body } = await call(server, 'POST', podsPath, {
    ...pod('armored'),
    metadata: { name: 'armored', annotations },
  });
  expect(headers.warning).toContain('deprecated since v1.30');
  expect(body).toMatchObject({
    spec: {
      containers: [{ securityContext: { appArmorProfile: { type: 'Localhost', localhostProfile: 'mine' } } }],
    },
  });
});

test('keys of labels stand for the pod’s own', () => {
  const constraint = { labelSelector: { matchLabels: { a: 'b' } }, matchLabelKeys: ['rev', 'none'] };
  const given = { metadata: { labels: { rev: '3' } }, spec: { topologySpreadConstraints: [constraint] } };
  expect(withLabelKeys(given)).toMatchObject({
    spec: {
      topologySpreadConstraints: [
        { labelSelector: { matchExpressions: [{ key: 'rev', operator: 'In', values: ['3'] }] } },
      ],
    },
  });
});

test('the generation that was seen outlives a writer that knows none', () => {
  const old = { observedGeneration: 4, conditions: [{ type: 'A', observedGeneration: 3 }] };
  expect(withObservedGeneration({ conditions: [{ type: 'B' }, { type: 'A' }] }, old)).toEqual({
    observedGeneration: 4,
    conditions: [{ type: 'B' }, { type: 'A', observedGeneration: 3 }],
  });
});

const ended = { state: { terminated: { exitCode: 0 } } };

test.for([
  [
    'a claim that the spec does not name',
    {},
    { resourceClaimStatuses: [{ name: 'x' }] },
    'status.resourceClaimStatuses[0].name',
  ],
  ['a condition with a bad name', {}, { conditions: [{ type: 'a b' }] }, 'status.conditions[0].Type'],
  [
    'a user beyond all',
    {},
    { containerStatuses: [{ name: 'c', user: { linux: { uid: -1 } } }] },
    'status.containerStatuses[0].user.linux.uid',
  ],
  ['an address that is none', {}, { podIPs: [{ ip: 'x' }] }, 'status.podIPs[0]'],
  ['two addresses of a family', {}, { podIPs: [{ ip: '10.0.0.1' }, { ip: '010.0.0.2' }] }, 'status.podIPs'],
  [
    'another host than its first address',
    {},
    { hostIP: '10.0.0.1', hostIPs: [{ ip: '10.0.0.2' }] },
    'status.hostIPs[0].ip',
  ],
  [
    'a claim for a container that is not there',
    {},
    {
      extendedResourceClaimStatus: {
        resourceClaimName: 'x',
        requestMappings: [{ containerName: 'd', resourceName: 'x', requestName: 'r' }],
      },
    },
    'status.extendedResourceClaimStatus.requestMappings[0].containerName',
  ],
  [
    'a device that the container did not ask for',
    {},
    { containerStatuses: [{ name: 'c', allocatedResourcesStatus: [{ name: 'x.y/z' }] }] },
    'status.containerStatuses[0].allocatedResourcesStatus[0].name',
  ],
  [
    'a device that fares in no known way',
    {},
    {
      initContainerStatuses: [
        {
          name: 'gone',
          allocatedResourcesStatus: [{ name: 'x', resources: [{ resourceID: 'a', health: 'x' }] }],
        },
      ],
    },
    'status.initContainerStatuses[0].allocatedResourcesStatus[0].resources[0].health',
  ],
  [
    'devices of a guest',
    {},
    { ephemeralContainerStatuses: [{ name: 'e', allocatedResourcesStatus: [{ name: 'x' }] }] },
    'status.ephemeralContainerStatuses[0].allocatedResourcesStatus',
  ],
  [
    'a guest that rises again',
    {
      ephemeralContainerStatuses: [
        { name: 'd', ...ended },
        { name: 'e', ...ended },
      ],
    },
    { ephemeralContainerStatuses: [{ name: 'e', state: { running: {} } }] },
    'status.ephemeralContainerStatuses[1].state',
  ],
] as const)('the status of a pod is refused: %s', ([, before, status, field]) => {
  const spec = { containers: [{ name: 'c' }] };
  expect(podStatusFaults({ spec, status }, { spec, status: before }).map((fault) => fault.field)).toEqual([
    field,
  ]);
});

test('guests come and stay as they are', async () => {
  await call(server, 'POST', podsPath, pod('host'));
  const guests = `${podsPath}/host/ephemeralcontainers`;
  const type = 'application/merge-patch+json';
  const body = (...ephemeralContainers: object[]): object => ({ spec: { ephemeralContainers } });
  const guest = {
    name: 'g',
    image: 'x',
    imagePullPolicy: 'Always',
    terminationMessagePath: '/t',
    terminationMessagePolicy: 'File',
  };
  expect(await call(server, 'PATCH', guests, body({ name: 'c', image: 'x' }), type)).toMatchObject({
    status: 422,
    body: {
      details: { causes: [{ reason: 'FieldValueDuplicate', field: 'spec.ephemeralContainers[0].name' }] },
    },
  });
  expect(await call(server, 'PATCH', guests, body(guest), type)).toMatchObject({ status: 200 });
  const changed = await call(server, 'PATCH', guests, body({ ...guest, image: 'y' }), type);
  expect(String(changed.body['message'])).toContain(
    'existing ephemeral containers "g" may not be changed\n@@ -1,6 +1,6 @@\n {\n  "Name": "g",\n- "Image": "x",\n+ "Image": "y",\n',
  );
});

test('an invalid label is reported as often as the API server checks it', async () => {
  await call(server, 'POST', podsPath, pod('labelled'));
  const labels = { metadata: { labels: { 'bad key': 'x' } } };
  const refused = await call(server, 'PATCH', `${podsPath}/labelled`, labels, 'application/merge-patch+json');
  const cause = { reason: 'FieldValueInvalid', field: 'metadata.labels' };
  expect(refused).toMatchObject({ body: { details: { causes: [cause, cause, cause, cause] } } });
});

const json = 'application/merge-patch+json';

test('the first address of a pod stands alone, too; where the two differ that one counts', async () => {
  await call(server, 'POST', podsPath, pod('two'));
  const status = `${podsPath}/two/status`;
  const alone = await call(server, 'PATCH', status, { status: { podIP: '10.0.0.1' } }, json);
  expect(alone.body).toMatchObject({ status: { podIPs: [{ ip: '10.0.0.1' }] } });
  const other = await call(server, 'PATCH', status, { status: { podIPs: [{ ip: 'fd00::1' }] } }, json);
  expect(other.body).toMatchObject({ status: { podIP: '10.0.0.1', podIPs: [{ ip: '10.0.0.1' }] } });
});

test('an address that was let pass once may stay', () => {
  const status = { podIPs: [{ ip: 'odd' }] };
  expect(podStatusFaults({ status }, { status })).toEqual([]);
});

test.for([
  [{ serviceAccountName: 'x' }, 'service accounts'],
  [{ imagePullSecrets: [{ name: 'x' }] }, 'secrets'],
] as const)('a mirror pod is refused with %o', async ([more, what]) => {
  const annotations = { 'kubernetes.io/config.mirror': 'h' };
  const mirror = { ...pod('mirror', { nodeName: 'n', ...more }), metadata: { name: 'mirror', annotations } };
  const { status, body } = await call(server, 'POST', podsPath, mirror);
  expect([status, body['message']]).toEqual([
    403,
    `pods "mirror" is forbidden: a mirror pod may not reference ${what}`,
  ]);
});

test('who bears any taint is given no more to bear', async () => {
  const tolerations = [{ operator: 'Exists' }];
  const { body } = await call(server, 'POST', podsPath, pod('bears', { tolerations }));
  expect(body).toMatchObject({ spec: { tolerations } });
});

test('an empty list is distinguished from an absent one', async () => {
  await call(server, 'POST', podsPath, pod('empty'));
  const change = { spec: { hostNetwork: true, imagePullSecrets: [] } };
  const { body } = await call(server, 'PATCH', `${podsPath}/empty`, change, json);
  expect(body['message']).toContain('- "ImagePullSecrets": null,\n+ "ImagePullSecrets": [],\n');
  expect(body['message']).not.toContain('"NodeSelector": {}');
});

test('what binds a pod names it', async () => {
  await call(server, 'POST', podsPath, pod('free'));
  const nameless = { target: { kind: 'Node', name: 'n' } };
  expect(await call(server, 'POST', `${podsPath}/free/binding`, nameless)).toMatchObject({
    status: 400,
    body: { message: 'name in URL does not match name in Binding object' },
  });
  const wrong = { metadata: { name: 'free' }, target: { kind: 'x' } };
  expect(await call(server, 'POST', `${podsPath}/free/binding`, wrong)).toMatchObject({
    status: 500,
    body: {
      message:
        '[target.kind: Unsupported value: "x": supported values: "Node", "<empty>", target.name: Required value]',
    },
  });
  const elsewhere = { metadata: { name: 'free', namespace: 'x' } };
  expect(await call(server, 'POST', `${podsPath}/free/eviction`, elsewhere)).toMatchObject({
    status: 400,
    body: {
      message: 'the namespace of the provided object does not match the namespace sent on the request',
    },
  });
});
