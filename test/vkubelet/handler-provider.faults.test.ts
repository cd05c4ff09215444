import { afterEach, describe, expect, test } from 'vitest';
import {
  conflict,
  invalidInput,
  notFoundError,
  permanent,
  throttled,
  unavailable,
} from '../../src/vkubelet/errors.ts';
import { type Bed, bedOf, type Method, runningStatus } from './support.ts';

/**
 * Each of the six methods × what it may do wrong × a restart of the agent meanwhile: nothing is lost or doubled, and the pod comes to what it
 * should be when the fault is over.
 */

const second = 1000;
const methods: readonly Method[] = [
  'createPod',
  'updatePod',
  'deletePod',
  'getPod',
  'getPodStatus',
  'getPods',
];

type Fault = (bed: Bed) => (...args: readonly never[]) => unknown;

/** What a method does for as long as the fault lasts. */
const faults: Readonly<Record<string, Fault>> = {
  'throws an error of no kind': () => () => {
    throw new Error('boom');
  },
  'throws unavailable': () => () => {
    throw unavailable('away');
  },
  'throws throttled': () => () => {
    throw throttled('slow down', 5 * second);
  },
  'throws conflict': () => () => {
    throw conflict('try again');
  },
  'throws a cause chain': () => () => {
    throw new Error('outer', { cause: new Error('middle', { cause: unavailable('inner') }) });
  },
  rejects: () => () => Promise.reject(unavailable('later')),
  hangs: () => () => new Promise(() => undefined),
  'answers late':
    (bed) =>
    async (...args) => {
      await bed.node.clock.sleep(20 * second);
      return workOf(args);
    },
  'does it and returns garbage':
    () =>
    async (...args) => {
      await workOf(args);
      return 'garbage';
    },
};

/** What the method would have done. */
const workOf = (args: readonly unknown[]): unknown => (args.at(-1) as () => unknown)();

let bed: Bed | undefined;
afterEach(async () => {
  await bed?.stop();
  bed = undefined;
});

const rows = methods.flatMap((method) =>
  Object.keys(faults).flatMap((fault) => [false, true].map((restart) => ({ method, fault, restart }))),
);

describe('a fault that passes', () => {
  test.for(rows)('$method $fault, restart: $restart', async ({ method, fault, restart }) => {
    bed = await bedOf(method === 'getPodStatus');
    const { node, backend } = bed;
    const at = method === 'createPod' || method === 'getPod' ? 'creation' : 'life';
    const instead = faults[fault]?.(bed);
    if (!instead) throw new Error('no such fault');
    if (at === 'creation') backend.instead[method] = instead;
    const uid = node.create('web', { terminationGracePeriodSeconds: 5 });
    await node.clock.advance(3 * second);
    if (at === 'life') backend.instead[method] = instead;
    if (method === 'updatePod')
      node.update('web', (pod) => ({ ...pod, metadata: { ...pod.metadata, labels: { v: '2' } } }));
    if (method === 'deletePod') node.delete('web');
    await node.clock.advance(20 * second);
    if (restart) await node.restart();
    await node.clock.advance(20 * second);
    if (method !== 'deletePod')
      expect(node.pod('web'), 'nothing is lost while the fault lasts').toBeDefined();
    delete backend.instead[method];
    await node.clock.advance(400 * second);
    if (method === 'deletePod') {
      expect(node.pod('web')).toBeUndefined();
      expect(backend.pods.size).toBe(0);
      return;
    }
    expect(node.pod('web')?.status?.phase).toBe('Running');
    expect([...backend.pods.values()].map(({ metadata }) => metadata?.uid)).toEqual([uid]);
    if (method === 'updatePod') expect(backend.pods.get('default/web')?.metadata?.labels).toEqual({ v: '2' });
    node.delete('web');
    await node.clock.advance(60 * second);
    expect(node.pod('web')).toBeUndefined();
    expect(backend.pods.size).toBe(0);
  });
});

