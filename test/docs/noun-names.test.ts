import { ESLint } from 'eslint';
import { expect, test } from 'vitest';

/** Returns the lines in which the rule reports names. */
async function lines(code: readonly string[]): Promise<readonly number[]> {
  const eslint = new ESLint({
    overrideConfig: {},
    ruleFilter: ({ ruleId }) => ruleId === 'names/noun-names',
  });
  const [result] = await eslint.lintText(code.join('\n'), { filePath: 'src/base/own.ts' });
  expect(result?.messages.filter(({ fatal }) => fatal)).toEqual([]);
  return (result?.messages ?? []).map(({ line }) => line).toSorted((a, b) => a - b);
}

test(
  'participles as names of variables, parameters, functions and members are reported',
  { timeout: 180_000 },
  async () => {
    const code = [
      'const given = 1;',
      'const { a: known } = load();',
      'function told() {}',
      'const f = (wanted: string) => wanted;',
      'interface A { asked: string; kept(): void }',
      'class B { #kept = 1; known = 2; told() {} }',
      'for (const [, given] of pairs) use(given);',
    ];
    expect(await lines(code)).toEqual([1, 2, 3, 4, 5, 5, 6, 6, 6, 7]);
  },
);

test('names of others, keys of records and nouns are not reported', { timeout: 180_000 }, async () => {
  const code = [
    "import { known } from 'elsewhere';",
    'const { given: options } = load();',
    'const record = { known: options.known, told: 1 };',
    'const existing = record.told;',
  ];
  expect(await lines(code)).toEqual([]);
});
