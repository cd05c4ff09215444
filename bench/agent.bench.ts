/**
 * Measures the cost of a pod: the agent with the memory provider, as `podtender run` starts it, against an API server in another process.
 * Aims: at most 0.7 ms of agent CPU per pod created, 1.5 ms updated, 0.7 ms deleted; one pod created or deleted within 8 ms; 130 MB with
 * 5,000 pods; after a SIGKILL the lease within 0.4 s and no write to a pod that has not changed.
 *
 * Arguments: the number of pods of each run; default 100 1000 5000 10000. `--cpu-prof=DIR` profiles the agent. `--server=DIR` uses your own
 * API server, with `admin.kubeconfig` and `node.kubeconfig` (for `system:node:bench`) in that directory; requests are then not counted.
 */
import type { ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type AgentPlace, countsOf, measurePods, NodeRun, print } from './support/node-run.ts';
import { podtender, round } from './support/processes.ts';

const nodeName = 'bench';
const nodeFlags = process.argv.filter((word) => word.startsWith('--cpu-prof'));
const serverDir = process.argv.find((word) => word.startsWith('--server='))?.slice('--server='.length);

function startAgent({ configs, dir, pods }: AgentPlace): ChildProcess {
  const settings = [
    // below the ephemeral port range
    `--port=${10_000 + (process.pid % 20_000)}`,
    `--max-pods=${pods + 1000}`,
    '--kube-api-qps=100000',
    '--kube-api-burst=100000',
  ];
  const words = [
    'run',
    '--provider',
    'memory',
    '--node-name',
    nodeName,
    '--kubeconfig',
    join(configs, 'node.kubeconfig'),
  ];
  return podtender([...words, '--data-dir', join(dir, 'agent'), ...settings], nodeFlags);
}

async function measure(pods: number): Promise<void> {
  const run = await NodeRun.start({ nodeName, pods, start: startAgent, serverDir });
  const startedAt = performance.now();
  try {
    await run.world.nodeReady();
    print('exec → node Ready', { ms: round(performance.now() - startedAt) });
    await sleep(1500);
    print('one by one', await run.oneByOne(30));
    print('idle', { 'RSS MiB': run.rssMiB });
    await measurePods(run, pods);
  } finally {
    await run.close(nodeFlags.length > 0 ? 'SIGTERM' : 'SIGKILL');
  }
}

for (const pods of countsOf(process.argv.slice(2), [100, 1000, 5000, 10_000])) {
  process.stdout.write(`\n${pods} pods on one node\n`);
  await measure(pods);
}
