import { createReadStream } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { createGunzip } from 'node:zlib';
import { AgentError, messageOf } from '../../base/errors.ts';
import { type CompareOptions, type Difference, differences } from './compare.ts';
import type { StateMachines } from './machines.ts';
import type { Header, RecordedCase, Step } from './recorded.ts';

export type { Header, RecordedCase, Step };

/** Where a replay parted from the recording. */
export interface Mismatch {
  /** The step of a history, from 0. */
  readonly step?: number;
  /** The operation of the step, or the input of a vector. */
  readonly operation?: unknown;
  readonly differences: readonly Difference[];
}

/** Replays one case on `machines`; `undefined` when everything was as recorded. A throw counts as a mismatch. */
export type Replay = (
  line: RecordedCase,
  header: Header,
  machines: StateMachines,
) => Promise<Mismatch | undefined> | Mismatch | undefined;

/** The mismatch of one comparison; `undefined` when both sides are equal. */
export function check(
  expected: unknown,
  actual: unknown,
  where: { step?: number; operation?: unknown } = {},
  options: CompareOptions = {},
): Mismatch | undefined {
  const found = differences(expected, actual, options);
  return found.length === 0 ? undefined : { ...where, differences: found };
}

/** Runs `replay` on one case; what it throws is a mismatch too. */
export async function attempt(run: () => ReturnType<Replay>): Promise<Mismatch | undefined> {
  try {
    return await run();
  } catch (reason) {
    // what a program of another language says has no stack
    const isOwn = reason instanceof Error && !(reason instanceof AgentError);
    const actual = isOwn ? (reason.stack ?? reason.message) : messageOf(reason);
    return { differences: [{ path: '(thrown)', expected: 'no error', actual }] };
  }
}

/** The lines of a recording, gzip-compressed or not, as objects. */
export async function* linesOf(file: string): AsyncGenerator<Record<string, unknown>> {
  const raw = createReadStream(file);
  const input = file.endsWith('.gz') ? raw.pipe(createGunzip()) : raw;
  for await (const line of createInterface({ input, crlfDelay: Infinity }))
    if (line.trim() !== '') yield JSON.parse(line) as Record<string, unknown>;
}

/** The recordings in a folder by family: `FAMILY.jsonl.gz`, or in parts `FAMILY.1.jsonl.gz`, `FAMILY.2.jsonl.gz` …, each with the header. */
export async function recordingsIn(dir: string): Promise<ReadonlyMap<string, readonly string[]>> {
  const found = new Map<string, string[]>();
  const byPart = new Intl.Collator('en', { numeric: true });
  for (const name of (await readdir(dir)).sort((a, b) => byPart.compare(a, b))) {
    const [, family] = /^([a-z_]+)(?:\.\d+)?\.jsonl(?:\.gz)?$/.exec(name) ?? [];
    if (family !== undefined) found.set(family, [...(found.get(family) ?? []), join(dir, name)]);
  }
  return found;
}

/** How a case is named in reports: its seed, its name, or both. */
export function caseName(line: RecordedCase): string {
  const { seed, name = line['case'], fn } = line;
  const parts = [
    typeof seed === 'number' && seed >= 0 ? `seed ${seed}` : '',
    typeof name === 'string' ? name : '',
    typeof fn === 'string' ? fn : '',
  ];
  return parts.filter(Boolean).join(' ') || '(unnamed)';
}
