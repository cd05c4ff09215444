// The one check: `npm run ok`. Types, lint, import rules and the tests of the rooms run one after the other and are shown as they run; the end-to-end
// tests, which mostly wait, run beside them in two lanes and are shown when they have ended; the build comes last. A failed step ends no lane, so that
// one run shows everything. With CI set, the tests write reports: reports/rooms.json, reports/e2e.json, reports/e2e-apart.json.
import { spawn } from 'node:child_process';
import { performance } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const vitest = fileURLToPath(new URL('../node_modules/vitest/vitest.mjs', import.meta.url));

/** End-to-end tests that use neither a container runtime nor cgroups of the machine nor fixed ports: they may run beside the others. */
const apart = [
  'autoscaling',
  'operator-churn',
  'package',
  'simulate',
  'simulate-shards',
  'two-clusters',
  'workloads',
].map((name) => `test/e2e/${name}.test.ts`);

/** The command that runs one group of tests. */
const tests = (project, report = project, more = []) => [
  process.execPath,
  vitest,
  'run',
  '--project',
  project,
  ...(process.env.CI === undefined ? [] : [`--outputFile.json=reports/${report}.json`]),
  ...more,
];
const script = (name) => ['npm', 'run', '--silent', name];

/** Runs a command to its end. @returns its name, exit code, seconds and, where it was not shown at once, its output */
function run(name, [command, ...args], shown) {
  console.log(`\n--- ${name}${shown ? '' : ': runs beside the next steps'}`);
  const start = performance.now();
  const stream = shown ? 'inherit' : 'pipe';
  const child = spawn(command, args, { cwd: root, stdio: ['ignore', stream, stream] });
  const output = [];
  for (const pipe of [child.stdout, child.stderr]) pipe?.on('data', (chunk) => output.push(chunk));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => {
      const seconds = Math.round((performance.now() - start) / 1000);
      resolve({ name, code: code ?? signal, seconds, output: Buffer.concat(output) });
    });
  });
}

const exclude = apart.flatMap((file) => ['--exclude', file]);
const beside = [
  run('end-to-end tests', tests('e2e', 'e2e', exclude), false),
  run('end-to-end tests apart', tests('e2e', 'e2e-apart', apart), false),
];
const steps = [];
for (const name of ['types', 'lint', 'arch']) steps.push(await run(name, script(name), true));
steps.push(await run('tests', tests('rooms'), true));
console.log('\n--- the end-to-end tests run on …');
for (const lane of beside) {
  const ended = await lane;
  process.stdout.write(ended.output);
  steps.push(ended);
}
steps.push(await run('build', script('build'), true));

console.log('');
for (const { name, code, seconds } of steps)
  console.log(`${code === 0 ? 'passed' : `FAILED with ${code}`}  ${name} (${seconds} s)`);
process.exitCode = steps.every(({ code }) => code === 0) ? 0 : 1;
