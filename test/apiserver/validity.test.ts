import { expect, test } from 'vitest';
import { validity } from '../../src/apiserver/validity.ts';
import { FakeClock, startApiServer } from '../../src/apiserver/index.ts';
import { call } from './support.ts';

test.each(['1999-01-01', '2060-01-01'])('a server whose clock shows %s can be reached', async (day) => {
  const clock = new FakeClock(Date.parse(day));
  const server = await startApiServer({ clock });
  const { status, body } = await call(server, 'GET', '/api/v1/namespaces/default');
  expect(status).toBe(200);
  expect(body).toMatchObject({ metadata: { creationTimestamp: `${day}T00:00:00Z` } });
  await server.stop();
});

test('a certificate is valid by the server’s clock, for as long as asked for', () => {
  const now = Date.UTC(2080, 0);
  const { notBefore, notAfter } = validity({ now: () => now }, 3);
  expect(notBefore).toBeLessThan(Date.UTC(2079, 0));
  expect(notAfter - now).toBe(3 * 365 * 24 * 3_600_000);
});
