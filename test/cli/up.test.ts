import { expect, test } from 'vitest';
import { FakeClock, settle } from '../../src/base/fake-clock.ts';
import type { PodChange, Running, UpOptions } from '../../src/app/running.ts';
import { up } from '../../src/cli/up.ts';

const options: UpOptions = {
  dataDir: '/d',
  port: 0,
  provider: 'memory',
  nodeName: 'n',
  logLevel: 'error',
  output: 'plain',
  leaveRunning: false,
  kubeletFlags: [],
};

/** A run of `up` on an agent that does what the test says, with everything it wrote. */
function scene(
  { hangs = false, ...more }: Partial<UpOptions> & { readonly hangs?: boolean } = {},
  isTTY = false,
) {
  const clock = new FakeClock(Date.parse('2026-11-21T08:00:00Z'));
  const failed = Promise.withResolvers<Error>();
  const stopped = Promise.withResolvers<undefined>();
  const calls: string[] = [];
  let written = '';
  let signal = (): void => undefined;
  let tell: (change: PodChange) => void = () => undefined;
  let progress: (pods: readonly string[]) => void = () => undefined;
  const running: Running = {
    kubeconfigPath: '/d/kubeconfig',
    serverUrl: 'https://127.0.0.1:1',
    nodeName: 'n',
    watchPods: (listener) => {
      tell = listener;
      return () => calls.push('unwatched');
    },
    watchEvents: () => () => undefined,
    watchProblems: () => () => undefined,
    stopPods: async (onProgress, force) => {
      calls.push('stopPods');
      progress = onProgress;
      force.addEventListener('abort', () => {
        calls.push('forced');
        if (!hangs) stopped.resolve(undefined);
      });
      await stopped.promise;
    },
    close: async () => void calls.push('close'),
    failed: failed.promise,
  };
  const stdout = {
    isTTY,
    columns: 80,
    rows: 24,
    write: (text: string) => (written += text),
    on: () => undefined,
    off: () => undefined,
  };
  const code = up(
    { ...options, ...more },
    {
      start: async () => running,
      stdout,
      colour: true,
      clock,
      onSignal: (listener) => {
        signal = listener;
        return () => undefined;
      },
    },
  );
  return {
    code,
    calls,
    clock,
    failed,
    stopped,
    signal: () => {
      signal();
    },
    tell: (change: PodChange) => {
      tell(change);
    },
    progress: (pods: readonly string[]) => {
      progress(pods);
    },
    written: () => written,
  };
}

const pod: PodChange = {
  type: 'set',
  pod: {
    metadata: { name: 'p', namespace: 'default' },
    spec: { containers: [] },
    status: { phase: 'Running' },
  },
};

test('a signal stops the pods, shows how far that is, and ends with 0', async () => {
  const up = scene();
  await settle();
  up.tell(pod);
  up.signal();
  await settle();
  up.progress(['default/p']);
  up.stopped.resolve(undefined);
  expect(await up.code).toBe(0);
  expect(up.calls).toEqual(['stopPods', 'close', 'unwatched']);
  expect(up.written()).toContain('kubeconfig: /d/kubeconfig\n');
  expect(up.written()).toContain('08:00:00 default/p: Running, ready 0/0, restarts 0\n');
  expect(up.written()).toContain('Stopping: 1 pod still runs: default/p. Ctrl-C again kills at once.\n');
  expect(up.written()).toContain('Stopped. Nothing runs any more');
});

test('a second signal kills what is left and ends with 130', async () => {
  const up = scene();
  await settle();
  up.signal();
  await settle();
  up.signal();
  expect(await up.code).toBe(130);
  expect(up.calls).toEqual(['stopPods', 'forced', 'close', 'unwatched']);
});

test('--leave-running only ends the agent', async () => {
  const up = scene({ leaveRunning: true });
  await settle();
  up.signal();
  expect(await up.code).toBe(0);
  expect(up.calls).toEqual(['close', 'unwatched']);
  expect(up.written()).toContain('The pods run on');
});

test('an agent that fails says why in one line and ends with 1', async () => {
  const up = scene();
  up.failed.resolve(new Error('the disk is gone'));
  expect(await up.code).toBe(1);
  expect(up.written()).toContain('error: the disk is gone\n');
  expect(up.calls).toEqual(['close', 'unwatched']);
});

test('--output json begins with the kubeconfig and is JSON on every line', async () => {
  const up = scene({ output: 'json' });
  await settle();
  up.tell(pod);
  up.tell({ type: 'gone', key: 'default/p' });
  up.signal();
  await settle();
  up.stopped.resolve(undefined);
  await up.code;
  const lines = up
    .written()
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(lines[0]).toMatchObject({ type: 'started', kubeconfig: '/d/kubeconfig' });
  expect(lines.map(({ type }) => type)).toEqual(['started', 'pod', 'gone', 'stopped']);
});

test('a terminal gets the table, written anew in place, and no timer is left', async () => {
  const up = scene({ output: 'auto' }, true);
  await settle();
  up.tell(pod);
  await up.clock.advance(100);
  expect(up.written()).toContain('default/p  Running');
  expect(up.written()).toContain('\u001b[?1049h');
  const before = up.written().length;
  await up.clock.advance(1000);
  // nothing but ages could have changed, and there are none
  expect(up.written().length).toBe(before);
  up.signal();
  await settle();
  up.stopped.resolve(undefined);
  await up.code;
  expect(up.clock.pending).toBe(0);
  expect(up.written().split('\u001b[?1049l').at(-1)).toMatch(/^1 pod: .*\n.*Running.*\nStopped\./s);
});

test('a second signal ends it also when the provider never answers', async () => {
  const up = scene({ hangs: true });
  await settle();
  up.signal();
  await settle();
  up.signal();
  await up.clock.advance(9999);
  expect(up.calls).toEqual(['stopPods', 'forced']);
  await up.clock.advance(1);
  expect(await up.code).toBe(130);
  expect(up.written()).toContain('not everything was stopped within 10 s: the provider does not answer');
});
