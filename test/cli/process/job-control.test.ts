import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { jobs } from '../../../src/cli/process/job-control.ts';

const root = new URL('../../../', import.meta.url).pathname;
const hasTmux = spawnSync('tmux', ['-V']).status === 0;

test('a process without a terminal is in the foreground', () => {
  expect(jobs.isForeground()).toBe(true);
});

/** The real program in a real terminal: tmux is one that can be resized and read. */
describe.skipIf(!hasTmux)('the live view in a terminal', () => {
  const dir = mkdtempSync(join(tmpdir(), 'live-view-'));
  const socket = join(dir, 'tmux');
  const tmux = (...args: readonly string[]): string =>
    spawnSync('tmux', ['-S', socket, '-f', '/dev/null', ...args], { encoding: 'utf8' }).stdout;
  const screen = (): string => tmux('capture-pane', '-p', '-t', 's');
  const type = (...keys: readonly string[]): void => void tmux('send-keys', '-t', 's', ...keys);
  const count = (text: string): number => screen().split(text).length - 1;

  async function until(holds: () => boolean, what: string): Promise<void> {
    for (let tries = 0; tries < 300; tries++) {
      if (holds()) return;
      await sleep(100);
    }
    throw new Error(`${what} is not shown, but:\n${screen()}`);
  }

  const pod = (name: string, spec: string): string =>
    `apiVersion: v1\nkind: Pod\nmetadata: {name: ${name}}\nspec: {${spec}}\n`;
  const container = 'containers: [{name: a, image: busybox, command: [sleep, "1000"]}]';

  beforeAll(async () => {
    const manifests = join(dir, 'manifests');
    mkdirSync(manifests);
    for (let i = 1; i <= 3; i++) writeFileSync(join(manifests, `ok${i}.yaml`), pod(`ok${i}`, container));
    writeFileSync(join(manifests, 'z.yaml'), pod('refused', `nodeSelector: {no: such}, ${container}`));
    const command = `${process.execPath} bin/podtender.mjs up --port 0 --node-name n --provider memory --data-dir ${dir}/data --manifests ${manifests}`;
    tmux('new-session', '-d', '-s', 's', '-x', '80', '-y', '24', '-c', root, 'sh -i');
    type(`PS1='$ '; clear; ${command}`, 'Enter');
    await until(() => count('Running') === 3 && count('NodeAffinity') > 1, 'the table');
  }, 60_000);

  afterAll(async () => {
    type('C-c');
    await sleep(500);
    tmux('kill-server');
    rmSync(dir, { recursive: true, force: true });
  });

  const whole = (): boolean =>
    count('POD ') === 1 &&
    count('podtender: node n') === 1 &&
    count('4 pods: 1 failing, 3 running') === 1 &&
    count('default/refused') === 1 &&
    count('Running') === 3;

  test('has its header once, and the refused pod first with its reason', () => {
    expect(screen()).toMatch(
      /POD .*\n(default\/refused-n) .*\n    NodeAffinity: Pod was rejected: .*\n(.*\n)*default\/ok1-n/,
    );
    expect(whole()).toBe(true);
  });

  test.for([
    [120, 40],
    [60, 14],
    [200, 50],
    [80, 24],
  ] as const)('is whole after a resize to %i by %i', { timeout: 60_000 }, async ([columns, rows]) => {
    tmux('resize-window', '-t', 's', '-x', String(columns), '-y', String(rows));
    await until(
      () =>
        whole() &&
        screen()
          .split('\n')
          .every((line) => line.length <= columns),
      'one whole table',
    );
    await sleep(1200);
    expect(whole()).toBe(true);
  });

  test('gives the terminal back on Ctrl-Z, and is whole after fg', async () => {
    type('C-z');
    await until(() => (screen().trimEnd() + ' ').endsWith('$ ') && count('POD ') === 0, 'the shell');
    type('echo in-between', 'Enter');
    await until(() => count('in-between') === 2, 'the output of the shell');
    type('fg', 'Enter');
    await until(whole, 'one whole table');
    expect(count('in-between')).toBe(0);
  }, 60_000);

  test('leaves the last state on the terminal at the end', async () => {
    type('C-c');
    await until(() => count('Stopped. Nothing runs any more') === 1, 'the end');
    expect(screen()).toMatch(
      /4 pods: 1 failing, 3 ended\nPOD .*\ndefault\/refused-n .*\n(.*\n)*default\/ok3-n +Stopped +0\/1/,
    );
    expect(count('POD ')).toBe(1);
  }, 60_000);
});
