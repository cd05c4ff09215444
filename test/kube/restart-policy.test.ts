import { expect, test } from 'vitest';
import { containerShouldRestart } from '../../src/kube/restart-policy.ts';

const rule = (action: string) => [{ action, exitCodes: { operator: 'In', values: [7] } }];

test.for([
  ['a rule', { restartPolicy: 'Never', restartPolicyRules: rule('Restart') }, 'Never', true],
  [
    'a rule for all',
    { restartPolicy: 'Never', restartPolicyRules: rule('RestartAllContainers') },
    'Never',
    true,
  ],
  ['a rule nobody knows', { restartPolicy: 'Never', restartPolicyRules: rule('Wait') }, 'Always', false],
  ['a rule without a policy', { restartPolicyRules: rule('Restart') }, 'Never', false],
  ['its own policy', { restartPolicy: 'OnFailure' }, 'Never', true],
  ['the pod’s for one that nobody knows', { restartPolicy: 'Sometimes' }, 'Never', false],
  ['Always where there is none', {}, undefined, true],
] as const)('a container runs again by %s (R175)', ([, container, restartPolicy, restarts]) => {
  const spec = { containers: [], ...(restartPolicy && { restartPolicy }) };
  expect(containerShouldRestart({ name: 'main', ...container }, spec, 7)).toBe(restarts);
});
