import { expect, test } from 'vitest';
import { TokenManager } from '../../../src/containers/objects/token-manager.ts';
import { type ApiClient, ApiError } from '../../../src/api/client.ts';
import { FakeClock, settle } from '../../../src/base/fake-clock.ts';
import type { Pod } from '../../../src/kube/types.ts';

const pod: Pod = {
  metadata: { name: 'p', namespace: 'n', uid: 'u' },
  spec: { containers: [], serviceAccountName: 'a' },
};
const wish = { audience: 'api', expirationSeconds: 600 };

/** Grants tokens for ten minutes while `account` says so. */
function bed() {
  const clock = new FakeClock(Date.parse('2026-03-04T05:06:07Z'));
  const account = { isThere: true };
  /** How many requests come too soon for the API server. */
  const early = { left: 0 };
  let granted = 0;
  const api = {
    create: async () => {
      if (early.left-- > 0)
        throw new ApiError(403, { message: "no relationship found between node 'n1' and this object" });
      if (!account.isThere) throw new ApiError(404, { message: 'serviceaccounts "a" not found' });
      const expirationTimestamp = new Date(clock.now() + 600_000).toISOString();
      return { status: { token: `t${++granted}`, expirationTimestamp } };
    },
  } as unknown as Pick<ApiClient, 'create'>;
  const random = { float: () => 0, hex: () => '', uuid: () => '' };
  return { clock, account, early, tokens: new TokenManager(api, clock, random) };
}

test('a failed token request has the kubelet’s message', async () => {
  const { account, tokens } = bed();
  account.isThere = false;
  await expect(tokens.get(pod, wish)).rejects.toThrow('failed to fetch token: serviceaccounts "a" not found');
});

test('while it cannot be renewed, a token serves until it ends', async () => {
  const { account, clock, tokens } = bed();
  expect(await tokens.get(pod, wish)).toBe('t1');
  account.isThere = false;
  await clock.advance(500_000);
  expect(await tokens.get(pod, wish)).toBe('t1');
  await clock.advance(100_000);
  await expect(tokens.get(pod, wish)).rejects.toThrow(
    'token "a"/"n"/[]string{"api"}/600/v1.BoundObjectReference{Kind:"Pod", APIVersion:"v1", Name:"p", UID:"u"}/"" expired and refresh failed: serviceaccounts "a" not found',
  );
  account.isThere = true;
  expect(await tokens.get(pod, wish)).toBe('t2');
});

test('a server that does not know yet whose pod it is is asked again for half a second', async () => {
  const { clock, early, tokens } = bed();
  early.left = 4;
  const token = tokens.get(pod, wish);
  await settle();
  await clock.advance(400);
  expect(await token).toBe('t1');
  early.left = 5;
  const refused = expect(
    tokens.get({ ...pod, metadata: { ...pod.metadata, uid: 'v' } }, wish),
  ).rejects.toThrow('failed to fetch token: no relationship found');
  await settle();
  await clock.advance(400);
  await refused;
});
