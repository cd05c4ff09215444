import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decodePodList, decodeSinglePod, type ManifestOrigin } from '../../src/config/static-pod.ts';

const origin: ManifestOrigin = { source: '/m/a.yaml', isFile: true, nodeName: 'Node1'.toLowerCase() };
const manifest = (more = ''): string =>
  `apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  containers: [{name: c, image: i}]\n${more}`;

function uidIn(text: string, changes: Partial<ManifestOrigin> = {}): string {
  const decoded = decodeSinglePod(text, { ...origin, ...changes });
  if ('fault' in decoded) throw new Error(decoded.fault.message);
  return decoded.pods[0]?.metadata?.uid ?? '';
}

function faultOf(text: string): { message: string; advice?: string; line?: number } {
  const decoded = decodeSinglePod(text, origin);
  return 'fault' in decoded ? decoded.fault : { message: '' };
}

describe('the hash of a manifest (R22)', () => {
  test('is 32 hex digits, the same for the same input, and also the hash annotation', () => {
    expect(uidIn(manifest())).toMatch(/^[0-9a-f]{32}$/);
    expect(uidIn(manifest())).toBe(uidIn(manifest()));
  });

  test('differs for another text, path or node; a URL hides the node', () => {
    const uids = [
      uidIn(manifest()),
      uidIn(manifest('  hostNetwork: true\n')),
      uidIn(manifest(), { source: '/m/b.yaml' }),
      uidIn(manifest(), { nodeName: 'node2' }),
      uidIn(manifest(), { isFile: false, source: 'http://h/x' }),
    ];
    expect(new Set(uids).size).toBe(uids.length);
    const url = { isFile: false, source: 'http://h/x' };
    expect(uidIn(manifest(), { ...url, nodeName: 'node2' })).toBe(uidIn(manifest(), url));
  });

  test('gives way to a UID of the manifest', () => {
    expect(uidIn(manifest().replace('name: web', 'name: web, uid: mine'))).toBe('mine');
  });
});

test('a toleration of every NoExecute taint is added once', () => {
  const decoded = decodeSinglePod(
    manifest('  tolerations: [{operator: Exists, effect: NoExecute, tolerationSeconds: 5}]\n'),
    origin,
  );
  expect('pods' in decoded && decoded.pods[0]?.spec?.tolerations).toEqual([
    { operator: 'Exists', effect: 'NoExecute' },
  ]);
});

