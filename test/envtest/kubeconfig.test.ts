import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { kubeconfigOf } from '../../src/envtest/kubeconfig.ts';

test('a kubeconfig has what the connection has', () => {
  const text = kubeconfigOf({ server: 'https://x', token: 't', skipTlsVerify: true, namespace: 'n' });
  expect(parse(text)).toMatchObject({
    clusters: [{ name: 'envtest', cluster: { server: 'https://x', 'insecure-skip-tls-verify': true } }],
    users: [{ name: 'admin', user: { token: 't' } }],
    contexts: [{ context: { cluster: 'envtest', user: 'admin', namespace: 'n' } }],
  });
  const credentials = { current: () => ({ headers: {} }), invalidate: () => undefined };
  expect(() => kubeconfigOf({ server: 'https://x', credentials })).toThrow('credentials that change');
});
