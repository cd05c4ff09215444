// Runs all tests: those of the rooms, with coverage, and beside them those that start the command and real parts, which mostly wait. What the
// latter print is shown when they have ended. With CI set, each writes a report: reports/rooms.json, reports/e2e.json.
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const vitest = fileURLToPath(new URL('../node_modules/vitest/vitest.mjs', import.meta.url));

/** Runs one of the two groups. @returns its exit code and, where it was not shown at once, its output */
function run(project, { more = [], shown }) {
  const report = process.env.CI === undefined ? [] : [`--outputFile.json=reports/${project}.json`];
  const child = spawn(process.execPath, [vitest, 'run', '--project', project, ...report, ...more], {
    cwd: root,
    stdio: ['ignore', shown ? 'inherit' : 'pipe', shown ? 'inherit' : 'pipe'],
  });
  const output = [];
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => output.push(chunk));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => {
      resolve({ project, code: code ?? signal, output: Buffer.concat(output) });
    });
  });
}

const e2e = run('e2e', { shown: false });
const rooms = await run('rooms', { more: ['--coverage'], shown: true });
console.log('\nThe end-to-end tests run on …');
const beside = await e2e;
process.stdout.write(beside.output);
for (const { project, code } of [rooms, beside])
  if (code !== 0) console.log(`${project}: ended with ${code}`);
process.exitCode = rooms.code === 0 && beside.code === 0 ? 0 : 1;
