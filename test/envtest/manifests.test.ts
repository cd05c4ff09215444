import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { readManifests } from '../../src/envtest/manifests.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'podtender-envtest-'));
});
afterEach(() => {
  rmSync(dir, { recursive: true, force: true });
});

const text = (name: string): string => `apiVersion: v1\nkind: ConfigMap\nmetadata: { name: ${name} }\n`;

test('reads files, the files of a folder in order, lists, and objects', async () => {
  writeFileSync(join(dir, 'b.yml'), `---\n${text('b1')}---\n---\n${text('b2')}`);
  writeFileSync(join(dir, 'a.json'), '{"apiVersion":"v1","kind":"ConfigMap"}');
  writeFileSync(join(dir, 'README.md'), 'no manifest');
  mkdirSync(join(dir, 'more.yaml'));
  rmSync(join(dir, 'more.yaml'), { recursive: true });
  const list = { apiVersion: 'v1', kind: 'List', items: [{ apiVersion: 'v1', kind: 'Secret' }] };
  const read = await readManifests([dir, list], 'crds');
  expect(read.map(({ object, from }) => [object.kind, object.metadata.name, from])).toEqual([
    ['ConfigMap', undefined, `${dir}/a.json, document 1`],
    ['ConfigMap', 'b1', `${dir}/b.yml, document 1`],
    ['ConfigMap', 'b2', `${dir}/b.yml, document 3`],
    ['Secret', undefined, 'crds[1], item 1'],
  ]);
});

test('says where a manifest is wrong', async () => {
  writeFileSync(join(dir, 'x.yaml'), 'a: [1\n');
  await expect(readManifests([dir], 'crds')).rejects.toThrow(/x\.yaml: .*line 2/);
  await expect(readManifests(['/none'], 'webhooks')).rejects.toThrow('webhooks: /none: ');
  await expect(readManifests([{ kind: 'X' }], 'crds')).rejects.toThrow(
    'crds[0]: no Kubernetes object: apiVersion and kind are required',
  );
});
