import { tableOf } from '../base/own.ts';
import type { ClauseResult } from './runner.ts';

/** How many laws were kept and broken, as the last line of a report. */
export const summaryLine = (results: readonly ClauseResult[]): string => {
  const count = (outcome: ClauseResult['outcome']): number =>
    results.filter((result) => result.outcome === outcome).length;
  return `${count('passed')} passed, ${count('failed')} failed`;
};

const mark: Readonly<Record<ClauseResult['outcome'], string>> = {
  passed: 'ok',
  failed: 'FAILED',
  'not applicable': 'n/a',
};

/** Where a report is shown. */
export interface ReportScreen {
  /** The width at which lines are wrapped; default: they are not. */
  readonly columns?: number;
  /** Default: no colours. */
  readonly colour?: boolean;
}

/** ANSI colour numbers. */
const colours: Readonly<Record<ClauseResult['outcome'], number>> = {
  passed: 32,
  failed: 31,
  'not applicable': 90,
};

const indent = '        ';
/** The least width of a column of text; with less the text goes on a line of its own. */
const leastColumns = 40;

/**
 * Returns the lines of one law: what became of it, its name, rule and sentence, and what was seen when it failed. {@link missingLines} say
 * what those lack that do not apply.
 */
export function clauseLines(result: ClauseResult, screen: ReportScreen = {}): readonly string[] {
  const { name, rule, law, outcome, detail = '' } = result;
  const { columns = Infinity, colour = false } = screen;
  const sign = colour
    ? `\u001b[${colours[outcome]}m${mark[outcome]}\u001b[0m${' '.repeat(6 - mark[outcome].length)}`
    : mark[outcome].padEnd(6);
  const rest = `  ${name.padEnd(32)}  ${rule.padEnd(4)}`;
  const width = 6 + rest.length + 2;
  const isBeside = columns - width >= leastColumns;
  const [first = '', ...more] = wrapped(law, isBeside ? columns - width : columns - indent.length);
  const lines = isBeside
    ? [`${sign}${rest}  ${first}`, ...more.map((line) => `${' '.repeat(width)}${line}`)]
    : [`${sign}${rest.trimEnd()}`, ...[first, ...more].map((line) => `${indent}${line}`)];
  if (outcome !== 'failed') return lines;
  return [...lines, ...indented(`seen: ${detail}`, screen)];
}

/** Returns what the provider lacks, each with the laws that do not apply for it. */
export function missingLines(results: readonly ClauseResult[], screen: ReportScreen = {}): readonly string[] {
  const missing = results.filter(({ outcome }) => outcome === 'not applicable');
  if (missing.length === 0) return [];
  const groups = Map.groupBy(missing, ({ detail = '' }) => detail);
  return [
    'not applicable, for the provider lacks',
    ...[...groups].flatMap(([detail, laws]) => {
      const names = laws.map(({ name }) => name).join(', ');
      return indented(`${detail} (${laws.length}): ${names}`, screen);
    }),
  ];
}

const indented = (text: string, { columns = Infinity }: ReportScreen): readonly string[] =>
  text
    .split('\n')
    .flatMap((line) => wrapped(line, columns - indent.length).map((part) => `${indent}${part}`));

/** Breaks a text between words into lines of at most `width` characters; a longer word has a line of its own. */
function wrapped(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= width)
      lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}

const escapes: Readonly<Record<string, string>> = tableOf({
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  // in an attribute a parser reads these as spaces
  '\n': '&#10;',
  '\r': '&#13;',
  '\t': '&#9;',
});

/** Text as XML has it, in an element or an attribute. */
export const xml = (text: string): string =>
  text
    // characters that XML 1.0 does not have
    .replace(/[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/gu, '\u{fffd}')
    .replace(/[&<>"\n\r\t]/g, (character) => escapes[character] ?? character);

/** A JUnit report, as the schema of Apache Ant and Jenkins has it: a suite for each area, a case for each law. */
export function junit(
  results: readonly ClauseResult[],
  { provider, startedAt, hostname }: JunitOptions,
): string {
  const areas = [...new Set(results.map(({ area }) => area))];
  const suites = areas.map((area, id) => {
    const own = results.filter((result) => result.area === area);
    const skipped = own.filter(({ outcome }) => outcome === 'not applicable').length;
    const attributes = {
      ...{ name: area, package: provider, id, timestamp: startedAt, hostname },
      ...{ ...countsOf(own), skipped },
    };
    return element('testsuite', attributes, [
      element('properties', {}, [element('property', { name: 'provider', value: provider })]),
      ...own.map((result) => testCase(result, provider)),
      '<system-out/>',
      '<system-err/>',
    ]);
  });
  const attributes = { name: `podtender conformance: ${provider}`, ...countsOf(results) };
  return `<?xml version="1.0" encoding="UTF-8"?>\n${element('testsuites', attributes, suites)}\n`;
}

/** What a JUnit report says of a run. */
export interface JunitOptions {
  readonly provider: string;
  /** The time of the start without zone, as in `2026-01-01T00:00:00`. */
  readonly startedAt: string;
  readonly hostname: string;
}

function countsOf(results: readonly ClauseResult[]): Readonly<Record<string, number | string>> {
  return {
    tests: results.length,
    failures: results.filter(({ outcome }) => outcome === 'failed').length,
    errors: 0,
    time: secondsOf(results.reduce((sum, { ms }) => sum + ms, 0)),
  };
}

const secondsOf = (ms: number): string => (ms / 1000).toFixed(3);

function element(
  name: string,
  attributes: Readonly<Record<string, number | string>>,
  children: readonly string[] = [],
): string {
  const words = Object.entries(attributes).map(([key, value]) => ` ${key}="${xml(String(value))}"`);
  const head = `<${name}${words.join('')}`;
  if (children.length === 0) return `${head}/>`;
  return `${head}>\n${children.join('\n').replace(/^/gm, '  ')}\n</${name}>`;
}

function testCase(
  { name, area, rule, law, outcome, detail = '', ms }: ClauseResult,
  provider: string,
): string {
  const attributes = {
    classname: `${provider}.${area}`,
    name: `${name}: ${law} (${rule})`,
    time: secondsOf(ms),
  };
  if (outcome === 'passed') return element('testcase', attributes);
  const child =
    outcome === 'failed'
      ? element('failure', { type: rule, message: detail })
      : element('skipped', { message: detail });
  return element('testcase', attributes, [child]);
}
