import { expect, test } from 'vitest';
import {
  listPage,
  type ListOptions,
  readListOptions,
  type Selection,
} from '../../../src/apiserver/endpoints/list-options.ts';
import { Store } from '../../../src/apiserver/storage/store.ts';

const selection = (more: Partial<Selection> = {}): Selection => ({
  ...{ storage: 'maps', prefix: '', matches: () => true, selective: false },
  ...more,
});
const options = (query: string): ListOptions => readListOptions(new URLSearchParams(query));

function storeOf(count: number): Store {
  const store = new Store();
  for (let i = 0; i < count; i++)
    store.put('maps', { metadata: { namespace: i % 2 ? 'b' : 'a', name: `m${i}` } });
  store.flush();
  return store;
}

/** Reads all pages, with something done after the first one; returns the keys and the counts of what remained. */
function pages(store: Store, of: Selection, limit: number, after: () => void = () => undefined) {
  const keys: string[] = [];
  const remaining: (number | undefined)[] = [];
  for (let token: string | undefined = ''; token !== undefined;) {
    const { entries, metadata } = listPage(store, of, options(`limit=${limit}&continue=${token}`));
    keys.push(...entries.map(({ key }) => key));
    remaining.push(metadata.remainingItemCount);
    if (token === '') after();
    token = metadata.continue;
  }
  return { keys, remaining };
}

const sorted = (store: Store, prefix = ''): readonly string[] =>
  [...store.list('maps', prefix)].map(({ key }) => key);

test('pages hold every object once, and count what remains', () => {
  const store = storeOf(10);
  expect(pages(store, selection(), 4)).toEqual({ keys: sorted(store), remaining: [6, 2, undefined] });
  expect(pages(store, selection({ prefix: 'b/' }), 2)).toEqual({
    keys: sorted(store, 'b/'),
    remaining: [3, 1, undefined],
  });
  const odd = selection({
    selective: true,
    matches: ({ metadata }) => /[13]$/.test((metadata as { name: string }).name),
  });
  expect(pages(store, odd, 1)).toEqual({ keys: ['b/m1', 'b/m3'], remaining: [undefined, undefined] });
});

test('later pages show the first one’s version, whatever is written meanwhile', () => {
  for (const storage of ['others', 'maps']) {
    const store = storeOf(10);
    const before = sorted(store);
    const { keys, remaining } = pages(store, selection(), 4, () => {
      store.put(storage, { metadata: { namespace: 'b', name: 'm000' } });
      if (storage === 'maps') store.delete('maps', 'b/m9');
      store.flush();
    });
    expect(keys).toEqual(before);
    expect(remaining).toEqual([6, 2, undefined]);
  }
});
