import { appendFileSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { FakeClock, settle } from '../../../src/base/fake-clock.ts';
import { formatTime, parseCriLine, parseTime } from '../../../src/containers/logs/log-line.ts';
import { readLogs, sinceOf } from '../../../src/containers/logs/logs.ts';

let folder = '';
let path = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'logs-'));
  path = join(folder, '0.log');
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});

const line = (text: string, stream = 'stdout', tag = 'F'): string =>
  `2026-03-04T05:06:07.123456789Z ${stream} ${tag} ${text}\n`;

async function read(options: Parameters<typeof readLogs>[1]): Promise<string> {
  let text = '';
  const take = (bytes: Buffer): void => {
    text += bytes.toString();
  };
  await readLogs(path, options, { stdout: take, stderr: take });
  return text;
}

describe('following', () => {
  /** Follows until the container ends; `more` does one thing to the log at a time. */
  async function follow(steps: readonly (() => void)[]): Promise<string> {
    const clock = new FakeClock();
    let text = '';
    let left = steps.length;
    const take = (bytes: Buffer): void => {
      text += bytes.toString();
    };
    const signal = new AbortController().signal;
    const isRunning = async (): Promise<boolean> => left > 0;
    const end = { reached: false };
    const done = readLogs(path, { follow: true }, { stdout: take }, { clock, isRunning, signal }).finally(
      () => {
        end.reached = true;
      },
    );
    for (const step of steps) {
      while (clock.pending === 0) await settle(); // the reader has come to the end
      step();
      left--;
      await clock.advance(1000);
    }
    while (!end.reached) await clock.advance(1000);
    await done;
    return text;
  }

  test('what is written later is read as it comes, to the last line before the end', async () => {
    writeFileSync(path, line('one'));
    expect(
      await follow([
        () => {
          appendFileSync(path, line('two'));
        },
        () => {
          appendFileSync(path, line('three'));
        },
      ]),
    ).toBe('one\ntwo\nthree\n');
  });

  test('a log that is rotated goes on in its new file', async () => {
    writeFileSync(path, line('one'));
    const rotate = (): void => {
      appendFileSync(path, line('two'));
      renameSync(path, `${path}.20260304-050607`);
      writeFileSync(path, line('three'));
    };
    expect(
      await follow([
        rotate,
        () => {
          appendFileSync(path, line('four'));
        },
      ]),
    ).toBe('one\ntwo\nthree\nfour\n');
  });

  test('half a line waits for its other half', async () => {
    const [whole, half] = [line('one'), line('two').slice(0, 40)];
    writeFileSync(path, whole + half);
    expect(
      await follow([
        () => {
          appendFileSync(path, line('two').slice(40));
        },
      ]),
    ).toBe('one\ntwo\n');
  });

  test('the log of a container that does not run is read to its end, and nothing is waited for', async () => {
    writeFileSync(path, line('one'));
    const clock = new FakeClock();
    const following = { clock, isRunning: async () => false, signal: new AbortController().signal };
    const lines: string[] = [];
    const take = (bytes: Buffer): void => {
      lines.push(bytes.toString());
    };
    await readLogs(path, { follow: true }, { stdout: take }, following);
    expect([lines, clock.now() - new FakeClock().now()]).toEqual([['one\n'], 0]);
  });

  test('a reader who leaves ends it', async () => {
    writeFileSync(path, line('one'));
    const gone = new AbortController();
    const clock = new FakeClock();
    const following = { clock, isRunning: async () => true, signal: gone.signal };
    const done = readLogs(path, { follow: true }, { stdout: () => undefined }, following);
    while (clock.pending === 0) await settle();
    gone.abort();
    await done;
    expect(clock.pending).toBe(0);
  });
});

test('a missing log says which', async () => {
  await expect(read({})).rejects.toMatchObject({ code: 'not_found' });
});

test('a log of a strange format says what its first line was', async () => {
  writeFileSync(path, 'no log\n');
  await expect(read({})).rejects.toThrow('failed to get parse function: unsupported log format: "no log\\n"');
});

