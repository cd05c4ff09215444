import { expect, test } from 'vitest';
import { maxReasons, ReasonCache } from '../../src/status/reason-cache.ts';

const failed = (target: string, reason: string) =>
  ({ action: 'StartContainer', target, reason, message: 'm' }) as const;

test('a failed start is remembered until one works; other actions do not count', () => {
  const cache = new ReasonCache();
  cache.update('u', [failed('a', 'ErrImagePull'), { action: 'KillContainer', target: 'b', reason: 'x' }]);
  expect(cache.get('u', 'a')).toEqual({ reason: 'ErrImagePull', message: 'm' });
  expect(cache.get('u', 'b')).toBeUndefined();
  cache.update('u', [{ action: 'StartContainer', target: 'a' }]);
  expect(cache.get('u', 'a')).toBeUndefined();
});

test('the container that was longest out of use is forgotten first', () => {
  const cache = new ReasonCache();
  for (let i = 0; i < maxReasons; i++) cache.update('u', [failed(`c${i}`, 'x')]);
  cache.get('u', 'c0');
  cache.update('u', [failed('new', 'x')]);
  expect(cache.get('u', 'c0')).toBeDefined();
  expect(cache.get('u', 'c1')).toBeUndefined();
});
