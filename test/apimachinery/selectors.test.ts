import { expect, test } from 'vitest';
import { builtIn } from '../../src/apimachinery/kinds.ts';
import { readListOptions } from '../../src/apiserver/endpoints/list-options.ts';
import { fieldMatcher, fieldTerms, labelMatcher } from '../../src/apimachinery/selectors.ts';

const label63 = 'must be no more than 63 bytes';
const unable = 'unable to parse requirement: ';

test.for([
  ['a,,b', "found ',', expected: identifier after ','"],
  ['a=b=c', "found '=', expected: ',' or 'end of string'"],
  ['a in (b) c', "found 'c', expected: ',' or 'end of string'"],
  ['a in (b', `${unable}found '', expected: ',' or ')'`],
  ['a in (b c)', `${unable}found 'c', expected: ',' or ')'`],
  ['a in (=)', `${unable}found '=', expected: ',', ')' or identifier`],
  ['a in (b,=)', `${unable}found '=', expected: ',', or identifier`],
  ['a in (', `${unable}found '', expected: ',', ')' or identifier`],
  ['a>x', `${unable}values[0]: Invalid value: "x": for 'Gt', 'Lt' operators, the value must be an integer`],
  ['x'.repeat(64), `${unable}<nil>: Invalid value: "${'x'.repeat(64)}": name part ${label63}`],
  [`a=${'y'.repeat(64)}`, `${unable}values[0][a]: Invalid value: "${'y'.repeat(64)}": ${label63}`],
] as const)('the label selector %s cannot be read', ([text, why]) => {
  expect(() => labelMatcher(text)).toThrow(expect.objectContaining({ message: why }));
});

const of = (labels: object): { readonly metadata: object } => ({ metadata: { labels } });
test.for([
  ['a in (b,c)', { a: 'c' }, true],
  ['a in (b,)', { a: '' }, true],
  ['a in (,)', { a: 'b' }, false],
  ['a notin (b)', {}, true],
  ['a.b/c', { 'a.b/c': '' }, true],
] as const)('the label selector %s on %j', ([text, labels, meets]) => {
  expect(labelMatcher(text)(of(labels) as never)).toBe(meets);
});

test.for([
  ['pods', '', 'metadata.name=a\\x', 'invalid field selector: invalid escape sequence: \\x'],
  ['pods', '', 'metadata.name=a=b', 'invalid field selector: unescaped character in value: 61'],
  ['pods', '', 'spec.foo=1', 'field label not supported: spec.foo'],
  ['nodes', '', 'metadata.namespace=x', 'field label not supported: metadata.namespace'],
  [
    'configmaps',
    '',
    'data=1',
    '"data" is not a known field selector: only "metadata.name", "metadata.namespace"',
  ],
  ['jobs', 'batch', 'x=1', 'field label "x" not supported for Job'],
] as const)('%s.%s with the field selector %s', ([resource, group, text, why]) => {
  expect(() => fieldMatcher(fieldTerms(text), builtIn(resource, group))).toThrow(
    expect.objectContaining({ message: why }),
  );
});

test('a limit beyond 64 bits is refused', () => {
  expect(() => readListOptions(new URLSearchParams('limit=9223372036854775808'))).toThrow(
    'value out of range',
  );
});
