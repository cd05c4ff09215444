import { expect, test } from 'vitest';
import { FakeClock } from '../../src/base/fake-clock.ts';
import type { LogFields, Logger } from '../../src/base/logger.ts';
import { silentLogger } from '../../src/base/logger.ts';
import { guardedProvider } from '../../src/provider/guarded-provider.ts';
import type { ContainerRef } from '../../src/provider/refs.ts';
import type { PodProvider } from '../../src/provider/provider.ts';
import { emptyPodStatus } from '../../src/provider/runtime-pod.ts';

const container: ContainerRef = { podUid: 'u', namespace: 'd', pod: 'p', container: 'c', id: 'rooms://1' };
const ref = { uid: 'u', name: 'p', namespace: 'd' };

/** A provider in a language without types. */
const rooms = (powers: Readonly<Record<string, unknown>>): PodProvider => ({
  name: 'rooms',
  syncPod: () => Promise.resolve({ results: [], changed: false }),
  killPod: () => Promise.resolve(),
  listPods: () => Promise.resolve([]),
  getPodStatus: () => Promise.resolve(emptyPodStatus(ref)),
  ...powers,
});

function guarded(powers: Readonly<Record<string, unknown>>) {
  const clock = new FakeClock();
  const lines: LogFields[] = [];
  const logger: Logger = { ...silentLogger, error: (_message, fields = {}) => void lines.push(fields) };
  const provider = guardedProvider(rooms(powers), { clock, logger, recorder: { event: () => undefined } });
  return { clock, lines, provider };
}

test('powers that the provider lacks stay absent', () => {
  const { provider } = guarded({});
  for (const power of ['exec', 'admit', 'listSome', 'onPodEvent'] as const)
    expect(provider, power).not.toHaveProperty(power);
  expect('listSome' in provider).toBe(false);
  expect('syncPod' in provider).toBe(true);
});

