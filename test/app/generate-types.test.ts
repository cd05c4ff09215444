import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { generateTypes } from '../../src/app/generate-types.ts';
import { definitionOf } from '../../src/app/new-controller-templates.ts';

test('definitions are read from files and written as a module', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'pt-types-'));
  try {
    const crd = definitionOf(undefined)
      .replaceAll('__KIND__', 'Memcached')
      .replaceAll('__GROUP__', 'example.com')
      .replaceAll('__VERSION__', 'v1')
      .replaceAll('__PLURAL__', 'memcacheds')
      .replaceAll('__SINGULAR__', 'memcached');
    writeFileSync(join(dir, 'crd.yaml'), `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\n${crd}`);
    writeFileSync(join(dir, 'none.yaml'), 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n');
    const out = join(dir, 'types.ts');
    const text = await generateTypes({ files: [join(dir, 'crd.yaml')], out });
    expect(readFileSync(out, 'utf8')).toBe(text);
    expect(text).toContain('export interface Memcached extends KubeObject {\n  spec: MemcachedSpec;');
    expect(text).toContain('  /**\n   * How many pods run.\n   * @default 1\n   */\n  replicas?: number;');
    await expect(generateTypes({ files: [join(dir, 'none.yaml')] })).rejects.toThrow(
      'there is no CustomResourceDefinition in ',
    );
    await expect(
      generateTypes({ files: [join(dir, 'crd.yaml')], out: join(dir, 'no/t.ts') }),
    ).rejects.toThrow(/^--out .*no\/t\.ts: /);
  } finally {
    rmSync(dir, { recursive: true });
  }
});
