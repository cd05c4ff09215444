import { expect, test } from 'vitest';
import { podResolution } from '../../src/agent/pod-resolution.ts';
import type { Pod } from '../../src/kube/types.ts';

const pod: Pod = {
  metadata: { name: 'web', namespace: 'default', uid: 'u' },
  spec: { containers: [{ name: 'main' }] },
  status: { podIPs: [{ ip: '10.0.0.7' }] },
};

const resolution = podResolution(
  {
    environment: async (_pod, container, podIps) => [{ name: container.name, value: podIps.join(',') }],
    getPodDns: () => ({ servers: ['10.0.0.10'] }),
    hostnameAndDomain: () => ({ hostname: 'web', domain: '' }),
  },
  {
    payload: (_pod, { configMap }) =>
      configMap && Promise.resolve({ 'a/b': { data: Buffer.from('x'), mode: 0o600 } }),
  },
)(pod);

test('variables are those of the runtime helper, with the addresses that the pod has', async () => {
  expect(await resolution.environment({ name: 'main' })).toEqual([{ name: 'main', value: '10.0.0.7' }]);
});

test('files of volumes made from objects, none of others', async () => {
  expect(await resolution.files({ name: 'c', configMap: { name: 'm' } })).toEqual([
    { path: 'a/b', bytes: Buffer.from('x'), mode: 0o600 },
  ]);
  expect(await resolution.files({ name: 'e', emptyDir: {} })).toBeUndefined();
});

test('DNS and host name', async () => {
  expect(await resolution.dns()).toEqual({ servers: ['10.0.0.10'] });
  expect(resolution.hostname()).toBe('web');
});