test('a power runs on its own object', async () => {
  class Own {
    readonly #code = 7;
    exec(): Promise<number> {
      return Promise.resolve(this.#code);
    }
  }
  const own = new Own();
  const { provider } = guarded({ exec: own.exec.bind(own) });
  await expect(
    provider.exec?.(container, ['true'], { tty: false }, new AbortController().signal),
  ).resolves.toBe(7);
});

const podWith = (change: object) => ({ ...ref, containers: [], sandboxes: [], ...change });
const listed = { id: 'rooms://1', name: 'c', state: 'running' };
const told = {
  ...listed,
  exitCode: 0,
  image: 'i',
  imageId: '',
  imageRef: '',
  restartCount: 0,
  reason: '',
  message: '',
};
const statusWith = (change: object) => ({ ...emptyPodStatus(ref), ...change });

test.for<[string, unknown, string]>([
  ['listPods', undefined, 'the answer is undefined, not an array'],
  ['listPods', { pods: [] }, 'the answer is an object, not an array'],
  ['listPods', [null], 'pod[0] is null, not an object'],
  ['listPods', [podWith({ uid: 7 })], 'pod[0].uid is 7, not a string'],
  ['listPods', [podWith({ uid: '' })], 'the uid of a pod is empty'],
  ['listPods', [podWith({ containers: undefined })], 'pod[0].containers is undefined, not an array'],
  [
    'listPods',
    [podWith({ containers: [{ ...listed, state: 'Running' }] })],
    'containers of pod u[0].state is "Running", not one of "created", "running", "exited", "unknown"',
  ],
  ['getPodStatus', undefined, 'the answer is undefined, not an object'],
  ['getPodStatus', [], 'the answer is an array, not an object'],
  ['getPodStatus', statusWith({ ips: '10.0.0.1' }), 'the answer.ips is "10.0.0.1", not an array'],
  ['getPodStatus', statusWith({ ips: [undefined] }), 'ips holds something that is not a string'],
  [
    'getPodStatus',
    statusWith({ containerStatuses: [{ ...told, startedAt: new Date(0) }] }),
    'containerStatuses[0].startedAt is an object, not a finite number',
  ],
  [
    'getPodStatus',
    statusWith({ containerStatuses: [{ ...told, exitCode: undefined }] }),
    'containerStatuses[0].exitCode is undefined, not a finite number',
  ],
  [
    'getPodStatus',
    statusWith({ sandboxStatuses: [{ id: 's', state: 'ready', attempt: 0, createdAt: 0 }] }),
    'sandboxStatuses[0].state is "ready", not one of "SANDBOX_READY", "SANDBOX_NOTREADY"',
  ],
  ['syncPod', undefined, 'the answer is undefined, not an object'],
  ['syncPod', { results: [] }, 'the answer.changed is undefined, not true or false'],
  [
    'syncPod',
    { results: [{ action: 'StartContainer' }], changed: true },
    'results[0].target is undefined, not a string',
  ],
])('%s: %j is refused by name', async ([method, answer, fault]) => {
  const { provider } = guarded({ [method]: () => Promise.resolve(answer) });
  const signal = new AbortController().signal;
  const pod = { metadata: ref };
  const calls = {
    listPods: () => provider.listPods(),
    getPodStatus: () => provider.getPodStatus(ref),
    syncPod: () =>
      provider.syncPod(
        { pod, observed: emptyPodStatus(ref), pullSecrets: [], restartAllContainers: false },
        signal,
      ),
  };
  await expect(calls[method as keyof typeof calls]()).rejects.toThrow(`provider rooms: ${method}: ${fault}`);
});

test('what is right passes as it is, without a copy', async () => {
  const pods = [podWith({ containers: [listed] })];
  const status = statusWith({ containerStatuses: [told], ips: ['10.0.0.1'] });
  const { provider } = guarded({
    listPods: () => Promise.resolve(pods),
    getPodStatus: () => Promise.resolve(status),
  });
  await expect(provider.listPods()).resolves.toBe(pods);
  await expect(provider.getPodStatus(ref)).resolves.toBe(status);
});

test('a query that hangs ends with its deadline, its signal aborts, and its late answer does no harm', async () => {
  let aborted: AbortSignal | undefined;
  let answer = (_: readonly []): void => undefined;
  const { provider, clock } = guarded({
    listUsage: (signal: AbortSignal) => {
      aborted = signal;
      return new Promise((resolve) => (answer = resolve));
    },
  });
  const usage = provider.listUsage?.();
  const ended = expect(usage).rejects.toThrow('provider rooms: listUsage: no answer within 2m0s');
  await clock.advance(120_000);
  await ended;
  expect(aborted?.aborted).toBe(true);
  answer([]);
  expect(clock.pending).toBe(0);
});

test('a call that answers at once starts no timer; one that does not has its deadline, also as a mere thenable', async () => {
  let timers = 0;
  const prompt = guarded({});
  const timer = prompt.clock.timer.bind(prompt.clock);
  prompt.clock.timer = (ms, act) => {
    timers += 1;
    return timer(ms, act);
  };
  expect(await prompt.provider.listPods()).toEqual([]);
  expect(await prompt.provider.getPodStatus(ref)).toMatchObject(ref);
  expect(timers).toBe(0);
  const { provider, clock } = guarded({ listPods: () => ({ then: () => undefined }) });
  const ended = expect(provider.listPods()).rejects.toThrow('listPods: no answer within 2m0s');
  await clock.advance(120_000);
  await ended;
  expect(clock.pending).toBe(0);
});

test('deadlines are the provider’s to choose', async () => {
  const hang = (): Promise<never> => new Promise(() => undefined);
  const { provider, clock } = guarded({ listPods: hang, deadlines: { query: 5000 } });
  const ended = expect(provider.listPods()).rejects.toThrow('no answer within 5s');
  await clock.advance(5000);
  await ended;
});

test('a command that the provider does not end ends some time after its time-out', async () => {
  const { provider, clock } = guarded({ execSync: () => new Promise(() => undefined) });
  const ended = expect(provider.execSync?.(container, ['sleep'], 1000)).rejects.toThrow(
    'no answer within 11s',
  );
  await clock.advance(11_000);
  await ended;
});

test('exec that tells no exit code fails, and is not taken for 0', async () => {
  const { provider } = guarded({ exec: () => Promise.resolve(undefined) });
  await expect(
    provider.exec?.(container, ['true'], { tty: false }, new AbortController().signal),
  ).rejects.toThrow('provider rooms: exec: the answer is undefined, not an exit code');
});

test('a resize that cannot be judged is not carried out, and none is in progress', () => {
  const thrower = (): never => {
    throw new Error('no idea');
  };
  const { provider, lines } = guarded({ resizes: { fault: thrower, inProgress: thrower } });
  expect(provider.resizes?.fault({}, {})).toBe('no idea');
  expect(provider.resizes?.inProgress({}, emptyPodStatus(ref))).toBe(false);
  expect(lines.map(({ step }) => step)).toEqual(['resizes.fault', 'resizes.inProgress']);
});

test('an admit that answers with a promise is refused, and its rejection is not left to Node.js', () => {
  const { provider } = guarded({ admit: () => Promise.reject(new Error('later')) });
  expect(provider.admit?.({}, [])).toMatchObject({ admit: false, reason: 'UnexpectedAdmissionError' });
});