test('the last lines are found however long the lines are', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.nat({ max: 3000 }), { minLength: 1, maxLength: 120 }),
      fc.nat({ max: 130 }),
      async (lengths, tailLines) => {
        const texts = lengths.map((length, index) => `${index}${'x'.repeat(length)}`);
        writeFileSync(path, texts.map((text) => line(text)).join(''));
        const wanted = tailLines === 0 ? [] : texts.slice(-tailLines);
        expect(await read({ tailLines })).toBe(wanted.map((text) => `${text}\n`).join(''));
      },
    ),
    { numRuns: 40 },
  );
});

test('a number of last lines below zero asks for all, as by the kubelet', async () => {
  writeFileSync(path, line('a') + line('b'));
  expect(await read({ tailLines: -1 })).toBe('a\nb\n');
});

test('no line of bytes breaks the parser', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 80 }), (bytes) => {
      const parsed = parseCriLine(Buffer.from(bytes));
      expect(parsed === undefined || parsed.text.length <= bytes.length).toBe(true);
    }),
  );
});

test.for([
  ['2026-03-04T05:06:07Z', '2026-03-04T05:06:07.000000000Z'],
  ['2026-03-04T05:06:07.5+02:00', '2026-03-04T05:06:07.500000000+02:00'],
  ['2026-03-04T05:06:07.1234567891-07:30', '2026-03-04T05:06:07.123456789-07:30'],
  ['2026-03-04T5:06:07Z', '2026-03-04T05:06:07.000000000Z'],
  ['2026-03-04T05:06:07-00:00', '2026-03-04T05:06:07.000000000Z'],
  ['2026-03-04T05:06:07+23:60', '2026-03-04T05:06:07.000000000+24:00'],
] as const)('%s is written as %s', ([text, wanted]) => {
  const time = parseTime(text);
  expect(time && formatTime(time)).toBe(wanted);
});

test.for([
  '2026-02-30T05:06:07Z',
  '2026-03-04T24:00:00Z',
  '2026-03-04 05:06:07Z',
  '2026-03-04T05:06:07+25:00',
  '',
])('%s is no time', (text) => {
  expect(parseTime(text)).toBeUndefined();
});

test('sinceSeconds counts from now and wins over sinceTime', () => {
  expect(sinceOf({ sinceSeconds: 5, sinceTime: 1 }, 10_000)).toBe(5000);
  expect(sinceOf({ sinceTime: 1 }, 10_000)).toBe(1);
  expect(sinceOf({ sinceSeconds: 9_999_999_999 }, 10_000)).toBeGreaterThan(10_000); // Go's time wraps around
});

describe('Docker JSON is read as Go decodes it', () => {
  const time = '2026-03-04T05:06:07Z';
  test.for([
    ['keys in any case', `{"LOG":"a\\n","ſtream":"stdout","Time":"${time}"}`, `a\n`],
    ['a later key wins', `{"log":"a\\n","LOG":"b\\n","stream":"stdout","time":"${time}"}`, `b\n`],
    ['null sets nothing', `{"log":"a\\n","LOG":null,"stream":"stdout","time":null}`, `a\n`],
  ] as const)('%s', async ([, entry, wanted]) => {
    writeFileSync(path, `${entry}\n`);
    expect(await read({})).toBe(wanted);
  });

  test.for([
    ['null', 'unexpected stream type ""'],
    ['{"stream":"\\ud800"}', 'unexpected stream type "\ufffd"'],
    ['[]', 'failed to get parse function: unsupported log format: "[]\\n"'],
    [
      '{"log":1,"LOG":"a"}',
      'failed to get parse function: unsupported log format: "{\\"log\\":1,\\"LOG\\":\\"a\\"}\\n"',
    ],
  ] as const)('%s alone fails', async ([entry, message]) => {
    writeFileSync(path, `${entry}\n`);
    await expect(read({})).rejects.toThrow(message);
  });
});
