import { expect, test } from 'vitest';
import { kubeletApiOptions } from '../../src/cli/agent-settings.ts';
import { loadOptions } from '../../src/options/load.ts';

const served = (featureGates: string): ReturnType<typeof kubeletApiOptions> =>
  kubeletApiOptions(loadOptions({ flags: { 'feature-gates': featureGates } }), {
    certDir: '/none',
    nodeName: 'n',
    now: 0,
  });

test.for([
  ['', { checkpoints: true, splitStreams: false }],
  ['ContainerCheckpoint=false,PodLogsQuerySplitStreams=true', { checkpoints: false, splitStreams: true }],
  ['AllAlpha=true,AllBeta=false', { checkpoints: false, splitStreams: true }],
] as const)('the feature gates %s decide what the kubelet API serves', ([gates, wanted]) => {
  expect(served(gates)).toMatchObject(wanted);
});
