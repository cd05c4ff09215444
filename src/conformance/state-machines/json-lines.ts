import { createInterface } from 'node:readline';
import type { Clock } from '../../base/clock.ts';
import { AgentError, messageOf } from '../../base/errors.ts';
import { spawnProgram } from '../../base/spawn.ts';
import type { FamilyProtocol } from './protocol.ts';

/** How a program that speaks the protocol is started. */
export interface JsonLinesOptions {
  readonly file: string;
  readonly args?: readonly string[];
  readonly clock: Clock;
  /** How long one answer may take, ms. Default: 30 s. */
  readonly answerMs?: number;
}

/** A program that speaks the protocol, until it is closed. */
export interface JsonLinesProgram extends FamilyProtocol {
  /** Ends the program. */
  close(): Promise<void>;
}

interface Waiting {
  readonly resolve: (answer: Readonly<Record<string, unknown>>) => void;
  readonly reject: (reason: Error) => void;
}

/**
 * Starts a program that speaks the protocol as JSON Lines: one request a line on its standard input, one answer a line on its standard output;
 * what it writes to its standard error is passed on in failures.
 *
 * @throws {AgentError} `unavailable` the program cannot be started, ends, or does not answer `hello` with its families
 *
 * @example
 * const subject = await jsonLinesSubject({ file: 'python3', args: ['pod_workers.py'], clock });
 * const report = await replayStateMachines({ protocol: subject });
 * await subject.close();
 */
export async function jsonLinesSubject(options: JsonLinesOptions): Promise<JsonLinesProgram> {
  const { file, args = [] } = options;
  const child = spawnProgram(file, args, { stdio: 'pipe' });
  const line = new Line(options, (text) => void child.stdin.write(text));
  child.stdin.on('error', () => undefined);
  child.on('error', (reason) => {
    line.fail(`cannot be started: ${messageOf(reason)}`);
  });
  child.stderr.on('data', (chunk: Buffer) => {
    line.addErrorText(chunk.toString());
  });
  createInterface({ input: child.stdout }).on('line', (text) => {
    line.answered(text);
  });
  const ended = new Promise<void>((resolve) => {
    child.once('close', (code, signal) => {
      line.fail(`ended with ${signal ?? `exit code ${code}`}`);
      resolve();
    });
    child.once('error', () => {
      resolve();
    });
  });
  const close = async (): Promise<void> => {
    child.stdin.end();
    const stop = options.clock.timer(2000, () => child.kill('SIGKILL'));
    await ended;
    stop();
  };
  try {
    const { families } = await line.ask({ type: 'hello', version: 1 });
    if (!Array.isArray(families) || !families.every((family) => typeof family === 'string'))
      throw line.error('its answer to hello has no list `families`');
    return {
      families,
      begin: async (start) => {
        await line.ask({ type: 'begin', ...start });
      },
      step: async (step) => (await line.ask({ type: 'step', ...step }))['observed'],
      end: async () => (await line.ask({ type: 'end' }))['observed'],
      call: async (vector) => (await line.ask({ type: 'call', ...vector }))['out'],
      close,
    };
  } catch (reason) {
    child.kill('SIGKILL');
    await ended;
    throw reason;
  }
}

/** Requests and answers of one program, one after another. */
class Line {
  readonly #options: JsonLinesOptions;
  readonly #write: (text: string) => void;
  #waiting: Waiting | undefined;
  #fault: AgentError | undefined;
  #stderr = '';

  constructor(options: JsonLinesOptions, write: (text: string) => void) {
    this.#options = options;
    this.#write = write;
  }

  error(what: string): AgentError {
    const tail = this.#stderr.trim().slice(-400);
    return new AgentError('unavailable', `${this.#options.file}: ${what}${tail && `; it wrote: ${tail}`}`);
  }

  addErrorText(text: string): void {
    this.#stderr = (this.#stderr + text).slice(-4096);
  }

  fail(what: string): void {
    this.#fault ??= this.error(what);
    this.#waiting?.reject(this.#fault);
    this.#waiting = undefined;
  }

  answered(text: string): void {
    const waiting = this.#waiting;
    if (text.trim() === '' || !waiting) return;
    this.#waiting = undefined;
    try {
      const answer: unknown = JSON.parse(text);
      if (typeof answer !== 'object' || answer === null) throw new Error('it is no object');
      const { error } = answer as { readonly error?: unknown };
      if (error === undefined) waiting.resolve(answer as Readonly<Record<string, unknown>>);
      else
        waiting.reject(new AgentError('internal', typeof error === 'string' ? error : JSON.stringify(error)));
    } catch (reason) {
      waiting.reject(this.error(`an answer cannot be read (${messageOf(reason)}): ${text.slice(0, 200)}`));
    }
  }

  async ask(request: object): Promise<Readonly<Record<string, unknown>>> {
    if (this.#fault) throw this.#fault;
    const { clock, answerMs = 30_000 } = this.#options;
    const answer = new Promise<Readonly<Record<string, unknown>>>((resolve, reject) => {
      this.#waiting = { resolve, reject };
    });
    const stop = clock.timer(answerMs, () => {
      this.fail(`did not answer ${(request as { type: string }).type} within ${answerMs} ms`);
    });
    this.#write(`${JSON.stringify(request)}\n`);
    try {
      return await answer;
    } finally {
      stop();
    }
  }
}
