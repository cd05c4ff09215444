import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { FakeClock } from '../../../src/base/fake-clock.ts';
import {
  giveToGroup,
  groupOf,
  OwnershipProgress,
  setGroupOwnership,
} from '../../../src/containers/volumes/ownership.ts';

test('a long ownership change reports its progress after 30 s, then every minute', async () => {
  const clock = new FakeClock();
  const told: string[] = [];
  const progress = new OwnershipProgress(clock, 'u/volumes/v', (message) => told.push(message));
  await clock.advance(29_999);
  expect(told).toEqual([]);
  progress.count();
  await clock.advance(1);
  progress.count();
  await clock.advance(60_000);
  await clock.advance(60_000);
  expect(told).toEqual([
    expect.stringMatching(
      /^Setting volume ownership for u\/volumes\/v is taking longer than expected, consider/,
    ),
    'Setting volume ownership for u/volumes/v, processed 2 files.',
    'Setting volume ownership for u/volumes/v, processed 2 files.',
  ]);
  progress.end();
  expect(clock.pending).toBe(0);
});

test('every file and directory counts, those of a volume that is left alone do not', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'pt-own-'));
  try {
    mkdirSync(join(dir, 'a'));
    for (const name of ['a/1', 'a/2', 'b']) writeFileSync(join(dir, name), '');
    const group = groupOf(dir);
    let count = 0;
    const onEach = (): void => {
      count++;
    };
    await giveToGroup(dir, group, { onEach });
    expect(count).toBe(5);
    await giveToGroup(dir, group, { onEach, whenRootDiffers: true });
    expect(count).toBe(5);
  } finally {
    rmSync(dir, { recursive: true });
  }
});

const ways: readonly (readonly [string, (path: string, group: number) => void | Promise<void>])[] = [
  ['at once', setGroupOwnership],
  ['while others are served', giveToGroup],
];
test.for(ways)('what is called by no UTF-8 is given to the group, too, %s', async ([, give]) => {
  const dir = mkdtempSync(join(tmpdir(), 'pt-own-ä'));
  try {
    const odd = Buffer.concat([Buffer.from(join(dir, 'd')), Buffer.from([0xe4, 0xff])]);
    mkdirSync(odd);
    const file = Buffer.concat([odd, Buffer.from([0x2f, 0xfc])]);
    writeFileSync(file, '');
    chmodSync(file, 0o600);
    await give(dir, groupOf(dir));
    expect([statSync(file).mode & 0o7777, statSync(odd).mode & 0o2070]).toEqual([0o660, 0o2070]);
  } finally {
    rmSync(dir, { recursive: true });
  }
});
