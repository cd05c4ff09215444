/** Kills the operator of examples/memcached.ts at random and checks that it converges: npm run operator-churn -- --kills 100 */
import { parseArgs } from 'node:util';
import { operatorChurn } from '../test/support/operator-churn.ts';

const { values } = parseArgs({ options: { kills: { type: 'string', default: '100' } } });
const kills = Number(values.kills);
if (!(Number.isInteger(kills) && kills > 0)) {
  console.error(`--kills ${values.kills}: use a whole number above 0`);
  process.exit(64);
}
const report = await operatorChurn(kills, { log: console.log });
console.log(JSON.stringify(report, undefined, 2));
process.exit(report.faults.length === 0 ? 0 : 1);
