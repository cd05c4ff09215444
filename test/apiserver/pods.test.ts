import { afterAll, beforeAll, expect, test } from 'vitest';
import { EmbeddedApiServer } from '../../src/apiserver/index.ts';
import { podWarnings } from '../../src/apiserver/pod-warnings.ts';
import { podStatusFaults } from '../../src/apiserver/pod-status-validation.ts';
import { withLabelKeys, withObservedGeneration } from '../../src/apiserver/pod-preparation.ts';
import { call, pod, podsPath } from './support.ts';

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

test('a label that is none is told as often as the API server looks at it', async () => {
  await call(server, 'POST', podsPath, pod('labelled'));
  const labels = { metadata: { labels: { 'bad key': 'x' } } };
  const refused = await call(server, 'PATCH', `${podsPath}/labelled`, labels, 'application/merge-patch+json');
  const cause = { reason: 'FieldValueInvalid', field: 'metadata.labels' };
  expect(refused).toMatchObject({ body: { details: { causes: [cause, cause, cause, cause] } } });
});
