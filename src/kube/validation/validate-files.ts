import { ownMember, setOwn } from '../../base/own.ts';
import { parseDocument, type Position, type TextDocument } from '../../go/yaml/document.ts';
import { withLineFeeds } from '../../go/yaml/reader.ts';
import { typeMetaOf } from '../../go/go-types.ts';
import { decodeStruct } from '../decode/pod-decoder.ts';
import type { Pod } from '../types.ts';
import { unknownFields } from '../decode/unknown-fields.ts';
import { defaultPod } from './defaults.ts';
import { bodyOf, type FieldError, formatFieldError } from './field-error.ts';
import type { PodValidationOptions } from './options.ts';
import { validatePod } from './pod.ts';

/** A file to check: its name in messages, and its text. */
export interface ManifestFile {
  readonly name: string;
  readonly text: string;
}

/** An error in a manifest with its position. */
export interface ManifestProblem extends Position {
  readonly file: string;
  readonly message: string;
}

/** Result of checking manifests. */
export interface ManifestReport {
  /** Problems in the order of files and documents. */
  readonly problems: readonly ManifestProblem[];
  /** What of sound pods will not be kept, in the same order; absent: it was not asked for. */
  readonly warnings?: readonly ManifestProblem[];
  /** Number of checked pods. */
  readonly pods: number;
  /** Documents that are not pods; they are not checked. */
  readonly others: readonly (ManifestProblem & {
    readonly apiVersion: string;
    readonly kind: string;
    readonly text: string;
  })[];
}

/** Options of checking manifests. */
export interface ManifestCheckOptions extends PodValidationOptions {
  /** Returns further reasons against a valid pod, given the valid pods before it; for example of a provider that would reject it. */
  readonly refusals?: (pod: Pod, others: readonly Pod[]) => readonly string[];
  /** What a provider that takes a sound pod will not keep of it. */
  readonly warnings?: (pod: Pod, others: readonly Pod[]) => readonly string[];
}

interface Scan {
  readonly file: string;
  readonly options: ManifestCheckOptions;
  /** Valid pods of all files. */
  readonly sound: Pod[];
  readonly problems: ManifestProblem[];
  readonly warnings: ManifestProblem[];
  readonly others: ManifestReport['others'][number][];
  pods: number;
}

/**
 * Checks pod manifests as the API server would: syntax, types, unknown and duplicate fields, then every validation rule. A file may
 * contain several documents; each is a Pod, a PodList or a List of pods.
 */
export function validateManifests(
  files: readonly ManifestFile[],
  options: ManifestCheckOptions = {},
): ManifestReport {
  const sound: Pod[] = [];
  const problems: ManifestProblem[] = [];
  const warnings: ManifestProblem[] = [];
  const others: ManifestReport['others'][number][] = [];
  let pods = 0;
  for (const { name, text: whole } of files) {
    const text = withLineFeeds(whole);
    const scan: Scan = { file: name, options, sound, problems, warnings, others, pods: 0 };
    const documents = documentsOf(text);
    const filled = documents.filter((document) => checkDocument(document, scan));
    if (filled.length === 0)
      problems.push({ file: name, line: 1, column: 1, message: 'the file holds no manifest' });
    pods += scan.pods;
  }
  return { problems, pods, others, ...(options.warnings && { warnings }) };
}

/** Formats a problem for editors and terminals: `file:line:column: message`. */
export const formatProblem = ({ file, line, column, message }: ManifestProblem): string =>
  `${file}:${line}:${column}: ${message}`;

