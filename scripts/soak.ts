/**
 * `npm run soak -- [--seconds N] [--objects N] [--seed N]`: runs informers behind a proxy that injects the faults of networks and servers.
 * Prints the injected faults and the comparisons; exits with 1 on the first difference.
 */
import { parseArgs } from 'node:util';
import { soak } from '../test/support/soak.ts';

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '60' },
    objects: { type: 'string', default: '5000' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
  },
});
const numbers = {
  seconds: Number(values.seconds),
  objects: Number(values.objects),
  seed: Number(values.seed),
};
if (Object.values(numbers).some((value) => !Number.isFinite(value) || value < 0)) {
  console.error('soak: --seconds, --objects and --seed take a number');
  process.exit(2);
}
console.log(`soak: ${numbers.seconds} s, ${numbers.objects} objects, seed ${numbers.seed}`);
try {
  const result = await soak({
    ...numbers,
    log: (line) => {
      console.log(line);
    },
  });
  const injected = Object.entries(result.injected).map(([fault, count]) => `${fault} ${count}`);
  console.log(`injected: ${injected.join(', ')}`);
  console.log(
    `${result.rounds} rounds, ${result.changes} changes, ${result.compared} states compared, ${result.reads} reads, ` +
      `${result.watches} watches, ${result.lists} lists; heap ${result.heap[0]?.toFixed(1) ?? '?'} to ${result.heap.at(-1)?.toFixed(1) ?? '?'} MiB`,
  );
} catch (reason) {
  console.error(`soak: ${reason instanceof Error ? reason.message : String(reason)} (seed ${numbers.seed})`);
  process.exitCode = 1;
}
