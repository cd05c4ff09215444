import { lstatSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Pod } from '../../../src/kube/types.ts';
import { AtomicWriter, type Payload } from '../../../src/containers/volumes/atomic-writer.ts';
import { configMapPayload, downwardPayload } from '../../../src/containers/volumes/payload.ts';
import { projectedPayload, type ProjectedSources } from '../../../src/containers/volumes/projected.ts';

const shown = (payload: Payload): Record<string, string> =>
  Object.fromEntries(
    Object.entries(payload).map(([path, { data }]) => [path, Buffer.from(data).toString('utf8')]),
  );

const defaultMode = 0o644;
const pod: Pod = { metadata: { name: 'web', labels: { a: '1' } }, spec: { containers: [] } };
const nodeAllocatable = {};
const field = (path: string, fieldPath: string) => ({ path, fieldRef: { fieldPath } });

const none = (): Promise<never> => Promise.reject(new Error('none'));
const nothing: ProjectedSources = {
  pod,
  nodeAllocatable,
  getConfigMap: none,
  getSecret: none,
  getToken: none,
  getTrustBundle: none,
  isNotFound: () => false,
};

/** Does something in a directory of its own. */
function inDirectory(act: (dir: string) => void): void {
  const dir = mkdtempSync(join(tmpdir(), 'payload-'));
  try {
    act(dir);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

test('of a key that stands in both maps an item takes the text, all keys together the bytes', () => {
  const configMap = { data: { k: 'text' }, binaryData: { k: Buffer.from('bytes').toString('base64') } };
  expect(shown(configMapPayload(configMap, { defaultMode }))).toEqual({ k: 'bytes' });
  const items = [{ key: 'k', path: 'p' }];
  expect(shown(configMapPayload(configMap, { items, defaultMode }))).toEqual({ p: 'text' });
});

test('files may have names that objects of JavaScript inherit', async () => {
  const items = [{ key: 'k', path: '__proto__' }];
  const configMap = { data: { k: 'text' } };
  const names = ['__proto__'];
  expect(Object.keys(configMapPayload(configMap, { items, defaultMode }))).toEqual(names);
  expect(
    Object.keys(
      downwardPayload([field('__proto__', 'metadata.name')], defaultMode, { pod, nodeAllocatable }),
    ),
  ).toEqual(names);
  const projected = await projectedPayload(
    { defaultMode, sources: [{ configMap: { name: 'c', items } }] },
    { ...nothing, getConfigMap: () => Promise.resolve(configMap) },
  );
  expect(Object.keys(projected)).toEqual(names);
});

test('a label that is not there is empty, whatever objects of JavaScript inherit', () => {
  const items = [field('a', "metadata.labels['a']"), field('b', "metadata.labels['toString']")];
  expect(shown(downwardPayload(items, defaultMode, { pod, nodeAllocatable }))).toEqual({ a: '1', b: '' });
});

test('a slash at the end of a file’s path does not count', () => {
  const items = [field('./d//labels/', 'metadata.name')];
  expect(shown(downwardPayload(items, defaultMode, { pod, nodeAllocatable }))).toEqual({ 'd/labels': 'web' });
  inDirectory((dir) => {
    new AtomicWriter(dir).write({ 'cfg/': { data: Buffer.from('x'), mode: 0o600 } }, 0);
    expect(readFileSync(join(dir, 'cfg'), 'utf8')).toBe('x');
    expect(readdirSync(dir)).toContain('cfg');
  });
});

test.for([
  ['x'.repeat(256), 'invalid path: filenames must be less than or equal to 255 characters'],
  [`d/${'é'.repeat(128)}`, 'invalid path: filenames must be less than or equal to 255 characters'],
  ['é/'.repeat(1400), 'invalid path: must be less than or equal to 4096 characters'],
] as const)('a path that is too long in bytes is refused before anything is written: %s', ([path, why]) => {
  inDirectory((dir) => {
    const writer = new AtomicWriter(dir);
    expect(() => writer.write({ [path]: { data: Buffer.from('x'), mode: 0o600 } }, 0)).toThrow(why);
    expect(readdirSync(dir)).toEqual([]);
  });
});

test('a file has the rights of its mode, nothing beyond', () => {
  inDirectory((dir) => {
    new AtomicWriter(dir).write({ a: { data: Buffer.from('x'), mode: 0o4755 } }, 0);
    const [made = ''] = readdirSync(dir).filter((name) => name.startsWith('..1970'));
    expect((lstatSync(join(dir, made, 'a')).mode & 0o7777).toString(8)).toBe('755');
  });
});

test('trust anchors without a signer are not selected', async () => {
  const sources = [{ clusterTrustBundle: { path: 'ca.crt' } }];
  await expect(projectedPayload({ defaultMode, sources }, nothing)).rejects.toThrow(
    'ClusterTrustBundle projection requires either name or signerName to be set',
  );
});

test('thousands of items are found without a search for each', () => {
  let reads = 0;
  const count = 2000;
  const keys = Array.from({ length: count }, (_, i) => `k${i}`);
  const items = keys.map((key) => ({
    path: key,
    get key() {
      reads++;
      return key;
    },
  }));
  const configMap = { data: Object.fromEntries(keys.map((key) => [key, key])) };
  expect(Object.keys(configMapPayload(configMap, { items, defaultMode }))).toEqual(keys);
  expect(reads).toBeLessThan(4 * count);
});
