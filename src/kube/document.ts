import {
  Composer,
  type Document,
  type ErrorCode,
  isPair,
  isScalar,
  LineCounter,
  Parser,
  visit,
  type YAMLError,
} from 'yaml';
import { messageOf } from '../base/errors.ts';
import { goJson } from './go-json.ts';
import { findJsonFault } from './json-fault.ts';
import { collectionKey, valueOfNullKey } from './yaml-keys.ts';

/** Where something stands in a text; both count from 1. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

/** A text that is neither YAML nor JSON: what a Kubernetes reader says, where it is, and in plain words what is wrong. */
export interface SyntaxFault extends Partial<Position> {
  /** The words of the kubelet's own reader. */
  readonly message: string;
  /** What a person needs to mend it. */
  readonly advice: string;
}

/** A document read from text. */
export interface TextDocument {
  readonly value: unknown;
  /** As JSON with sorted keys; a text that is JSON already stays as it is. */
  readonly body: string;
  /** Where the value under a path of keys and indexes stands. */
  readonly locate: (path: readonly (string | number)[]) => Position | undefined;
  /** Keys that are given twice; the last one wins. */
  readonly duplicates: readonly (Position & { readonly key: string })[];
}

export type Parsed =
  | { readonly ok: true; readonly document: TextDocument }
  | { readonly ok: false; readonly fault: SyntaxFault };

/** Tags of YAML 1.1 that Kubernetes' reader leaves as text. */
const ignoredTags: ReadonlySet<string> = new Set(['tag:yaml.org,2002:timestamp', 'tag:yaml.org,2002:binary']);
const sexagesimal = new Set(['TIME']);

/** How many times aliases may be expanded: a bomb of nested aliases stops here. */
const maxAliases = 1000;

/**
 * Reads the first document of a text as Kubernetes does: JSON if it begins with `{`, else YAML 1.1 (`y` and `on` are booleans,
 * `0755` is octal; dates and `1:30` are text).
 */
