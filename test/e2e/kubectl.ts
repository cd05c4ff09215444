import { execFile, spawn, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createInterface } from 'node:readline';

/** A real kubectl program. */
export interface KubectlProgram {
  readonly label: string;
  readonly path: string;
}

/** What a command left behind. */
export interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** The kubectl programs of this machine: those that `scripts/get-kubectl.sh` brought, or the one in PATH. */
export const kubectls: readonly KubectlProgram[] = findKubectls();

/** Why the tests that need kubectl are skipped; nothing when they are not. */
export const noKubectl: string | undefined =
  kubectls.length > 0 ? undefined : 'no kubectl: run scripts/get-kubectl.sh, or put one into PATH';

if (noKubectl !== undefined) process.stderr.write(`skipped: ${noKubectl}\n`);

function findKubectls(): readonly KubectlProgram[] {
  const cache = new URL('../../.cache/kubectl/', import.meta.url).pathname;
  const brought = ['kubectl-new', 'kubectl-old']
    .map((label) => ({ label, path: `${cache}${label}` }))
    .filter(({ path }) => existsSync(path));
  if (brought.length > 0) return brought;
  const { status } = spawnSync('kubectl', ['version', '--client'], { stdio: 'ignore' });
  return status === 0 ? [{ label: 'kubectl', path: 'kubectl' }] : [];
}

/** Milliseconds that a command gets: a few seconds more than its own `--timeout`, so that it says itself what it waited for. */
const deadlineOf = (args: readonly string[]): number => {
  const own = args.flatMap((arg) => /^--timeout=(\d+)s$/.exec(arg)?.[1] ?? []).map(Number);
  return Math.max(30, ...own.map((seconds) => seconds + 10)) * 1000;
};

/** Runs one kubectl command to its end. */
export function kubectl(
  kubeconfig: string,
  args: readonly string[],
  { input = '', program = kubectls[0] }: { input?: string; program?: KubectlProgram | undefined } = {},
): Promise<Outcome> {
  return new Promise((resolve) => {
    const child = execFile(
      program?.path ?? 'kubectl',
      [...args],
      { env: { ...process.env, KUBECONFIG: kubeconfig }, timeout: deadlineOf(args), maxBuffer: 1 << 24 },
      (error, stdout, stderr) => {
        const killed = error?.killed === true ? `killed after ${deadlineOf(args)} ms\n` : '';
        resolve({ code: error ? Number(error.code ?? 1) : 0, stdout, stderr: killed + stderr });
      },
    );
    child.stdin?.on('error', () => undefined);
    child.stdin?.end(input);
  });
}

/** Lines of something that goes on; waits for one, past or to come. */
export class Lines {
  readonly all: string[] = [];
  readonly #waiting = new Set<() => void>();

  push(line: string): void {
    this.all.push(line);
    for (const look of [...this.#waiting]) look();
  }

  /** The first line that fits, from line `from` on. @throws after `timeoutMs`, with the last lines */
  waitFor(fits: (line: string) => boolean, timeoutMs = 30_000, from = 0): Promise<string> {
    return new Promise((resolve, reject) => {
      let at = from;
      const look = (): void => {
        for (; at < this.all.length; at++) {
          const line = this.all[at] ?? '';
          if (!fits(line)) continue;
          done();
          resolve(line);
          return;
        }
      };
      const timer = setTimeout(() => {
        done();
        reject(
          new Error(
            `no such line within ${timeoutMs} ms: ${fits.toString()}; the last were\n${this.all
              .slice(-8)
              .map((line) => line.slice(0, 300))
              .join('\n')}`,
          ),
        );
      }, timeoutMs);
      const done = (): void => {
        clearTimeout(timer);
        this.#waiting.delete(look);
      };
      this.#waiting.add(look);
      look();
    });
  }
}

/** A kubectl command that goes on: `get -w`, `logs -f`, `port-forward`. */
export interface Following {
  readonly lines: Lines;
  readonly ended: Promise<number | null>;
  stop(): void;
}

export function follow(kubeconfig: string, args: readonly string[], program = kubectls[0]): Following {
  const child = spawn(program?.path ?? 'kubectl', [...args], {
    env: { ...process.env, KUBECONFIG: kubeconfig },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const lines = new Lines();
  for (const stream of [child.stdout, child.stderr])
    createInterface({ input: stream }).on('line', (line) => {
      lines.push(line);
    });
  const ended = new Promise<number | null>((resolve) => child.on('close', resolve));
  return {
    lines,
    ended,
    stop: () => {
      child.kill('SIGKILL');
    },
  };
}
