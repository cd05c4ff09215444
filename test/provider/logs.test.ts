import { expect, test } from 'vitest';
import { type LogEntry, type LogOptions, writeLog } from '../../src/provider/logs.ts';

const lines: readonly LogEntry[] = [
  { at: 1000, text: 'one\n' },
  { at: 2000, text: 'two', stream: 'stderr' },
  { at: 3000, text: 'three' },
];

async function read(options: LogOptions, from: readonly LogEntry[] = lines): Promise<string> {
  const chunks: Buffer[] = [];
  const signal = new AbortController().signal;
  await writeLog(from, options, (bytes) => void chunks.push(bytes), { now: 4000, signal });
  return Buffer.concat(chunks).toString();
}

test.for<{ options: LogOptions; want: string }>([
  { options: {}, want: 'one\ntwo\nthree\n' },
  { options: { stream: 'Stderr' }, want: 'two\n' },
  { options: { stream: 'Stdout' }, want: 'one\nthree\n' },
  { options: { tailLines: 2 }, want: 'two\nthree\n' },
  { options: { tailLines: 0 }, want: '' },
  { options: { tailLines: -1 }, want: 'one\ntwo\nthree\n' },
  { options: { sinceTime: 2000 }, want: 'two\nthree\n' },
  { options: { sinceSeconds: 1, sinceTime: 0 }, want: 'three\n' },
  { options: { limitBytes: 6 }, want: 'one\ntw' },
  { options: { limitBytes: 0 }, want: '' },
  { options: { timestamps: true, tailLines: 1 }, want: '1970-01-01T00:00:03.000Z three\n' },
  { options: { stream: 'Stdout', tailLines: 1 }, want: 'three\n' },
])('lines as $options select them', async ({ options, want }) => {
  expect(await read(options)).toBe(want);
});

test('a sink that is slow holds the writing back', async () => {
  const order: string[] = [];
  const source = function* (): Iterable<LogEntry> {
    for (const text of ['a', 'b']) {
      order.push(`read ${text}`);
      yield { text };
    }
  };
  const sink = async (bytes: Buffer): Promise<void> => {
    await Promise.resolve();
    order.push(`wrote ${bytes.toString().trim()}`);
  };
  await writeLog(source(), {}, sink, { now: 0, signal: new AbortController().signal });
  expect(order).toEqual(['read a', 'wrote a', 'read b', 'wrote b']);
});

test('an aborted reader gets no more', async () => {
  const stop = new AbortController();
  const got: string[] = [];
  const sink = (bytes: Buffer): void => {
    got.push(bytes.toString());
    stop.abort();
  };
  await writeLog(lines, { follow: true }, sink, { now: 0, signal: stop.signal });
  expect(got).toEqual(['one\n']);
});
