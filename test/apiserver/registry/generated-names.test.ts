import { afterEach, expect, test } from 'vitest';
import { EmbeddedApiServer } from '../../../src/apiserver/index.ts';
import type { Random } from '../../../src/base/random.ts';
import { systemRandom } from '../../../src/base/random.ts';
import { call } from '../support.ts';

let server: EmbeddedApiServer | undefined;
afterEach(() => server?.stop());

const maps = '/api/v1/namespaces/default/configmaps';
const create = async (
  metadata: object,
): Promise<{ status: number; body: Record<string, unknown>; retry: unknown }> => {
  if (!server) throw new Error('no server');
  const { status, body, headers } = await call(server, 'POST', maps, { metadata });
  return { status, body, retry: headers['retry-after'] };
};

test('a name that is taken is generated anew', async () => {
  let repeats = 5 * 4;
  // the first four names are all the same
  const random: Random = { ...systemRandom, float: () => (repeats-- > 0 ? 0 : systemRandom.float()) };
  server = await EmbeddedApiServer.start({ random });
  for (let count = 0; count < 3; count++) expect((await create({ generateName: 'x-' })).status).toBe(201);
});

test('after the last attempt the answer is 409 with a time to wait', async () => {
  server = await EmbeddedApiServer.start({ random: { ...systemRandom, float: () => 0 } });
  const first = await create({ generateName: 'x-' });
  const { name } = first.body['metadata'] as { readonly name: string };
  const { status, body, retry } = await create({ generateName: 'x-' });
  expect([status, retry]).toEqual([409, '1']);
  expect(body).toMatchObject({
    reason: 'AlreadyExists',
    message: `configmaps "${name}" already exists, the server was not able to generate a unique name for the object`,
    details: { retryAfterSeconds: 1 },
  });
});