/** Splits a text into documents that keep their line numbers. */
function documentsOf(text: string): readonly string[] {
  if (/^\s*\{/.test(text)) return [text];
  const documents: string[][] = [[]];
  for (const [i, line] of text.split('\n').entries()) {
    if (/^---(\s|$)/.test(line)) documents.push(Array.from({ length: i }, () => ''));
    // Text after the marker belongs to the document.
    documents.at(-1)?.push(/^---(\s|$)/.test(line) ? `   ${line.slice(3)}` : line);
  }
  return documents.map((lines) => lines.join('\n'));
}

/** Checks one document. @returns false when it is empty */
function checkDocument(text: string, scan: Scan): boolean {
  if (text.replace(/^\s*(#.*)?$/gm, '') === '') return false;
  const parsed = parseDocument(text);
  const report = (message: string, position: Partial<Position> = {}): void => {
    scan.problems.push({
      file: scan.file,
      line: position.line ?? firstLine(text),
      column: position.column ?? 1,
      message,
    });
  };
  if (!parsed.ok) {
    report(
      parsed.fault.advice === '' ? parsed.fault.message : `${parsed.fault.message}: ${parsed.fault.advice}`,
      parsed.fault,
    );
    return true;
  }
  if (parsed.document.value === null) return false;
  checkObject(parsed.document, text, { scan, report });
  return true;
}

function checkObject(document: TextDocument, text: string, { scan, report }: Sink): void {
  const meta = typeMetaOf(document.value, document.body);
  if (typeof meta === 'string') {
    report(`${meta}: a manifest begins with apiVersion: v1 and kind: Pod`, document.locate([]));
    return;
  }
  for (const { key, ...position } of document.duplicates) report(`duplicate field "${key}"`, position);
  const at = document.locate(['kind']) ?? { line: firstLine(text), column: 1 };
  if (meta.apiVersion === 'v1' && meta.kind === 'Pod')
    checkPod(document, document.value, [], { scan, report });
  else if (meta.apiVersion === 'v1' && (meta.kind === 'PodList' || meta.kind === 'List'))
    checkList(document, { scan, report });
  else
    scan.others.push({
      ...at,
      file: scan.file,
      apiVersion: meta.apiVersion,
      kind: meta.kind,
      text,
      message: `no rules for ${meta.apiVersion} ${meta.kind}`,
    });
}

const firstLine = (text: string): number => {
  const lines = text.split('\n').findIndex((line) => line.trim() !== '' && !line.trimStart().startsWith('#'));
  return Math.max(1, lines + 1);
};

interface Sink {
  readonly scan: Scan;
  readonly report: (message: string, position?: Partial<Position>) => void;
}

type Path = readonly (string | number)[];

function checkList(document: TextDocument, sink: Sink): void {
  const { items } = document.value as { readonly items?: unknown };
  if (!Array.isArray(items)) {
    sink.report('items: Required value: a list holds pods', document.locate(['items']));
    return;
  }
  for (const [i, item] of items.entries()) checkPod(document, item, ['items', i], sink);
}

function checkPod(document: TextDocument, value: unknown, at: Path, { scan, report }: Sink): void {
  scan.pods++;
  const prefix = at.length === 0 ? '' : `items[${at[1] ?? 0}].`;
  for (const { field, path } of unknownFields(value, 'Pod'))
    report(`unknown field "${prefix}${field}"`, document.locate([...at, ...path]));
  const before = scan.problems.length;
  const { pod, unread } = decodedPod(value, (message, path) => {
    const text = `${prefix}${fieldOf(path)}: Invalid value: ${clip(JSON.stringify(valueAt(value, path)))}: ${message}`;
    report(text, document.locate([...at, ...path]));
  });
  const placed = { ...pod, metadata: { ...pod.metadata, namespace: pod.metadata?.namespace ?? 'default' } };
  for (const fault of validatePod(defaultPod(placed), scan.options)) {
    if (unread.some((field) => fault.field === field || fault.field.startsWith(`${field}[`))) continue;
    report(prefixed(prefix, fault), document.locate([...at, ...pathOf(fault.field)]));
  }
  const place = document.locate(at);
  for (const text of scan.options.refusals?.(placed, scan.sound) ?? []) report(text, place);
  if (scan.problems.length === before) takeSound(placed, place, scan);
}

/** Notes a pod without a fault, and what will not be kept of it. */
function takeSound(pod: Pod, place: Position | undefined, { file, options, sound, warnings }: Scan): void {
  for (const message of options.warnings?.(pod, sound) ?? [])
    warnings.push({ file, line: 1, column: 1, ...place, message });
  sound.push(pod);
}

const prefixed = (prefix: string, fault: FieldError): string =>
  prefix === '' ? formatFieldError(fault) : `${prefix}${fault.field}: ${bodyOf(fault)}`;

const clip = (text: string): string => (text.length > 120 ? `${text.slice(0, 120)}…` : text);

/** Maximum number of type errors to report per pod. */
const mostWrongTypes = 100;

/** Returns the pod without values of a wrong type, each of which is reported; `unread` has their fields. */
function decodedPod(
  value: unknown,
  report: (message: string, path: Path) => void,
): { readonly pod: Pod; readonly unread: readonly string[] } {
  const unread: string[] = [];
  let rest = value;
  for (let decoded = decodeStruct(rest, 'Pod'); ; decoded = decodeStruct(rest, 'Pod')) {
    if (decoded.ok) return { pod: decoded.value as Pod, unread };
    const { message, path } = decoded.fault;
    report(message, path);
    unread.push(fieldOf(path));
    if (path.length === 0 || unread.length === mostWrongTypes) return { pod: {}, unread };
    rest = without(rest, path);
  }
}

const fieldOf = (path: Path): string =>
  path
    .map((part, index) => (typeof part === 'number' ? `[${part}]` : `${index === 0 ? '' : '.'}${part}`))
    .join('');

const valueAt = (value: unknown, path: Path): unknown =>
  path.reduce<unknown>(
    (inner, part) => ownMember(inner as Readonly<Record<string, unknown>>, String(part)),
    value,
  );

/** Returns the value without the member at a path; an item of a list becomes null, so that indexes stay. */
function without(value: unknown, [first, ...rest]: Path): unknown {
  if (first === undefined) return undefined;
  if (Array.isArray(value))
    return value.map((item: unknown, index) => {
      if (index !== Number(first)) return item;
      return rest.length === 0 ? null : without(item, rest);
    });
  const members = { ...(value as Readonly<Record<string, unknown>>) };
  const key = String(first);
  if (rest.length === 0) Reflect.deleteProperty(members, key);
  else setOwn(members, key, without(ownMember(members, key), rest));
  return members;
}

/** Parses `spec.containers[0].name` into keys and indexes. */
const pathOf = (field: string): Path =>
  [...field.matchAll(/([^.[\]]+)|\[([^\]]*)\]/g)].map(([, key, index]) =>
    index !== undefined && /^\d+$/.test(index) ? Number(index) : (key ?? index ?? ''),
  );
