/**
 * `npm run churn -- [--provider cri|process|oci|eci|kubernetes] [--kills N] [--seed N] [--pods N] [--keep]`: `podtender run` is killed with SIGKILL at
 * random moments while pods are created, changed and deleted; afterwards nothing may be lost, duplicated or left over. The cri provider
 * needs root and containerd. Exits with 1 and prints what was found on failure; `--keep` retains the agent's log and state.
 */
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { criBed, eciBed, ociBed, processBed } from '../test/support/churn/beds.ts';
import { kubernetesBed } from '../test/support/churn/kubernetes-bed.ts';
import { Churn } from '../test/support/churn/churn.ts';
import { whyNoContainerd } from '../test/support/containerd.ts';
import { removeFolder } from '../test/support/mounts.ts';

const { values } = parseArgs({
  options: {
    provider: { type: 'string', default: 'cri' },
    kills: { type: 'string', default: '200' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    pods: { type: 'string', default: '12' },
    keep: { type: 'boolean', default: false },
  },
});
const [kills, seed, maxPods] = [Number(values.kills), Number(values.seed), Number(values.pods)];
const { provider } = values;
if (![kills, seed, maxPods].every((value) => Number.isInteger(value) && value >= 0)) {
  console.error('churn: --kills, --seed and --pods take a whole number');
  process.exit(2);
}
const beds = { cri: criBed, process: processBed, oci: ociBed, eci: eciBed, kubernetes: kubernetesBed };
if (!Object.hasOwn(beds, provider)) {
  console.error(`churn: --provider is one of ${Object.keys(beds).join(', ')}`);
  process.exit(2);
}
const why = provider === 'cri' ? whyNoContainerd() : undefined;
if (why !== undefined) {
  console.error(`churn: no containers can be run here: ${why}`);
  process.exit(2);
}
console.log(`churn: ${provider}, ${kills} kills, seed ${seed}`);
const dir = mkdtempSync(join(tmpdir(), 'pt-churn-'));
const mark = `churn-${process.pid}`;
const makeBed = beds[provider as keyof typeof beds];
const bed = await makeBed({ dir, mark });
const startedAt = performance.now();
const log = (line: string): void => {
  console.log(`${((performance.now() - startedAt) / 1000).toFixed(0)} s: ${line}`);
};
let failed = false;
try {
  const options = { dir, mark, kills, seed, maxPods, maxLifeMs: 2500, settleMs: 90_000, log };
  const { created, changed, deleted } = await new Churn(bed, options).run();
  log(`${kills} kills; ${created} pods created, ${changed} changed, ${deleted} deleted; all as it should be`);
} catch (reason) {
  failed = true;
  console.error(`churn: ${reason instanceof Error ? reason.message : String(reason)}`);
} finally {
  await bed.stop();
  if (values.keep) console.log(`kept: ${dir}`);
  else removeFolder(dir);
}
process.exit(failed ? 1 : 0);
