import { expect, test } from 'vitest';
import { apiReferenceFault } from '../../src/config/api-references.ts';
import { decodeSinglePod } from '../../src/config/static-pod.ts';
import type { PodSpec, Volume } from '../../src/kube/types.ts';

const volume = (source: string): string => `volumes: [{name: v, ${source}}]`;

test.for([
  ['hostNetwork: true', undefined],
  ['serviceAccountName: sa', 'serviceaccounts'],
  ['imagePullSecrets: [{name: s}]', 'secrets'],
  ['initContainers: [{name: i, image: i, envFrom: [{secretRef: {name: s}}]}]', 'secrets'],
  ['initContainers: [{name: i, image: i, envFrom: [{configMapRef: {name: s}}]}]', 'configmaps'],
  [
    'initContainers: [{name: i, image: i, env: [{name: E, valueFrom: {secretKeyRef: {name: s, key: k}}}]}]',
    'secrets',
  ],
  [
    'initContainers: [{name: i, image: i, env: [{name: E, valueFrom: {configMapKeyRef: {name: s, key: k}}}]}]',
    'configmaps',
  ],
  ['resourceClaims: [{name: r, resourceClaimName: x}]', 'resourceclaims'],
  [volume('emptyDir: {}'), undefined],
  [volume('hostPath: {path: /x}'), undefined],
  [
    volume(
      'projected: {sources: [{downwardAPI: {items: [{path: a, fieldRef: {fieldPath: metadata.name}}]}}]}',
    ),
    undefined,
  ],
  [volume('secret: {secretName: s}'), 'secrets'],
  [volume('configMap: {name: c}'), 'configmaps'],
  [volume('projected: {sources: [{secret: {name: c}}]}'), 'secrets'],
  [volume('projected: {sources: [{configMap: {name: c}}]}'), 'configmaps'],
  [volume('projected: {sources: [{clusterTrustBundle: {name: c, path: p}}]}'), 'clustertrustbundles'],
  [volume('azureFile: {secretName: s, shareName: t}'), 'secrets'],
  [volume('csi: {driver: d.x}'), 'csidrivers (via CSI volumes)'],
  [volume('csi: {driver: d.x, nodePublishSecretRef: {name: s}}'), 'secrets'],
  [volume('glusterfs: {endpoints: e, path: p}'), 'endpoints (via glusterFS volumes)'],
  [volume('persistentVolumeClaim: {claimName: c}'), 'persistentvolumeclaims'],
] as const)('a static pod with %s', ([spec, reference]) => {
  const text = `apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers: [{name: c, image: i}]\n  ${spec}\n`;
  const decoded = decodeSinglePod(text, { source: '/m', isFile: true, nodeName: 'n' });
  const message = 'fault' in decoded ? decoded.fault.message : undefined;
  expect(message).toBe(reference && `static pods may not reference ${reference}`);
});

const containers = [
  { name: 'plain' },
  { name: 'valued', env: [{ name: 'E' }, { name: 'F', value: 'v' }], envFrom: [{}] },
];
const faultOf = (spec: Partial<PodSpec>): string | undefined =>
  apiReferenceFault({ spec: { containers, ...spec } });

test('a pod without a spec, and one that refers to nothing, need no API server', () => {
  expect(apiReferenceFault({})).toBeUndefined();
  expect(faultOf({})).toBeUndefined();
  expect(
    faultOf({
      serviceAccountName: '',
      imagePullSecrets: [{}, { name: '' }],
      resourceClaims: [],
      volumes: [],
    }),
  ).toBeUndefined();
});

const envs = [
  [{ envFrom: [{ secretRef: { name: 's' } }] }, 'secrets'],
  [{ env: [{ name: 'E', valueFrom: { secretKeyRef: { name: 's', key: 'k' } } }] }, 'secrets'],
  [{ envFrom: [{ configMapRef: { name: 'c' } }] }, 'configmaps'],
  [{ env: [{ name: 'E', valueFrom: { configMapKeyRef: { name: 'c', key: 'k' } } }] }, 'configmaps'],
  [{ env: [{ name: 'E', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }] }, undefined],
] as const;

test.for(
  (['initContainers', 'containers', 'ephemeralContainers'] as const).flatMap((list) =>
    envs.map(([fields, reference]) => ({ list, fields, reference })),
  ),
)('an environment among the $list: $reference', ({ list, fields, reference }) => {
  const spec: PodSpec = { containers, [list]: [{ name: 'first' }, { name: 'c', ...fields }] };
  expect(apiReferenceFault({ spec })).toBe(reference && `static pods may not reference ${reference}`);
});

const secretRef = { name: 's' };
const volumes: readonly (readonly [Partial<Volume>, string | undefined])[] = [
  [{ cephfs: { monitors: [], secretRef } }, 'secrets'],
  [{ cinder: { volumeID: 'v', secretRef } }, 'secrets'],
  [{ flexVolume: { driver: 'd', secretRef } }, 'secrets'],
  [{ iscsi: { iqn: 'i', lun: 0, targetPortal: 't', secretRef } }, 'secrets'],
  [{ rbd: { image: 'i', monitors: [], secretRef } }, 'secrets'],
  [{ scaleIO: { gateway: 'g', system: 's', secretRef } }, 'secrets'],
  [{ storageos: { secretRef } }, 'secrets'],
  [{ iscsi: { iqn: 'i', lun: 0, targetPortal: 't' } }, undefined],
  [{ ephemeral: {} }, 'persistentvolumeclaims (via ephemeral volumes)'],
  [
    { projected: { sources: [{ serviceAccountToken: { path: 't' } }] } },
    'serviceaccounts (via projected volumes)',
  ],
  [{ projected: { sources: [{ podCertificate: { keyType: 'k', signerName: 's' } }] } }, 'podcertificates'],
  [
    { projected: { sources: [{ downwardAPI: {} }, { clusterTrustBundle: { path: 'p' } }] } },
    'clustertrustbundles',
  ],
  [{ projected: { sources: [{ downwardAPI: {} }, { secret: { name: 's' } }] } }, 'secrets'],
  [{ projected: { sources: [{ downwardAPI: {} }, { configMap: { name: 'c' } }] } }, 'configmaps'],
  [{ projected: {} }, undefined],
];

test.for(volumes)('a volume %j among others: %s', ([volume, reference]) => {
  const others: readonly Volume[] = [
    { name: 'scratch', emptyDir: {} },
    { name: 'v', ...volume },
  ];
  expect(faultOf({ volumes: others })).toBe(reference && `static pods may not reference ${reference}`);
});

test('an unknown projected source is reported with its volume', () => {
  expect(faultOf({ volumes: [{ name: 'v', projected: { sources: [{}] } }] })).toBe(
    'unknown source for projected volume "v"',
  );
});

test('of several references the first kind counts, not the first place', () => {
  const volume = { name: 'v', persistentVolumeClaim: { claimName: 'c' } };
  expect(faultOf({ volumes: [volume], resourceClaims: [{ name: 'r' }] })).toContain('resourceclaims');
  expect(
    faultOf({
      volumes: [
        { name: 'v', configMap: { name: 'm' } },
        { name: 'w', secret: { secretName: 's' } },
      ],
    }),
  ).toContain('secrets');
});
