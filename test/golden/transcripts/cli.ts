// Plays recorded requests against our own servers: node test/golden/transcripts/cli.ts DIR [FAMILY | FAMILY/CASE]…
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { apiServerPlayer } from './api-server.ts';
import { apiServerToKubeletPlayer } from './apiserver-to-kubelet.ts';
import { kubectlPlayer } from './kubectl.ts';
import { kubeletNodePlayer } from './kubelet-node.ts';
import { kubeletPlayer } from './kubelet.ts';
import {
  type Deviation,
  type Player,
  readCases,
  type TranscriptCase,
  transcriptFiles,
} from './transcript.ts';

const players: readonly Player[] = [
  apiServerPlayer,
  apiServerToKubeletPlayer,
  kubeletPlayer,
  kubeletNodePlayer,
  kubectlPlayer,
];

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { all: { type: 'boolean', default: false }, most: { type: 'string', default: '6' } },
});
const [dir, ...wanted] = positionals;
if (dir === undefined) {
  console.error('usage: node test/golden/transcripts/cli.ts DIR [FAMILY | FAMILY/CASE]… [--all] [--most N]');
  process.exit(2);
}

const clip = (value: unknown): string => {
  const text = value === undefined ? '(absent)' : typeof value === 'string' ? value : JSON.stringify(value);
  return text.length > 900 ? `${text.slice(0, 900)}…` : text;
};

function show(one: TranscriptCase, deviations: readonly Deviation[], most: number): void {
  const [first] = deviations;
  const step = one.steps?.[first?.step ?? 0];
  console.log(
    `  ✗ ${one.id} · step ${first?.step ?? '?'} ${step?.method ?? step?.op ?? ''} ${step?.path ?? ''}`,
  );
  for (const { what, path, expected, actual } of deviations.slice(0, most))
    console.log(`    ${what} ${path}\n      - ${clip(expected)}\n      + ${clip(actual)}`);
  if (deviations.length > most) console.log(`    … and ${deviations.length - most} more`);
}

async function attempt(player: Player, one: TranscriptCase): Promise<readonly Deviation[]> {
  try {
    return await player.play(one);
  } catch (reason) {
    const actual = reason instanceof Error ? (reason.stack ?? reason.message) : String(reason);
    return [{ step: -1, what: 'thrown', path: '', expected: 'no error', actual }];
  }
}

let [passed, failed] = [0, 0];
const found = await transcriptFiles(dir);
for (const [family, file] of found.size > 0 ? found : await transcriptFiles(join(dir, 'transcripts'))) {
  const player = players.find((one) => one.families.has(family));
  const asked =
    wanted.length === 0 || wanted.some((name) => name === family || name.startsWith(`${family}/`));
  if (!player || !asked) continue;
  let [good, bad, leftOut] = [0, 0, 0];
  for await (const one of readCases(file)) {
    if (wanted.length > 0 && !wanted.includes(family) && !wanted.includes(one.id)) continue;
    if (player.plays?.(one) === false) {
      leftOut++;
      continue;
    }
    const deviations = await attempt(player, one);
    if (deviations.length === 0) good++;
    else if (++bad <= 3 || values.all) show(one, deviations, Number(values.most));
  }
  const rest = leftOut > 0 ? `, ${leftOut} not played` : '';
  console.log(`${family}: ${good} passed, ${bad} failed${rest}`);
  passed += good;
  failed += bad;
}
for (const player of players) await player.close();
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed > 0 ? 1 : 0;
