import {
  Composer,
  type CST,
  type Document,
  isPair,
  isScalar,
  LineCounter,
  Parser,
  visit,
  type YAMLParseError,
} from 'yaml';
import { messageOf } from '../../base/errors.ts';
import { goJson } from '../go-json.ts';
import { findJsonFault, parseJson as parseJsonText } from '../json-fault.ts';
import {
  type Composed,
  endsBefore,
  expansionFault,
  type Position,
  type SyntaxFault,
  unknownAnchor,
  yamlFault,
} from './faults.ts';
import { goLexer } from './lexer.ts';
import { lastWins } from './merge.ts';
import { collectionKey, valueOfNullKey } from './keys.ts';
import { numberTags, unsupportedNumber } from './scalars.ts';
import { readerFault, withLineFeeds } from './reader.ts';
import { tabLine } from './tabs.ts';

export type { Position, SyntaxFault };

/** A parsed document. */
export interface TextDocument {
  readonly value: unknown;
  /** The document as JSON with sorted keys; JSON text stays unchanged. */
  readonly body: string;
  /** Returns the position of the value at a path of keys and indexes. */
  readonly locate: (path: readonly (string | number)[]) => Position | undefined;
  /** Duplicate keys; the last one wins. */
  readonly duplicates: readonly (Position & { readonly key: string })[];
}

export type Parsed =
  | { readonly ok: true; readonly document: TextDocument }
  | { readonly ok: false; readonly fault: SyntaxFault };

/** YAML 1.1 tags that Kubernetes' reader treats as text, and numbers, which it parses in its own way. */
const ignoredTags: ReadonlySet<string> = new Set(
  ['timestamp', 'binary', 'int', 'float'].map((name) => `tag:yaml.org,2002:${name}`),
);

/** Maximum number of alias expansions, against nested-alias bombs. */
const maxAliases = 1000;

/**
 * Parses the first document of a text as Kubernetes does: JSON if it begins with `{`, otherwise YAML 1.1 (`y` and `on` are booleans,
 * `0755` is octal; dates and `1:30` are text).
 */
export function parseDocument(text: string): Parsed {
  // A byte order mark is not white space in Go.
  return /^(?!\ufeff)\s*\{/.test(text) ? parseJson(text) : parseYaml(text);
}

function parseJson(text: string): Parsed {
  try {
    const value = parseJsonText(text);
    let yaml: Composed | undefined;
    const composed = (): Composed => (yaml ??= composeFirst(text));
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

function composeFirst(text: string): Composed {
  const lines = new LineCounter();
  const composer = new Composer({
    version: '1.1',
    uniqueKeys: false,
    merge: true,
    customTags: (tags) => [
      ...tags.filter((tag) => typeof tag === 'string' || !ignoredTags.has(tag.tag)),
      ...numberTags,
    ],
  });
  const next = composer.compose(tokensOf(text, lines)).next();
  return { doc: next.done ? undefined : next.value, lines };
}

function* tokensOf(text: string, lines: LineCounter): Generator<CST.Token> {
  const parser = new Parser(lines.addNewLine);
  lines.addNewLine(0);
  for (const lexeme of goLexer().lex(text)) yield* parser.next(lexeme);
  yield* parser.end();
}

export function parseYaml(source: string): Parsed {
  const fault = readerFault(source);
  if (fault !== undefined) return { ok: false, fault: unreadable(fault) };
  const text = withLineFeeds(source.replace(/^\ufeff/, ''));
  const composed = composeFirst(text);
  const syntaxFault = syntaxFaultOf(text, composed);
  return syntaxFault ? { ok: false, fault: syntaxFault } : readComposed(composed);
}

const unreadable = (fault: string): SyntaxFault => ({
  message: `yaml: ${fault}`,
  advice: fault.startsWith('control')
    ? 'the text contains invisible control characters; remove them, or write them as escapes'
    : 'the file is neither UTF-8 nor UTF-16 with a byte order mark; convert it',
});

function syntaxFaultOf(text: string, composed: Composed): SyntaxFault | undefined {
  const { doc, lines } = composed;
  const first = doc?.errors.find((error) => !isLoneComment(error, text));
  const error = first && endsBefore(first, composed) ? undefined : first;
  const tab = tabLine(text, doc);
  if (!tab || (error && error.pos[0] <= tab.offset)) return error && yamlFault(error, text, composed);
  const { line, col } = lines.linePos(tab.offset);
  const [message, , advice] = tab.wording;
  return { line, column: col, message: `yaml: ${line > 1 ? `line ${line}: ` : ''}${message}`, advice };
}

/** True for an error about a comment directly after a flow collection: a comment at the start of its line is valid. */
const isLoneComment = ({ message, pos: [at] }: YAMLParseError, text: string): boolean =>
  message.startsWith('Comments must be separated') && text[at - 1] === '\n';

function readComposed(composed: Composed): Parsed {
  const { doc } = composed;
  const keyFault = doc && unusableKey(doc);
  if (keyFault) return { ok: false, fault: keyFault };
  try {
    if (doc) lastWins(doc);
    const value: unknown = doc?.toJS({ maxAliasCount: maxAliases }) ?? null;
    const unsupported = unsupportedNumber(value);
    if (unsupported !== undefined)
      return {
        ok: false,
        fault: { message: `json: unsupported value: ${unsupported}`, advice: 'JSON has no such number' },
      };
    return {
      ok: true,
      document: {
        value,
        body: goJson(value),
        locate: (path) => locate(composed, path),
        get duplicates() {
          return duplicatesOf(composed);
        },
      },
    };
  } catch (reason) {
    const anchor = /^Unresolved alias .*: (\S+)$/.exec(messageOf(reason))?.[1];
    if (anchor !== undefined) return { ok: false, fault: unknownAnchor(anchor) };
    return { ok: false, fault: expansionFault(messageOf(reason), doc) };
  }
}

function unusableKey(doc: Document): SyntaxFault | undefined {
  const key = collectionKey(doc.contents, doc);
  if (key !== undefined)
    return {
      message: `yaml: invalid map key: ${key}`,
      advice: 'a list or mapping is used as a key; is this an unrendered template such as `{{ x }}`?',
    };
  const value = valueOfNullKey(doc.contents);
  if (value === undefined) return undefined;
  return {
    message: `unsupported map key of type: %!s(<nil>), key: <nil>, value: ${value}`,
    advice: 'a key is empty or null; quote it if it is meant to be text',
  };
}

function locate({ doc, lines }: Composed, path: readonly (string | number)[]): Position | undefined {
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

function duplicatesOf({ doc, lines }: Composed): (Position & { readonly key: string })[] {
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

/** Returns the keys on the path from the root to a node. */
function keysAbove(ancestors: readonly unknown[]): string[] {
  return ancestors.flatMap((node) => (isPair(node) && isScalar(node.key) ? [String(node.key.value)] : []));
}
