import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Action, Life, plain, type Shape } from './life.ts';

const name = fc.constantFrom('a', 'b', 'c');
const shape: fc.Arbitrary<Shape> = fc.record({
  restartPolicy: fc.constantFrom('Always', 'OnFailure', 'Never'),
  runMs: fc.option(fc.integer({ min: 0, max: 20_000 }), { nil: undefined }),
  exitCode: fc.constantFrom(0, 0, 1),
  stopDelayMs: fc.constantFrom(0, 0, 500, 3000, 60_000),
  startFailures: fc.constantFrom(0, 0, 0, 1),
  graceSeconds: fc.integer({ min: 1, max: 30 }),
  init: fc.boolean(),
  elsewhere: fc.constantFrom(false, false, false, false, true),
  deadlineSeconds: fc.constantFrom(undefined, undefined, undefined, 5, 40),
});
const of = <D extends Action['do']>(what: D): fc.Arbitrary<D> => fc.constant(what);
const action: fc.Arbitrary<Action> = fc.oneof(
  { weight: 10, arbitrary: fc.record({ do: of('create'), name, shape }) },
  {
    weight: 6,
    arbitrary: fc.record({
      do: of('delete'),
      name,
      graceSeconds: fc.option(fc.integer({ min: 1, max: 30 }), { nil: undefined }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: of('delete'), name, graceSeconds: fc.constant(0) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constantFrom('label', 'newImage'), name }) },
  {
    weight: 3,
    arbitrary: fc.record({ do: of('manifest'), variant: fc.constantFrom(undefined, 0, 1), shape }),
  },
  { weight: 3, arbitrary: fc.record({ do: of('end'), name, exitCode: fc.constantFrom(0, 1) }) },
  { weight: 14, arbitrary: fc.record({ do: of('advance'), ms: fc.integer({ min: 1, max: 15_000 }) }) },
  { weight: 2, arbitrary: fc.record({ do: of('apiFails'), times: fc.integer({ min: 1, max: 5 }) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: of('runtimeFails'),
      call: fc.constantFrom('syncPod', 'killPod', 'listPods', 'getPodStatus'),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: of('watch'), held: fc.boolean() }) },
  { weight: 4, arbitrary: fc.record({ do: of('readManifests') }) },
  { weight: 2, arbitrary: fc.record({ do: of('restart') }) },
);

test('a pod is started, told, deleted and gone', async () => {
  const life = new Life();
  await life.act({ do: 'readManifests' });
  await life.act({ do: 'create', name: 'a', shape: plain });
  await life.act({ do: 'advance', ms: 5000 });
  expect(life.api.pods()[0]?.status).toMatchObject({ phase: 'Running', podIP: expect.any(String) as string });
  await life.converge();
  await life.end();
});

test.for([-3_600_000, 3_600_000])(
  'a clock that somebody sets by %d ms holds up nobody: ends are told, pods go',
  async (ms) => {
    const life = new Life();
    await life.act({ do: 'readManifests' });
    await life.act({ do: 'create', name: 'a', shape: { ...plain, restartPolicy: 'Never' } });
    await life.act({ do: 'create', name: 'b', shape: plain });
    await life.act({ do: 'advance', ms: 5000 });
    life.clock.jump(ms);
    await life.act({ do: 'end', name: 'a', exitCode: 1 });
    await life.act({ do: 'delete', name: 'b', graceSeconds: undefined });
    await life.act({ do: 'advance', ms: 15_000 });
    expect(life.api.pods().map(({ metadata }) => metadata?.name)).toEqual(['a']);
    expect(life.api.pods()[0]?.status?.phase).toBe('Failed');
    await life.converge();
    await life.end();
  },
);

test('a kill that failed is tried again, with the longer period of a deletion that came in between', async () => {
  const life = new Life();
  await life.act({ do: 'runtimeFails', call: 'killPod' });
  const shape = { ...plain, restartPolicy: 'Never', runMs: 0, graceSeconds: 1 } as const;
  await life.act({ do: 'create', name: 'c', shape });
  await life.act({ do: 'advance', ms: 1 });
  await life.act({ do: 'delete', name: 'c', graceSeconds: 2 });
  await life.act({ do: 'advance', ms: 1 });
  await life.converge();
  await life.end();
});

// whole lives of an agent with everything in them that a node has, at some 100 ms each
test(
  'whatever users, runtime and network do, the API server is told a true story, and in the end nothing is left (I1…I10)',
  { timeout: 120_000 },
  async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(action, { minLength: 8, maxLength: 40, size: 'max' }), async (script) => {
        const life = new Life();
        for (const next of script) await life.act(next);
        await life.converge();
        await life.end();
      }),
      { numRuns: 40 },
    );
  },
);
