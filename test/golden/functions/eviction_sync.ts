import { admitUnderPressure } from '../../../src/admission/admit-result.ts';
import { messageOf } from '../../../src/base/errors.ts';
import { FakeClock } from '../../../src/base/fake-clock.ts';
import { silentLogger } from '../../../src/base/logger.ts';
import { EvictionManager } from '../../../src/eviction/manager.ts';
import type { StatsSummary } from '../../../src/kube/stats-summary.ts';
import { nameOf } from '../../../src/kube/names.ts';
import type { Pod } from '../../../src/kube/types.ts';
import { check, type Replay } from '../harness.ts';
import {
  recordedViews,
  type RecordedThreshold,
  thresholdFrom,
  thresholdViews,
} from '../support/evictions.ts';

interface Step {
  readonly seconds: number;
  readonly summary: StatsSummary;
  readonly summaryAfterGC: StatsSummary | null;
}

interface Input {
  readonly pods: readonly Pod[] | null;
  readonly thresholds: readonly RecordedThreshold[] | null;
  readonly imageFs: boolean;
  readonly splitContainerFs: boolean;
  readonly localStorageCapacityIsolation: boolean;
  readonly maxPodGracePeriodSeconds: number;
  readonly pressureTransitionPeriodSeconds: number;
  readonly steps: readonly Step[];
}

interface Output {
  readonly steps: readonly Readonly<Record<string, unknown>>[];
  readonly admit?: unknown;
}

const samples: readonly Pod[] = [
  { metadata: { name: 'be' }, spec: { containers: [{ name: 'c' }] } },
  {
    metadata: { name: 'bu' },
    spec: { containers: [{ name: 'c', resources: { requests: { cpu: '100m' } } }] },
  },
  {
    metadata: { name: 'be-tol' },
    spec: {
      containers: [{ name: 'c' }],
      tolerations: [{ key: 'node.kubernetes.io/memory-pressure', operator: 'Exists', effect: 'NoSchedule' }],
    },
  },
];

/** Everything that the manager touches, and what came of it in the current step. */
class World {
  readonly clock = new FakeClock();
  readonly #input: Input;
  kills: unknown[] = [];
  freed = new Set<string>();
  step: Step | undefined;

  constructor(input: Input) {
    this.#input = input;
  }

  begin(step: Step): void {
    this.step = step;
    this.kills = [];
    this.freed = new Set();
    this.clock.set(step.seconds * 1000);
  }

  manager(): EvictionManager {
    const input = this.#input;
    const free = (what: string) => async (): Promise<void> => void this.freed.add(what);
    return new EvictionManager(
      {
        clock: this.clock,
        logger: silentLogger,
        recorder: { event: () => undefined },
        nodeRef: { kind: 'Node' },
        summary: {
          get: async () => this.#summary(),
          layout: async () => ({ dedicatedImageFs: input.imageFs, splitContainerFs: input.splitContainerFs }),
        },
        pods: {
          activePods: () => input.pods ?? [],
          isFinished: () => true,
          killPod: async (pod, { evict, gracePeriodSeconds, statusFn }) => {
            const status = statusFn(pod.status ?? {});
            this.kills.push({ pod: nameOf(pod), evict, gracePeriodOverride: gracePeriodSeconds, status });
          },
        },
        reclaim: { deadContainers: free('containers'), unusedImages: free('images') },
      },
      {
        thresholds: (input.thresholds ?? []).map(thresholdFrom),
        maxPodGracePeriodSeconds: input.maxPodGracePeriodSeconds,
        pressureTransitionPeriodMs: input.pressureTransitionPeriodSeconds * 1000,
        localStorageCapacityIsolation: input.localStorageCapacityIsolation,
      },
    );
  }

  #summary(): StatsSummary {
    const { summary, summaryAfterGC } = this.step ?? { summary: { node: {} }, summaryAfterGC: null };
    return this.freed.size > 0 ? (summaryAfterGC ?? summary) : summary;
  }
}

export const replay: Replay = async ({ in: input, out }) => {
  const { steps } = input as Input;
  const recorded = out as Output;
  const world = new World(input as Input);
  const manager = world.manager();
  for (const [step, given] of steps.entries()) {
    world.begin(given);
    let [evicted, error]: [readonly string[], string | null] = [[], null];
    try {
      evicted = (await manager.synchronize()).map(nameOf);
    } catch (reason) {
      error = messageOf(reason);
    }
    const actual = {
      error,
      evicted,
      kills: world.kills,
      imageGC: world.freed.has('images'),
      containerGC: world.freed.has('containers'),
      nodeConditions: manager.conditions().toSorted(),
      thresholdsMet: thresholdViews(manager.thresholdsMet(), true),
    };
    const expected = recorded.steps[step];
    const met = recordedViews(expected?.['thresholdsMet'] as readonly RecordedThreshold[], true);
    const ignore = (path: string): boolean => path.endsWith('lastTransitionTime');
    const wrong = check({ ...expected, thresholdsMet: met }, actual, { step }, { ignore });
    if (wrong) return wrong;
  }
  const admit = samples.map((pod) => admitUnderPressure(pod, manager.conditions()));
  return recorded.admit ? check(recorded.admit, admit, { operation: 'admit' }) : undefined;
};