describe('a creation that happened although its answer said otherwise', () => {
  test.for(['throws', 'hangs', 'answers late'])('%s: the pod is found and not made twice', async (how) => {
    bed = await bedOf(false);
    const { node, backend } = bed;
    const made: string[] = [];
    backend.instead.createPod = (pod: { metadata?: { uid?: string } }) => {
      made.push(pod.metadata?.uid ?? '');
      backend.add(pod);
      if (how === 'throws') throw unavailable('the answer was lost');
      return how === 'hangs' ? new Promise(() => undefined) : node.clock.sleep(150 * second);
    };
    node.create('web');
    await node.clock.advance(400 * second);
    expect(made).toHaveLength(1);
    expect(node.pod('web')?.status?.phase).toBe('Running');
  });

  test('it is made after its pod was deleted: it is swept', async () => {
    bed = await bedOf(false);
    const { node, backend } = bed;
    backend.instead.createPod = async (pod: never) => {
      await node.clock.sleep(200 * second);
      backend.add(pod);
    };
    node.create('web');
    await node.clock.advance(3 * second);
    delete backend.instead.createPod;
    node.delete('web');
    await node.clock.advance(600 * second);
    expect(node.pod('web')).toBeUndefined();
    expect(backend.pods.size).toBe(0);
  });
});

test('a creation that had no effect at all: the pod is lost, and says so', async () => {
  bed = await bedOf(false);
  const { node, backend } = bed;
  backend.instead.createPod = () => Promise.resolve();
  node.create('web');
  await node.clock.advance(60 * second);
  expect(node.pod('web')?.status).toMatchObject({ phase: 'Failed', reason: 'NotFound' });
});

describe('a fault that is final', () => {
  test.for([
    { kind: 'permanent', error: permanent('no such region') },
    { kind: 'invalid input', error: invalidInput('no such region') },
    { kind: 'invalid input as a cause', error: new Error('no such region', { cause: invalidInput('x') }) },
  ])('createPod: $kind fails the pod with the message', async ({ error }) => {
    bed = await bedOf(true);
    const { node, backend } = bed;
    backend.instead.createPod = () => {
      throw error;
    };
    node.create('web');
    await node.clock.advance(20 * second);
    expect(node.pod('web')?.status).toMatchObject({
      phase: 'Failed',
      reason: 'ProviderFailed',
      message: 'no such region',
    });
    expect(node.events).toContain('Warning ProviderCreateFailed no such region');
    node.delete('web');
    await node.clock.advance(20 * second);
    expect(node.pod('web')).toBeUndefined();
  });

  test('deletePod: not found is deleted', async () => {
    bed = await bedOf(true);
    const { node, backend } = bed;
    node.create('web');
    await node.clock.advance(3 * second);
    backend.pods.clear();
    backend.instead.deletePod = () => {
      throw new Error('outer', { cause: notFoundError('gone') });
    };
    node.delete('web');
    await node.clock.advance(20 * second);
    expect(node.pod('web')).toBeUndefined();
  });
});

describe('statuses that are garbage', () => {
  const garbage: readonly (readonly [string, unknown])[] = [
    ['nothing', undefined],
    ['a text', 'Running'],
    ['a phase that is none', { phase: 'Dancing' }],
    ['containers that are no list', { phase: 'Running', containerStatuses: 'main' }],
    ['containers without names', { phase: 'Running', containerStatuses: [null, 7, {}] }],
    [
      'a container of no spec',
      { phase: 'Running', containerStatuses: [{ name: 'other', state: { running: {} } }] },
    ],
    [
      'times that are none',
      {
        phase: 'Running',
        startTime: 'noon',
        containerStatuses: [{ name: 'main', state: { running: { startedAt: {} } } }],
      },
    ],
    [
      'an exit code that is none',
      { phase: 'Running', containerStatuses: [{ name: 'main', state: { terminated: { exitCode: 'x' } } }] },
    ],
    ['addresses that are none', { phase: 'Running', podIP: 7, podIPs: [null] }],
  ];
  test.for(garbage)('%s ends no agent, and what is right counts afterwards', async ([, status]) => {
    bed = await bedOf(true);
    const { node, backend } = bed;
    node.create('web');
    await node.clock.advance(3 * second);
    const pod = backend.pods.get('default/web');
    if (!pod) throw new Error('not created');
    backend.notify?.({ ...pod, status } as never);
    backend.notify?.(status as never);
    await node.clock.advance(3 * second);
    const right = { ...pod, status: { ...runningStatus(pod), podIP: '198.51.100.77' } };
    backend.pods.set('default/web', right);
    backend.notify?.(right);
    await node.clock.advance(3 * second);
    expect(node.pod('web')?.status).toMatchObject({ phase: 'Running', podIP: '198.51.100.77' });
  });
});
