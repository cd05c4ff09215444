// The one check: `npm run ok`. Types, lint, import rules and the tests of the rooms run one after the other and are shown as they run; the end-to-end
// tests, which mostly wait, run beside them in two lanes and are shown when they have ended; the build comes last. A failed step ends no lane, so that
// one run shows everything. With CI set, the tests write reports (scripts/test-reports.mjs), and the files that failed while three lanes shared the
// machine run once more, alone: those that pass then are named, since the cause is still to be found, and do not fail the check.
import { spawn } from 'node:child_process';
import { relative } from 'node:path';
import { performance } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';
import { again, failedFiles, filesOfStrayErrors, passedFiles, readReport } from './test-reports.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const vitest = fileURLToPath(new URL('../node_modules/vitest/vitest.mjs', import.meta.url));
const ci = process.env.CI !== undefined;

/** More failed files than these are no accident of a busy machine. */
const mostFilesAgain = 12;

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

/** The command that runs some tests. @param more - arguments of the test runner: the project, files */
const tests = (report, more) => [
  process.execPath,
  vitest,
  'run',
  ...(ci ? [`--outputFile.json=reports/${report}.json`] : []),
  ...more,
];
const script = (name) => ['npm', 'run', '--silent', name];

/** Runs a command to its end. @returns its name, exit code, seconds and, where it was not shown at once or may be needed, its output */
function run(name, [command, ...args], { shown, recorded = !shown }) {
  console.log(`\n--- ${name}${shown ? '' : ': runs beside the next steps'}`);
  const start = performance.now();
  const stream = recorded ? 'pipe' : 'inherit';
  const child = spawn(command, args, { cwd: root, stdio: ['ignore', stream, stream] });
  const output = [];
  for (const pipe of [child.stdout, child.stderr])
    pipe?.on('data', (chunk) => {
      output.push(chunk);
      if (shown) process.stdout.write(chunk);
    });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => {
      const seconds = Math.round((performance.now() - start) / 1000);
      resolve({ name, code: code ?? signal, seconds, output: Buffer.concat(output) });
    });
  });
}

const exclude = apart.flatMap((file) => ['--exclude', file]);
const hidden = { shown: false };
const beside = {
  e2e: run('end-to-end tests', tests('e2e', ['--project', 'e2e', ...exclude]), hidden),
  'e2e-apart': run('end-to-end tests apart', tests('e2e-apart', ['--project', 'e2e', ...apart]), hidden),
};
const steps = [];
for (const name of ['types', 'lint', 'arch']) steps.push(await run(name, script(name), { shown: true }));
const lanes = {
  rooms: await run('tests', tests('rooms', ['--project', 'rooms']), { shown: true, recorded: ci }),
};
console.log('\n--- the end-to-end tests run on …');
for (const [report, lane] of Object.entries(beside)) {
  lanes[report] = await lane;
  process.stdout.write(lanes[report].output);
}
if (ci) await runFailedAgain();
steps.push(...Object.values(lanes), await run('build', script('build'), { shown: true }));

console.log('');
for (const { name, code, seconds, note = '' } of steps)
  console.log(`${code === 0 ? 'passed' : `FAILED with ${code}`}  ${name} (${seconds} s)${note}`);
process.exitCode = steps.every(({ code }) => code === 0) ? 0 : 1;

/** Runs the files that failed once more, alone, and takes a lane as passed when all of its own passed then. */
async function runFailedAgain() {
  const failures = Object.entries(lanes)
    .filter(([, { code }]) => code !== 0)
    .map(([name, lane]) => ({ lane, files: filesThatFailed(name, lane) }));
  const files = [...new Set(failures.flatMap((failure) => failure.files))];
  if (files.length === 0 || files.length > mostFilesAgain) return;
  const options = ['--retry', '0', '--maxWorkers', '1', '--no-file-parallelism'];
  const { code } = await run('failed test files again, alone', tests(again, [...options, ...files]), {
    shown: true,
  });
  const second = readReport(again);
  if (second === undefined) return;
  // an error outside of all tests fails the second run as a whole
  if (code !== 0 && failedFiles(second).length === 0) return;
  const passed = new Set(passedFiles(second).map(fromRoot));
  for (const { lane, files: ofLane } of failures) {
    if (ofLane.length === 0 || !ofLane.every((file) => passed.has(file))) continue;
    lane.code = 0;
    lane.note = `: ${ofLane.join(', ')} failed at first and passed alone: find the cause`;
  }
}

/** The test files, from the root of the project, to which a failed lane's failures lead. */
function filesThatFailed(name, { output }) {
  const report = readReport(name);
  const failed = report === undefined ? [] : failedFiles(report).map(fromRoot);
  return [...new Set([...failed, ...filesOfStrayErrors(output.toString())])];
}

function fromRoot(file) {
  return relative(root, file);
}
