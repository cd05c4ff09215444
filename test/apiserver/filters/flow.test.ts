import { expect, test } from 'vitest';
import type { ServerResponse } from 'node:http';
import { withFlowControl } from '../../../src/apiserver/filters/flow.ts';
import type { ApiRequest } from '../../../src/apiserver/request/request.ts';

const response = {} as ServerResponse;
const request = (name: string, more: Partial<ApiRequest> = {}): ApiRequest => ({
  raw: {} as never,
  method: 'GET',
  path: `/${name}`,
  query: new URLSearchParams(),
  target: undefined,
  user: { name, groups: [] },
  ...more,
});

test('requests beyond the seats wait in turn, beyond the queue they are refused', async () => {
  const running: string[] = [];
  const ends = new Map<string, () => void>();
  const handler = withFlowControl({ inFlight: 2, waiting: 2 }, ({ path }) => {
    running.push(path);
    return new Promise((resolve) => ends.set(path, resolve));
  });
  const all = ['a', 'b', 'c', 'd'].map((name) => handler(request(name), response));
  await expect(handler(request('e'), response)).rejects.toMatchObject({
    code: 429,
    message: 'Too many requests, please try again later.',
    headers: { 'Retry-After': '1' },
  });
  expect(running).toEqual(['/a', '/b']);
  ends.get('/b')?.();
  await all[1];
  await Promise.resolve();
  expect(running).toEqual(['/a', '/b', '/c']);
  for (const name of ['/a', '/c']) ends.get(name)?.();
  await Promise.all([all[0], all[2]]);
  ends.get('/d')?.();
  await all[3];
  expect(running).toEqual(['/a', '/b', '/c', '/d']);
});

test('a request that fails leaves its seat', async () => {
  const handler = withFlowControl({ inFlight: 1, waiting: 0 }, () => Promise.reject(new Error('no')));
  for (let i = 0; i < 3; i++) await expect(handler(request('a'), response)).rejects.toThrow('no');
});

test('watches and administrators need no seat', async () => {
  const handler = withFlowControl({ inFlight: 0, waiting: 0 }, () => Promise.resolve());
  const target = { name: '', subresource: '' } as never;
  const query = new URLSearchParams('watch=1');
  await handler(request('w', { target, query }), response);
  await handler(request('root', { user: { name: 'root', groups: ['system:masters'] } }), response);
  await expect(handler(request('a'), response)).rejects.toMatchObject({ code: 429 });
});
