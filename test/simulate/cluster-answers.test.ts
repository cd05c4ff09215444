import { once } from 'node:events';
import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Duplex, PassThrough } from 'node:stream';
import { afterAll, expect, test, vi } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import type { LogOptions } from '../../src/provider/logs.ts';
import { emptyPodStatus } from '../../src/provider/runtime-pod.ts';
import { type Logger, silentLogger } from '../../src/base/logger.ts';
import { ClusterAnswers } from '../../src/simulate/cluster-answers.ts';
import { ClusterUsage } from '../../src/simulate/cluster-usage.ts';
import { findTerminalTools } from '../../src/processes/host-programs.ts';
import { objectsOf } from '../../src/simulate/stages/objects.ts';
import { TerminalClient } from '../support/terminal-client.ts';

const dir = mkdtempSync(join(tmpdir(), 'answers-'));
afterAll(() => {
  rmSync(dir, { recursive: true, force: true });
});

const log = join(dir, 'app.log');
writeFileSync(log, '2026-01-01T00:00:00Z stdout F one\nplain two\n');
const port = Promise.withResolvers<number>();
const echo = createServer((socket) => socket.pipe(socket));
echo.listen(0, '127.0.0.1', () => {
  port.resolve((echo.address() as { port: number }).port);
});
afterAll(() => {
  echo.close();
});

const object = (kind: string, name: string, spec: string): string =>
  `apiVersion: kwok.x-k8s.io/v1alpha1\nkind: ${kind}\nmetadata: {name: ${name}, namespace: shop}\nspec: ${spec}\n`;

const objects = objectsOf(
  [
    object('Logs', 'web', `{logs: [{containers: [app], logsFile: ${log}}]}`),
    object('ClusterLogs', 'all', `{selector: {matchNamespaces: [other]}, logs: [{logsFile: ${log}.none}]}`),
    object('Exec', 'web', '{execs: [{local: {workDir: /, envs: [{name: COLOUR, value: red}]}}]}'),
    object('Exec', 'nobody', '{execs: [{local: {securityContext: {runAsUser: 65534, runAsGroup: 65533}}}]}'),
    object('ResourceUsage', 'faulty', '{usages: [{usage: {cpu: {expression: pod.spec.none}}}]}'),
    object(
      'ResourceUsage',
      'share',
      '{usages: [{usage: {cpu: {expression: \'node.status.allocatable["cpu"] / 4\'}, gpu: {value: 1}}}]}',
    ),
    object(
      'PortForward',
      'web',
      `{forwards: [{ports: [80], target: {address: 127.0.0.1, port: ${await port.promise}}}]}`,
    ),
    object(
      'PortForward',
      'web',
      '{forwards: [{ports: [90], command: [sh, -c, "tr a-z A-Z; echo fault >&2"]}]}',
    ),
    object('PortForward', 'closed', '{forwards: [{target: {port: 1}}]}'),
    object(
      'ClusterAttach',
      'all',
      `{selector: {matchNamespaces: [bar], matchNames: [web]}, attaches: [{logsFile: ${log}}]}`,
    ),
    object(
      'ClusterExec',
      'all',
      '{selector: {matchNamespaces: [bar]}, execs: [{local: {envs: [{name: COLOUR, value: blue}]}}]}',
    ),
    object(
      'ClusterResourceUsage',
      'all',
      '{usages: [{containers: [app], usage: {cpu: {value: 250m}, memory: {expression: \'Quantity("64Mi")\'}}}, {usage: {cpu: {expression: \'Quantity(pod.metadata.annotations["cpu"])\'}}}]}',
    ),
  ].join('---\n'),
  'test',
);
const warnings: string[] = [];
const logger = {
  ...silentLogger,
  warn: (_text: string, fields: object) => void warnings.push(JSON.stringify(fields)),
};
const nodes = {
  node: (name: string) => ({ metadata: { name }, status: { allocatable: { cpu: '8' } } }),
  podsOf: () => [web],
};
let now = 0;
const usage = new ClusterUsage({
  ...{ now: () => now, random: () => 0, objects: () => objects, nodes, logger: logger as Logger },
});
const web = {
  metadata: { name: 'web', namespace: 'shop', uid: 'u', annotations: { cpu: '2' } },
  spec: { nodeName: 'n', containers: [{ name: 'app' }, { name: 'side' }] },
};
const answers = new ClusterAnswers(systemClock, () => objects, usage);
const target = { namespace: 'shop', pod: 'web', container: 'app', podUid: 'u', id: 'i' };
const { signal } = new AbortController();
/** Waits until a check passes, however slow the machine. */
const eventually = (check: () => void): Promise<void> => vi.waitFor(check, { timeout: 20_000 });

