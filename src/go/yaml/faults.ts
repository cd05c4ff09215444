import {
  type Document,
  type ErrorCode,
  isCollection,
  isScalar,
  isSeq,
  type LineCounter,
  visit,
  type YAMLError,
} from 'yaml';
import { tabWording, type Wording } from './tabs.ts';

/** A position in a text; line and column count from 1. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

/** A syntax error of YAML or JSON: the message of Kubernetes' reader, the position, and an explanation. */
export interface SyntaxFault extends Partial<Position> {
  /** Message in the words of the kubelet's reader. */
  readonly message: string;
  /** Explanation of how to fix it. */
  readonly advice: string;
}

/** A YAML document from the parser, and its line starts. */
export interface Composed {
  readonly doc: Document.Parsed | undefined;
  readonly lines: LineCounter;
}

/** Returns the error of a document whose aliases cannot be expanded. */
export function expansionFault(plain: string, doc: Document | undefined): SyntaxFault {
  if (plain.startsWith('Merge sources must be'))
    return {
      message: 'yaml: map merge requires map or sequence of maps as the value',
      advice: 'the value of `<<:` must be a mapping, or a list of mappings',
    };
  const circle = doc && anchorInItself(doc);
  if (circle !== undefined)
    return {
      message: `yaml: anchor '${circle}' value contains itself`,
      advice: `what \`&${circle}\` names holds \`*${circle}\`; write the parts out`,
    };
  return {
    message: 'yaml: document contains excessive aliasing',
    advice: 'the YAML expands its aliases too often; write the parts out',
  };
}

function anchorInItself(doc: Document): string | undefined {
  let found: string | undefined;
  visit(doc, {
    Alias: (_key, { source }, ancestors) => {
      if (ancestors.some((node) => isCollection(node) && node.anchor === source)) found ??= source;
    },
  });
  return found;
}

/**
 * True when the document ends before the error. Text further to the left than its mapping or list, or after a scalar or flow collection,
 * belongs to another document for the kubelet's reader, which reads only the first.
 */
export function endsBefore(error: YAMLError, { doc, lines }: Composed): boolean {
  const root = doc?.contents;
  if (!root?.range || !/^Unexpected \S+ at node end/.test(error.message)) return false;
  const [start, end] = root.range;
  if (!isCollection(root) || root.flow) return error.pos[0] >= end;
  return lines.linePos(error.pos[0]).col < lines.linePos(start).col;
}

/** Returns the error of an alias without a preceding anchor. */
export const unknownAnchor = (anchor: string): SyntaxFault => ({
  message: `yaml: unknown anchor '${anchor}' referenced`,
  advice: `the alias \`*${anchor}\` has no anchor \`&${anchor}\` before it`,
});

const secondColon: Wording = [
  'mapping values are not allowed in this context',
  false,
  'a second `:` follows on one line; quote the text that holds it, or give the inner mapping a line of its own',
];
const yamlMessages: Partial<Record<ErrorCode, Wording>> = {
  BLOCK_AS_IMPLICIT_KEY: secondColon,
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
  BAD_ALIAS: [
    'did not find expected alphabetic or numeric character',
    false,
    'an alias (`*name`) or anchor (`&name`) has no name',
  ],
};

/** Returns the first error of a document in the words of the kubelet's reader. */
export function yamlFault(first: YAMLError, text: string, composed: Composed): SyntaxFault {
  const { doc, lines } = composed;
  const alias = doc && aliasToNothing(doc, first.pos[0]);
  if (alias !== undefined) return unknownAnchor(alias);
  const error = unclosedText(first, doc) ?? first;
  const { line, col } = lines.linePos(error.pos[0]);
  const plain = error.message.split(/ at line \d+/)[0] ?? error.message;
  const key = brokenKey(plain, error.pos, text, composed) ?? secondKey(plain, error.pos[0], text, composed);
  if (key) return { line, column: col, ...key };
  const next = error.pos[0] + blanks(text.slice(error.pos[0]));
  const wording = listFault(plain, text, lines.linePos(next), composed) ??
    wordingOf(plain, text.slice(0, error.pos[0])) ??
    yamlMessages[error.code] ?? ['did not find expected node content', true, plain];
  const [message, , advice] = wording;
  return {
    line,
    column: col,
    message: `yaml: ${placeOf(wording, { text, next, line, lines })}${message}`,
    advice: `${advice} (${plain})`,
  };
}

