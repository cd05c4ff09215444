import { expect, test } from 'vitest';
import { decodeSinglePod } from '../../src/config/static-pod.ts';

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