async function logOf(container: typeof target, options: LogOptions = {}): Promise<string | boolean> {
  let text = '';
  const answered = await answers.readLogs(
    container,
    options,
    (bytes) => void (text += String(bytes)),
    signal,
  );
  return answered && text;
}

test('Logs: the file of the pod, for the containers that it names', async () => {
  expect(await logOf(target)).toBe('one\nplain two\n');
  expect(await logOf(target, { tailLines: 1 })).toBe('plain two\n');
  expect(await logOf({ ...target, container: 'side' })).toBe(false);
  expect(await logOf({ ...target, namespace: 'default' })).toBe(false);
  await expect(logOf({ ...target, namespace: 'other' })).rejects.toThrow('the log cannot be read');
  await expect(logOf(target, { previous: true })).rejects.toThrow('names no file for this log');
});

test('Logs: a file that is followed shows what is added', async () => {
  const stop = new AbortController();
  let text = '';
  const following = answers.readLogs(
    target,
    { follow: true },
    (bytes) => void (text += String(bytes)),
    stop.signal,
  );
  await eventually(() => {
    expect(text).toBe('one\nplain two\n');
  });
  appendFileSync(log, 'three\n');
  await eventually(() => {
    expect(text).toBe('one\nplain two\nthree\n');
  });
  stop.abort();
  expect(await following).toBe(true);
});

test('Exec: a program of this machine, with its streams and exit code', async () => {
  const [stdin, stdout] = [new PassThrough(), new PassThrough()];
  stdin.end('in');
  const script = 'echo "$COLOUR $(pwd) $(cat)"; exit 3';
  const io = { stdin, stdout, tty: false };
  expect(await answers.exec(target, ['sh', '-c', script], io, signal)).toBe(3);
  expect(String(stdout.read())).toBe('red / in\n');
  expect(await answers.exec({ ...target, pod: 'db' }, ['true'], io, signal)).toBeUndefined();
});

test.skipIf(findTerminalTools() === undefined)(
  'Exec: a terminal of its own, with the sizes of the client',
  async () => {
    const terminal = new TerminalClient(101, 31);
    const script = 'tty; stty size; trap "stty size" WINCH; echo up; read -r word; echo "got $word"; exit 7';
    const ran = answers.exec(target, ['sh', '-c', script], terminal.io, signal);
    await terminal.sees('up\r\n');
    expect(terminal.seen).toMatch(/^\/dev\/pts\/\d+\r\n31 101\r\n/);
    terminal.stdin.write('hello\r');
    await terminal.sees('got hello\r\n');
    expect(await ran).toBe(7);
  },
);

test('Exec: when the client is gone, the program and its children are killed', async () => {
  const gone = new AbortController();
  const stdout = new PassThrough();
  const script = 'sleep 1000 & echo $!; wait';
  const ran = answers.exec(target, ['sh', '-c', script], { stdout, tty: false }, gone.signal);
  const [line] = (await once(stdout, 'data')) as [Buffer];
  gone.abort();
  await ran;
  const stat = `/proc/${Number(String(line))}/stat`;
  await eventually(() => {
    // one that nothing has waited for yet is a zombie
    expect(existsSync(stat) ? /\) (\w)/.exec(readFileSync(stat, 'utf8'))?.[1] : 'Z').toBe('Z');
  });
});

test('PortForward: a connection to the target of the port', async () => {
  const pod = emptyPodStatus({ uid: 'u', name: 'web', namespace: 'shop' });
  const [toPod, fromPod] = [new PassThrough(), new PassThrough()];
  const stream = Duplex.from({ readable: toPod, writable: fromPod });
  const joined = answers.portForward(pod, 80, stream, signal);
  toPod.end('hello');
  expect(await joined).toBe(true);
  expect(String(fromPod.read())).toBe('hello');
  expect(await answers.portForward(pod, 81, stream, signal)).toBe(false);
});

test('PortForward: a port that nothing listens on is named', async () => {
  const pod = emptyPodStatus({ uid: 'u', name: 'closed', namespace: 'shop' });
  const stream = Duplex.from({ readable: new PassThrough(), writable: new PassThrough() });
  await expect(answers.portForward(pod, 80, stream, signal)).rejects.toThrow('port 1 of 127.0.0.1: connect');
});

test('PortForward: a program of this machine answers, without its errors', async () => {
  const pod = emptyPodStatus({ uid: 'u', name: 'web', namespace: 'shop' });
  const [toPod, fromPod] = [new PassThrough(), new PassThrough()];
  const stream = Duplex.from({ readable: toPod, writable: fromPod });
  const joined = answers.portForward(pod, 90, stream, signal);
  toPod.end('hello');
  expect(await joined).toBe(true);
  await eventually(() => {
    expect(fromPod.writableFinished).toBe(true);
  });
  expect(String(fromPod.read())).toBe('HELLO');
});

