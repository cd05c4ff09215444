import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { messageOf } from '../../../src/base/errors.ts';
import { readLogs } from '../../../src/containers/logs/logs.ts';
import { check, type Replay } from '../harness.ts';

interface Input {
  readonly log: string;
  readonly tailLines?: number;
  readonly limitBytes?: number;
  readonly since?: string;
  readonly timestamps: boolean;
  readonly stdoutWanted?: boolean;
  readonly stderrWanted?: boolean;
}

/** The file is written and read back for real. */
export const replay: Replay = async ({ in: given, out }) => {
  const input = given as Input;
  const folder = await mkdtemp(join(tmpdir(), 'golden-log-'));
  const path = join(folder, '0.log');
  const written = { stdout: [] as Buffer[], stderr: [] as Buffer[] };
  const sinkOf = (stream: 'stdout' | 'stderr') => (bytes: Buffer) =>
    void written[stream].push(Buffer.from(bytes));
  const { log: _log, since, stdoutWanted = true, stderrWanted = true, ...options } = input;
  const sinks = {
    ...(stdoutWanted && { stdout: sinkOf('stdout') }),
    ...(stderrWanted && { stderr: sinkOf('stderr') }),
  };
  try {
    await writeFile(path, input.log);
    const when = since === undefined ? {} : { since: Date.parse(since) };
    const error = await readLogs(path, { ...options, ...when }, sinks).then(() => null, messageOf);
    const text = (chunks: Buffer[]): string => Buffer.concat(chunks).toString('utf8');
    const actual = {
      error: error?.replaceAll(path, 'LOG'),
      stdout: text(written.stdout),
      stderr: text(written.stderr),
    };
    return check(out, actual, { operation: input });
  } finally {
    await rm(folder, { recursive: true });
  }
};
