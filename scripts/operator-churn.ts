/**
 * `npm run operator-churn -- [--kills N] [--seed N] [--assets DIR]`: kills the operator of examples/memcached.ts at random and checks that it
 * converges. `--assets` names a directory with kube-apiserver and etcd, which run instead of the embedded server.
 */
import { parseArgs } from 'node:util';
import { seeded } from '../test/support/chaos-proxy.ts';
import { operatorChurn } from '../test/support/operator-churn.ts';

const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '100' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    assets: { type: 'string' },
  },
});
const [kills, seed] = [Number(values.kills), Number(values.seed)];
if (!(Number.isInteger(kills) && kills > 0 && Number.isInteger(seed) && seed >= 0)) {
  console.error('operator-churn: --kills takes a whole number above 0, --seed one from 0');
  process.exit(64);
}
const report = await operatorChurn(kills, {
  random: seeded(seed),
  log: console.log,
  ...(values.assets !== undefined && { binaries: values.assets }),
});
console.log(JSON.stringify({ seed, ...report }, undefined, 2));
process.exit(report.faults.length === 0 ? 0 : 1);
