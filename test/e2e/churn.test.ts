import { describe, test } from 'vitest';
import { type Bed, type BedOptions, criBed, eciBed, processBed } from '../support/churn/beds.ts';
import { Churn } from '../support/churn/churn.ts';
import { skipWithoutContainerd } from '../support/containerd.ts';
import { makeDir } from './podtender.ts';

/** A new script each time; a failure names it, and SEED plays it again. */
const seed = Number(process.env['SEED'] ?? Date.now() % 1_000_000);
const kills = Number(process.env['KILLS'] ?? 5);

async function churn(what: string, makeBed: (options: BedOptions) => Bed | Promise<Bed>): Promise<number> {
  const dir = makeDir('pt-churn-');
  const mark = `churn-${what}-${process.pid}`;
  const bed = await makeBed({ dir: dir.path, mark });
  const log = (line: string): void => {
    console.log(`churn of ${what} pods, seed ${seed}: ${line}`);
  };
  try {
    const options = { dir: dir.path, mark, kills, seed, maxPods: 8, maxLifeMs: 3000, settleMs: 60_000, log };
    return (await new Churn(bed, options).run()).kills;
  } finally {
    await bed.stop();
    dir.remove();
  }
}

// sandboxes go with the collection of garbage, once a minute: that is most of the time that these take
describe.concurrent(
  'an agent killed again and again while pods come and go',
  { timeout: 300_000 + kills * 10_000 },
  () => {
    test('loses, doubles and leaves nothing of local processes', async ({ expect }) => {
      expect(await churn('process', processBed)).toBeGreaterThanOrEqual(kills);
    });

    test('loses, doubles and leaves no container group', async ({ expect }) => {
      expect(await churn('eci', eciBed)).toBeGreaterThanOrEqual(kills);
    });

    test.skipIf(skipWithoutContainerd())(
      'loses, doubles and leaves nothing of real containers',
      async ({ expect }) => {
        expect(await churn('cri', criBed)).toBeGreaterThanOrEqual(kills);
      },
    );
  },
);
