import { afterAll, beforeAll, expect, test } from 'vitest';
import { EmbeddedApiServer } from '../../../src/apiserver/index.ts';
import { type Answer, call, pod, podsPath } from '../support.ts';

let server: EmbeddedApiServer;
beforeAll(async () => {
  server = await EmbeddedApiServer.start();
});
afterAll(() => server.stop());

const budgets = '/apis/policy/v1/namespaces/default/poddisruptionbudgets';
const merge = 'application/merge-patch+json';

/** A ready pod with a label of its name. */
async function running(name: string): Promise<void> {
  const body = { ...pod(name), metadata: { name, labels: { app: name } } };
  await call(server, 'POST', podsPath, body);
  const conditions = [{ type: 'Ready', status: 'True' }];
  await call(
    server,
    'PATCH',
    `${podsPath}/${name}/status`,
    { status: { phase: 'Running', conditions } },
    merge,
  );
}

async function budget(name: string, status: object): Promise<void> {
  const spec = { minAvailable: 1, selector: { matchLabels: { app: name } } };
  await call(server, 'POST', budgets, { metadata: { name }, spec });
  const counts = { observedGeneration: 1, currentHealthy: 1, desiredHealthy: 1, expectedPods: 1 };
  const whole = { ...counts, disruptionsAllowed: 0, ...status };
  await call(server, 'PATCH', `${budgets}/${name}/status`, { status: whole }, merge);
}

const evict = (name: string, deleteOptions: object = {}): Promise<Answer> =>
  call(server, 'POST', `${podsPath}/${name}/eviction`, { metadata: { name }, deleteOptions });

const condition = (reason: string, message: string): object => ({
  conditions: [
    {
      type: 'DisruptionAllowed',
      status: 'False',
      reason,
      message,
      lastTransitionTime: '2026-01-01T00:00:00Z',
    },
  ],
});

test.each([
  ['counts', {}, 'The disruption budget counts needs 1 healthy pods and has 1 currently'],
  [
    'failed',
    condition('SyncFailed', 'no controller'),
    'The disruption budget failed does not allow evicting pods currently because it failed sync: no controller',
  ],
  [
    'other',
    { currentHealthy: 2, ...condition('Other', 'not now') },
    'The disruption budget other does not allow evicting pods currently (Other): not now',
  ],
  ['none', { currentHealthy: 2 }, 'The disruption budget none does not allow evicting pods currently'],
])('a budget that allows nothing says why: %s', async (name, status, message) => {
  await running(name);
  await budget(name, status);
  const { status: code, body, headers } = await evict(name);
  expect([code, headers['retry-after']]).toEqual([429, undefined]);
  expect(body).toMatchObject({ details: { causes: [{ reason: 'DisruptionBudget', message }] } });
});

test('an eviction under a budget that is not processed yet answers 429 with a time to wait', async () => {
  await running('early');
  await budget('early', { observedGeneration: 0 });
  const { status, headers } = await evict('early');
  expect([status, headers['retry-after']]).toEqual([429, '10']);
});

test('the last disruption that is used up shows in the condition of the budget', async () => {
  await running('last');
  await budget('last', { disruptionsAllowed: 1, currentHealthy: 2 });
  expect((await evict('last')).status).toBe(201);
  expect((await call(server, 'GET', `${budgets}/last`)).body).toMatchObject({
    status: {
      disruptionsAllowed: 0,
      disruptedPods: { last: expect.any(String) as string },
      conditions: [{ type: 'DisruptionAllowed', status: 'False', reason: 'InsufficientPods' }],
    },
  });
});

test('another pod or version than the one that the client means stays untouched', async () => {
  await running('p');
  expect((await evict('p', { preconditions: { uid: 'x' } })).body).toMatchObject({
    code: 409,
    message: expect.stringContaining('on Pod "p": the UID in the precondition (x) does not match') as string,
  });
  expect((await evict('p', { preconditions: { resourceVersion: '1' } })).body).toMatchObject({
    code: 409,
    message: expect.stringContaining('on Pod "p": the ResourceVersion in the precondition (1)') as string,
  });
  const { body } = await call(server, 'GET', `${podsPath}/p`);
  expect(JSON.stringify(body)).not.toContain('DisruptionTarget');
  const { resourceVersion } = body.metadata as { readonly resourceVersion: string };
  expect((await evict('p', { preconditions: { resourceVersion } })).status).toBe(201);
});

test('an option that deletes what cannot be read is no option of evictions', async () => {
  const { body } = await evict('any', { ignoreStoreReadErrorWithClusterBreakingPotential: true });
  expect(body).toMatchObject({ code: 422, details: { group: 'policy', kind: 'Eviction' } });
});
