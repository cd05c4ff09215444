import { writeFileSync } from 'node:fs';
import { conformanceSubject } from '../src/app/conformance-world.ts';
import { type ClauseResult, runProviderClauses } from '../src/conformance/runner.ts';
import { podtenderStateMachines } from '../src/conformance/state-machines/machines.ts';
import { type FamilyReport, replayStateMachines } from '../src/conformance/state-machines/replay.ts';
import { skipWithoutContainerd, startContainerd } from '../test/support/containerd.ts';
import { format } from 'prettier';

// Writes docs/conformance-results.md: the laws of providers on all shipped providers, and the recordings on podtender's own state machines.
// `npm run conformance-results`; real containers need root and containerd, as `.ci/install-real-parts` installs it.

interface Column {
  readonly provider: string;
  readonly seconds: number;
  readonly results: readonly ClauseResult[];
}

const loading = { cwd: process.cwd(), load: (url: string): Promise<unknown> => import(url), realTime: false };

async function columnOf(provider: string, runtime = {}): Promise<Column> {
  console.error(`${provider} …`);
  const { make } = await conformanceSubject(provider, { ...loading, runtime });
  const from = performance.now();
  const results = await runProviderClauses(make);
  return { provider, seconds: (performance.now() - from) / 1000, results };
}

async function criColumn(): Promise<readonly Column[]> {
  if (skipWithoutContainerd()) return [];
  const bed = await startContainerd();
  try {
    return [await columnOf('cri', { endpoint: `unix://${bed.socket}`, image: 'localhost/busybox:1' })];
  } finally {
    await bed.stop();
  }
}

const count = ({ results }: Column, outcome: ClauseResult['outcome']): number =>
  results.filter((result) => result.outcome === outcome).length;

/** What each provider lacks: the text before the colon of each reason. */
const lacksOf = ({ results }: Column): string =>
  [
    ...new Set(
      results.flatMap(({ outcome, detail = '' }) =>
        outcome === 'not applicable' ? [detail.split(/: |\. /)[0] ?? ''] : [],
      ),
    ),
  ].join(', ') || 'nothing';

const summary = (columns: readonly Column[]): string =>
  [
    '| provider | passed | failed | not applicable | seconds | lacks |',
    '|---|---|---|---|---|---|',
    ...columns.map(
      (column) =>
        `| ${column.provider} | ${count(column, 'passed')} | ${count(column, 'failed')} | ${count(column, 'not applicable')} | ${column.seconds.toFixed(1)} | ${lacksOf(column)} |`,
    ),
  ].join('\n');

const marks = { passed: 'yes', failed: '**no**', 'not applicable': '–' } as const;

function laws(columns: readonly Column[]): string {
  const [first] = columns;
  const areas = [...new Set(first?.results.map(({ area }) => area))];
  const head = `| law | rule | ${columns.map(({ provider }) => provider).join(' | ')} |`;
  return areas
    .map((area) => {
      const rows = (first?.results ?? [])
        .filter((result) => result.area === area)
        .map(({ name, rule }) => {
          const cells = columns.map(({ results }) => {
            const { outcome } = results.find((result) => result.name === name) ?? {};
            return outcome === undefined ? '' : marks[outcome];
          });
          return `| ${name} | ${rule} | ${cells.join(' | ')} |`;
        });
      return `### ${area[0]?.toUpperCase()}${area.slice(1)}\n\n${head}\n|${'---|'.repeat(columns.length + 2)}\n${rows.join('\n')}`;
    })
    .join('\n\n');
}

const families = (reports: readonly FamilyReport[]): string =>
  [
    '| family | rules | passed | failed |',
    '|---|---|---|---|',
    ...reports.map(({ family, rule, passed, failed }) => `| ${family} | ${rule} | ${passed} | ${failed} |`),
  ].join('\n');

const sentences = (columns: readonly Column[]): string =>
  (columns[0]?.results ?? []).map(({ name, law, rule }) => `- **${name}** (${rule}): ${law}`).join('\n');

const columns = [
  await columnOf('memory'),
  await columnOf('eci'),
  await columnOf('mock'),
  await columnOf('process'),
  await columnOf('oci'),
  ...(await criColumn()),
  await columnOf('kubernetes'),
];
console.error('recordings …');
const report = await replayStateMachines(podtenderStateMachines);
const text = `# Conformance: results

Written by \`npm run conformance-results\`; what is measured is in [conformance-suite.md](conformance-suite.md). \`memory\`, \`eci\` (over a double of the service) and \`mock\` (virtual-kubelet's) run on a
clock that the suite moves, \`process\`, \`oci\`, \`cri\` (containerd) and \`kubernetes\` (over an embedded API server with a node of processes) in real time.

## Providers

${summary(columns)}

"–": the law does not apply, since the provider or its backend lacks what it needs.

${laws(columns)}

## The laws

${sentences(columns)}

## State machines

Recordings of the Go kubelet 1.36.2, replayed on podtender's own machines: ${report.passed} passed, ${report.failed} failed.

${families(report.families)}
`;
writeFileSync('docs/conformance-results.md', await format(text, { parser: 'markdown', printWidth: 120 }));
process.exitCode = columns.some((column) => count(column, 'failed') > 0) || report.failed > 0 ? 1 : 0;