/**
 * Returns the position in a message: the kubelet's parser counts lines from 0, reports the next token's line, and omits the first; its
 * input ends on a line of its own.
 */
function placeOf(
  [, parser]: Wording,
  at: Pick<Composed, 'lines'> & { readonly text: string; readonly next: number; readonly line: number },
): string {
  if (!parser) return at.line > 1 ? `line ${at.line}: ` : '';
  const atEnd = at.next === at.text.length;
  const line = atEnd ? at.text.trimEnd().split('\n').length : at.lines.linePos(at.next).line - 1;
  return line > 0 ? `line ${line}: ` : '';
}

/** Returns an alias without anchor before the error: the kubelet's reader stops there. */
function aliasToNothing(doc: Document, before: number): string | undefined {
  let found: string | undefined;
  visit(doc, {
    Alias: (_key, alias) => {
      if ((alias.range?.[0] ?? before) < before && alias.resolve(doc) === undefined) found ??= alias.source;
    },
  });
  return found;
}

/** Returns an unterminated quote, which is the cause when a key spans several lines. */
const unclosedText = (first: YAMLError, doc: Document | undefined): YAMLError | undefined =>
  first.message.startsWith('Implicit keys need to be on a single line')
    ? doc?.errors.find(({ message }) => /^Missing closing .quote/.test(message))
    : undefined;

/** Returns the error where a list item is expected. */
function listFault(
  plain: string,
  text: string,
  { line, col }: { readonly line: number; readonly col: number },
  { doc }: Composed,
): Wording | undefined {
  if (plain.endsWith('at node end') && col === 1 && isSeq(doc?.contents)) return itemExpected;
  if (!plain.startsWith('All mapping items must start')) return undefined;
  return isList(text.split('\n').slice(0, line - 1), col - 1) ? itemExpected : undefined;
}

/**
 * True when the innermost collection that begins at or left of a column is a list. One that is not indented deeper than its key belongs to
 * the key's mapping.
 */
