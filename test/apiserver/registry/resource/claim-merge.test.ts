import { expect, test } from 'vitest';
import { builtIn } from '../../../../src/apimachinery/kinds.ts';
import { strategicPatch } from '../../../../src/apimachinery/patch/strategic-patch.ts';

test('a patch adds a reservation to those of others', () => {
  const { type } = builtIn('resourceclaims', 'resource.k8s.io');
  const reservation = (uid: string): object => ({ resource: 'pods', name: uid, uid });
  const claim = { status: { reservedFor: [reservation('a')] } };
  const patch = { status: { reservedFor: [reservation('b')] } };
  expect(strategicPatch(claim, patch, type)).toEqual({
    status: { reservedFor: [reservation('b'), reservation('a')] },
  });
});
