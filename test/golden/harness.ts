import { createReadStream } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { createGunzip } from 'node:zlib';
import { type CompareOptions, type Difference, differences } from './compare.ts';

/** Line 1 of a file, whole; the members differ by family. */
export type Header = Readonly<Record<string, unknown>>;

/** Any further line, whole. */
export type GoldenCase = Readonly<Record<string, unknown>>;

/** Where a replay parted from the recording. */
export interface Mismatch {
  /** The step of a history, from 0. */
  readonly step?: number;
  /** What was done: the operation of the step, or the input. */
  readonly operation?: unknown;
  readonly differences: readonly Difference[];
}

/** Replays one case on what the agent runs; `undefined` when everything was as recorded. A throw counts as a mismatch. */
export type Replay = (
  line: GoldenCase,
  header: Header,
) => Promise<Mismatch | undefined> | Mismatch | undefined;

/** A failed case, ready to print. */
export interface Failure {
  readonly file: string;
  readonly id: string;
  readonly mismatch: Mismatch;
}

export interface FamilyResult {
  readonly kind: RecordingKind;
  readonly family: string;
  readonly passed: number;
  readonly failed: number;
  /** The first ones; `failed` counts all. */
  readonly failures: readonly Failure[];
  /** Why it was not replayed. */
  readonly skipped?: string;
}

/** The two kinds of recordings; each has its own folder of replays beside this file. */
export type RecordingKind = 'state-machines' | 'functions';

/** A helper for replays: the mismatch of one comparison, or nothing. */
export function check(
  expected: unknown,
  actual: unknown,
  where: { step?: number; operation?: unknown } = {},
  options: CompareOptions = {},
): Mismatch | undefined {
  const found = differences(expected, actual, options);
  return found.length === 0 ? undefined : { ...where, differences: found };
}

/** The recording files in a folder and, one level down, in `state-machines` and `functions`. */
export async function recordingFiles(dir: string): Promise<string[]> {
  const files: string[] = [];
  for (const folder of [dir, join(dir, 'state-machines'), join(dir, 'functions')]) {
    const names = await readdir(folder).catch((): string[] => []);
    files.push(
      ...names
        .filter((name) => name.endsWith('.jsonl.gz') || name.endsWith('.jsonl'))
        .map((name) => join(folder, name)),
    );
  }
  return files.sort();
}

async function* lines(file: string): AsyncGenerator<Record<string, unknown>> {
  const raw = createReadStream(file);
  const input = file.endsWith('.gz') ? raw.pipe(createGunzip()) : raw;
  for await (const line of createInterface({ input, crlfDelay: Infinity })) {
    if (line.trim() !== '') yield JSON.parse(line) as Record<string, unknown>;
  }
}

/** Families that record constants, not behaviour. */
const dataOnly = new Set(['meta_feature_gates']);

/** Which kind and family a file is; `undefined` when it is neither (a transcript, data only). */
export async function identify(
  file: string,
): Promise<{ kind: RecordingKind; family: string; header: Header } | undefined> {
  for await (const first of lines(file)) {
    const nested = first['header'] as Header | undefined;
    const header = nested ?? first;
    const family = header['family'];
    if (typeof family !== 'string' || dataOnly.has(family)) return undefined;
    if (!nested && !('kubernetesVersion' in header)) return undefined;
    return { kind: nested ? 'functions' : 'state-machines', family, header };
  }
  return undefined;
}

/** Replays one file and counts; keeps the first `keep` failures. */
export async function replayFile(file: string, keep = 5): Promise<FamilyResult | undefined> {
  const identity = await identify(file);
  if (!identity) return undefined;
  const { kind, family, header } = identity;
  const replay = await load(kind, family);
  if (!replay)
    return {
      kind,
      family,
      passed: 0,
      failed: 0,
      failures: [],
      skipped: `no replay in test/golden/${kind}/${family}.ts`,
    };
  let passed = 0;
  const failures: Failure[] = [];
  let failed = 0;
  let first = true;
  for await (const line of lines(file)) {
    if (first) {
      first = false;
      continue;
    }
    const mismatch = await attempt(replay, line, header);
    if (!mismatch) passed++;
    else if (++failed <= keep) failures.push({ file, id: idOf(line), mismatch });
  }
  return { kind, family, passed, failed, failures };
}

async function attempt(replay: Replay, line: GoldenCase, header: Header): Promise<Mismatch | undefined> {
  try {
    return await replay(line, header);
  } catch (reason) {
    const text = reason instanceof Error ? (reason.stack ?? reason.message) : String(reason);
    return { differences: [{ path: '(thrown)', expected: 'no error', actual: text }] };
  }
}

function idOf(line: GoldenCase): string {
  const seed = line['seed'];
  const name = line['name'] ?? line['case'];
  return (
    [typeof seed === 'number' && seed >= 0 ? `seed ${seed}` : '', typeof name === 'string' ? name : '']
      .filter(Boolean)
      .join(' ') || '(unnamed)'
  );
}

async function load(kind: RecordingKind, family: string): Promise<Replay | undefined> {
  const names = await readdir(join(import.meta.dirname, kind)).catch((): string[] => []);
  if (!names.includes(`${family}.ts`)) return undefined;
  const module = (await import(`./${kind}/${family}.ts`)) as { replay: Replay };
  return module.replay;
}

/** A failure as people read it. */
export function formatFailure({ file, id, mismatch }: Failure, most = 12): string {
  const head = `  ✗ ${file} · ${id}${mismatch.step === undefined ? '' : ` · step ${mismatch.step}`}`;
  const operation =
    mismatch.operation === undefined
      ? []
      : [`    operation ${clip(JSON.stringify(mismatch.operation), 600)}`];
  const shown = mismatch.differences
    .slice(0, most)
    .flatMap(({ path, expected, actual }) => [
      `    at ${path || '(root)'}`,
      `      - expected ${clip(show(expected), 600)}`,
      `      + actual   ${clip(show(actual), 1200)}`,
    ]);
  const rest =
    mismatch.differences.length > most
      ? [`    … and ${mismatch.differences.length - most} more differences`]
      : [];
  return [head, ...operation, ...shown, ...rest].join('\n');
}

const show = (value: unknown): string =>
  value === undefined ? '(absent)' : typeof value === 'string' ? value : JSON.stringify(value);
const clip = (text: string, most: number): string => (text.length > most ? `${text.slice(0, most)}…` : text);