export function parseDocument(text: string): Parsed {
  return /^\s*\{/.test(text) ? parseJson(text) : parseYaml(text);
}

function parseJson(text: string): Parsed {
  try {
    const value: unknown = JSON.parse(text);
    let yaml: ReturnType<typeof composeFirst> | undefined;
    const composed = (): ReturnType<typeof composeFirst> => (yaml ??= composeFirst(text));
    return {
      ok: true,
      document: {
        value,
        body: text,
        locate: (path) => locate(composed(), path),
        get duplicates() {
          return duplicatesOf(composed());
        },
      },
    };
  } catch {
    return { ok: false, fault: jsonFault(text) };
  }
}

function jsonFault(text: string): SyntaxFault {
  const { offset, message } = findJsonFault(text);
  const before = text.slice(0, offset).split('\n');
  const position = { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
  return {
    ...position,
    message: `couldn't get version/kind; json parse error: ${message}`,
    advice: `the JSON is broken: ${message}`,
  };
}

function composeFirst(text: string): {
  readonly doc: Document.Parsed | undefined;
  readonly lines: LineCounter;
} {
  const lines = new LineCounter();
  const composer = new Composer({
    version: '1.1',
    uniqueKeys: false,
    merge: true,
    customTags: (tags) =>
      tags.filter(
        (tag) => typeof tag === 'string' || !(ignoredTags.has(tag.tag) || sexagesimal.has(tag.format ?? '')),
      ),
  });
  const next = composer.compose(new Parser(lines.addNewLine).parse(text)).next();
  return { doc: next.done ? undefined : next.value, lines };
}

function parseYaml(text: string): Parsed {
  const { doc, lines } = composeFirst(text);
  const error = doc?.errors[0];
  if (error) return { ok: false, fault: yamlFault(error, text, { doc, lines }) };
  const keyFault = doc && unusableKey(doc);
  if (keyFault) return { ok: false, fault: keyFault };
  try {
    const value: unknown = doc?.toJS({ maxAliasCount: maxAliases }) ?? null;
    return {
      ok: true,
      document: {
        value,
        body: goJson(value),
        locate: (path) => locate({ doc, lines }, path),
        get duplicates() {
          return duplicatesOf({ doc, lines });
        },
      },
    };
  } catch (reason) {
    const anchor = /^Unresolved alias .*: (\S+)$/.exec(messageOf(reason))?.[1];
    if (anchor !== undefined) return { ok: false, fault: unknownAnchor(anchor) };
    return {
      ok: false,
      fault: {
        message: 'yaml: document contains excessive aliasing',
        advice: 'the YAML expands its aliases too often; write the parts out',
      },
    };
  }
}

function unusableKey(doc: Document): SyntaxFault | undefined {
  const key = collectionKey(doc.contents, doc);
  if (key !== undefined)
    return {
      message: `yaml: invalid map key: ${key}`,
      advice:
        'a list or mapping stands where a key is expected; was a template like `{{ x }}` left as it is?',
    };
  const value = valueOfNullKey(doc.contents);
  if (value === undefined) return undefined;
  return {
    message: `unsupported map key of type: %!s(<nil>), key: <nil>, value: ${value}`,
    advice: 'a key is empty or null; quote it if it is meant to be text',
  };
}

const unknownAnchor = (anchor: string): SyntaxFault => ({
  message: `yaml: unknown anchor '${anchor}' referenced`,
  advice: `the alias \`*${anchor}\` has no anchor \`&${anchor}\` before it`,
});

/** What the kubelet's reader says; `parser` marks what its parser finds, not its scanner: it counts lines from 0. */
type Wording = readonly [message: string, parser: boolean, advice: string];

const secondColon: Wording = [
  'mapping values are not allowed in this context',
  false,
  'a second `:` follows on one line; quote the text that holds it, or give the inner mapping a line of its own',
];
const yamlMessages: Partial<Record<ErrorCode, Wording>> = {
  BLOCK_AS_IMPLICIT_KEY: secondColon,
  TAB_AS_INDENT: [
    'found character that cannot start any token',
    false,
    'a tab stands where YAML wants spaces; indent with spaces',
  ],
  KEY_OVER_1024_CHARS: ["could not find expected ':'", false, 'a key is longer than 1024 characters'],
  BAD_SCALAR_START: [
    'found character that cannot start any token',
    false,
    'a text that begins with `@` or a back-tick must be quoted',
  ],
  BAD_INDENT: ['did not find expected key', true, 'the indentation does not match the lines above'],
  MISSING_CHAR: ['did not find expected node content', true, 'a bracket or quote is not closed'],
  BAD_DQ_ESCAPE: [
    'found unknown escape character',
    false,
    'a backslash in a double-quoted text is not a known escape',
  ],
  BAD_ALIAS: ['unknown anchor', true, 'an alias (`*name`) has no anchor (`&name`) before it'],
};

type Composed = ReturnType<typeof composeFirst>;

function yamlFault(error: YAMLError, text: string, composed: Composed): SyntaxFault {
  const { lines } = composed;
  const { line, col } = lines.linePos(error.pos[0]);
  const plain = error.message.split(/ at line \d+/)[0] ?? error.message;
  const key = brokenKey(plain, error.pos, text, composed) ?? secondKey(plain, error.pos[0], text, composed);
  if (key) return { line, column: col, ...key };
  const known = wordingOf(plain, text.slice(0, error.pos[0])) ?? yamlMessages[error.code];
  const [message, parser, advice] = known ?? ['did not find expected node content', true, plain];
  // the kubelet's parser counts its line from 0 and names none for the first; its input ends on a line of its own
  const atEnd = text.slice(error.pos[0]).trim() === '';
  const shown = parser ? (atEnd ? text.trimEnd().split('\n').length : line - 1) : line;
  const where = shown > (parser ? 0 : 1) ? `line ${shown}: ` : '';
  return { line, column: col, message: `yaml: ${where}${message}`, advice: `${advice} (${plain})` };
}

const wordingOf = (plain: string, before: string): Wording | undefined =>
  unclosed(plain, before) ?? noItem(plain, before) ?? wordings.find(([words]) => words.test(plain))?.[1];

/** A bracket that never closes: what the kubelet misses depends on what stands before the end. */
function unclosed(plain: string, before: string): Wording | undefined {
  const close = /end with a ([\]}])/.exec(plain)?.[1];
  if (close === undefined) return undefined;
  const message = /[[{,:]$/.test(before.trimEnd())
    ? 'did not find expected node content'
    : `did not find expected ',' or '${close}'`;
  return [message, true, `a \`${close}\` is missing`];
}

/**
 * A key without its `:`, or with it on a later line. The kubelet's reader stops at what comes behind the key; only of the first key of a
 * mapping it cannot tell that it was to be one.
 */
function brokenKey(
  plain: string,
  [start, end]: readonly [number, number],
  text: string,
  { doc, lines }: Composed,
): SyntaxFault | undefined {
  const onSeveralLines = plain.startsWith('Implicit keys need to be on a single line');
  if (!onSeveralLines && !plain.startsWith('Implicit map keys need to be followed')) return undefined;
  const missing = text.slice(end).search(/\S/);
  const behind = missing < 0 ? text.trimEnd().split('\n').length + 1 : lines.linePos(end + missing).line;
  const first = onSeveralLines && isFirstKey(start, doc);
  const message = first ? 'mapping values are not allowed in this context' : "could not find expected ':'";
  return {
    message: `yaml: line ${behind}: ${message}`,
    advice: `a \`key:\` must stand on one line (${plain})`,
  };
}

function isFirstKey(offset: number, doc: Composed['doc']): boolean {
  let first = false;
  if (doc)
    visit(doc, {
      Map: (_key, { items: [pair] }) => {
        if (isScalar(pair?.key) && pair.key.range?.[0] === offset) first = true;
      },
    });
  return first;
}

/** A second `:` on one line: the kubelet's reader stops at it, or before that at what follows a quoted text. */
function secondKey(plain: string, start: number, text: string, { lines }: Composed): SyntaxFault | undefined {
  const rest = text.slice(start);
  if (!plain.startsWith('Nested mappings are not allowed') || /^["'[{]/.test(rest)) return undefined;
  const { line } = lines.linePos(start + Math.max(0, rest.search(/:(\s|$)/)));
  const where = line > 1 ? `line ${line}: ` : '';
  const [message, , advice] = secondColon;
  return { message: `yaml: ${where}${message}`, advice: `${advice} (${plain})` };
}

const keyExpected = 'did not find expected key';

/** What stands among the items of a list without being one; a list no deeper than its key ends there, the key's mapping goes on. */
function noItem(plain: string, before: string): Wording | undefined {
  if (!plain.startsWith('Sequence item without - ')) return undefined;
  const lines = before.split('\n');
  const dash = lines.findLast((line) => /^ *-( |$)/.test(line))?.indexOf('-') ?? 0;
  const parent = lines.findLast((line) => /^ *[^ #-]/.test(line) && line.search(/\S/) <= dash);
  const message = parent?.search(/\S/) === dash ? keyExpected : "did not find expected '-' indicator";
  return [message, true, 'an item of a list must begin with `-`'];
}

/** Where the words of the fault say more than its code. */
const wordings: readonly (readonly [RegExp, Wording])[] = [
  [/^Missing closing .quote/, ['found unexpected end of stream', false, 'a quote is not closed']],
  [/^A block sequence may not be used/, [keyExpected, true, 'a list stands where a key is expected']],
  [/^Unexpected (scalar|flow-(map|seq)-end)/, [keyExpected, true, 'something follows that is no key']],
  [
    /^Unexpected block-seq-ind/,
    ['block sequence entries are not allowed in this context', false, 'a `-` follows a key on its line'],
  ],
  [
    /^Plain value cannot start with flow indicator/,
    ['did not find expected node content', true, 'a text that begins with a bracket or comma must be quoted'],
  ],
  [/^Nested mappings are not allowed/, [keyExpected, true, 'something follows a quoted text or a bracket']],
];

function locate(
  { doc, lines }: ReturnType<typeof composeFirst>,
  path: readonly (string | number)[],
): Position | undefined {
  for (let length = path.length; length >= 0; length--) {
    const node = doc?.getIn(path.slice(0, length), true) as { range?: readonly number[] } | undefined;
    const start = node?.range?.[0];
    if (start !== undefined) {
      const { line, col } = lines.linePos(start);
      return { line, column: col };
    }
  }
  return undefined;
}

function duplicatesOf({
  doc,
  lines,
}: ReturnType<typeof composeFirst>): (Position & { readonly key: string })[] {
  const found: (Position & { readonly key: string })[] = [];
  if (!doc) return found;
  visit(doc, {
    Map: (_key, map, ancestors) => {
      const seen = new Set<unknown>();
      for (const { key } of map.items) {
        if (!isScalar(key)) continue;
        if (seen.has(key.value)) {
          const { line, col } = lines.linePos(key.range?.[0] ?? 0);
          found.push({ key: [...keysAbove(ancestors), String(key.value)].join('.'), line, column: col });
        }
        seen.add(key.value);
      }
    },
  });
  return found;
}

/** The keys on the way from the root to a node. */
function keysAbove(ancestors: readonly unknown[]): string[] {
  return ancestors.flatMap((node) => (isPair(node) && isScalar(node.key) ? [String(node.key.value)] : []));
}
