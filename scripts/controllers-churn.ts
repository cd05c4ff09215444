/**
 * Churns workloads on an API server and checks that controllers converge. Nodes and kubelets are played; the controllers are those of the
 * cluster, or with --controllers podtender's own:
 *   node scripts/controllers-churn.ts --kubeconfig FILE --seed 1 --minutes 10 --state end.txt
 */
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { connectionFromKubeconfig } from '../src/api/kubeconfig/kube-client.ts';
import { systemClock } from '../src/base/clock.ts';
import { silentLogger } from '../src/base/logger.ts';
import { newClient } from '../src/controller/index.ts';
import { type ControllerName, startControllerManager } from '../src/controllermanager/index.ts';
import { controllersChurn } from '../test/support/controllers-churn/churn.ts';

const { values } = parseArgs({
  options: {
    kubeconfig: { type: 'string' },
    namespace: { type: 'string', default: 'churn' },
    seed: { type: 'string', default: '1' },
    minutes: { type: 'string', default: '10' },
    rate: { type: 'string', default: '3' },
    controllers: { type: 'string' },
    state: { type: 'string' },
  },
});

const numberOf = (name: 'seed' | 'minutes' | 'rate'): number => {
  const value = Number(values[name]);
  if (value > 0) return value;
  console.error(`--${name} ${values[name]}: use a number above 0`);
  process.exit(64);
};
const [seed, minutes, rate] = [numberOf('seed'), numberOf('minutes'), numberOf('rate')];
if (values.kubeconfig === undefined) {
  console.error('--kubeconfig FILE: name the cluster to churn');
  process.exit(64);
}

const connection = await connectionFromKubeconfig(systemClock, values.kubeconfig);
const logger = { ...silentLogger, error: console.error };
const running =
  values.controllers === undefined
    ? undefined
    : startControllerManager({
        connection,
        controllers: values.controllers.split(',') as ControllerName[],
        logger,
      });
const client = newClient(connection);
const report = await controllersChurn(client, {
  ...{ namespace: values.namespace, seed, rate, settleSeconds: 300, log: console.log },
  changes: Math.round(minutes * 60 * rate),
});
await running?.stop();
await client.close();
if (values.state !== undefined) writeFileSync(values.state, report.state.map((line) => `${line}\n`).join(''));
const { state, ...summary } = report;
console.log(JSON.stringify({ ...summary, lines: state.length }, undefined, 2));
process.exit(report.faults.length === 0 ? 0 : 1);
