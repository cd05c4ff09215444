import { createReadStream } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { createInterface } from 'node:readline';
import { createGunzip } from 'node:zlib';
import { parseExactly } from './raw-numbers.ts';

export type Json = Readonly<Record<string, unknown>>;

/** The recorded answer to one step. */
export interface RecordedAnswer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, readonly string[]>>;
  readonly body?: unknown;
  readonly text?: string;
  readonly base64?: string;
  readonly bodyOmitted?: unknown;
  readonly truncated?: unknown;
  readonly sameBodyAsStep?: number;
  readonly foreignItemsDropped?: unknown;
  /** The server ended the connection without an answer. */
  readonly connectionError?: string;
}

/** One recorded step; which members there are depends on `op`. */
export interface Step {
  readonly op: string;
  readonly setup?: boolean;
  readonly method?: string;
  readonly path?: string;
  readonly as?: string | null;
  readonly headers?: Readonly<Record<string, string | null>>;
  readonly body?: unknown;
  readonly rawBody?: string;
  readonly rawBodyBase64?: string;
  readonly res?: RecordedAnswer;
  readonly id?: string;
  readonly events?: readonly unknown[];
  readonly closed?: boolean;
  readonly closedByServer?: boolean;
  readonly bearer?: string;
  readonly jwt?: { readonly header?: Json; readonly claims?: Json };
}

/** One line of a transcript file. */
export interface TranscriptCase {
  readonly id: string;
  readonly family: string;
  readonly title?: string;
  readonly steps?: readonly Step[];
}

/** Where an answer parted from the recording. */
export interface Deviation {
  readonly step: number;
  readonly what: string;
  readonly path: string;
  readonly expected: unknown;
  readonly actual: unknown;
}

/** Plays the cases of some families; one for each kind of program that was recorded. */
export interface Player {
  readonly families: ReadonlySet<string>;
  /** Whether it knows how to play this case of its families; absent: all. */
  plays?(one: TranscriptCase): boolean;
  play(one: TranscriptCase): Promise<readonly Deviation[]>;
  close(): Promise<void>;
}

/** The transcript files of a folder by family. */
export async function transcriptFiles(dir: string): Promise<Map<string, string>> {
  const names = await readdir(dir).catch((): string[] => []);
  const files = names.filter((name) => /\.jsonl(\.gz)?$/.test(name)).sort();
  return new Map(files.map((name) => [basename(name).replace(/\.jsonl(\.gz)?$/, ''), join(dir, name)]));
}

/** The cases of one file. */
export async function* readCases(file: string): AsyncGenerator<TranscriptCase> {
  const raw = createReadStream(file);
  const input = file.endsWith('.gz') ? raw.pipe(createGunzip()) : raw;
  for await (const line of createInterface({ input, crlfDelay: Infinity }))
    if (line.trim() !== '') yield parseExactly(line) as TranscriptCase;
}
