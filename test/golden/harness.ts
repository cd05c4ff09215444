import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { families } from '../../src/conformance/state-machines/families.ts';
import { podtenderStateMachines } from '../../src/conformance/state-machines/machines.ts';
import {
  attempt,
  caseName,
  check,
  type Header,
  linesOf,
  type Mismatch,
  type RecordedCase,
} from '../../src/conformance/state-machines/recording.ts';

export { check, type Mismatch, type RecordedCase };

/** Replays one case on what the agent runs; `undefined` when everything was as recorded. A throw counts as a mismatch. */
export type Replay = (
  line: RecordedCase,
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

/** The two kinds of recordings; `src/conformance` replays the state machines, and a folder beside this file the functions. */
export type RecordingKind = 'state-machines' | 'functions';

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

/** Families that record constants, not behaviour. */
const dataOnly = new Set(['meta_feature_gates']);

/** Which kind and family a file is; `undefined` when it is neither (a transcript, data only). */
export async function identify(
  file: string,
): Promise<{ kind: RecordingKind; family: string; header: Header } | undefined> {
  for await (const first of linesOf(file)) {
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
      skipped: `there is no replay of ${kind}/${family}`,
    };
  let passed = 0;
  const failures: Failure[] = [];
  let failed = 0;
  let first = true;
  for await (const line of linesOf(file)) {
    if (first) {
      first = false;
      continue;
    }
    const mismatch = await attempt(() => replay(line, header));
    if (!mismatch) passed++;
    else if (++failed <= keep) failures.push({ file, id: caseName(line), mismatch });
  }
  return { kind, family, passed, failed, failures };
}

async function load(kind: RecordingKind, family: string): Promise<Replay | undefined> {
  if (kind === 'state-machines') {
    const replay = (await families[family]?.load())?.replay;
    return replay && ((line, header) => replay(line, header, podtenderStateMachines));
  }
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
