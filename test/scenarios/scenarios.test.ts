import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type Machine, parseScenario, play } from './format.ts';
import { PodWorkersMachine } from './pod-workers.ts';

const machines: Readonly<Record<string, () => Machine>> = {
  'pod workers': () => new PodWorkersMachine(),
};

const files = (await readdir(import.meta.dirname)).filter((name) => name.endsWith('.txt')).sort();

test.for(files)('%s prints what it says', async (name) => {
  const file = join(import.meta.dirname, name);
  const text = await readFile(file, 'utf8');
  const scenario = parseScenario(text);
  const machine = machines[scenario.machine];
  if (!machine) throw new Error(`no machine "${scenario.machine}"; there are: ${Object.keys(machines).join(', ')}`);
  const printed = await play(scenario, machine());
  if (process.env['UPDATE'] === '1') await writeFile(file, printed);
  else expect(printed).toBe(text);
});
