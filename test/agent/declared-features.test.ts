import { expect, test } from 'vitest';
import { declaredFeatures } from '../../src/agent/declared-features.ts';

const all = { webSockets: true, containers: true, resizes: true };

test.for([
  [
    'all that the kubelet has by default',
    all,
    {},
    [
      'ExtendWebSocketsToKubelet',
      'InPlacePodLevelResourcesVerticalScaling',
      'InPlacePodVerticalScalingInitContainers',
      'RestartAllContainersOnContainerExits',
    ],
  ],
  [
    'no WebSockets without the kubelet API',
    { ...all, webSockets: false, resizes: false },
    {},
    ['RestartAllContainersOnContainerExits'],
  ],
  [
    'nothing whose gate is off',
    { ...all, resizes: false },
    { ExtendWebSocketsToKubelet: false },
    ['RestartAllContainersOnContainerExits'],
  ],
  ['nothing at all when nothing is declared', all, { NodeDeclaredFeatures: false }, []],
] as const)('%s', ([, parts, gates, names]) => {
  expect(declaredFeatures(parts, gates)).toEqual(names);
});