test('Attach: what is added to the log file, by stream, until the container ends', async () => {
  const ended = new AbortController();
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const place = { ...target, namespace: 'bar' };
  const attached = answers.attach(place, { stdout, stderr, tty: false }, { signal, ended: ended.signal });
  await eventually(() => {
    appendFileSync(log, '2026-01-01T00:00:01Z stdout F later\n2026-01-01T00:00:01Z stderr F fault\n');
    expect(stdout.readableLength).toBeGreaterThan(0);
  });
  ended.abort();
  expect(await attached).toBe(true);
  expect(String(stdout.read())).toMatch(/^(later\n)+$/);
  expect(String(stderr.read())).toMatch(/^(fault\n)+$/);
  const io = { stdout, tty: false };
  expect(await answers.attach(target, io, { signal })).toBe(false);
  expect(await answers.attach({ ...place, pod: 'db' }, io, { signal })).toBe(false);
});

test('ClusterExec: for all pods of a namespace, unless an object has the name of the pod', async () => {
  const outputOf = async (pod: string, namespace: string): Promise<string> => {
    const stdout = new PassThrough();
    const io = { stdout, tty: false };
    await answers.exec({ ...target, pod, namespace }, ['sh', '-c', 'echo $COLOUR'], io, signal);
    return String(stdout.read());
  };
  expect(await outputOf('db', 'bar')).toBe('blue\n');
  expect(await outputOf('web', 'shop')).toBe('red\n');
});

test('Logs: a file that is followed ends with the container, after what was written last', async () => {
  const ended = new AbortController();
  let text = '';
  const sink = (bytes: Uint8Array): undefined => void (text += String(bytes));
  const following = answers.readLogs(target, { follow: true, ended: ended.signal }, sink, signal);
  await eventually(() => {
    expect(text).toContain('plain two\n');
  });
  appendFileSync(log, 'the last\n');
  ended.abort();
  expect(await following).toBe(true);
  expect(text.endsWith('the last\n')).toBe(true);
});

test('ResourceUsage: amounts, and amounts of annotations', () => {
  expect(answers.usage(target, undefined)).toEqual({ cpuCores: 0.25, memoryBytes: 64 * 2 ** 20 });
  const pod = { metadata: { annotations: { cpu: '2' } } };
  expect(answers.usage({ ...target, container: 'side' }, pod)).toEqual({ cpuCores: 2 });
});

test('ResourceUsage: an entry that names the container comes before one that names none', () => {
  const all = {
    usages: [{ usage: { cpu: { value: '1' } } }, { containers: ['app'], usage: { cpu: { value: '2' } } }],
  };
  const of = new ClusterUsage({
    ...{ now: () => 0, random: () => 0 },
    objects: () => [{ kind: 'ClusterResourceUsage', spec: all } as object],
  });
  expect([of.usage(target, undefined), of.usage({ ...target, container: 'side' }, undefined)]).toEqual([
    { cpuCores: 2 },
    { cpuCores: 1 },
  ]);
});

test('ResourceUsage: expressions of the node; pods and nodes sum up, and amounts add up over time', () => {
  const share = { ...web, metadata: { ...web.metadata, name: 'share', uid: 's' } };
  expect(answers.usage({ ...target, pod: 'share' }, share)).toEqual({ cpuCores: 2 });
  expect(usage.inUse('gpu', { object: share })).toBe(2);
  expect(usage.inUse('cpu', { object: web, container: 'app' })).toBe(0.25);
  expect(usage.inUse('cpu', { object: { metadata: { name: 'n' } } })).toBe(2.25);
  expect(usage.cumulative('cpu', { object: web })).toBe(0);
  now = 4000;
  expect(usage.cumulative('cpu', { object: web })).toBe(9);
});

test('ResourceUsage: a faulty expression is reported once and counts as none', () => {
  const faulty = { ...target, pod: 'faulty' };
  expect([answers.usage(faulty, web), answers.usage(faulty, web)]).toEqual([{}, {}]);
  expect(warnings).toHaveLength(1);
  expect(warnings[0]).toContain('no such key: none');
});

test('Exec: a program runs as the user of the security context, or says that it may not', async () => {
  const stdout = new PassThrough();
  const ran = answers.exec({ ...target, pod: 'nobody' }, ['id', '-u'], { stdout, tty: false }, signal);
  if (process.getuid?.() === 0) {
    expect(await ran).toBe(0);
    expect(String(stdout.read())).toBe('65534\n');
  } else await expect(ran).rejects.toThrow('may not run programs as user 65534');
});
