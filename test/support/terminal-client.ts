import { tmpdir } from 'node:os';
import { PassThrough } from 'node:stream';
import { systemClock } from '../../src/base/clock.ts';
import type { TerminalIo } from '../../src/provider/powers.ts';
import { execTerminal } from '../../src/processes/terminal.ts';
import { SizeQueue } from '../../src/streams/remote-command.ts';

/** TerminalClient simulates a user's terminal: its input, its output and its size. */
export class TerminalClient {
  readonly stdin = new PassThrough();
  readonly stdout = new PassThrough();
  readonly sizes = new SizeQueue();
  readonly io: TerminalIo = { stdin: this.stdin, stdout: this.stdout, tty: true, resize: this.sizes };
  seen = '';
  readonly #listeners = new Set<() => void>();

  constructor(width?: number, height?: number) {
    if (width !== undefined && height !== undefined) this.sizes.push({ width, height });
    this.stdout.on('data', (chunk: Buffer) => {
      this.seen += chunk.toString();
      for (const listener of [...this.#listeners]) listener();
    });
  }

  /** Resolves once `text` appears in the output. @throws after 20 s, with the output */
  sees(text: string): Promise<void> {
    return new Promise((resolve, reject) => {
      const stop = systemClock.timer(20_000, () => {
        this.#listeners.delete(look);
        reject(new Error(`${JSON.stringify(text)} was not seen, but ${JSON.stringify(this.seen)}`));
      });
      const look = (): void => {
        if (!this.seen.includes(text)) return;
        stop();
        this.#listeners.delete(look);
        resolve();
      };
      this.#listeners.add(look);
      look();
    });
  }

  /** Runs a program of this machine in the terminal. @returns its exit code */
  run(argv: readonly string[], env: Readonly<Record<string, string>>, signal: AbortSignal): Promise<number> {
    const plan = {
      argv,
      env: new Map(Object.entries(env)),
      workingDir: '/',
      root: '/',
      scratch: tmpdir(),
      prefix: [],
      shell: '/bin/sh',
      user: { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0, supplementalGroups: [] },
      tools: { env: '/usr/bin/env', nice: '/usr/bin/nice' },
    };
    const tools = { script: '/usr/bin/script', stty: '/usr/bin/stty' };
    return execTerminal(plan, { tools, io: this.io, clock: systemClock }, signal);
  }
}
