import { expect, test } from 'vitest';
import { type Change, type Journal, Store } from '../../../src/apiserver/storage/store.ts';
import { AgentError } from '../../../src/base/errors.ts';

const object = (
  name: string,
  text: string,
): { metadata: { name: string; namespace: string }; data: object } => ({
  metadata: { name, namespace: 'ns' },
  data: { text },
});

/** A disk that does as it is told. */
class Disk implements Journal {
  fault: Error | undefined;
  readonly kept: string[] = [];

  load(): ReturnType<Journal['load']> {
    return { version: 1, rows: [] };
  }

  commit(writes: Parameters<Journal['commit']>[0]): void {
    if (this.fault) throw this.fault;
    for (const { key, json } of writes) this.kept.push(`${key} ${json === undefined ? 'gone' : 'kept'}`);
  }

  close(): void {
    // nothing to let go of
  }
}

function storeOn(disk: Disk): { store: Store; announced: Change[]; failures: unknown[] } {
  const failures: unknown[] = [];
  const store = new Store({ journal: disk, onFailure: (reason) => failures.push(reason) });
  const announced: Change[] = [];
  store.onChange((_storage, changes) => announced.push(...changes));
  return { store, announced, failures };
}

const textsOf = (store: Store): unknown[] =>
  Array.from(store.list('maps'), ({ key, object: { data } }) => [key, (data as { text: string }).text]);

test('what a full disk did not take is as if it had never been written, and the next write is taken', async () => {
  const disk = new Disk();
  const { store, announced, failures } = storeOn(disk);
  store.put('maps', object('a', 'old'));
  store.put('maps', object('b', 'old'));
  await store.settled();
  disk.fault = new AgentError('resource_exhausted', 'the disk is full');
  store.put('maps', object('a', 'new'));
  store.put('maps', object('a', 'newer'));
  store.delete('maps', 'ns/b');
  store.put('maps', object('c', 'new'));
  await expect(store.settled()).rejects.toThrow('Internal error occurred: the disk is full');
  expect(failures).toHaveLength(1);
  expect(textsOf(store)).toEqual([
    ['ns/a', 'old'],
    ['ns/b', 'old'],
  ]);
  expect(announced).toHaveLength(2);
  disk.fault = undefined;
  store.put('maps', object('c', 'again'));
  await store.settled();
  expect(textsOf(store).at(-1)).toEqual(['ns/c', 'again']);
  expect(announced.at(-1)?.type).toBe('ADDED');
  expect(disk.kept.at(-1)).toBe('ns/c kept');
});

test('after another fault of the disk no write is taken any more', async () => {
  const disk = new Disk();
  const { store } = storeOn(disk);
  disk.fault = new Error('input/output error');
  store.put('maps', object('a', 'new'));
  await expect(store.settled()).rejects.toThrow('input/output error');
  disk.fault = undefined;
  expect(() => store.put('maps', object('a', 'new'))).toThrow('takes no more');
  expect(textsOf(store)).toEqual([]);
});

test('a list is read from a key on, within its prefix, and counted without being read', () => {
  const store = new Store();
  for (const namespace of ['a', 'b', 'b-c'])
    for (const name of ['1', '2', '3']) store.put('maps', { metadata: { namespace, name } });
  const keys = (...at: [prefix?: string, after?: string]): readonly string[] =>
    [...store.list('maps', ...at)].map(({ key }) => key);
  expect(keys()).toEqual(['a/1', 'a/2', 'a/3', 'b-c/1', 'b-c/2', 'b-c/3', 'b/1', 'b/2', 'b/3']);
  expect(keys('b/')).toEqual(['b/1', 'b/2', 'b/3']);
  expect(keys('b/', 'b/1')).toEqual(['b/2', 'b/3']);
  expect(keys('', 'b-c/2')).toEqual(['b-c/3', 'b/1', 'b/2', 'b/3']);
  expect(keys('c/')).toEqual([]);
  expect(store.countAfter('maps', 'b/', 'b/1')).toBe(2);
  expect(store.countAfter('maps', '', '')).toBe(9);
  expect(store.countAfter('none', '', '')).toBe(0);
});

test('a list of a version has the entries that the storage had then, from any key on', () => {
  const store = new Store();
  const states: { readonly version: number; readonly keys: readonly string[] }[] = [];
  for (let step = 0; step < 60; step++) {
    const name = `m${String((step * 7) % 12).padStart(2, '0')}`;
    if (step % 5 === 4) store.delete('maps', `ns/${name}`);
    else store.put('maps', { metadata: { name, namespace: step % 3 ? 'ns' : 'other' } });
    store.flush();
    const keys = Array.from(store.list('maps'), ({ key, version }) => `${key} ${version}`);
    states.push({ version: store.version, keys });
  }
  for (const { version, keys } of states)
    for (const [prefix, after] of [
      ['', ''],
      ['ns/', ''],
      ['ns/', 'ns/m05'],
      ['', 'ns/m11'],
    ] as const) {
      const expected = keys.filter((key) => key.startsWith(prefix) && (key.split(' ')[0] ?? '') > after);
      const { entries, count } = store.listAt('maps', version, prefix, after);
      expect(Array.from(entries, (entry) => `${entry.key} ${entry.version}`)).toEqual(expected);
      expect(count).toBe(expected.length);
    }
});

test('a list goes on through any number of keys while others are written and deleted', () => {
  const store = new Store();
  const name = (i: number): string => `m${String(i).padStart(4, '0')}`;
  for (let i = 0; i < 2500; i++) store.put('maps', { metadata: { name: name(i), namespace: 'ns' } });
  const seen: string[] = [];
  for (const { key } of store.list('maps', 'ns/')) {
    seen.push(key);
    store.delete('maps', key);
  }
  expect(seen).toHaveLength(2500);
  expect(store.count('maps')).toBe(0);
});
