import { Command } from 'commander';
import { expect, test, vi } from 'vitest';
import type { SimulateOptions } from '../../src/app/simulate-options.ts';
import { addSimulate } from '../../src/cli/simulate-command.ts';

async function parsed(...args: readonly string[]): Promise<SimulateOptions | string> {
  let options: SimulateOptions | undefined;
  let fault = '';
  const program = new Command('podtender').exitOverride();
  addSimulate(program, { cwd: '/here' }, async (all) => {
    options = all;
  });
  const quiet = vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
    fault += String(text);
    return true;
  });
  await program.parseAsync(['simulate', ...args], { from: 'user' }).catch(() => undefined);
  quiet.mockRestore();
  return options ?? fault;
}

test('the flags, and their defaults', async () => {
  expect(await parsed()).toEqual({
    ...{ nodes: 1, podsPerNode: 0, stages: [], seed: '0', output: 'text', port: 0, kubeletPort: 0 },
    ...{ nodePrefix: 'node', namespace: 'default', logLevel: 'error', shardLeaseMs: 15_000 },
  });
  const all = ['--nodes', '1000', '--pods-per-node', '100', '--kubeconfig', 'kube', '--seed', 'x'];
  const more = ['--stages', 'fast', './my.yaml', '--for', '1m30s', '--output', 'json'];
  expect(await parsed(...all, ...more)).toMatchObject({
    ...{ nodes: 1000, podsPerNode: 100, kubeconfig: '/here/kube', seed: 'x', output: 'json' },
    ...{ stages: ['fast', './my.yaml'], forMs: 90_000 },
  });
});

test.each([
  ['--nodes', 'many', /--nodes <count>.*whole number/],
  ['--for', '20', /--for <duration>.*such as 20s/],
  ['--port', '70000', /from 0 to 65535/],
  ['--output', 'xml', /text, json/],
])('%s %s is rejected with what would be right', async (flag, value, message) => {
  expect(await parsed(flag, value)).toMatch(message);
});
