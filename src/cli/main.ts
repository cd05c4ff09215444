import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { StartContext } from '../app/running.ts';
import type { CodeCache } from './process/bundled-program.ts';
import { keepCompiledCode } from './process/code-cache.ts';
import type { ProviderVerdicts } from '../app/provider-admission.ts';
import { authorsCommands } from './authors-commands.ts';
import { exitCodeOf, exitCodes, failureLines } from './exit-codes.ts';
import { jobs } from './process/job-control.ts';
import { runProgram, type Commands, type Surroundings } from './program.ts';
import type { CommandDeps } from './up.ts';

/**
 * Runs the command: parses the line, runs one subcommand, prints a failure, and exits with its code.
 *
 * @param code the cache of the bundle's compiled code; `undefined` without a bundle or cache
 * @param load loads a module that is not part of the program, by its URL
 */
export async function start(code: CodeCache | undefined, load: StartContext['load']): Promise<void> {
  // a closed pipe (`podtender up | head`) ends the command quietly; a full disk does not end the pods
  process.stdout.on('error', ({ code: what }: NodeJS.ErrnoException) => {
    if (what === 'EPIPE' || process.argv[2] !== 'up') process.exit(exitCodes.failed);
  });
  process.stderr.on('error', () => undefined);
  process.exitCode = await main(code, load);
  code?.keep(0);
  setImmediate(() => process.exit()); // an error of the last write is reported a moment later
}

async function main(code: CodeCache | undefined, load: StartContext['load']): Promise<number> {
  try {
    return await runProgram(process.argv.slice(2), commandsOf(code, load), around());
  } catch (reason) {
    for (const line of failureLines(reason)) process.stderr.write(`podtender: ${line}\n`);
    return exitCodeOf(reason);
  }
}

const commandsOf = (code: CodeCache | undefined, load: StartContext['load']): Commands => ({
  ...serverCommands(code),
  async up(options) {
    const [{ up }, { startUp: start }, deps] = await Promise.all([
      import('./up.ts'),
      import('../app/up.ts'),
      longRunning(code, load),
    ]);
    return up(options, { ...deps, start });
  },
  async run(options) {
    const [{ run }, { startRun: start }, deps] = await Promise.all([
      import('./up.ts'),
      import('../app/run.ts'),
      longRunning(code, load),
    ]);
    return run(options, { ...deps, start, sharesTerminal: process.stderr.isTTY });
  },
  ...authorsCommands,
  ...imageCommand,
  async virtualKubelet(options) {
    const [{ virtualKubelet }, { startVirtualKubelet: start }] = await Promise.all([
      import('./virtual-kubelet.ts'),
      import('../app/virtual-kubelet.ts'),
    ]);
    return virtualKubelet(options, { start, onSignal, load });
  },
  async simulate(options) {
    const [{ simulate }, { startSimulation: start }, { systemClock: clock }] = await Promise.all([
      import('./simulate.ts'),
      import('../app/simulate.ts'),
      import('../base/clock.ts'),
    ]);
    return simulate(options, { start, stdout: process.stdout, clock, onSignal });
  },
  async validate(files, provider) {
    const { validateFiles } = await import('./validate.ts');
    const verdicts = provider === undefined ? {} : await verdictsOf(provider, load);
    return validateFiles(files, (line) => process.stdout.write(`${line}\n`), verdicts);
  },
  async conformance(options) {
    const [{ conformance }, { conformanceSubject }, { systemClock: clock }] = await Promise.all([
      import('./conformance.ts'),
      import('../app/conformance-world.ts'),
      import('../base/clock.ts'),
    ]);
    const subject = await conformanceSubject(options.provider, { ...options, cwd: process.cwd(), load });
    const say = (line: string): unknown => process.stdout.write(`${line}\n`);
    const { isTTY, columns } = process.stdout;
    const screen = isTTY ? { columns, colour: !process.env['NO_COLOR'] } : {};
    return conformance({ ...options, realTime: subject.isRealTime }, subject.make, {
      ...{ say, clock, screen },
    });
  },
  async explain(options) {
    const { explain } = await import('./explain.ts');
    return explain(options, process.env, (line) => process.stdout.write(`${line}\n`));
  },
});

