/**
 * `npm run scenarios -- DIR [CASE…]`: plays recorded scenarios of a real node against this agent with real containers and says what
 * passed and what did not. `CONTAINERD` names a folder with another containerd than the machine's; without it the one that
 * `scripts/get-containerd.sh` has fetched is taken, if any. `PARALLEL` says how many run at a time.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock as clock } from '../../../src/base/clock.ts';
import { messageOf } from '../../../src/base/errors.ts';
import { whyNoContainerd } from '../../support/containerd.ts';
import { type Bed, makeBed, pullTwin } from './bed.ts';
import { differencesOf } from './compare.ts';
import { actsAtNode } from './node-acts.ts';
import { play, shownBy } from './play.ts';
import { readScenarios, type ScenarioTakes } from './recording.ts';
import { tellsUsers, withoutUsers } from './states.ts';

const [dir, ...names] = process.argv.slice(2);
if (dir === undefined || dir === '--help') {
  console.error(
    'usage: npm run scenarios -- DIR [CASE…]\n\nDIR holds recordings kubelet-scenarios*.jsonl.gz and kubelet-node*.jsonl.gz.',
  );
  process.exit(dir === undefined ? 2 : 0);
}
const why = whyNoContainerd();
if (why !== undefined) {
  console.error(`scenarios need real containers: ${why}`);
  process.exit(2);
}
const scenarios = readScenarios(dir).filter(({ name }) => names.length === 0 || names.includes(name));
const fetched = join(import.meta.dirname, '../../../.cache/containerd');
const binaries = process.env['CONTAINERD'] ?? (existsSync(join(fetched, 'containerd')) ? fetched : undefined);
const bed = await makeBed(binaries);
const counts = { passed: 0, failed: 0 };
/** Recorded on a node that had pulled, under another name, the image that all others find on the node. */
const afterTwin = ({ name }: ScenarioTakes): boolean => name === 'image-preloaded-same-id-as-pulled';
const alone = ({ takes }: ScenarioTakes): boolean => takes.some(actsAtNode);
const waiting = scenarios.filter((each) => !afterTwin(each) && !alone(each));
/** Differences that docs/fidelity.md tells of. */
const documented: Readonly<Record<string, RegExp | undefined>> = {
  'disk-pressure': /^event missing: Warning FailedMount \[\] .* not registered$/,
};
const end = (): void => void bed.stop().finally(() => process.exit(130));
process.once('SIGINT', end).once('SIGTERM', end);
try {
  await Promise.all(Array.from({ length: Number(process.env['PARALLEL'] ?? 3) }, () => worker(bed)));
  waiting.push(...scenarios.filter(alone));
  await worker(bed);
  waiting.push(...scenarios.filter(afterTwin));
  if (waiting.length > 0) await pullTwin(bed);
  await worker(bed);
} finally {
  await bed.stop();
}
console.log(`${counts.passed} passed, ${counts.failed} failed`);
process.exit(counts.failed === 0 && counts.passed > 0 ? 0 : 1);

async function worker(on: Bed): Promise<void> {
  for (let next = waiting.shift(); next; next = waiting.shift()) {
    const startedAt = clock.now();
    const { name } = next;
    const all = await differencesIn(on, next);
    const isKnown = (line: string): boolean => documented[name]?.test(line) ?? false;
    const lines = all.filter((line) => !isKnown(line));
    const seconds = ((clock.now() - startedAt) / 1000).toFixed(1);
    console.log(`${lines.length === 0 ? 'passed' : 'FAILED'} ${name} (${seconds} s)`);
    for (const line of lines) console.log(`    ${line}`);
    for (const line of all.filter(isKnown)) console.log(`    as docs/fidelity.md tells: ${line}`);
    counts[lines.length === 0 ? 'passed' : 'failed']++;
  }
}

/** The differences from that recording of the scenario that the play is nearest to. */
async function differencesIn(on: Bed, { takes }: ScenarioTakes): Promise<readonly string[]> {
  const [first] = takes;
  if (!first) return ['no recording'];
  try {
    const shown = await play(on, first);
    const tells = tellsUsers(shown.lives);
    const recorded = takes
      .map(shownBy)
      .map((take) => (tells ? take : { ...take, lives: withoutUsers(take.lives) }));
    const all = recorded.map((take) =>
      differencesOf(
        take,
        shown,
        recorded.filter((other) => other !== take),
      ),
    );
    return all.toSorted((a, b) => a.length - b.length)[0] ?? [];
  } catch (reason) {
    return [`could not be played: ${messageOf(reason)}`];
  }
}
