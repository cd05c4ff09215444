import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { objectsOf, objectsOfSources } from '../../../src/simulate/stages/objects.ts';

const dir = mkdtempSync(join(tmpdir(), 'stages-'));
afterAll(() => {
  rmSync(dir, { recursive: true, force: true });
});

const stage = (name: string): string =>
  `apiVersion: kwok.x-k8s.io/v1alpha1\nkind: Stage\nmetadata: {name: ${name}}\n`;

test('sets, files and directories, in the order of the command line', () => {
  writeFileSync(join(dir, 'b.yaml'), `${stage('two')}---\n---\n${stage('three')}`);
  writeFileSync(join(dir, 'a.yml'), stage('one'));
  writeFileSync(join(dir, 'README.md'), 'not yaml: [');
  const names = objectsOfSources([dir, 'heartbeat', join(dir, 'a.yml')]).map(
    ({ metadata }) => metadata?.name,
  );
  expect(names).toEqual(['one', 'two', 'three', 'node-heartbeat', 'one']);
});

test('a List holds objects', () => {
  const item = { apiVersion: 'kwok.x-k8s.io/v1alpha1', kind: 'Stage', metadata: { name: 'x' } };
  expect(objectsOf(JSON.stringify({ apiVersion: 'v1', kind: 'List', items: [item] }), 'f')).toEqual([item]);
});

test('what cannot be used is named', () => {
  expect(() => objectsOf('kind: Pod\napiVersion: v1', 'f.yaml')).toThrow(
    'f.yaml: v1, Pod is not an object of a simulation',
  );
  expect(() => objectsOf('a: [', 'f.yaml')).toThrow(/f\.yaml: .*line 1/);
  expect(() => objectsOfSources(['./none.yaml'])).toThrow(
    /--stages \.\/none\.yaml: .*no such file.*stage sets are fast/,
  );
});
