#!/usr/bin/env node
// The command. Plain JavaScript for any Node, so that one that is too old is told so instead of showing a stack trace.
// A checkout brings a right one along (devDependencies): then that one runs the command.
const [major, minor] = process.versions.node.split('.').map(Number);
const tooOld = major < 22 || (major === 22 && minor < 19);
if (tooOld) {
  const { existsSync } = await import('node:fs');
  const { fileURLToPath } = await import('node:url');
  const own = `${fileURLToPath(new URL('..', import.meta.url))}node_modules/.bin/node`;
  if (existsSync(own)) {
    const { spawn } = await import('node:child_process');
    const words = [fileURLToPath(import.meta.url), ...process.argv.slice(2)];
    const child = spawn(own, words, { stdio: 'inherit' });
    const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'];
    // a terminal sends SIGINT to both: one from elsewhere has to be passed on, and a second one would kill
    for (const signal of signals) process.on(signal, () => process.stdin.isTTY || child.kill(signal));
    const [code, signal] = await new Promise((done) => child.once('close', (...end) => done(end)));
    process.exit(code ?? 128 + (await import('node:os')).constants.signals[signal]);
  }
  process.stderr.write(
    `podtender needs Node.js 22.19 or newer; this is ${process.versions.node} (${process.execPath}).\n` +
      'Inside a checkout, "npm start" brings a right one along.\n',
  );
  process.exit(69);
}
// An agent lives long and shares its machine. V8's defaults let garbage pile up: with these a node of 1,000 pods takes 50 MiB less, for the
// same CPU; and with the collector at hand it gives back what a burst left, once it is idle. glibc's allocator keeps holes: with these, blocks
// from 8 KiB up, V8's compilers' among them, are mappings of their own that go back when freed. All can only be set as a process starts, so
// this one becomes another program image under the same pid.
const malloc = { MALLOC_MMAP_THRESHOLD_: '8192', MALLOC_TRIM_THRESHOLD_: '65536' };
// simulated pods may be thousands, of containers a node has some hundred
const hasSimulatedPods = process.argv.some((word) => /^(--provider=)?memory$/.test(word));
// a simulation has thousands of nodes as well: with more room less of its garbage is promoted (bench: scale)
const isSimulation = process.argv[2] === 'simulate';
const semiSpaceMiB = isSimulation ? 32 : hasSimulatedPods ? 4 : 2;
// V8's best compiler begins later: what it takes for a burst of pods it does not give back. A flag of V8's own, so only where it is known to be.
const tiering = major === 24 ? ['--invocation-count-for-turbofan=50000'] : [];
const heap = [`--max-semi-space-size=${semiSpaceMiB}`, '--v8-pool-size=1', '--expose-gc', ...tiering];
const own = [...process.execArgv, process.env.NODE_OPTIONS ?? ''].some((flag) => flag.includes('semi-space'));
// image: of what is read of a layer, little garbage is kept (bench: oci)
const isLean = ['image', 'run', 'simulate', 'up'].includes(process.argv[2]);
if (major >= 24 && process.execve && !process.connected && !own && isLean) {
  const [node, ...rest] = process.argv;
  const env = isSimulation ? process.env : { ...malloc, ...process.env };
  process.execve(node, [node, ...process.execArgv, ...heap, ...rest], env);
}
// What this process starts shall not inherit them.
for (const [name, value] of Object.entries(malloc)) if (process.env[name] === value) delete process.env[name];
// Compiled code is kept in a folder of this user's own: who could write to it could have this program run what he likes.
const { HOME, NODE_DISABLE_COMPILE_CACHE, XDG_CACHE_HOME } = process.env;
const cache = !NODE_DISABLE_COMPILE_CACHE && (XDG_CACHE_HOME || (HOME && `${HOME}/.cache`));
const code = cache ? `${cache}/podtender/code` : undefined;
if (code) process.getBuiltinModule('node:module').enableCompileCache?.(code); // of what is not in the bundle
// asked for as objects: an import would make Node load all that lies behind the modules' exports
const { existsSync } = process.getBuiltinModule('node:fs');
const { fileURLToPath } = process.getBuiltinModule('node:url');
// a module of the user's: code of the bundle could only load what is in it
const load = (url) => import(url);
const built = fileURLToPath(new URL('../dist/program/main.cjs', import.meta.url));
if (existsSync(built)) {
  const { loadProgram } = await import('../dist/cli/process/bundled-program.js');
  const program = loadProgram(built, code);
  await program.exports.start(program.code, load);
} else {
  const { start } = await import('../src/cli/main.ts');
  await start(undefined, load);
}