describe('unreadable manifests are reported with position and advice', () => {
  test.for<[string, string, Partial<ReturnType<typeof faultOf>>]>([
    [
      'a tab',
      'apiVersion: v1\n\tkind: Pod',
      { line: 2, message: 'yaml: line 2: found a tab character that violates indentation' },
    ],
    [
      'a tab behind a key',
      'apiVersion: v1\nmetadata:\n\tname: a',
      { line: 3, message: 'yaml: line 3: found character that cannot start any token' },
    ],
    [
      'a second colon',
      'apiVersion: v1\nkind: a: b',
      { line: 2, message: 'yaml: line 2: mapping values are not allowed in this context' },
    ],
    [
      'a half-written list',
      'apiVersion: v1\nkind: Pod\nspec: {containers: [{name: c,',
      { line: 3, message: 'yaml: line 3: did not find expected node content' },
    ],
    [
      'half-written JSON',
      '{"apiVersion": "v1",\n "kind"',
      { line: 2, message: "couldn't get version/kind; json parse error: unexpected end of JSON input" },
    ],
    [
      'broken JSON',
      '{"apiVersion": v1}',
      {
        line: 1,
        message:
          "couldn't get version/kind; json parse error: invalid character 'v' looking for beginning of value",
      },
    ],
    [
      'a binary',
      'apiVersion\0',
      {
        message: 'yaml: control characters are not allowed',
        advice: 'the file is binary; a manifest is text',
      },
    ],
    [
      'another kind',
      'apiVersion: v1\nkind: Service\n',
      { line: 2, message: 'invalid pod: the manifest is a v1 Service', advice: 'a manifest holds kind: Pod' },
    ],
    [
      'an unknown kind',
      'apiVersion: apps/v1\nkind: Deployment\n',
      { line: 2, message: 'no kind "Deployment" is registered for version "apps/v1"' },
    ],
    [
      'a version of two slashes',
      'apiVersion: a/b/v1\nkind: Pod\n',
      { message: 'unexpected GroupVersion string: a/b/v1' },
    ],
    [
      'a version without text',
      'apiVersion: apps/\nkind: Pod\n',
      { message: `Object 'apiVersion' is missing in '{"apiVersion":"apps/","kind":"Pod"}'` },
    ],
    ['no kind', 'apiVersion: v1\n', { message: `Object 'Kind' is missing in '{"apiVersion":"v1"}'` }],
    [
      'a kind that is no text',
      'apiVersion: v1\nkind: 5\n',
      {
        message:
          "couldn't get version/kind; json parse error: json: cannot unmarshal number into Go struct field .kind of type string",
      },
    ],
    [
      'a wrong type',
      'apiVersion: v1\nkind: Pod\nmetadata:\n  name: 5\n',
      {
        line: 4,
        message: 'json: cannot unmarshal number into Go struct field ObjectMeta.metadata.name of type string',
      },
    ],
    [
      'a wrong struct',
      'apiVersion: v1\nkind: Pod\nmetadata: []\n',
      {
        line: 3,
        message: 'json: cannot unmarshal array into Go struct field Pod.metadata of type v1.ObjectMeta',
      },
    ],
    [
      'a wrong map',
      'apiVersion: v1\nkind: Pod\nmetadata: {labels: x}\n',
      {
        message:
          'json: cannot unmarshal string into Go struct field ObjectMeta.metadata.labels of type map[string]string',
      },
    ],
    [
      'a wrong time',
      'apiVersion: v1\nkind: Pod\nmetadata: {creationTimestamp: soon}\n',
      { message: 'parsing time "soon" as "2006-01-02T15:04:05Z07:00": cannot parse "soon" as "2006"' },
    ],
    [
      'a time of another type',
      'apiVersion: v1\nkind: Pod\nmetadata: {creationTimestamp: 5}\n',
      {
        message:
          'json: cannot unmarshal number into Go struct field ObjectMeta.metadata.creationTimestamp of type string',
      },
    ],
    [
      'a wrong port',
      manifest().replace('image: i', 'image: i, livenessProbe: {httpGet: {port: 1.5}}'),
      {
        message:
          'json: cannot unmarshal number 1.5 into Go struct field HTTPGetAction.spec.containers.livenessProbe.ProbeHandler.httpGet.port of type int32',
      },
    ],
    [
      'a wrong bool',
      manifest('  hostNetwork: 1\n'),
      { message: 'json: cannot unmarshal number into Go struct field PodSpec.spec.hostNetwork of type bool' },
    ],
    [
      'a wrong quantity',
      manifest('  overhead: {cpu: {}}\n'),
      {
        message:
          "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
      },
    ],
    [
      'a probe that names no port',
      manifest().replace('image: i', 'image: i, livenessProbe: {grpc: {}}'),
      {
        message:
          'invalid pod: [spec.containers[0].livenessProbe.grpc.port: Invalid value: 0: must be between 1 and 65535, inclusive]',
      },
    ],
    [
      'a list of which an item cannot be read',
      '{"apiVersion":"v1","kind":"PodList","items":[{"metadata":{"name":5}}]}',
      {
        message:
          'json: cannot unmarshal number into Go struct field ObjectMeta.items.metadata.name of type string',
      },
    ],
    [
      'too many aliases',
      `apiVersion: &a v1\nkind: Pod\nx:\n${Array.from(
        { length: 9 },
        (_, i) =>
          `  a${i}: &x${i} [${Array(10)
            .fill(i ? `*x${i - 1}` : 'y')
            .join(', ')}]`,
      ).join('\n')}\n`,
      { message: 'yaml: document contains excessive aliasing' },
    ],
  ])('%s', ([, text, fault]) => {
    expect(faultOf(text)).toMatchObject(fault);
  });
});

test('a list is read whole or not at all', () => {
  const list = (...names: string[]): string =>
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'PodList',
      items: names.map((name) => ({ metadata: { name }, spec: { containers: [{ name: 'c', image: 'i' }] } })),
    });
  const good = decodePodList(list('a', 'b'), origin);
  expect('pods' in good && good.pods.map((pod) => pod.metadata?.name)).toEqual(['a-node1', 'b-node1']);
  expect(decodePodList(list('a', ''), origin)).toEqual({
    parsed: true,
    fault: { message: 'invalid pod: name is needed for the pod' },
  });
  expect(decodePodList('apiVersion: v1\nkind: PodList\n', origin)).toEqual({ parsed: true, pods: [] });
});

