import { expect, test } from 'vitest';
import { maxReasons, ReasonCache } from '../../src/status/reason-cache.ts';

const failed = (target: string, reason: string) =>
  ({ action: 'StartContainer', target, reason, message: 'm' }) as const;

test('a failed start is remembered until one works; other actions do not count (R181)', () => {
  const cache = new ReasonCache();
  cache.update('u', [failed('a', 'ErrImagePull'), { action: 'KillContainer', target: 'b', reason: 'x' }]);
  expect(cache.get('u', 'a')).toEqual({ reason: 'ErrImagePull', message: 'm' });
  expect(cache.get('u', 'b')).toBeUndefined();
  cache.update('u', [{ action: 'KillContainer', target: 'a' }]);
  expect(cache.get('u', 'a')).toBeDefined();
  cache.update('u', [{ action: 'StartContainer', target: 'a' }]);
  expect(cache.get('u', 'a')).toBeUndefined();
});

test('each container of each pod is remembered for itself, a failure without words too (R181)', () => {
  const cache = new ReasonCache();
  cache.update('u', [failed('a', 'x'), { action: 'StartContainer', target: 'b', reason: 'y' }]);
  cache.update('v', [failed('a', 'z')]);
  expect([cache.get('u', 'a'), cache.get('u', 'b'), cache.get('v', 'a')]).toEqual([
    { reason: 'x', message: 'm' },
    { reason: 'y', message: '' },
    { reason: 'z', message: 'm' },
  ]);
  cache.remove('u', 'a');
  expect([cache.get('u', 'a'), cache.get('v', 'a')?.reason]).toEqual([undefined, 'z']);
});

test('the container that was longest out of use is forgotten first, and only it', () => {
  const cache = new ReasonCache();
  for (let i = 0; i < maxReasons; i++) cache.update('u', [failed(`c${i}`, 'x')]);
  cache.get('u', 'c0');
  cache.update('u', [failed('new', 'x')]);
  expect(cache.get('u', 'c0')).toBeDefined();
  expect(cache.get('u', 'c1')).toBeUndefined();
  cache.update('u', [failed('c2', 'again')]);
  for (let i = 2; i < maxReasons; i++) expect(cache.get('u', `c${i}`)).toBeDefined();
});
