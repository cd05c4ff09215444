import { resourceClaimTemplateStrategy } from '../../../../src/apiserver/registry/resource/resource-claim-template.ts';
import { testKind } from '../one-kind.ts';

const devices = { requests: [{ name: 'r', exactly: { deviceClassName: 'c' } }] };

testKind(resourceClaimTemplateStrategy, {
  created: [
    [
      { spec: { metadata: { labels: { a: 'b' } }, spec: { devices } } },
      {
        spec: {
          metadata: { labels: { a: 'b' } },
          spec: {
            devices: {
              requests: [
                { name: 'r', exactly: { deviceClassName: 'c', allocationMode: 'ExactCount', count: 1 } },
              ],
            },
          },
        },
      },
    ],
  ],
  rejected: [
    [
      { spec: { metadata: { name: 'x' }, spec: { devices: { requests: [{ name: 'r' }] } } } },
      [
        'spec.metadata.name: Forbidden: cannot be set',
        'spec.spec.devices.requests[0]: Required value: exactly one of `exactly` or `firstAvailable` is required',
      ],
    ],
  ],
});
