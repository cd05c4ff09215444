import { expect, test } from 'vitest';
import type { Pod } from '../../../src/kube/types.ts';
import { dropDisabledFields } from '../../../src/kube/validation/disabled-fields.ts';

const pod: Pod = {
  spec: {
    containers: [{ name: 'c', lifecycle: { stopSignal: 'SIGHUP' } }],
    volumes: [
      {
        name: 'v',
        projected: {
          sources: [
            { podCertificate: { signerName: 'a/b', keyType: 'ED25519' } },
            { clusterTrustBundle: { name: 'b', path: 'p' } },
          ],
        },
      },
    ],
  },
};

test('fields of features that are off are dropped', () => {
  expect(dropDisabledFields(pod).spec).toEqual({
    containers: [{ name: 'c' }],
    volumes: [{ name: 'v', projected: { sources: [{}, {}] } }],
  });
});

test('fields of features that are on stay', () => {
  const all = { containerStopSignals: true, podCertificates: true, trustBundles: true };
  expect(dropDisabledFields(pod, all)).toEqual(pod);
});