test('what is missing in a pod is said of its JSON, what is missing in a list of the text', () => {
  const text = 'spec:\n  hostNetwork: true\n';
  expect(faultOf(text).message).toBe(`Object 'Kind' is missing in '{"spec":{"hostNetwork":true}}'`);
  const missing = { message: `Object 'Kind' is missing in '${text}'` };
  expect(decodePodList(text, origin)).toMatchObject({ parsed: false, fault: missing });
});

test('an amount that is null is none', () => {
  const decoded = decodeSinglePod(manifest('  overhead: {cpu: null}\n'), origin);
  expect('pods' in decoded && decoded.pods[0]?.spec?.overhead).toEqual({ cpu: '0' });
});

test('any text gives a pod or a fault, and nothing else (fuzz)', () => {
  const whole = manifest();
  const cut = fc
    .tuple(fc.nat(whole.length), fc.nat(whole.length), fc.string({ maxLength: 5 }))
    .map(([from, to, put]) => whole.slice(0, from) + put + whole.slice(to));
  fc.assert(
    fc.property(fc.oneof(cut, fc.string(), fc.json()), (text) => {
      const decoded = decodeSinglePod(text, origin);
      if ('fault' in decoded) expect(decoded.fault.message).not.toBe('');
      else expect(decoded.pods[0]?.metadata?.name).toMatch(/-node1$/);
    }),
    { numRuns: 500 },
  );
});

function podOf(text: string, changes: Partial<ManifestOrigin> = {}) {
  const decoded = decodeSinglePod(text, { ...origin, ...changes });
  if ('fault' in decoded) throw new Error(decoded.fault.message);
  return decoded.pods[0];
}

test.for([
  ...[
    'ConfigMap',
    'ConfigMapList',
    'Secret',
    'Service',
    'ServiceAccount',
    'Namespace',
    'Node',
    'Event',
    'Binding',
  ],
  ...[
    'ComponentStatus',
    'Endpoints',
    'LimitRange',
    'PersistentVolume',
    'PersistentVolumeClaim',
    'PodTemplate',
  ],
  ...['ReplicationController', 'ResourceQuota', 'PodList', 'List', 'PodStatusResult', 'RangeAllocation'],
  ...['SerializedReference', 'Status', 'WatchEvent'],
])('a v1 %s is known, and no pod', (kind) => {
  expect(faultOf(`apiVersion: v1\nkind: ${kind}\n`)).toMatchObject({
    message: `invalid pod: the manifest is a v1 ${kind}`,
    advice: 'a manifest holds kind: Pod',
  });
});

test('a negative grace period is a second, any other stays', () => {
  const graceOf = (seconds: number) =>
    podOf(manifest(`  terminationGracePeriodSeconds: ${seconds}\n`))?.spec?.terminationGracePeriodSeconds;
  expect([-5, 0, 7].map(graceOf)).toEqual([1, 0, 7]);
});

test('an empty UID or namespace is none', () => {
  const { metadata } = podOf(manifest().replace('name: web', "name: web, uid: '', namespace: ''")) ?? {};
  expect(metadata?.namespace).toBe('default');
  expect(metadata?.uid).toMatch(/^[0-9a-f]{32}$/);
  expect(podOf(manifest().replace('name: web', 'name: web, namespace: other'))?.metadata?.namespace).toBe(
    'other',
  );
});

test('two URLs make two pods of one text', () => {
  const at = (source: string) => uidIn(manifest(), { isFile: false, source });
  expect(at('http://h/a')).not.toBe(at('http://h/b'));
});

test.for([
  ['{key: k, operator: Exists, effect: NoExecute}', 2],
  ['{operator: Exists, effect: NoSchedule}', 2],
  ['{operator: Exists}', 2],
  ['{operator: Exists, effect: NoExecute}', 1],
] as const)('beside the toleration %s there are %i in all', ([toleration, count]) => {
  const tolerations = podOf(manifest(`  tolerations: [${toleration}]\n`))?.spec?.tolerations;
  expect(tolerations).toHaveLength(count);
  expect(tolerations?.at(-1)).toEqual({ operator: 'Exists', effect: 'NoExecute' });
});