function isList(above: readonly string[], column: number): boolean {
  const indents = above.map((line) => (/^ *(#|$)/.test(line) ? Infinity : line.search(/[^ ]/)));
  const last = indents.findLastIndex((indent) => indent <= column);
  const [marks = ''] = /^ *(?:- +)*/.exec(above[last] ?? '') ?? [];
  const [dashes] = /^ *(?:- *)*/.exec(marks.slice(0, column + 1)) ?? [''];
  const dash = dashes.lastIndexOf('-');
  if (dash < 0 || marks.length <= column) return false;
  const opener = above.findLastIndex((line, i) => (indents[i] ?? 0) <= dash && !/^ *-( |$)/.test(line));
  return dash !== indents[last] || indents[opener] !== dash;
}

/** Returns the number of leading blank and comment characters. */
const blanks = (text: string): number => /^(?:\s|#.*)*/.exec(text)?.[0].length ?? 0;

const wordingOf = (plain: string, before: string): Wording | undefined =>
  unclosed(plain, before) ??
  noItem(plain, before) ??
  (plain.startsWith('Tabs are not allowed') ? tabWording(before, '') : undefined) ??
  noValue(plain, before) ??
  wordings.find(([words]) => words.test(plain))?.[1];

/** Returns the error of a closing bracket where a value is expected. */
function noValue(plain: string, before: string): Wording | undefined {
  if (!/^Unexpected flow-(map|seq)-end/.test(plain) || !/(^|[:-])$/.test(before.trimEnd())) return undefined;
  return ['did not find expected node content', true, 'a bracket is closed that was not opened'];
}

/** Returns the error of an unterminated bracket, which depends on what precedes the end. */
function unclosed(plain: string, before: string): Wording | undefined {
  const close = /end with a ([\]}])/.exec(plain)?.[1];
  if (close === undefined) return undefined;
  const message = /[[{,:]$/.test(before.trimEnd())
    ? 'did not find expected node content'
    : `did not find expected ',' or '${close}'`;
  return [message, true, `a \`${close}\` is missing`];
}

/**
 * Returns the error of a key without `:`, or with it on a later line. The kubelet's reader stops at what follows the key, except for the
 * first key of a mapping, which it cannot recognize as a key.
 */
function brokenKey(
  plain: string,
  [start, end]: readonly [number, number],
  text: string,
  { doc, lines }: Composed,
): SyntaxFault | undefined {
  const onSeveralLines = plain.startsWith('Implicit keys need to be on a single line');
  if (!onSeveralLines && !plain.startsWith('Implicit map keys need to be followed')) return undefined;
  if (/^-\s/.test(text.slice(start))) return undefined;
  // The parser reports only the first of several brackets, and the whole key in another error.
  const key = /^[[{]/.test(text.slice(start))
    ? doc?.errors.find(({ pos, message }) => pos[0] === start && message.startsWith('Implicit map keys'))
    : undefined;
  const keyEnd = key?.pos[1] ?? end;
  const missing = text.slice(keyEnd).search(/\S/);
  const behind = missing < 0 ? text.trimEnd().split('\n').length + 1 : lines.linePos(keyEnd + missing).line;
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

/** Returns the error of a second `:` on one line: the kubelet's reader stops at it, or before it at what follows a quoted scalar. */
function secondKey(plain: string, start: number, text: string, { lines }: Composed): SyntaxFault | undefined {
  const rest = text.slice(start);
  if (!plain.startsWith('Nested mappings are not allowed') || /^["'[{]/.test(rest)) return undefined;
  const { line } = lines.linePos(start + Math.max(0, rest.search(/:(\s|$)/)));
  const where = line > 1 ? `line ${line}: ` : '';
  const [message, , advice] = secondColon;
  return { message: `yaml: ${where}${message}`, advice: `${advice} (${plain})` };
}

const keyExpected = 'did not find expected key';

/**
 * Returns the error of text among list items; a list that is not indented deeper than its key ends there, and the key's mapping continues.
 */
function noItem(plain: string, before: string): Wording | undefined {
  if (!plain.startsWith('Sequence item without - ')) return undefined;
  const lines = before.split('\n');
  const dash = lines.findLast((line) => /^ *-( |$)/.test(line))?.indexOf('-') ?? 0;
  const parent = lines.findLast((line) => /^ *[^ #-]/.test(line) && line.search(/\S/) <= dash);
  return parent?.search(/\S/) === dash ? [keyExpected, true, itemExpected[2]] : itemExpected;
}

const itemExpected: Wording = [
  "did not find expected '-' indicator",
  true,
  'an item of a list must begin with `-`',
];

/** Patterns of parser messages that determine the error more precisely than its code. */
const wordings: readonly (readonly [RegExp, Wording])[] = [
  [/^Missing closing .quote/, ['found unexpected end of stream', false, 'a quote is not closed']],
  [/^Implicit keys need to be on/, [keyExpected, true, 'a list stands where a key is expected']],
  [
    /^Block scalar header includes/,
    ['did not find expected comment or line break', false, 'behind `|` or `>` something follows'],
  ],
  [/^A block sequence may not be used/, [keyExpected, true, 'a list stands where a key is expected']],
  [/^Unexpected (scalar|alias|flow-(map|seq)-end)/, [keyExpected, true, 'something follows that is no key']],
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
