import { createServer, connect } from 'node:net';
import { once } from 'node:events';
import { PassThrough, type Duplex } from 'node:stream';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { systemClock as clock } from '../../../src/base/clock.ts';
import { uidOf } from '../../../src/kube/names.ts';
import type { Pod } from '../../../src/kube/types.ts';
import type { LogOptions } from '../../../src/provider/logs.ts';
import type { ContainerRef } from '../../../src/provider/refs.ts';
import type { KubernetesProvider } from '../../../src/providers/kubernetes/index.ts';
import { AnsweringProvider } from '../../support/answering-provider.ts';
import { type TwoClusters, twoClusters } from '../../support/two-clusters.ts';

let bed: TwoClusters;
let provider: KubernetesProvider;
let pod: Pod;
let target: ContainerRef;
const signal = new AbortController().signal;

beforeAll(async () => {
  bed = await twoClusters({ backingProvider: new AnsweringProvider({ clock }) });
  provider = await bed.startAgent();
  await bed.create('talker');
  pod = await vi.waitFor(
    async () => {
      const found = await bed.pod('talker');
      expect(found.status?.containerStatuses?.[0]?.ready).toBe(true);
      return found;
    },
    { timeout: 20_000, interval: 50 },
  );
  const id = pod.status?.containerStatuses?.[0]?.containerID ?? '';
  target = { podUid: uidOf(pod), namespace: 'default', pod: 'talker', container: 'main', id };
}, 40_000);
afterAll(async () => {
  await bed.stop();
});

const collected = (stream: PassThrough): string => (stream.read() as Buffer | null)?.toString() ?? '';

test('a command gets its input, and its output and exit code come back', async () => {
  const io = { stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough(), tty: false };
  io.stdin.end('said ');
  expect(await provider.exec(target, ['fail', 'now'], io, signal)).toBe(3);
  expect(collected(io.stdout)).toBe('said fail now');
  expect(collected(io.stderr)).toBe('warned');
  const { exitCode, stdout, stderr } = await provider.execSync(target, ['echo', 'a b'], 10_000);
  expect([exitCode, stdout.toString(), stderr.toString()]).toEqual([0, 'echo a b', 'warned']);
});

test('attach', async () => {
  const stdout = new PassThrough();
  await provider.attach(target, { stdout, tty: false }, signal);
  expect(collected(stdout)).toBe('attached');
});

test('logs, with their options', async () => {
  const read = async (options: LogOptions): Promise<string> => {
    let text = '';
    await provider.readLogs(target, options, (bytes) => void (text += bytes.toString()), signal);
    return text;
  };
  expect(await read({})).toBe('first\nsecond\n');
  expect(await read({ tailLines: 1 })).toBe('second\n');
});

test('a forwarded port', async () => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { readonly port: number };
  const client = connect(port, '127.0.0.1');
  const [socket] = (await once(server, 'connection')) as [Duplex];
  const status = await provider.getPodStatus({ uid: uidOf(pod), name: 'talker', namespace: 'default' });
  const forwarded = provider.portForward(status, 8080, socket, signal);
  client.write('hello');
  let text = '';
  for await (const chunk of client) text += String(chunk);
  expect(text).toBe('8080: hello');
  await forwarded;
  server.close();
});

test('usage lists what runs; a command in a container that does not run is refused', async () => {
  expect(await provider.listUsage()).toMatchObject([{ uid: uidOf(pod), containers: [{ name: 'main' }] }]);
  await expect(provider.execSync({ ...target, container: 'other' }, ['x'], 1000)).rejects.toMatchObject({
    code: 'not_found',
  });
});
