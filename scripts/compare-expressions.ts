/**
 * `node scripts/compare-expressions.ts FILE FILE [--count N] [--seed N]`: compiles and evaluates generated CEL expressions on the servers of two
 * kubeconfigs and prints where the second one differs: half of them as rules of CustomResourceDefinitions, half as validations of policies.
 */
import { parseArgs } from 'node:util';
import { connectionFromKubeconfig } from '../src/api/kubeconfig/kube-client.ts';
import { systemClock } from '../src/base/clock.ts';
import { seeded } from '../test/support/chaos-proxy.ts';
import { compareExpressions } from '../test/support/expression-comparison/compare.ts';
import { serverOf } from '../test/support/expression-comparison/server.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { count: { type: 'string', default: '500' }, seed: { type: 'string', default: '1' } },
});
const [first, second, ...more] = positionals;
const [count, seed] = [Number(values.count), Number(values.seed)];
if (first === undefined || second === undefined || more.length > 0) {
  console.error('compare-expressions: name the kubeconfigs of two servers');
  process.exit(64);
}
if (!(Number.isInteger(count) && count > 0 && Number.isInteger(seed) && seed >= 0)) {
  console.error('compare-expressions: --count takes a whole number above 0, --seed one from 0');
  process.exit(64);
}
const servers = [
  await serverOf(await connectionFromKubeconfig(systemClock, first)),
  await serverOf(await connectionFromKubeconfig(systemClock, second)),
] as const;
const { differences, ...counts } = await compareExpressions(servers, {
  ...{ seed, count, random: seeded(seed), log: console.error },
  sleep: (ms) => systemClock.sleep(ms),
});
for (const one of differences) console.log(one);
console.log(JSON.stringify({ seed, ...counts, differences: differences.length }));
process.exit(differences.length === 0 ? 0 : 1);
