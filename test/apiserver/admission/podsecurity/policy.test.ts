import { expect, test } from 'vitest';
import { policyOf, textOfLevel } from '../../../../src/apiserver/admission/podsecurity/policy.ts';

const read = (labels: Record<string, string>): readonly string[] => {
  const { policy, faults } = policyOf(
    Object.fromEntries(
      Object.entries(labels).map(([key, value]) => [`pod-security.kubernetes.io/${key}`, value]),
    ),
  );
  return [
    ...[policy.enforce, policy.audit, policy.warn].map(textOfLevel),
    ...faults.map(({ field, message }) => `${field}: ${message}`),
  ];
};

test.for<[Record<string, string>, readonly string[]]>([
  [{}, ['privileged:latest', 'privileged:latest', 'privileged:latest']],
  [
    { enforce: 'baseline', 'enforce-version': 'v1.30' },
    ['baseline:v1.30', 'privileged:latest', 'baseline:v1.30'],
  ],
  [
    { enforce: 'restricted', warn: 'baseline' },
    ['restricted:latest', 'privileged:latest', 'baseline:latest'],
  ],
  [
    { audit: 'restricted', 'audit-version': 'latest', enforce: 'privileged' },
    ['privileged:latest', 'restricted:latest', 'privileged:latest'],
  ],
  [
    { enforce: 'bad', audit: 'bad', 'warn-version': '1.2' },
    [
      'restricted:latest',
      'privileged:latest',
      'privileged:latest',
      'metadata.labels[pod-security.kubernetes.io/enforce]: Invalid value: "bad": must be one of privileged, baseline, restricted',
      'metadata.labels[pod-security.kubernetes.io/audit]: Invalid value: "bad": must be one of privileged, baseline, restricted',
      'metadata.labels[pod-security.kubernetes.io/warn-version]: Invalid value: "1.2": must be "latest" or "v1.x"',
    ],
  ],
])('%j', ([labels, expected]) => {
  expect(read(labels)).toEqual(expected);
});
