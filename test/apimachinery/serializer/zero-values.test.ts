import { expect, test } from 'vitest';
import { decodeType } from '../../../src/apimachinery/serializer/codec.ts';

const kept = (type: string, object: object): unknown =>
  decodeType(object as Parameters<typeof decodeType>[0], type).object;

test.for([
  ['WindowsSecurityContextOptions', { runAsUserName: '', hostProcess: false }],
  ['TopologySpreadConstraint', { maxSkew: 1, topologyKey: 'a', whenUnsatisfiable: 'x', minDomains: 0 }],
  ['FCVolumeSource', { lun: 0 }],
  ['PodResourceClaim', { name: 'a', resourceClaimName: '' }],
  ['CSIDriverSpec', { attachRequired: false }],
  [
    'HorizontalPodAutoscalerSpec',
    { maxReplicas: 1, minReplicas: 0, scaleTargetRef: { kind: 'K', name: 'n' } },
  ],
  ['RollingUpdateStatefulSetStrategy', { partition: 0 }],
] as const)('%s keeps zeros that are values of their own', ([type, object]) => {
  expect(kept(type, object)).toEqual(object);
});

test.for([
  ['Container', { image: '', stdin: false }],
  ['ContainerPort', { hostPort: 0 }],
] as const)('%s leaves out zeros that stand for nothing', ([type, object]) => {
  for (const key of Object.keys(object)) expect(kept(type, object)).not.toHaveProperty(key);
});
