import { expect, test } from 'vitest';
import { compactRegularly } from '../../../src/apiserver/storage/compaction.ts';
import { Store } from '../../../src/apiserver/storage/store.ts';
import { FakeClock } from '../../../src/base/fake-clock.ts';

const minute = 60_000;

function write(store: Store, storage: string, times: number): void {
  for (let i = 0; i < times; i++) store.put(storage, { metadata: { name: 'a' } });
  store.flush();
}

test('changes are discarded five to ten minutes after they were made, but for the latest of each storage', async () => {
  const clock = new FakeClock();
  const store = new Store();
  const stop = compactRegularly(store, clock);
  write(store, 'few', 20);
  const start = store.version;
  write(store, 'leases', 500);
  await clock.advance(5 * minute);
  expect(store.changesSince('leases', start)).toHaveLength(500);
  write(store, 'leases', 10);
  await clock.advance(5 * minute);
  expect(store.changesSince('leases', start)).toBeUndefined();
  expect(store.changesSince('leases', store.version - 100)).toHaveLength(100);
  expect(store.changesSince('few', 1)).toHaveLength(20);
  stop();
  write(store, 'leases', 500);
  await clock.advance(60 * minute);
  expect(store.changesSince('leases', store.version - 500)).toHaveLength(500);
});
