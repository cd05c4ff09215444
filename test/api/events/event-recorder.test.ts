import { beforeEach, expect, test } from 'vitest';
import { type ApiClient, ApiError } from '../../../src/api/client.ts';
import { EventBroadcaster, type EventBroadcasterOptions } from '../../../src/api/events/event-recorder.ts';
import { FakeClock } from '../../../src/base/fake-clock.ts';
import { silentLogger } from '../../../src/base/logger.ts';
import type { Event, KubeObject } from '../../../src/kube/types.ts';

const pod: KubeObject = {
  kind: 'Pod',
  apiVersion: 'v1',
  metadata: { name: 'p', namespace: 'ns', uid: 'u', resourceVersion: '7' },
};
const random = { float: () => 0.5, uuid: () => 'u', hex: () => 'h' };
let clock: FakeClock;
let away: ApiError | undefined;
const created: Event[] = [];
const patched: { name: string; body: object | string }[] = [];
const groups: string[] = [];

const client = {
  create: async (resource, object) => {
    groups.push(resource.group);
    if (away) throw away;
    if (resource.group !== '') throw new ApiError(404, { reason: 'NotFound', message: 'no such API' });
    created.push(object as unknown as Event);
    return object;
  },
  patch: async (_resource, { name }, { body }) => {
    if (away) throw away;
    if (name === 'lost') throw new ApiError(404, { reason: 'NotFound' });
    patched.push({ name, body });
    return created.find(({ metadata }) => metadata.name === name) as never;
  },
} as Partial<ApiClient> as ApiClient;

beforeEach(() => {
  clock = new FakeClock(Date.parse('2026-03-04T05:06:07Z'));
  away = undefined;
  created.length = patched.length = groups.length = 0;
});

const recorder = (options: Partial<EventBroadcasterOptions> = {}): EventBroadcaster =>
  new EventBroadcaster({ client, clock, random }, { host: 'node-a', ...options });

test('an event says who, what, where and when as the kubelet writes it', async () => {
  const events = recorder();
  events.event(pod, 'Normal', 'Started', 'Container started', { fieldPath: 'spec.containers{web}' });
  await clock.advance(0);
  const { metadata, ...rest } = created[0]!;
  expect(metadata.name).toMatch(/^p\.[0-9a-f]{15,16}$/);
  expect(metadata.namespace).toBe('ns');
  expect(rest).toEqual({
    kind: 'Event',
    apiVersion: 'v1',
    involvedObject: {
      kind: 'Pod',
      namespace: 'ns',
      name: 'p',
      uid: 'u',
      apiVersion: 'v1',
      resourceVersion: '7',
      fieldPath: 'spec.containers{web}',
    },
    reason: 'Started',
    message: 'Container started',
    source: { component: 'kubelet', host: 'node-a' },
    firstTimestamp: '2026-03-04T05:06:07Z',
    lastTimestamp: '2026-03-04T05:06:07Z',
    count: 1,
    type: 'Normal',
    reportingComponent: 'kubelet',
    reportingInstance: 'node-a',
  });
});

test('the same event again is counted on the first one', async () => {
  const events = recorder();
  events.event(pod, 'Warning', 'BackOff', 'again');
  await clock.advance(10_000);
  events.event(pod, 'Warning', 'BackOff', 'again');
  await clock.advance(0);
  expect(created).toHaveLength(1);
  expect(patched).toEqual([
    {
      name: created[0]?.metadata.name,
      body: { count: 2, lastTimestamp: '2026-03-04T05:06:17Z', message: 'again' },
    },
  ]);
});

test('from the tenth message of one kind on they are combined', async () => {
  const events = recorder();
  for (let i = 0; i < 12; i++) events.event(pod, 'Warning', 'Failed', `message ${i}`);
  await clock.advance(0);
  expect(created.map(({ message }) => message).slice(8)).toEqual([
    'message 8',
    '(combined from similar events): message 9',
  ]);
  expect(patched.map(({ body }) => (body as { message: string }).message)).toEqual([
    '(combined from similar events): message 10',
    '(combined from similar events): message 11',
  ]);
});

test('one object may cause 25 events, then one every five minutes', async () => {
  const events = recorder();
  for (let i = 0; i < 40; i++) events.event(pod, 'Normal', `Reason${i}`, 'x');
  await clock.advance(0);
  expect(created).toHaveLength(25);
  await clock.advance(300_000);
  events.event(pod, 'Normal', 'Late', 'x');
  events.event(pod, 'Normal', 'Later', 'x');
  await clock.advance(0);
  expect(created.map(({ reason }) => reason).slice(25)).toEqual(['Late']);
});

test('an outage keeps a bounded number and writes them when it is over', async () => {
  away = new ApiError(0, { message: 'away' });
  const events = recorder({ maxWaiting: 5 });
  for (let i = 0; i < 8; i++) events.event(pod, 'Normal', `Reason${i}`, 'x');
  await clock.advance(30_000);
  expect([created.length, events.lost]).toEqual([0, 3]);
  away = undefined;
  await clock.advance(20_000);
  expect(created.map(({ reason }) => reason)).toEqual([
    'Reason0',
    'Reason1',
    'Reason2',
    'Reason3',
    'Reason4',
  ]);
});

test('what the server refuses for good is given up', async () => {
  away = new ApiError(403, { reason: 'Forbidden', message: 'namespace is being terminated' });
  const events = recorder();
  events.event(pod, 'Normal', 'One', 'x');
  await clock.advance(0);
  away = undefined;
  events.event(pod, 'Normal', 'Two', 'x');
  await clock.advance(0);
  expect(created.map(({ reason }) => reason)).toEqual(['Two']);
});

test('without events.k8s.io on the server the core API takes the events', async () => {
  const events = recorder({ api: 'events.k8s.io/v1' });
  events.event(pod, 'Normal', 'One', 'x');
  events.event(pod, 'Normal', 'Two', 'x');
  await clock.advance(0);
  expect(groups).toEqual(['events.k8s.io', '', '']);
  expect(created).toHaveLength(2);
});

test('a stopped recorder writes nothing and leaves no timer', async () => {
  away = new ApiError(0, { message: 'away' });
  const events = recorder();
  events.event(pod, 'Normal', 'One', 'x');
  await clock.advance(0);
  events.stop();
  await events.flush();
  expect(clock.pending).toBe(0);
});

test('that a namespace which is going takes no events is no warning; any other refusal is one', async () => {
  const told: string[] = [];
  const tell = (level: string) => (message: string) => void told.push(`${level}: ${message}`);
  const logger = { ...silentLogger, debug: tell('debug'), warn: tell('warn') };
  const events = new EventBroadcaster({ client, clock, random, logger }, { host: 'node-a' });
  const going = { causes: [{ reason: 'NamespaceTerminating' }] };
  for (const details of [going, {}]) {
    away = new ApiError(403, { reason: 'Forbidden', message: 'events "p" is forbidden', details });
    events.event(pod, 'Normal', 'Killing', 'Stopping container main');
    await clock.advance(1000);
  }
  expect(told).toEqual(['debug: cannot write event', 'warn: cannot write event']);
});
