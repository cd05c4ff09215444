import { randomUUID } from 'node:crypto';
import { closeSync, openSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { lineOf, openKernelLog } from '../../src/node/kernel-log.ts';
import { runtimeUpkeep, type UpkeepDeps } from '../../src/agent/garbage-collection.ts';
import { FakeClock } from '../../src/base/fake-clock.ts';
import { silentLogger } from '../../src/base/logger.ts';

test.for([
  ['6,1024,5140900,-;NET: on\n SUBSYSTEM=net\n', 'NET: on'],
  ['3,7,9000000,c,caller=T1;out; of it\n', 'out; of it'],
  ['nonsense', ''],
] as const)('of the record %j counts %j', ([record, line]) => {
  expect(lineOf(record)).toBe(line);
});

/** Why the kernel cannot be made to say something here. */
function cannotSay(): string | undefined {
  try {
    writeFileSync('/dev/kmsg', '<7>podtender: a test looks for its own words\n');
    closeSync(openSync('/dev/kmsg', 'r'));
    return undefined;
  } catch (reason) {
    return (reason as Error).message;
  }
}

const why = cannotSay();
test.skipIf(why !== undefined)(
  `the kernel's own log tells what was said since (${why ?? 'for real'})`,
  async () => {
    const word = randomUUID();
    const log = await openKernelLog();
    writeFileSync('/dev/kmsg', `<7>podtender test ${word}\n`);
    const later = await openKernelLog();
    const isMine = (line: string): boolean => line === `podtender test ${word}`;
    expect((await log.read()).filter(isMine)).toHaveLength(1);
    expect((await log.read()).filter(isMine)).toHaveLength(0);
    expect((await later.read()).filter(isMine)).toHaveLength(0);
    log.close();
    later.close();
  },
);

test('an OOM kill of the machine is an event of the Node, one of a pod is not', async () => {
  const clock = new FakeClock();
  const told: unknown[] = [];
  const waiting = [
    ['x invoked oom-killer: order=0'],
    ['Out of memory: Killed process 42 (stress) total-vm:1kB', 'y invoked oom-killer: order=0'],
    ['Task in /pod killed as a result of limit of /pod', 'Killed process 7 (tail)'],
  ];
  let closed = false;
  const nodeRef = { kind: 'Node', metadata: { name: 'n' } };
  const deps = {
    ...{ clock, logger: silentLogger, nodeRef },
    recorder: { event: (...event: readonly unknown[]) => void told.push(event) },
  } as unknown as UpkeepDeps;
  const stop = new AbortController();
  const never = { maxBytes: 1, maxFiles: 1, periodMs: 1e9 };
  const read = async (): Promise<readonly string[]> => waiting.shift() ?? [];
  const close = (): void => {
    closed = true;
  };
  const running = runtimeUpkeep(deps, { logs: never, openKernelLog: async () => ({ read, close }) }).run(
    stop.signal,
  );
  await clock.advance(50_000);
  expect(told).toEqual([
    [nodeRef, 'Warning', 'SystemOOM', 'System OOM encountered, victim process: stress, pid: 42'],
  ]);
  stop.abort();
  await clock.advance(0);
  await running;
  expect(closed).toBe(true);
});
