import { duplexPair, PassThrough } from 'node:stream';
import { setTimeout as wait } from 'node:timers/promises';
import { text } from 'node:stream/consumers';
import type { Pod } from '../../kube/types.ts';
import { type Clause, expect, needing, type Trial } from '../subject.ts';
import { freePort, serverPod, serving } from './servers.ts';

const area = 'streams';

/** What an HTTP request through a forward is answered with in 10 s. */
async function forwarded(t: Trial, pod: Pod, port: number): Promise<string> {
  const [client, stream] = duplexPair();
  const end = new AbortController();
  const forward = t.provider.portForward?.(await t.status(pod), port, stream, end.signal);
  let seen = '';
  client.on('data', (part: Buffer) => {
    seen += part.toString();
  });
  client.on('error', () => undefined);
  stream.on('error', () => undefined);
  client.write('GET /healthy HTTP/1.0\r\n\r\n');
  const ended = forward?.catch(() => undefined).then(() => true);
  for (let waited = 0; waited < 10_000 && !seen.includes('\r\n\r\n'); waited += 200)
    if ((await Promise.race([ended, t.pass(200)])) === true) break;
  end.abort();
  client.destroy();
  stream.destroy();
  return seen;
}

/** The sizes of a terminal that changes once. */
async function* sizes() {
  yield { width: 80, height: 24 };
  await wait(300);
  yield { width: 101, height: 37 };
}

/** Runs a script in `main`, with a terminal. @returns its exit code */
async function inTerminal(t: Trial, script: string): Promise<number> {
  const container = await t.ref(await t.started(t.behaving(t.pod(), {})));
  const stdout = new PassThrough();
  stdout.resume();
  const stdin = new PassThrough();
  const io = { stdin, stdout, tty: true, resize: sizes() };
  const command = ['/bin/sh', '-c', script];
  const exec = t.provider.exec?.(container, command, io, new AbortController().signal);
  return t.during(exec ?? Promise.resolve(0)).finally(() => stdin.destroy());
}

export const connections: readonly Clause[] = [
  {
    name: 'attach-shows-output',
    area,
    rule: 'R247',
    law: 'An attached client gets what the container prints from then on, and is let go when the container ends.',
    needs: needing(['commands'], ['attach']),
    async check(t) {
      await t.patiently([3000, 15_000, 40_000], async (ms) => {
        const script = `i=0; while [ $i -lt ${ms / 200} ]; do sleep 0.2; echo tick; i=$((i+1)); done`;
        const spec = { restartPolicy: 'Never' };
        const pod = await t.begun(t.commanding(t.pod(spec, `attached-${ms}`), script));
        if ((await t.newest(pod))?.state !== 'running') return false;
        const stdout = new PassThrough();
        const output = text(stdout);
        const io = { stdout, tty: false };
        await t.during(
          t.provider.attach?.(await t.ref(pod), io, new AbortController().signal) ?? Promise.resolve(),
        );
        stdout.end();
        const seen = await output;
        if (seen === '') return false;
        expect(/^(tick\n)+$/.test(seen), () => `the client got ${JSON.stringify(seen)}`);
        return true;
      });
    },
  },
  {
    name: 'forwards-to-nowhere-end',
    area,
    rule: 'R247',
    law: 'A forward to a port on which nothing listens ends soon.',
    needs: needing(['commands'], ['portForward']),
    async check(t) {
      const pod = await t.started(t.behaving(t.pod(), {}));
      const status = await t.status(pod);
      const stream = new PassThrough();
      const forward = t.provider.portForward?.(status, 1, stream, new AbortController().signal);
      await t.during(
        (forward ?? Promise.resolve()).catch(() => undefined),
        t.soonMs,
      );
      stream.destroy();
    },
  },
  {
    name: 'forwards-reach-the-pod',
    area,
    rule: 'R247',
    law: 'A forward to a port on which a container listens carries bytes both ways.',
    needs: (world) => needing([], ['portForward'])(world) ?? serving('http')(world),
    async check(t) {
      const port = await freePort();
      const pod = await t.started(serverPod(t, 'http', port));
      let seen = '';
      await t.until(
        async () => {
          seen = await forwarded(t, pod, port);
          return seen.startsWith('HTTP/1.');
        },
        () =>
          Promise.resolve(`an HTTP request through the forward was answered with ${JSON.stringify(seen)}`),
      );
    },
  },
  {
    name: 'exec-has-a-terminal',
    area,
    rule: 'R247',
    law: 'A command with a terminal has one as its standard streams, and resolves with the exit code of the command.',
    needs: needing(['commands', 'terminals'], ['exec']),
    async check(t) {
      const exitCode = await inTerminal(t, '[ -t 0 ] && [ -t 1 ] && [ -t 2 ] && exit 3; exit 4');
      expect(
        exitCode === 3,
        () => `the command ended with ${exitCode} instead of 3, with which it ends on a terminal`,
      );
    },
  },
  {
    name: 'terminals-are-resized',
    area,
    rule: 'R247',
    law: "A terminal has the size of the client's, and follows it.",
    needs: needing(['commands', 'terminals'], ['exec']),
    async check(t) {
      const wait =
        'i=0; while [ $i -lt 300 ]; do [ "$(stty size)" = "37 101" ] && exit 3; sleep 0.1; i=$((i+1)); done';
      const exitCode = await inTerminal(t, `${wait}; stty size; exit 4`);
      expect(
        exitCode === 3,
        () => `the command ended with ${exitCode}: its terminal did not become 101 by 37`,
      );
    },
  },
];
