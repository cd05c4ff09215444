import { PassThrough, Readable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { LogOptions } from '../../../src/provider/logs.ts';
import type { ContainerRef } from '../../../src/provider/refs.ts';
import { eciNodeBed, type EciNodeBed } from '../../support/eci-node.ts';

let bed: EciNodeBed;
beforeEach(async () => {
  bed = await eciNodeBed();
});
afterEach(() => bed.stop());

const never = new AbortController().signal;

const container = async (image: string, restartPolicy = 'Always'): Promise<ContainerRef> => {
  const podUid = bed.node.create('web', {
    restartPolicy,
    containers: [{ name: 'main', image, env: [{ name: 'GREETING', value: 'hello' }] }],
  });
  await bed.advance(12);
  const id = bed.node.pod('web')?.status?.containerStatuses?.[0]?.containerID ?? '';
  return { podUid, namespace: 'default', pod: 'web', container: 'main', id };
};

const logOf = async (ref: ContainerRef, options: LogOptions): Promise<string[]> => {
  const parts: Buffer[] = [];
  await bed.provider().readLogs(ref, options, (bytes) => void parts.push(bytes), never);
  return Buffer.concat(parts).toString().split('\n').slice(0, -1);
};

describe('E16: logs', () => {
  test('whole, by tail, since, with time stamps and limits', async () => {
    const ref = await container('web');
    const whole = await logOf(ref, {});
    expect(whole[0]).toBe('web started');
    expect(whole.length).toBeGreaterThan(5);
    expect(await logOf(ref, { tailLines: 2 })).toEqual(whole.slice(-2));
    expect(await logOf(ref, { tailLines: 0 })).toEqual([]);
    expect((await logOf(ref, { sinceSeconds: 3 })).length).toBeLessThan(whole.length);
    expect((await logOf(ref, { timestamps: true, tailLines: 1 }))[0]).toMatch(
      /^2026-03-04T05:06:\d\d\.\d+Z line \d+$/,
    );
    const parts: Buffer[] = [];
    await bed.provider().readLogs(ref, { limitBytes: 5 }, (bytes) => void parts.push(bytes), never);
    expect(Buffer.concat(parts).toString()).toBe('web s');
  });

  test('of the life before', async () => {
    const ref = await container('crashloop');
    await bed.advance(30);
    expect((await logOf(ref, { previous: true }))[0]).toBe('crashloop started');
  });

  test('followed: each line once and in order, until the container has ended', async () => {
    const ref = await container('sleep:60', 'Never');
    const lines: string[] = [];
    let text = '';
    const done = bed
      .provider()
      .readLogs(ref, { follow: true, tailLines: 1 }, (bytes) => void (text += bytes.toString()), never);
    await bed.advance(90);
    await done;
    lines.push(...text.split('\n').slice(0, -1));
    const numbers = lines.map((line) => Number(line.replace('line ', '')));
    expect(numbers).toEqual(numbers.map((_, index) => (numbers[0] ?? 0) + index));
    expect(numbers.at(-1)).toBe(60);
  });

  test('an error is an error, not an empty log', async () => {
    const ref = await container('web');
    bed.eci.faults.push({ kind: 'refuse', action: 'DescribeContainerLog', code: 'Forbidden.RAM' });
    await expect(logOf(ref, {})).rejects.toThrow(/Forbidden\.RAM/);
  });
});

describe('E17: exec', () => {
  const run = async (
    ref: ContainerRef,
    command: readonly string[],
    input = '',
  ): Promise<{ code: number; out: string; err: string }> => {
    const [stdout, stderr] = [new PassThrough(), new PassThrough()];
    const [out, err] = [stdout.toArray(), stderr.toArray()];
    const stdin = input === '' ? undefined : Readable.from([Buffer.from(input)]);
    const code = await bed
      .provider()
      .exec(ref, command, { tty: false, stdout, stderr, ...(stdin && { stdin }) }, never);
    stdout.end();
    stderr.end();
    return { code, out: Buffer.concat(await out).toString(), err: Buffer.concat(await err).toString() };
  };

  test("over a stream: output, errors, input, exit code, the container's variables", async () => {
    const ref = await container('web');
    expect(await run(ref, ['sh', '-c', 'echo $GREETING; echo bad >&2; exit 3'])).toEqual({
      code: 3,
      out: 'hello\n',
      err: 'bad\n',
    });
    expect(await run(ref, ['cat'], 'from the client')).toEqual({ code: 0, out: 'from the client', err: '' });
  });

  test('with a terminal and its sizes', async () => {
    const ref = await container('web');
    const stdout = new PassThrough();
    async function* sizes(): AsyncGenerator<{ width: number; height: number }> {
      yield { width: 120, height: 40 };
    }
    await bed.provider().exec(ref, ['sleep', '0.2'], { tty: true, stdout, resize: sizes() }, never);
    expect(bed.eci.terminalSizes).toEqual([{ width: 120, height: 40 }]);
  });

  test('short commands by the synchronous call, with their exit code', async () => {
    const ref = await container('web');
    const result = await bed.provider().execSync(ref, ['sh', '-c', 'echo "a  b"; exit 4'], 5000);
    expect({ ...result, stdout: result.stdout.toString() }).toMatchObject({ exitCode: 4, stdout: 'a  b\n' });
    expect(bed.eci.calls.at(-1)?.parameters).toMatchObject({ Sync: 'true' });
  });

  test('in a pod without a group: not found', async () => {
    const ref = { podUid: 'u-0', namespace: 'default', pod: 'x', container: 'main', id: '' };
    await expect(bed.provider().execSync(ref, ['true'], 1000)).rejects.toMatchObject({ code: 'not_found' });
  });
});

test('port forwarding and attach are refused by name', async () => {
  await expect(bed.provider().portForward()).rejects.toThrow('port forwarding is not supported by ECI');
  await expect(bed.provider().attach()).rejects.toThrow('attach is not supported by ECI');
});

test('usage of running containers, asked for once in 15 s', async () => {
  const ref = await container('web');
  const [usage] = await bed.provider().listUsage();
  expect(usage).toMatchObject({
    uid: ref.podUid,
    containers: [{ name: 'main', workingSetBytes: 20 * 1024 * 1024, id: ref.id }],
  });
  await bed.provider().listUsage();
  expect(bed.eci.calls.filter(({ action }) => action === 'DescribeMultiContainerGroupMetric')).toHaveLength(
    1,
  );
});
