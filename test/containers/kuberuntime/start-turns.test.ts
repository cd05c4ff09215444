import { expect, test } from 'vitest';
import { FakeClock, settle } from '../../../src/base/fake-clock.ts';
import { StartTurns, type StartCall } from '../../../src/containers/kuberuntime/start-turns.ts';

interface Bed {
  readonly clock: FakeClock;
  /** What was begun, in order. */
  readonly begun: string[];
  /** Asks for a turn; the call ends when told to. */
  readonly ask: (call: StartCall, pod: string, signal?: AbortSignal) => Promise<string>;
  readonly end: (pod: string) => Promise<void>;
}

function bed(limit?: number): Bed {
  const clock = new FakeClock(0);
  const turns = new StartTurns(clock, limit);
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  return {
    clock,
    begun,
    ask: (call, pod, signal) =>
      turns.run(
        call,
        async () => {
          begun.push(`${call} ${pod}`);
          signal?.throwIfAborted();
          await new Promise<void>((resolve) => ends.set(pod, resolve));
          return pod;
        },
        signal,
      ),
    end: async (pod) => {
      ends.get(pod)?.();
      await settle();
    },
  };
}

test('so many calls run at one time as are allowed, in the order they came', async () => {
  const { ask, begun, end } = bed(2);
  const answers = ['a', 'b', 'c', 'd'].map((pod) => ask('runPodSandbox', pod));
  expect(begun).toEqual(['runPodSandbox a', 'runPodSandbox b']);
  await end('b');
  expect(begun.slice(2)).toEqual(['runPodSandbox c']);
  for (const pod of ['a', 'c', 'd']) await end(pod);
  expect(await Promise.all(answers)).toEqual(['a', 'b', 'c', 'd']);
});

test('what is begun is finished first: a container starts before the next sandbox is made', async () => {
  const { ask, begun, end } = bed(1);
  void ask('runPodSandbox', 'a');
  for (const call of ['runPodSandbox', 'createContainer', 'startContainer'] as const) void ask(call, call);
  for (const pod of ['a', 'startContainer', 'createContainer']) await end(pod);
  expect(begun.slice(1)).toEqual([
    'startContainer startContainer',
    'createContainer createContainer',
    'runPodSandbox runPodSandbox',
  ]);
});

test('a turn is passed on to exactly one call', async () => {
  const { ask, begun, end } = bed(1);
  void ask('runPodSandbox', 'a');
  void ask('runPodSandbox', 'b');
  const ended = end('a');
  void ask('runPodSandbox', 'c');
  await ended;
  expect(begun).toEqual(['runPodSandbox a', 'runPodSandbox b']);
});

test('a slow call stops counting against the limit, and its end does not admit another call again', async () => {
  const { ask, begun, clock, end } = bed(1);
  void ask('runPodSandbox', 'stuck');
  for (const pod of ['b', 'c', 'd']) void ask('runPodSandbox', pod);
  await clock.advance(1999);
  expect(begun).toEqual(['runPodSandbox stuck']);
  await clock.advance(1);
  expect(begun.slice(1)).toEqual(['runPodSandbox b']);
  await end('stuck');
  expect(begun.slice(2)).toEqual([]);
  await end('b');
  expect(begun.slice(2)).toEqual(['runPodSandbox c']);
});

test('a failure gives the turn back', async () => {
  const turns = new StartTurns(new FakeClock(0), 1);
  const failure = new Error('no address');
  const failing = turns.run('runPodSandbox', () => Promise.reject(failure));
  const next = turns.run('runPodSandbox', async () => 'next');
  await expect(failing).rejects.toBe(failure);
  expect(await next).toBe('next');
});

test('an aborted call stops waiting, and takes no turn', async () => {
  const { ask, begun, end } = bed(1);
  const [early, late] = [new AbortController(), new AbortController()];
  void ask('runPodSandbox', 'a');
  const waiting = ask('runPodSandbox', 'b', late.signal);
  late.abort(new Error('the pod is deleted'));
  await expect(waiting).rejects.toThrow('the pod is deleted');
  early.abort(new Error('was deleted before'));
  await expect(ask('runPodSandbox', 'c', early.signal)).rejects.toThrow('was deleted before');
  void ask('runPodSandbox', 'd');
  expect(begun.slice(1)).toEqual(['runPodSandbox b', 'runPodSandbox c']);
  await end('a');
  expect(begun.slice(3)).toEqual(['runPodSandbox d']);
});

test('without a limit every call runs at once', () => {
  const { ask, begun } = bed();
  for (let pod = 0; pod < 100; pod++) void ask('runPodSandbox', String(pod));
  expect(begun).toHaveLength(100);
});
