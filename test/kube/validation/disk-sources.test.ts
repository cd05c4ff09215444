import { expect, test } from 'vitest';
import { validatePod } from '../../../src/kube/validation/pod.ts';
import { formatFieldError } from '../../../src/kube/validation/field-error.ts';
import type { Pod } from '../../../src/kube/types.ts';

const podWith = (source: object, spec: object = {}): Pod => ({
  metadata: { name: 'p', namespace: 'default' },
  spec: {
    restartPolicy: 'Always',
    dnsPolicy: 'ClusterFirst',
    terminationGracePeriodSeconds: 30,
    containers: [
      {
        name: 'c',
        image: 'x',
        imagePullPolicy: 'Always',
        terminationMessagePath: '/t',
        terminationMessagePolicy: 'File',
      },
    ],
    volumes: [{ name: 'v', ...source }],
    ...spec,
  },
});
const faults = (pod: Pod): readonly string[] => validatePod(pod).map(formatFieldError);

const portal = { targetPortal: 'x', iqn: 'iqn.2001-04.com.example:storage' };
const pairs = 'must be a host:port pair or multiple pairs separated by commas';
test.for([
  ['iscsi', { ...portal, initiatorName: 'iqn.2001-04.com.example:me' }, []],
  [
    'iscsi',
    { ...portal, initiatorName: 'me', lun: 256 },
    [
      'lun: Invalid value: 256: must be between 0 and 255, inclusive',
      'initiatorname: Invalid value: "me": must be valid format starting with iqn, eui, or naa',
    ],
  ],
  [
    'fc',
    { targetWWNs: ['a'], wwids: ['b'], lun: 1 },
    ['targetWWNs: Invalid value: ["a"]: targetWWNs and wwids can not be specified simultaneously'],
  ],
  [
    'gcePersistentDisk',
    { pdName: 'x', partition: 256 },
    ['partition: Invalid value: 256: must be between 1 and 255, inclusive'],
  ],
  ['awsElasticBlockStore', { volumeID: 'x', partition: 0 }, []],
  ['quobyte', { registry: 'a:1,[::1]:2', volume: 'x' }, []],
  ['quobyte', { registry: 'a', volume: 'x' }, [`registry: Invalid value: "a": ${pairs}`]],
  ['quobyte', { registry: '', volume: '' }, [`registry: Required value: ${pairs}`, 'volume: Required value']],
  [
    'flexVolume',
    { driver: 'x', options: { 'Kubernetes.io/a': '1', b: '2' } },
    [
      'options[Kubernetes.io/a]: Invalid value: "Kubernetes.io/a": kubernetes.io and k8s.io namespaces are reserved',
    ],
  ],
  ['cinder', { volumeID: 'x', secretRef: {} }, ['secretRef.name: Required value']],
  [
    'azureDisk',
    { diskName: 'x', diskURI: 'https://a', kind: 'Managed' },
    [
      'diskURI: Unsupported value: "https://a": supported values: "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}"',
    ],
  ],
  ['csi', { driver: 'x'.repeat(64) }, ['driver: Too long: may not be more than 63 bytes']],
] as const)('a volume of %s', ([kind, source, expected]) => {
  expect(faults(podWith({ [kind]: source }))).toEqual(
    expected.map(
      (text) => `spec.volumes[0].${kind === 'gcePersistentDisk' ? 'persistentDisk' : kind}.${text}`,
    ),
  );
});

test('a flocker volume has one name', () => {
  expect(faults(podWith({ flocker: { datasetName: 'a', datasetUUID: 'b' } }))).toEqual([
    'spec.volumes[0].flocker: Invalid value: "resource": datasetName and datasetUUID can not be specified simultaneously',
  ]);
});

test('an init container that ends does not begin anew when it is resized', () => {
  const resizePolicy = [{ resourceName: 'cpu', restartPolicy: 'RestartContainer' }];
  const [container] = podWith({}).spec?.containers ?? [];
  const pod = podWith({ emptyDir: {} }, { initContainers: [{ ...container, name: 'i', resizePolicy }] });
  expect(faults(pod)).toEqual([
    'spec.initContainers[0].resizePolicy[0].restartPolicy: Invalid value: "RestartContainer": must not be set to \'RestartContainer\' for non-sidecar initContainers',
  ]);
});

test.for([
  [{ name: 'a:b:c_' }, 'name: Invalid value: "a:b:c_": not a valid clustertrustbundlename: *'],
  [{ name: '' }, 'name: Required value: must be a valid object name'],
  [
    { signerName: 'a.b/c/d' },
    'signerName: Invalid value: "a.b/c/d": must be a fully qualified domain and path*',
  ],
  [{ signerName: 'a/c' }, 'signerName: Invalid value: "a": should be a domain with at least two segments*'],
  [{ signerName: '' }, 'signerName: Required value: must be a valid signer name'],
] as const)('a bundle of trust that is named wrongly: %j', ([source, expected]) => {
  const [first = ''] = faults(
    podWith({ projected: { sources: [{ clusterTrustBundle: { path: 'p', ...source } }] } }),
  );
  const at = 'spec.volumes[0].projected.sources[0].clusterTrustBundle.';
  if (expected.endsWith('*')) expect(first.startsWith(at + expected.slice(0, -1))).toBe(true);
  else expect(first).toBe(at + expected);
});
