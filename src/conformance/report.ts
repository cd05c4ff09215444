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

/** One law as a line: what became of it, its name, rule and sentence, and what was seen or is missing. */
export function clauseLine({ name, rule, law, outcome, detail }: ClauseResult): string {
  const line = `${mark[outcome].padEnd(6)}  ${name.padEnd(32)}  ${rule.padEnd(4)}  ${law}`;
  if (detail === undefined) return line;
  return `${line}\n        ${outcome === 'failed' ? 'seen' : 'missing'}: ${detail}`;
}

const escapes: Readonly<Record<string, string>> = tableOf({
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
});

/** Text as XML has it, in an element or an attribute. */
export const xml = (text: string): string =>
  text
    // characters that XML 1.0 does not have
    .replace(/[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/gu, '\u{fffd}')
    .replace(/[&<>"]/g, (character) => escapes[character] ?? character);

/** A JUnit report: a suite for each area, a case for each law. */
export function junit(results: readonly ClauseResult[], provider: string): string {
  const areas = [...new Set(results.map(({ area }) => area))];
  const suites = areas.map((area) => {
    const own = results.filter((result) => result.area === area);
    const count = (outcome: ClauseResult['outcome']): number =>
      own.filter((result) => result.outcome === outcome).length;
    const head = `  <testsuite name="${xml(area)}" tests="${own.length}" failures="${count('failed')}" skipped="${count('not applicable')}">`;
    return [head, ...own.map((result) => testCase(result, provider)), '  </testsuite>'].join('\n');
  });
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites name="${xml(`podtender conformance: ${provider}`)}">`,
    ...suites,
    '</testsuites>',
    '',
  ].join('\n');
}

function testCase({ name, area, rule, law, outcome, detail = '' }: ClauseResult, provider: string): string {
  const head = `    <testcase classname="${xml(`${provider}.${area}`)}" name="${xml(`${name}: ${law} (${rule})`)}"`;
  if (outcome === 'passed') return `${head}/>`;
  const element = outcome === 'failed' ? 'failure' : 'skipped';
  return `${head}><${element} message="${xml(detail)}"/></testcase>`;
}
