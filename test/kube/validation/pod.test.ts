import fc from 'fast-check';
import { expect, test } from 'vitest';
import { decodeStruct } from '../../../src/kube/decode/pod-decoder.ts';
import { podStructs } from '../../../src/kube/decode/pod-structs.ts';
import type { Pod } from '../../../src/kube/types.ts';
import { unknownFields } from '../../../src/kube/decode/unknown-fields.ts';
import { defaultPod } from '../../../src/kube/validation/defaults.ts';
import { formatFieldError, formatFieldErrors } from '../../../src/kube/validation/field-error.ts';
import { validatePodUpdate } from '../../../src/kube/validation/pod-update.ts';
import { validatePod } from '../../../src/kube/validation/pod.ts';
import { validateManifests } from '../../../src/kube/validation/validate-files.ts';

const pod: Pod = {
  metadata: { name: 'p', namespace: 'default', resourceVersion: '1' },
  spec: { containers: [{ name: 'c', image: 'x:1' }] },
};
const texts = (given: Pod): string[] => validatePod(defaultPod(given)).map(formatFieldError);

test('a small pod is valid once it has its defaults', () => {
  expect(texts(pod)).toEqual([]);
});

test('defaults are filled in once: a second time changes nothing', () => {
  const once = defaultPod(pod);
  expect(defaultPod(once)).toEqual(once);
});

test('the given pod is never written to', () => {
  const frozen = JSON.stringify(pod);
  validatePod(defaultPod(pod));
  expect(JSON.stringify(pod)).toBe(frozen);
});

test('a request follows the limit, in canonical form', () => {
  const resources = { limits: { cpu: '0.5', memory: '1024Ki' } };
  const { spec } = defaultPod({ spec: { containers: [{ name: 'c', resources }] } });
  expect(spec?.containers[0]?.resources).toEqual({
    limits: { cpu: '500m', memory: '1Mi' },
    requests: { cpu: '500m', memory: '1Mi' },
  });
});

test('on the host’s network the ports of containers are the host’s; of init containers nothing is asked', () => {
  const of = (ports: object[]): object => ({ name: 'c', image: 'x:1', ports });
  const spec = (containers: object[], initContainers: object[] = []): Pod =>
    ({ ...pod, spec: { hostNetwork: true, containers, initContainers } }) as Pod;
  const fault = 'ports[0].hostPort: Invalid value: 81: must match `containerPort` when `hostNetwork` is true';
  const other = [{ containerPort: 80, hostPort: 81 }];
  expect(texts(spec([of(other)]))).toEqual([`spec.containers[0].${fault}`]);
  expect(texts(spec([of([])], [{ ...of(other), name: 'i' }]))).toEqual([]);
  expect(texts(spec([of([{ protocol: 'TCP' }])]))).toEqual([
    'spec.containers[0].ports[0].containerPort: Required value',
  ]);
});

test('a port beyond 32 bits is not read', () => {
  const read = (port: unknown): unknown =>
    decodeStruct({ livenessProbe: { tcpSocket: { port } } }, 'Container');
  expect([read(2 ** 31 - 1), read(2 ** 31), read(1.5)].map((one) => JSON.stringify(one))).toEqual([
    expect.not.stringContaining('cannot unmarshal'),
    expect.stringContaining(
      'cannot unmarshal number 2147483648 into Go struct field TCPSocketAction.livenessProbe.ProbeHandler.tcpSocket.port',
    ),
    expect.stringContaining('cannot unmarshal number 1.5'),
  ]);
});

test('blanks around an amount are nothing; what is unsupported is shown as JSON', () => {
  const given = { containers: [{ name: 'c', image: 'x:1', resources: { requests: { cpu: ' 500m ' } } }] };
  const read = decodeStruct(given, 'PodSpec');
  expect(read).toMatchObject({ value: { containers: [{ resources: { requests: { cpu: '500m' } } }] } });
  const odd = { ...pod, spec: { containers: [{ name: 'c', image: 'x:1' }], dnsPolicy: 'a<b' } } as Pod;
  expect(texts(odd)[0]).toContain('Unsupported value: "a\\u003cb"');
});

test('an update may change the image', () => {
  const next = defaultPod({ ...pod, spec: { containers: [{ name: 'c', image: 'x:2' }] } });
  const old = defaultPod({ ...pod, spec: { containers: [{ name: 'c', image: 'x:3' }] } });
  expect(validatePodUpdate(next, old)).toEqual([]);
});

test('an update that changes more shows what', () => {
  const next = defaultPod({
    ...pod,
    spec: { ...pod.spec, containers: [{ name: 'c', image: 'x:1', command: ['x'] }] },
  });
  const text = formatFieldErrors(validatePodUpdate(next, defaultPod(pod)));
  expect(text).toMatch(/^spec: Forbidden: pod updates may not change fields other than /);
  expect(text).toContain('-   "Command": null,\n+   "Command": [\n+    "x"\n+   ],\n');
});

const updated = (after: object, before: object = {}): string => {
  const [next, old] = [after, before].map((more) =>
    defaultPod({ ...pod, spec: { ...pod.spec, ...more } } as Pod),
  );
  return validatePodUpdate(next!, old!).map(formatFieldError).join(', ');
};

