import { expect, test } from 'vitest';
import type { Pod } from '../../../src/kube/types.ts';
import { defaultPod } from '../../../src/kube/validation/defaults.ts';
import { formatFieldError } from '../../../src/kube/validation/field-error.ts';
import { validatePod } from '../../../src/kube/validation/pod.ts';

// what kube-apiserver says of fields that are absent, empty or seldom used; each as its own functions answered

type Fields = Readonly<Record<string, unknown>>;

const podOf = (spec: Fields, container: Fields, metadata: Fields): Pod => ({
  metadata: { name: 'p', namespace: 'default', ...metadata },
  spec: { containers: [{ name: 'c', image: 'x:1', ...container }], ...spec },
});

const faults = (spec: Fields, container: Fields = {}, metadata: Fields = {}): string[] =>
  validatePod(defaultPod(podOf(spec, container, metadata))).map(formatFieldError);

const volume = (source: Fields): Fields => ({ volumes: [{ name: 'v', ...source }] });

test('a text that is empty gets its default, as one that is absent', () => {
  expect(faults(volume({ image: { reference: 'x', pullPolicy: '' } }))).toEqual([]);
  expect(
    faults(
      {},
      { env: [{ name: 'A', valueFrom: { fieldRef: { apiVersion: '', fieldPath: 'metadata.name' } } }] },
    ),
  ).toEqual([]);
  const { spec } = defaultPod(
    podOf(volume({ rbd: { monitors: ['m'], image: 'i', pool: '', user: '' } }), {}, {}),
  );
  expect(spec?.volumes?.[0]?.rbd).toMatchObject({ pool: 'rbd', user: 'admin', keyring: '/etc/ceph/keyring' });
});

test.each<[string, Fields, Fields, string[]]>([
  [
    'a scheduling group without a name',
    { schedulingGroup: {} },
    {},
    ['spec.schedulingGroup.podGroupName: Invalid value: null: must specify one of: `podGroupName`'],
  ],
  [
    'a scheduling group’s name',
    { schedulingGroup: { podGroupName: 'A' } },
    {},
    [
      expect.stringMatching(
        /^spec\.schedulingGroup\.podGroupName: Invalid value: "A": a lowercase RFC 1123 subdomain/,
      ),
    ],
  ],
  [
    'a second source that is misspelt',
    volume({ emptyDir: {}, cephfs: { monitors: ['m'] } }),
    {},
    ['spec.volumes[0].cephFS: Forbidden: may not specify more than 1 volume type'],
  ],
  [
    'a disk that is called otherwise inside',
    volume({ gcePersistentDisk: {} }),
    {},
    ['spec.volumes[0].persistentDisk.pdName: Required value'],
  ],
  [
    'an initiator whose address is too long',
    volume({
      iscsi: {
        targetPortal: 'x'.repeat(63),
        iqn: 'iqn.2001-04.com.x',
        initiatorName: 'iqn.2001-04.com.x',
        lun: 0,
      },
    }),
    {},
    [
      'spec.volumes[0].name: Invalid value: "v": Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified.',
    ],
  ],
  [
    'rules of an init container that has no policy',
    { initContainers: [{ name: 'i', image: 'x', restartPolicyRules: [{ action: 'Restart' }] }] },
    {},
    [
      'spec.initContainers[0].restartPolicy: Required value: must specify restartPolicy when restart rules are used',
    ],
  ],
  [
    'two containers without a name',
    { initContainers: [{ image: 'x' }] },
    { name: undefined },
    [
      'spec.containers[0].name: Required value',
      'spec.initContainers[0].name: Required value',
      'spec.initContainers[0].name: Duplicate value: ""',
    ],
  ],
  [
    'lists of a debugging container that are there but empty',
    { ephemeralContainers: [{ name: 'e', image: 'x', ports: [], lifecycle: {}, resources: {} }] },
    {},
    [
      'spec.ephemeralContainers[0].ports: Forbidden: cannot be set for an Ephemeral Container',
      'spec.ephemeralContainers[0].lifecycle: Forbidden: cannot be set for an Ephemeral Container',
      'spec.ephemeralContainers: Forbidden: cannot be set on create',
    ],
  ],
  [
    'a header without a name',
    {},
    { livenessProbe: { httpGet: { port: 80, httpHeaders: [{ value: 'v' }] } } },
    [expect.stringContaining('livenessProbe.httpGet.httpHeaders: Invalid value: "": a valid HTTP header')],
  ],
  [
    'claims of which one has no name',
    { resourceClaims: [{ name: 'x', resourceClaimName: 'y' }, { resourceClaimName: 'z' }] },
    { resources: { claims: [{ name: 'w' }] } },
    [
      'spec.resourceClaims[1].name: Required value',
      'spec.containers[0].resources.claims[0]: Not found: "w": must be one of the names in pod.spec.resourceClaims: x',
    ],
  ],
  ['no sysctls on Windows', { os: { name: 'windows' }, securityContext: { sysctls: [] } }, {}, []],
  [
    'a spread without a rule for nodes',
    { topologySpreadConstraints: [{ maxSkew: 1, topologyKey: 'zone', minDomains: 2 }] },
    {},
    [
      'spec.topologySpreadConstraints[0].whenUnsatisfiable: Unsupported value: "": supported values: "DoNotSchedule", "ScheduleAnyway"',
      'spec.topologySpreadConstraints[0].minDomains: Invalid value: 2: can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ',
    ],
  ],
])('%s', (_what, spec, container, expected) => {
  expect(faults(spec, container)).toEqual(expected);
});

test('requests of the whole pod follow its containers only beside a limit of its own', () => {
  const resources = { limits: { cpu: '2' } };
  const requestsOf = (own: Fields): unknown =>
    defaultPod(podOf({ resources: own }, { resources }, {})).spec?.resources?.requests;
  expect(requestsOf({ requests: { memory: '2' } })).toEqual({ memory: '2' });
  expect(requestsOf({ limits: { memory: '2' } })).toEqual({ cpu: '2', memory: '2' });
});

test('entries of managed fields are looked at between the two rules for finalizers', () => {
  const managedFields = [{ operation: 'X', fieldsType: 'Y', manager: 'ä\n', subresource: 's'.repeat(257) }];
  expect(faults({}, {}, { managedFields, finalizers: ['_', 'plain'] })).toEqual([
    expect.stringMatching(/^metadata\.finalizers: Invalid value: "_": name part must consist/),
    'metadata.managedFields[0].operation: Invalid value: "X": must be `Apply` or `Update`',
    'metadata.managedFields[0].fieldsType: Invalid value: "Y": must be `FieldsV1`',
    'metadata.managedFields[0].manager: Invalid value: "ä\\n": invalid character U+000A (at position 2)',
    'metadata.managedFields[0].subresource: Too long: may not be more than 256 bytes',
    'metadata.finalizers[0]: Invalid value: "_": name is neither a standard finalizer name nor is it fully qualified',
    'metadata.finalizers[1]: Invalid value: "plain": name is neither a standard finalizer name nor is it fully qualified',
  ]);
});
