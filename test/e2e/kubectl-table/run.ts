import { spawn } from 'node:child_process';
import { copyFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { KubectlProgram } from '../kubectl.ts';
import { makeDir, Podtender } from '../podtender.ts';
import { actionSections } from './actions.ts';
import { argumentsOf, type Command, commandOf, type Section } from './command.ts';
import { writeFiles } from './files.ts';
import { objectSections } from './objects.ts';

export const sections: readonly Section[] = [...objectSections, ...actionSections];

/** What a command left behind: its exit code, or that it went on, and a line of its output. */
export interface Result {
  readonly exit: string;
  readonly text: string;
}

/** How long a command may take, ms; ten times what the slowest takes alone. */
const deadlineMs = 90_000;

/** Runs all commands of the table by one kubectl against a `podtender up` of its own. */
export async function runAll(program: KubectlProgram): Promise<readonly Result[]> {
  const dir = makeDir();
  const manifests = join(dir.path, 'none');
  mkdirSync(manifests);
  const agent = await Podtender.up({ dataDir: join(dir.path, 'data'), manifests, withinMs: deadlineMs });
  try {
    await agent.ok(['wait', '--for=create', 'node/e2e', '--timeout=60s']);
    await agent.ok(['wait', '--for=condition=Ready', 'node/e2e', '--timeout=60s']);
    writeFiles(dir.path);
    copyFileSync(agent.kubeconfig, join(dir.path, 'config'));
    const results: Result[] = [];
    for (const { commands } of sections)
      for (const command of commands) results.push(await run(program, commandOf(command), dir.path));
    return results;
  } finally {
    await agent.end();
    dir.remove();
  }
}

async function run(program: KubectlProgram, command: Command, dir: string): Promise<Result> {
  const args = argumentsOf(command.line.replaceAll('DIR', dir));
  const child = spawn(program.path, args, {
    cwd: dir,
    env: {
      PATH: `${join(dir, 'bin')}:${process.env['PATH'] ?? ''}`,
      HOME: dir,
      KUBECONFIG: join(dir, 'config'),
      TZ: 'UTC',
      ...command.env,
    },
    timeout: deadlineMs,
    killSignal: 'SIGKILL',
  });
  let stdout = '';
  let stderr = '';
  const stop = new AbortController();
  const look = (): void => {
    if (!command.until || !lines(whole(stdout)).some((line) => command.until?.test(line))) return;
    stop.abort();
    child.kill('SIGKILL');
  };
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
    look();
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  child.stdin.on('error', () => undefined);
  child.stdin.end(command.input ?? '');
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve));
  const exit = stop.signal.aborted ? 'goes on' : String(code ?? 'killed');
  return { exit, text: settled(hidden(command, shownLine(command, stdout, stderr)), dir) };
}

/** The lines that have ended; kubectl writes a row cell by cell. */
const whole = (text: string): string => text.slice(0, text.lastIndexOf('\n') + 1);

const lines = (text: string): readonly string[] => text.split('\n').filter((line) => line.trim() !== '');

function shownLine({ shows, until }: Command, stdout: string, stderr: string): string {
  const all = [...lines(stdout), ...lines(stderr)];
  const wanted = shows ?? until;
  const match = wanted && all.find((line) => wanted.test(line));
  return match ?? lines(stdout).at(-1) ?? lines(stderr).at(-1) ?? '';
}

const hidden = ({ hides }: Command, line: string): string => (hides ? line.replaceAll(hides, '…') : line);

/** Characters of generated names. */
const generated = '[bcdfghjklmnpqrstvwxz2456789]';

/** Replaces what is another in each run: folders, ports, ages, amounts, generated names. */
export function settled(line: string, dir: string): string {
  return line
    .replaceAll(dir, 'DIR')
    .replaceAll(/127\.0\.0\.1:\d+/g, '127.0.0.1:PORT')
    .replaceAll(/\b10\.\d+\.\d+\.\d+\b/g, '10.x.x.x')
    .replaceAll(/\beyJ[\w.-]+/g, 'eyJ…')
    .replaceAll(new RegExp(`\\b((?:web|api|guarded)-${generated}{6,10})-${generated}{5}\\b`, 'g'), '$1-…')
    .replaceAll(new RegExp(`\\b(once|from-tick|many|debugger)-${generated}{5}\\b`, 'g'), '$1-…')
    .replaceAll(/(\d+):(3\d{4})\/TCP/g, '$1:3…/TCP')
    .replaceAll(/\b(?:\d+[dhms])+\b/g, 'AGE')
    .replaceAll(/\s+/g, ' ')
    .trim();
}