/** The commands around the API server as a test environment. */
const serverCommands = (
  code: CodeCache | undefined,
): Pick<Commands, 'apiserver' | 'envtestAssets' | 'launch'> => ({
  async apiserver(options) {
    const [{ apiserver }, { startApiServerCommand: start }, { trimOwnMemory }] = await Promise.all([
      import('./apiserver.ts'),
      import('../app/apiserver.ts'),
      import('./process/idle-memory.ts'),
    ]);
    trimOwnMemory();
    keepCompiledCode(code);
    return apiserver(options, { start, write: (text) => process.stdout.write(text), onSignal });
  },
  async envtestAssets(dir) {
    const { writeEnvtestAssets } = await import('../app/envtest-assets.ts');
    const program = fileURLToPath(new URL('../../bin/podtender.mjs', import.meta.url));
    const files = writeEnvtestAssets({ dir, node: process.execPath, program, version: around().version });
    for (const file of files) process.stdout.write(`${file}\n`);
    return exitCodes.ok;
  },
  async launch(name, args) {
    const [{ launch }, { trimOwnMemory }] = await Promise.all([
      import('./launch.ts'),
      import('./process/idle-memory.ts'),
    ]);
    trimOwnMemory();
    keepCompiledCode(code);
    const write = (text: string): unknown => process.stdout.write(text);
    const warn = (line: string): void => void process.stderr.write(`${name}: ${line}\n`);
    return launch(name, args, { write, warn, onSignal });
  },
});

/** The command for the images of the OCI provider. */
const imageCommand: Pick<Commands, 'image'> = {
  async image(options) {
    const [{ image }, { Images }, { systemClock: clock }, { text }] = await Promise.all([
      import('./image.ts'),
      import('../app/images.ts'),
      import('../base/clock.ts'),
      import('node:stream/consumers'),
    ]);
    return image(options, {
      open: (settings) => new Images(settings),
      stdout: process.stdout,
      warn: (line) => process.stderr.write(`podtender: ${line}\n`),
      now: () => clock.now(),
      readInput: () => text(process.stdin),
      onSignal,
    });
  },
};

async function verdictsOf(provider: string, load: StartContext['load']): Promise<ProviderVerdicts> {
  const { providerVerdicts } = await import('../app/provider-admission.ts');
  return providerVerdicts(provider, { cwd: process.cwd(), load });
}

/** Runs a command until it is stopped. */
async function longRunning(
  code: CodeCache | undefined,
  load: StartContext['load'],
): Promise<Omit<CommandDeps<unknown>, 'start'>> {
  const [{ systemClock }, { trimOwnMemory }] = await Promise.all([
    import('../base/clock.ts'),
    import('./process/idle-memory.ts'),
  ]);
  trimOwnMemory();
  keepCompiledCode(code);
  return {
    stdout: process.stdout,
    colour: !process.env['NO_COLOR'],
    clock: systemClock,
    onSignal,
    jobs,
    load,
  };
}

const stopSignals: readonly NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGHUP'];

function onSignal(listener: () => void): () => void {
  for (const signal of stopSignals) process.on(signal, listener);
  return () => {
    for (const signal of stopSignals) process.off(signal, listener);
  };
}

function around(): Surroundings {
  const manifest: unknown = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
  const version =
    typeof manifest === 'object' && manifest !== null && 'version' in manifest
      ? String(manifest.version)
      : '';
  const exampleManifests = fileURLToPath(new URL('../../examples/manifests', import.meta.url));
  const uid = process.getuid?.() ?? -1;
  const warn = (line: string): void => void process.stderr.write(`podtender: ${line}\n`);
  return { env: process.env, cwd: process.cwd(), exampleManifests, uid, version, warn };
}
