import { expect, test } from 'vitest';
import { FakeClock } from '../../../src/base/fake-clock.ts';
import { Looks } from '../../../src/containers/volumes/looks.ts';

const answers = (): Promise<void> => Promise.resolve();
/** A look that does not answer until it is told to. */
function stuck(): { readonly look: () => Promise<void>; readonly calls: () => number; answer(): void } {
  let calls = 0;
  let answer = (): void => undefined;
  const promise = new Promise<void>((resolve) => (answer = resolve));
  const look = (): Promise<void> => {
    calls++;
    return promise;
  };
  return {
    look,
    calls: () => calls,
    answer: () => {
      answer();
    },
  };
}

test('an operation that hangs is an error, and is shared by later callers until it returns', async () => {
  const clock = new FakeClock();
  const looks = new Looks(clock);
  const one = stuck();
  const both = [looks.at('"/a"', one.look), looks.at('"/a"', one.look)].map((waiting) =>
    expect(waiting).rejects.toThrow('"/a" does not answer'),
  );
  await clock.advance(10_000);
  await Promise.all(both);
  const late = looks.at('"/a"', one.look);
  expect(one.calls()).toBe(1);
  one.answer();
  await late;
  await looks.at('"/a"', one.look);
  expect(one.calls()).toBe(2);
});

test('two that are stuck keep others from beginning, until one of them answers', async () => {
  const clock = new FakeClock();
  const looks = new Looks(clock);
  const [a, b] = [stuck(), stuck()];
  const waiting = [looks.at('"/a"', a.look), looks.at('"/b"', b.look)].map((one) =>
    one.catch(() => undefined),
  );
  await looks.at('"/c"', answers); // nobody counts as stuck yet
  await clock.advance(10_000);
  await Promise.all(waiting);
  await expect(looks.at('"/c"', answers)).rejects.toThrow('"/c" has to wait: "/a", "/b" do not answer');
  const freed = looks.at('"/a"', a.look);
  a.answer();
  await freed;
  await looks.at('"/c"', answers);
});

test('whoever waits can give up; a fault is everybody’s own', async () => {
  const looks = new Looks(new FakeClock());
  const abort = new AbortController();
  const waiting = looks.at('"/a"', stuck().look, abort.signal);
  abort.abort(new Error('the pod is gone'));
  await expect(waiting).rejects.toThrow('the pod is gone');
  await expect(looks.at('"/b"', () => Promise.reject(new Error('not a directory')))).rejects.toThrow(
    'not a directory',
  );
});
