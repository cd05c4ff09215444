import { expect, test } from 'vitest';
import { pem } from '../../../src/pki/certificates.ts';
import type { LabelSelector } from '../../../src/kube/label-selector.ts';
import {
  type ClusterTrustBundle,
  trustAnchors,
  type TrustBundleSource,
} from '../../../src/containers/volumes/trust-bundle.ts';

const anchor = (name: string): string => pem('CERTIFICATE', Buffer.from(name.repeat(40)));
const bundle = (
  name: string,
  trustBundle: string,
  signerName = '',
  labels: Readonly<Record<string, string>> = {},
): ClusterTrustBundle => ({
  metadata: { name, labels },
  spec: { trustBundle, ...(signerName !== '' && { signerName }) },
});

const bundles = [
  bundle('plain', `text before\n${anchor('a')}between${anchor('b')}${anchor('a')}`),
  bundle('example.com:s:1', anchor('c'), 'example.com/s', { live: 'yes' }),
  bundle('example.com:s:2', anchor('d') + anchor('c'), 'example.com/s', { live: 'no', old: '' }),
  bundle('example.com:t:1', anchor('e'), 'example.com/t', { live: 'yes' }),
];

/** Which anchors there are, in the order of their names. */
function found(source: TrustBundleSource, salt = 'salt'): string {
  const text = trustAnchors(bundles, source, salt);
  const known = ['a', 'b', 'c', 'd', 'e'].filter((name) => text.includes(anchor(name)));
  expect(text).toHaveLength(known.map(anchor).join('').length);
  return known.join('');
}

const signer = (labelSelector?: LabelSelector): TrustBundleSource => ({
  signerName: 'example.com/s',
  ...(labelSelector && { labelSelector }),
});

test.for([
  ['one by its name, each anchor once and nothing else', { name: 'plain' }, 'ab'],
  ['one of a signer by its name', { name: 'example.com:t:1' }, 'e'],
  ['all of a signer', signer({}), 'cd'],
  ['those of a signer with a label', signer({ matchLabels: { live: 'yes' } }), 'c'],
  ['those without one', signer({ matchExpressions: [{ key: 'old', operator: 'DoesNotExist' }] }), 'c'],
  ['those with one', signer({ matchExpressions: [{ key: 'old', operator: 'Exists' }] }), 'cd'],
  [
    'those with one of several values',
    signer({ matchExpressions: [{ key: 'live', operator: 'In', values: ['no', 'maybe'] }] }),
    'cd',
  ],
  [
    'those with none of several values',
    signer({ matchExpressions: [{ key: 'live', operator: 'NotIn', values: ['no'] }] }),
    'c',
  ],
  ['nothing of a signer without a selector, where that may be', { ...signer(), optional: true }, ''],
  ['nothing by a name that is not there, where that may be', { name: 'gone', optional: true }, ''],
] as const)('%s', ([, source, anchors]) => {
  expect(found(source)).toBe(anchors);
});

test.for([
  [
    { name: 'gone' },
    'while getting ClusterTrustBundle: clustertrustbundle.certificates.k8s.io "gone" not found',
  ],
  [signer(), 'combination of signerName and labelSelector matched zero ClusterTrustBundles'],
  [
    signer({ matchLabels: { live: 'never' } }),
    'combination of signerName and labelSelector matched zero ClusterTrustBundles',
  ],
] as const)('%j is told when there must be some', ([source, why]) => {
  expect(() => trustAnchors(bundles, source, '')).toThrow(why);
});

test('the order stays, until another start of the agent', () => {
  const orders = Array.from({ length: 20 }, (_, salt) => trustAnchors(bundles, { name: 'plain' }, `${salt}`));
  expect(new Set(orders).size).toBe(2);
  expect(trustAnchors(bundles, { name: 'plain' }, '7')).toBe(orders[7]);
});
