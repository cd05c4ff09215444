import { expect, test } from 'vitest';
import { FakeClock, settle } from '../../../src/base/fake-clock.ts';
import { systemRandom } from '../../../src/base/random.ts';
import type { JsonObject } from '../../../src/apimachinery/json.ts';
import type { Attributes } from '../../../src/apiserver/authorization/attributes.ts';
import { type AuthorizationWebhook, WebhookMode } from '../../../src/apiserver/authorization/webhook.ts';
import { AuthorizationWebhookMetrics } from '../../../src/apiserver/authorization/webhook-metrics.ts';

const asked: Attributes = {
  user: { name: 'jane', uid: '7', groups: ['dev'], extra: { scope: ['x'] } },
  verb: 'list',
  group: 'apps',
  version: 'v1',
  resource: 'deployments',
  subresource: '',
  namespace: 'a',
  name: '',
  fieldSelector: 'metadata.name!=b',
  labelSelector: 'app=web,!old',
};

function webhook(status: object | Error, more: Partial<AuthorizationWebhook> = {}) {
  const reviews: JsonObject[] = [];
  const clock = new FakeClock();
  const metrics = new AuthorizationWebhookMetrics(clock);
  const stopping = new AbortController();
  const box = { status };
  const mode = new WebhookMode(
    {
      review: (body) => {
        reviews.push(body);
        if (box.status instanceof Error) return Promise.reject(box.status);
        return Promise.resolve({ ...body, status: box.status });
      },
      ...more,
    },
    { clock, random: systemRandom, stopping: stopping.signal, metrics },
  );
  return { mode, reviews, clock, box, metrics, stopping };
}

test('the service gets a SubjectAccessReview with user, attributes and selectors', async () => {
  const { mode, reviews } = webhook({ allowed: true, reason: 'fine' });
  expect(await mode.decide(asked)).toEqual({ verdict: 'allow', reason: 'fine' });
  expect(reviews).toEqual([
    {
      kind: 'SubjectAccessReview',
      apiVersion: 'authorization.k8s.io/v1',
      metadata: {},
      spec: {
        resourceAttributes: {
          ...{ namespace: 'a', verb: 'list', group: 'apps', version: 'v1', resource: 'deployments' },
          fieldSelector: { requirements: [{ key: 'metadata.name', operator: 'NotIn', values: ['b'] }] },
          labelSelector: {
            requirements: [
              { key: 'app', operator: 'In', values: ['web'] },
              { key: 'old', operator: 'DoesNotExist' },
            ],
          },
        },
        ...{ user: 'jane', groups: ['dev'], extra: { scope: ['x'] }, uid: '7' },
      },
      status: { allowed: false },
    },
  ]);
  const old = webhook({}, { version: 'v1beta1' });
  await old.mode.decide({ ...asked, path: '/version' });
  expect(old.reviews[0]).toMatchObject({
    apiVersion: 'authorization.k8s.io/v1beta1',
    spec: { nonResourceAttributes: { path: '/version', verb: 'list' }, group: ['dev'] },
  });
});

test('decisions are kept: allowed ones for five minutes, others for 30 seconds', async () => {
  const { mode, reviews, clock, box } = webhook({ allowed: false, reason: 'no' });
  expect(mode.decideNow(asked)).toMatchObject({ verdict: 'none', error: expect.any(String) as string });
  await mode.decide(asked);
  expect(mode.decide(asked)).toEqual({ verdict: 'none', reason: 'no' });
  expect(mode.decideNow(asked)).toEqual({ verdict: 'none', reason: 'no' });
  await clock.advance(30_000);
  box.status = { allowed: true };
  expect(await mode.decide(asked)).toMatchObject({ verdict: 'allow' });
  await clock.advance(299_000);
  await mode.decide(asked);
  expect(reviews).toHaveLength(2);
  await clock.advance(1000);
  await mode.decide(asked);
  expect(reviews).toHaveLength(3);
});

test('a time to live of 0 keeps nothing', async () => {
  const { mode, reviews } = webhook({ allowed: true }, { authorizedTtlMs: 0 });
  await mode.decide(asked);
  await mode.decide(asked);
  expect(reviews).toHaveLength(2);
});

test('the service may deny; to allow and deny at once is an error', async () => {
  expect(await webhook({ denied: true, reason: 'never' }).mode.decide(asked)).toEqual({
    verdict: 'deny',
    reason: 'never',
  });
  expect(await webhook({ denied: true, allowed: true }).mode.decide(asked)).toEqual({
    verdict: 'deny',
    reason: '',
    error: 'webhook subject access review returned both allow and deny response',
  });
});

test('a failed call decides nothing, and is not kept', async () => {
  const { mode, reviews } = webhook(new Error('connection refused'));
  expect(await mode.decide(asked)).toEqual({ verdict: 'none', reason: '', error: 'connection refused' });
  await mode.decide(asked);
  expect(reviews).toHaveLength(2);
});

test('a fault of the service is tried five times, with growing waits', async () => {
  const { mode, reviews, clock } = webhook(Object.assign(new Error('down'), { status: 500 }));
  const decision = mode.decide(asked);
  for (const wait of [600, 900, 1350, 2025]) {
    await settle();
    await clock.advance(wait);
  }
  expect(await decision).toMatchObject({ verdict: 'none', error: 'down' });
  expect(reviews).toHaveLength(5);
});

test('an answer of another kind is an error', async () => {
  const { mode } = webhook({}, { review: () => Promise.resolve({ kind: 'Pod' }) });
  expect(await mode.decide(asked)).toMatchObject({
    error: 'the webhook authorizer answered no SubjectAccessReview',
  });
});

test('each call is counted: those that time out, and those that the end of the server cuts short', async () => {
  const samples = (all: ReturnType<typeof webhook>): unknown =>
    all.metrics.families()[0]?.samples.map(({ labels, value }) => [labels?.['result'], value]);
  const late = webhook(Object.assign(new Error('no answer'), { status: 504 }));
  await late.mode.decide(asked);
  expect(samples(late)).toEqual([['timeout', 1]]);
  const failedOpen = late.metrics.families()[2]?.samples;
  expect(failedOpen).toMatchObject([{ labels: { result: 'timeout' }, value: 1 }]);
  const cut = webhook(new Error('aborted'));
  cut.stopping.abort();
  await cut.mode.decide(asked);
  expect(samples(cut)).toEqual([['canceled', 1]]);
  expect(cut.metrics.families()[2]?.samples).toEqual([]);
  const wrong = webhook({}, { review: () => Promise.resolve({ kind: 'Pod' }) });
  await wrong.mode.decide(asked);
  expect(samples(wrong)).toEqual([['error', 1]]);
});
