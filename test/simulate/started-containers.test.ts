import { expect, test } from 'vitest';
import type { InformerHandler } from '../../src/api/cache/handler-queue.ts';
import type { Pod } from '../../src/kube/types.ts';
import { StartedContainers } from '../../src/simulate/started-containers.ts';

const podWith = (restartCount: number, isRunning: boolean): Pod => ({
  spec: { nodeName: 'n', containers: [{ name: 'app' }] },
  status: {
    containerStatuses: [
      {
        ...{ name: 'app', image: 'x', imageID: '', ready: isRunning, restartCount },
        state: isRunning ? { running: {} } : { waiting: {} },
      },
    ],
  },
});

test('starts of a node count up, whatever becomes of its pods', () => {
  let handler: InformerHandler<Pod> = {};
  const started = new StartedContainers({
    addHandler: (added: InformerHandler<Pod>) => {
      handler = added;
      return { remove: () => undefined, synced: Promise.resolve() };
    },
  } as unknown as ConstructorParameters<typeof StartedContainers>[0]);
  expect(started.of('n')).toBe(0);
  void handler.added?.(podWith(0, false), false);
  expect(started.of('n')).toBe(0);
  void handler.updated?.(podWith(0, false), podWith(0, true));
  void handler.updated?.(podWith(0, true), podWith(1, true));
  expect(started.of('n')).toBe(2);
  void handler.added?.(podWith(0, true), false);
  expect([started.of('n'), started.of('other')]).toEqual([3, 0]);
});
