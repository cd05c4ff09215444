import { expect, test } from 'vitest';
import { structOf } from '../../src/apimachinery/api-types.ts';
import { sameInMeaning } from '../../src/apimachinery/semantic-equality.ts';

const claim = structOf('PersistentVolumeClaimSpec');

test('an empty list or map is like an absent one', () => {
  expect(sameInMeaning({ accessModes: [], resources: { limits: {} } }, { resources: {} }, claim)).toBe(true);
});

test('an empty struct is not like an absent one, nor are other values', () => {
  expect(sameInMeaning({ selector: {} }, {}, claim)).toBe(false);
  expect(sameInMeaning({ volumeName: '' }, { volumeName: 'a' }, claim)).toBe(false);
});
