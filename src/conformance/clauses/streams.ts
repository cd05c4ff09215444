import { PassThrough, Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { messageOf } from '../../base/errors.ts';
import type { Pod } from '../../kube/types.ts';
import type { LogOptions } from '../../provider/logs.ts';
import type { ContainerRef } from '../../provider/refs.ts';
import { type Clause, expect, needing, type Trial } from '../subject.ts';

const area = 'streams';
const execLack: NonNullable<Clause['needs']> = ({ provider, lacks = [] }) =>
  lacks.includes('exec') || !provider.execSync ? 'execSync' : undefined;

/** What an exec probe gets of a command in `main`. */
const run = (t: Trial, container: ContainerRef, command: readonly string[], timeoutMs = 10_000) =>
  t.during(
    (async () => {
      const answer = await t.provider.execSync?.(container, command, timeoutMs);
      return {
        exitCode: answer?.exitCode,
        stdout: answer?.stdout.toString() ?? '',
        stderr: answer?.stderr.toString() ?? '',
      };
    })(),
  );

/** What a container prints at its start. */
const printing = 'echo one; echo two; echo three;';
const lines = 'one\ntwo\nthree\n';

/** A pod whose `main` prints and goes on running, once its log has all lines. */
async function printed(t: Trial, more = 'exec sleep 600'): Promise<Pod> {
  const pod = await t.started(t.commanding(t.pod(), `${printing} ${more}`));
  await t.until(
    async () => (await logOf(t, pod)).endsWith('three\n'),
    async () => `the log is ${JSON.stringify(await logOf(t, pod))}`,
  );
  return pod;
}

async function logOf(
  t: Trial,
  pod: Pod,
  options: LogOptions = {},
  container?: ContainerRef,
): Promise<string> {
  const parts: Buffer[] = [];
  const sink = (bytes: Buffer): void => void parts.push(bytes);
  const signal = new AbortController().signal;
  const ref = container ?? (await t.ref(pod));
  await t.during(t.provider.readLogs?.(ref, options, sink, signal) ?? Promise.resolve());
  return Buffer.concat(parts).toString();
}

const expectLog = (seen: string, expected: string): void => {
  expect(
    seen === expected,
    () => `the log is ${JSON.stringify(seen)} instead of ${JSON.stringify(expected)}`,
  );
};

const execs: readonly Clause[] = [
  {
    name: 'exec-runs-where-it-says',
    area,
    rule: 'R239',
    law: 'A command is refused in a container that does not run.',
    needs: execLack,
    async check(t) {
      const pod = await t.started(t.behaving(t.pod(), {}));
      const container = await t.ref(pod);
      const { exitCode } = await run(t, container, ['true']);
      expect(exitCode === 0, () => `true ended with exit code ${exitCode ?? 'none'}`);
      await t.kill(pod);
      const refused = await run(t, container, ['true']).then(
        () => false,
        () => true,
      );
      expect(refused, () => 'a command was answered in a container that has ended');
    },
  },
  {
    name: 'exec-exit-codes-are-real',
    area,
    rule: 'R237',
    law: 'A command is answered with its own exit code, also when that is not 0.',
    needs: needing(['commands'], ['execSync']),
    async check(t) {
      const container = await t.ref(await t.started(t.behaving(t.pod(), {})));
      for (const expected of [0, 7]) {
        const { exitCode } = await run(t, container, ['/bin/sh', '-c', `exit ${expected}`]);
        expect(exitCode === expected, () => `exit ${expected} is answered with ${exitCode ?? 'none'}`);
      }
    },
  },
  {
    name: 'exec-output-is-whole',
    area,
    rule: 'R237',
    law: 'A command is answered with all that it wrote to its standard output and its standard error, each on its own.',
    needs: needing(['commands'], ['execSync']),
    async check(t) {
      const container = await t.ref(await t.started(t.behaving(t.pod(), {})));
      const { stdout, stderr } = await run(t, container, ['/bin/sh', '-c', 'echo out; echo err >&2']);
      expect(
        stdout === 'out\n' && stderr === 'err\n',
        () => `stdout is ${JSON.stringify(stdout)}, stderr is ${JSON.stringify(stderr)}`,
      );
    },
  },
  {
    name: 'exec-has-a-deadline',
    area,
    rule: 'R237',
    law: 'A command that takes longer than its timeout is answered with an error soon after that.',
    needs: needing(['commands'], ['execSync']),
    async check(t) {
      const container = await t.ref(await t.started(t.behaving(t.pod(), {})));
      const from = t.now();
      const failed = await run(t, container, ['/bin/sleep', '60'], 1000).then(
        () => false,
        () => true,
      );
      const took = t.now() - from;
      expect(
        failed && took < (t.isFakeTime ? 4500 : 30_000),
        () => `it ${failed ? 'failed' : 'succeeded'} after ${took} ms`,
      );
    },
  },
  {
    name: 'exec-streams-both-ways',
    area,
    rule: 'R247',
    law: 'A command with streams reads the standard input, its output arrives, and it resolves with the exit code of the command.',
    needs: needing(['commands'], ['exec']),
    async check(t) {
      const container = await t.ref(await t.started(t.behaving(t.pod(), {})));
      const stdout = new PassThrough();
      const output = text(stdout);
      const io = { stdin: Readable.from([Buffer.from('to and fro\n')]), stdout, tty: false };
      const command = ['/bin/sh', '-c', 'cat; exit 5'];
      const exec = t.provider.exec?.(container, command, io, new AbortController().signal);
      const exitCode = await t.during(exec ?? Promise.resolve(0));
      stdout.end();
      const seen = await output;
      expect(seen === 'to and fro\n', () => `cat printed ${JSON.stringify(seen)}`);
      expect(exitCode === 5, () => `exit 5 resolved with ${exitCode}`);
    },
  },
];

const logs: readonly Clause[] = [
  {
    name: 'logs-are-whole',
    area,
    rule: 'R161',
    law: 'The log of a container has all lines that it printed, in order.',
    needs: needing(['commands'], ['readLogs']),
    check: async (t) => {
      expectLog(await logOf(t, await printed(t)), lines);
    },
  },
  {
    name: 'logs-have-a-tail',
    area,
    rule: 'R161',
    law: 'With tailLines, the log is its last lines.',
    needs: needing(['commands'], ['readLogs']),
    check: async (t) => {
      expectLog(await logOf(t, await printed(t), { tailLines: 2 }), 'two\nthree\n');
    },
  },
  {
    name: 'logs-have-timestamps',
    area,
    rule: 'R161',
    law: 'With timestamps, each line of the log begins with the time at which it was printed, and a space.',
    needs: needing(['commands'], ['readLogs']),
    async check(t) {
      const seen = await logOf(t, await printed(t), { timestamps: true });
      const all = seen.trimEnd().split('\n');
      const stamp = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\S*) \w+$/;
      const times = all.map((line) => Date.parse(stamp.exec(line)?.[1] ?? ''));
      const near = times.every((time) => Math.abs(time - t.now()) < 60_000);
      expect(all.length === 3 && near, () => `the log is ${JSON.stringify(seen)}`);
    },
  },
  {
    name: 'logs-since',
    area,
    rule: 'R161',
    law: 'With sinceTime, the log has no line that was printed before.',
    needs: needing(['commands'], ['readLogs']),
    async check(t) {
      const pod = await printed(t);
      expectLog(await logOf(t, pod, { sinceTime: t.now() + 60_000 }), '');
      expectLog(await logOf(t, pod, { sinceTime: t.now() - 600_000 }), lines);
    },
  },
  {
    name: 'followed-logs-end',
    area,
    rule: 'R161',
    law: 'A log that is followed goes on while the container runs, and ends when the container has ended.',
    needs: needing(['commands'], ['readLogs']),
    async check(t) {
      const spec = { restartPolicy: 'Never' };
      await t.patiently([3000, 15_000, 40_000], async (ms) => {
        const script = `echo begin; sleep ${ms / 1000}; echo end`;
        const pod = await t.begun(t.commanding(t.pod(spec, `followed-${ms}`), script));
        const { state, startedAt = t.now() } = (await t.newest(pod)) ?? {};
        // what follows must happen while it runs
        if (state !== 'running' || t.now() - startedAt > ms / 3) return false;
        expectLog(await logOf(t, pod, { follow: true }), 'begin\nend\n');
        await t.reach(pod, 'exited');
        return true;
      });
    },
  },
  {
    name: 'logs-outlive-the-container',
    area,
    rule: 'R161',
    law: 'The log of a container that has ended can be read.',
    needs: needing(['commands'], ['readLogs']),
    async check(t) {
      const pod = t.commanding(t.pod({ restartPolicy: 'Never' }), `${printing} exit 0`);
      await t.sync(pod);
      await t.reach(pod, 'exited');
      expectLog(await logOf(t, pod), lines);
    },
  },
  {
    name: 'logs-are-of-one-instance',
    area,
    rule: 'R223',
    law: 'Each instance of a container has a log of its own, by its ID.',
    needs: needing(['commands'], ['readLogs']),
    async check(t) {
      const pod = await t.begun(t.commanding(t.pod(), 'cat /proc/uptime; sleep 3; exit 1'));
      const first = await t.ref(pod);
      const hasLine = async (): Promise<boolean> => (await logOf(t, pod)).endsWith('\n');
      const noLine = (): Promise<string> => Promise.resolve('the log has no line');
      await t.until(hasLine, noLine);
      const before = await logOf(t, pod, {}, first);
      await t.until(
        async () => {
          await t.sync(pod);
          return (await t.newest(pod))?.restartCount === 1;
        },
        async () => `no second instance; restart count ${(await t.newest(pod))?.restartCount ?? 'none'}`,
        2 * t.soonMs,
      );
      await t.until(hasLine, noLine);
      expectLog(await logOf(t, pod, {}, first), before);
      const second = await logOf(t, pod);
      expect(
        second.split('\n').length === 2 && second !== before,
        () => `the log of the second is ${JSON.stringify(second)}`,
      );
    },
  },
  {
    name: 'previous-logs',
    area,
    rule: 'R223',
    law: 'After a restart the last state at the API server names the instance before, whose log can be read, as `kubectl logs --previous` does.',
    needs: needing(['commands'], ['readLogs']),
    async check(t) {
      const node = await t.node();
      const pod = node.create(t.commanding(t.pod(), 'cat /proc/uptime; sleep 3; exit 1'));
      const main = () => node.pod(pod)?.status?.containerStatuses?.[0];
      await node.until(
        () => main()?.lastState?.terminated !== undefined,
        () => `main was restarted ${main()?.restartCount ?? 0} times, and has no last state`,
      );
      const idOf = (): string => main()?.lastState?.terminated?.containerID ?? '';
      // it may be restarted once more meanwhile, and then another is the one before
      for (let id = ''; id !== idOf();) {
        id = idOf();
        const seen = await logOf(t, pod, {}, { ...(await t.ref(pod)), id }).catch(messageOf);
        const isIt = /^\d[^\n]*\n$/.test(seen);
        expect(isIt || id !== idOf(), () => `the log of ${id} is ${JSON.stringify(seen)}`);
      }
    },
  },
];

export const streams: readonly Clause[] = [...execs, ...logs];
