import { Writable } from 'node:stream';
import type { Clock } from '../../base/clock.ts';
import { AgentError } from '../../base/errors.ts';
import type { TerminalIo } from '../../provider/powers.ts';

/** How much of each output is returned at most, in bytes. */
const mostBytes = 16 * 1024 * 1024;

class Collected extends Writable {
  readonly #chunks: Buffer[] = [];
  #length = 0;

  get bytes(): Buffer {
    return Buffer.concat(this.#chunks);
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    if (this.#length < mostBytes) this.#chunks.push(chunk.subarray(0, mostBytes - this.#length));
    this.#length += chunk.length;
    done();
  }
}

/**
 * Runs a command that has streams and returns its output.
 *
 * @throws {AgentError} `deadline_exceeded` when it does not end in time
 */
export async function execToEnd(
  run: (io: TerminalIo, signal: AbortSignal) => Promise<number>,
  { clock, timeoutMs }: { readonly clock: Clock; readonly timeoutMs: number },
): Promise<{ readonly exitCode: number; readonly stdout: Buffer; readonly stderr: Buffer }> {
  const [stdout, stderr] = [new Collected(), new Collected()];
  const late = new AbortController();
  const stop = clock.timer(timeoutMs, () => {
    late.abort(new AgentError('deadline_exceeded', `the command has not ended within ${timeoutMs} ms`));
  });
  try {
    const exitCode = await run({ stdout, stderr, tty: false }, late.signal);
    return { exitCode, stdout: stdout.bytes, stderr: stderr.bytes };
  } finally {
    stop();
  }
}
