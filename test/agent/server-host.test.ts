import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { containerCheckpoints } from '../../src/agent/server-host.ts';

const container = { id: 'test://1', podUid: 'u', namespace: 'ns', pod: 'web', container: 'c' };
const { signal } = new AbortController();
const clock = { now: () => Date.parse('2026-01-02T03:04:05.678Z') };

test('a checkpoint is named after pod, namespace, container and second, in a folder of root alone', async () => {
  const rootDir = mkdtempSync(join(tmpdir(), 'pt-checkpoints-'));
  const asked: unknown[] = [];
  const checkpoint = (...all: unknown[]): Promise<void> => {
    asked.push(all);
    return Promise.resolve();
  };
  try {
    const write = containerCheckpoints({ provider: { checkpoint }, rootDir, clock });
    const file = join(rootDir, 'checkpoints', 'checkpoint-web_ns-c-2026-01-02T03:04:05Z.tar');
    expect(await write?.(container, 9, signal)).toEqual([file]);
    expect(asked).toEqual([[container, file, 9, signal]]);
    expect(statSync(join(rootDir, 'checkpoints')).mode & 0o777).toBe(0o700);
  } finally {
    rmSync(rootDir, { recursive: true });
  }
});

test('a provider without the power makes none', () => {
  expect(containerCheckpoints({ provider: {}, rootDir: '/none', clock })).toBeUndefined();
});
