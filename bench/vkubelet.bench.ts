/**
 * Measures what `podtender/vkubelet` costs: the same node with a provider of virtual-kubelet's contract, then with the memory provider of
 * `podtender/provider`, each in a process of its own against an API server in another. virtual-kubelet needs 0.9 ms of CPU per pod created,
 * 28 ms updated and 35 ms deleted. After a restart with everything in place nothing is written.
 *
 * Arguments: the number of pods of each run; default 5000. `--cpu-prof=DIR` profiles the nodes.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type AgentPlace, countsOf, measurePods, NodeRun, print } from './support/node-run.ts';
import { round } from './support/processes.ts';

const nodeName = 'bench';
const nodeFlags = process.argv.filter((word) => word.startsWith('--cpu-prof'));
const program = join(import.meta.dirname, 'support/vkubelet-node.ts');

const starter =
  (provider: string) =>
  ({ configs, dir }: AgentPlace): ChildProcess =>
    spawn(
      process.execPath,
      [...nodeFlags, program, provider, nodeName, join(configs, 'admin.kubeconfig'), dir],
      { stdio: ['ignore', 'inherit', 'inherit'] },
    );

/** Ends a node; its provider's records are then in a file, as a cloud would keep them. */
async function end(agent: ChildProcess): Promise<void> {
  const ended = once(agent, 'exit');
  agent.kill('SIGTERM');
  await ended;
}

for (const pods of countsOf(process.argv.slice(2), [5000])) {
  for (const provider of ['records', 'memory']) {
    process.stdout.write(`\n${pods} pods, ${provider} provider\n`);
    const run = await NodeRun.start({ nodeName, pods, start: starter(provider), kill: end });
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
}
