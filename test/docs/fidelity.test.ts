import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { agentFields, type AgentField } from '../../src/options/agent/fields.ts';

const root = join(import.meta.dirname, '../..');
const page = await readFile(join(root, 'docs/fidelity.md'), 'utf8');

test('every flag on the page exists', () => {
  const flags = Object.values<AgentField>(agentFields).map(({ flag }) => `--${flag ?? ''}`);
  const named = [...page.matchAll(/`(--[a-z-]+)`/g)].map(([, flag]) => flag);
  expect(named).not.toEqual([]);
  expect(flags).toEqual(expect.arrayContaining(named));
});

test('every rule that the page cites is a rule', async () => {
  const rules = await readFile(join(root, 'docs/pod-lifecycle.md'), 'utf8');
  for (const [rule] of page.matchAll(/\bR\d+\b/g)) expect(rules, rule).toContain(`**${rule} (`);
});
