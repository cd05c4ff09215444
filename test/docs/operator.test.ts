import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, test } from 'vitest';

const example = join(import.meta.dirname, '../../examples/operator.ts');

test('the example of an operator counts pods, and ends at SIGTERM with exit code 0', async () => {
  const child = spawn(process.execPath, [example, '--embedded'], { stdio: ['ignore', 'pipe', 'inherit'] });
  const lines: string[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    lines.push(line);
    if (line === 'ReplicaSet default/web has 2 pods') child.kill('SIGTERM');
  }
  if (child.exitCode === null) await once(child, 'exit');
  expect([child.exitCode, lines.at(-1)]).toEqual([0, 'ReplicaSet default/web has 2 pods']);
});
