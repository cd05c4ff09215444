import { ESLint } from 'eslint';
import { expect, test } from 'vitest';

/** What the rule says of a module of a room whose objects come from outside. */
async function faults(code: string): Promise<readonly (string | undefined)[]> {
  const eslint = new ESLint({
    overrideConfig: {},
    ruleFilter: ({ ruleId }) => ruleId === 'own-keys/own-keys',
  });
  const [result] = await eslint.lintText(code, { filePath: 'src/apimachinery/json.ts' });
  return result?.messages.map(({ messageId }) => messageId) ?? [];
}

test('looks by keys from outside are found, and what is safe is let be', { timeout: 180_000 }, async () => {
  const given = "import { ownMember, tableOf } from '../base/own.ts';\n";
  const reads = `
    const plain: Readonly<Record<string, number>> = { a: 1 };
    const safe: Readonly<Record<string, number>> = tableOf({ a: 1 });
    type Few = 'a' | 'b';
    export const inside = (key: string, one: Record<string, number>): boolean => key in one;
    export const looked = (key: string): unknown => plain[key];
    export const found = (key: string): unknown => safe[key];
    export const read = (key: string, one: Record<string, number>): unknown => one[key];
    export const owned = (key: string, one: Record<string, number>): unknown => ownMember(one, key);
    export const few = (key: Few, one: Record<string, number>): unknown => one[key];
    export const listed = (key: number, one: readonly number[]): unknown => one[key];
    export function written(key: string, one: Record<string, number>): void { one[key] = 1; }
    export const narrowed = (one: { a: 1 } | { b: 1 }): boolean => 'a' in one;
  `;
  expect(await faults(given + reads)).toEqual(['in', 'table', 'read', 'write']);
});
