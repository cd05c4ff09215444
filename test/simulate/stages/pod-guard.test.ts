import { describe, expect, test } from 'vitest';
import type { Pod, PodStatus } from '../../../src/kube/types.ts';
import { guardPodStatus } from '../../../src/simulate/stages/pod-guard.ts';

const pod = (phase?: string): Pod => ({
  spec: { initContainers: [{ name: 'i' }], containers: [{ name: 'a' }] },
  status: phase === undefined ? {} : { phase },
});

const container = { image: 'x', imageID: '', restartCount: 0 };
const past = { ...container, name: 'i', ready: true, state: { terminated: { exitCode: 0 } } };
const running = { ...container, name: 'a', ready: true, state: { running: {} } };
const ready = [{ type: 'Ready', status: 'True' }];

describe('phases never go back', () => {
  test.each([
    ['Running', 'Pending'],
    ['Succeeded', 'Running'],
    ['Failed', 'Pending'],
    ['Failed', 'Succeeded'],
    ['Running', undefined],
  ])('from %s to %s: refused', (from, to) => {
    const next = to === undefined ? {} : { phase: to };
    expect(guardPodStatus(pod(from), next)).toEqual({
      problem: `the phase may not go from ${from} back to ${to ?? 'Pending'}`,
    });
  });

  test.each([
    [undefined, 'Pending'],
    ['Pending', 'Running'],
    ['Pending', 'Failed'],
    ['Running', 'Succeeded'],
    ['Succeeded', 'Succeeded'],
  ])('from %s to %s: accepted', (from, to) => {
    expect(guardPodStatus(pod(from), { phase: to })).toEqual({ status: { phase: to } });
  });
});

describe('a pod is Ready only while its containers are', () => {
  const guarded = (status: PodStatus) =>
    guardPodStatus(pod('Running'), { phase: 'Running', conditions: ready, ...status });

  test('with all of them, it is', () => {
    const status = { initContainerStatuses: [past], containerStatuses: [running] };
    expect(guarded(status).problem).toBeUndefined();
  });

  test.each<[string, PodStatus, string]>([
    ['no statuses', {}, '[i a]'],
    ['no init container', { containerStatuses: [running] }, '[i]'],
    [
      'a waiting container',
      { initContainerStatuses: [past], containerStatuses: [{ ...running, state: {} }] },
      '[a]',
    ],
    [
      'an unready container',
      { initContainerStatuses: [past], containerStatuses: [{ ...running, ready: false }] },
      '[a]',
    ],
  ])('%s: the condition is False', (_what, status, names) => {
    const message = `containers with unready status: ${names}`;
    expect(guarded(status)).toMatchObject({
      status: { conditions: [{ type: 'Ready', status: 'False', reason: 'ContainersNotReady', message }] },
      problem: `the pod is not Ready: ${message}`,
    });
  });
});