test('tolerations may be added to; what is added is looked at', () => {
  const stood = { tolerations: [{ key: 'a', operator: 'Exists' }] };
  expect(updated({ tolerations: [...stood.tolerations, { key: 'b', operator: 'Exists' }] }, stood)).toBe('');
  expect(updated({ tolerations: [] }, stood)).toBe(
    'spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds',
  );
  const next = { ...pod, spec: { ...pod.spec, tolerations: [{ key: 'b', operator: 'x' }] } } as Pod;
  const faults = validatePodUpdate(defaultPod(next), defaultPod(pod));
  expect(faults.map(({ field }) => field)).toEqual([
    'spec.tolerations[0].operator',
    'spec.tolerations[0].operator',
  ]);
});

test('a gated pod may narrow its node affinity, but not its pod affinity', () => {
  const gated = { schedulingGates: [{ name: 'g' }] };
  const terms = [{ matchExpressions: [{ key: 'a', operator: 'Exists' }] }];
  const nodeAffinity = { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: terms } };
  expect(updated({ ...gated, affinity: { nodeAffinity } }, gated)).toBe('');
  const podAffinity = {
    requiredDuringSchedulingIgnoredDuringExecution: [
      { topologyKey: 'k', labelSelector: { matchLabels: { a: 'b' } } },
    ],
  };
  const text = updated({ ...gated, affinity: { nodeAffinity, podAffinity } }, gated);
  expect(text).toContain('+  "NodeAffinity": null,\n+  "PodAffinity": {\n');
});

test('what an update shows of a volume has every field of its source', () => {
  const cephfs = { monitors: ['m'], secretRef: { name: 's' } };
  const text = updated({ hostnameOverride: 'h', volumes: [{ name: 'v', cephfs }] });
  expect(text).toContain(
    '+   "CephFS": {\n+    "Monitors": [\n+     "m"\n+    ],\n+    "Path": "",\n+    "User": "",\n',
  );
  expect(text).toContain('+ "HostnameOverride": "h",\n  "SchedulingGroup": null\n }\n');
});

const words = fc.constantFrom(
  '',
  'Always',
  'Never',
  'None',
  'In',
  'TCP',
  'HTTP',
  'Localhost',
  'Foo',
  'File',
  'Exists',
);

/** A value of a struct of the API, mostly of the right types; sparse, and not deep. */
function shaped(type: string, depth: number): fc.Arbitrary<unknown> {
  if (depth === 0) return fc.constant(undefined);
  if (type.startsWith('[]')) return fc.array(shaped(type.slice(2), depth - 1), { maxLength: 3 });
  if (type.startsWith('map:'))
    return fc.dictionary(fc.constantFrom('a', 'cpu', 'x y', ''), scalars[type.slice(4)] ?? words, {
      maxKeys: 2,
    });
  if (type.startsWith('~')) return words;
  const row = podStructs[type];
  if (row === undefined) return scalars[type] ?? fc.constant(undefined);
  const fields = row.split(' ').map((entry): [string, fc.Arbitrary<unknown>] => {
    const colon = entry.indexOf(':');
    const inner = fc.option(shaped(entry.slice(colon + 1), depth - 1), { nil: undefined, freq: 2 });
    return [entry.slice(0, colon), inner];
  });
  return fc.record(Object.fromEntries(fields));
}

const scalars: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  bool: fc.boolean(),
  int32: fc.integer({ min: -2, max: 70_000 }),
  int64: fc.integer({ min: -2, max: 70_000 }),
  string: fc.constantFrom('', 'a', 'A_b', '..', '/x', 'v', '10.0.0.1', 'é'),
  Time: fc.constant('2026-03-04T05:06:07Z'),
  any: fc.constant({}),
  Quantity: fc.constantFrom('1', '-1', '1Gi', '0.5', '3Mi'),
  IntOrString: fc.constantFrom(0, 80, 'http', 'BAD'),
};

test('any decoded spec gives defaults and field errors, and nothing is thrown', { timeout: 60_000 }, () => {
  const specs = fc.record({ metadata: shaped('ObjectMeta', 2), spec: shaped('PodSpec', 7) });
  let judged = 0;
  fc.assert(
    fc.property(specs, (raw) => {
      const decoded = decodeStruct(raw, 'Pod');
      if (!decoded.ok) return;
      judged++;
      const filled = defaultPod(decoded.value as Pod);
      for (const error of validatePod(filled)) expect(formatFieldError(error)).toMatch(/^[^:]+: /);
      validatePodUpdate(filled, defaultPod(pod));
    }),
    { numRuns: 300, seed: 7 },
  );
  expect(judged).toBeGreaterThan(200);
});

test('any JSON and any text is judged, never thrown at', () => {
  fc.assert(
    fc.property(fc.oneof(fc.json(), fc.string()), (text) => {
      validateManifests([{ name: 'f', text }]);
      unknownFields(text, 'Pod');
    }),
    { numRuns: 400, seed: 11 },
  );
  fc.assert(
    fc.property(fc.object({ maxDepth: 4 }), (raw) => {
      validateManifests([{ name: 'f', text: JSON.stringify({ apiVersion: 'v1', kind: 'Pod', ...raw }) }]);
    }),
    { numRuns: 400, seed: 13 },
  );
});
