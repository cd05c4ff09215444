import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import type { KubeObject } from '../kube/types.ts';
import { ClusterUsage, type UsageNodes } from './cluster-usage.ts';
import { KeyedRandom } from './keyed-random.ts';
import { MetricObjects } from './metric-objects.ts';
import type { Simulation } from './simulation.ts';
import { StartedContainers } from './started-containers.ts';

/** Dependencies of SimulatedUsages. */
export interface SimulatedUsagesDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Returns the objects of kwok in force. */
  readonly objects: () => readonly KubeObject[];
  /** Returns the simulation; it is not called before the first question. */
  readonly simulation: () => Simulation;
  readonly nodeNames: readonly string[];
  readonly seed: string;
}

/** SimulatedUsages has what pods and nodes use, and the metrics that Metric objects define of it. */
export class SimulatedUsages {
  readonly usage: ClusterUsage;
  readonly metrics: MetricObjects;

  constructor({ clock, logger, objects, simulation, nodeNames, seed }: SimulatedUsagesDeps) {
    const random = new KeyedRandom(seed).of('usage');
    let started: StartedContainers | undefined;
    const common = {
      now: () => clock.now(),
      random: () => random.float(),
      startedContainers: (node: string) => (started ??= new StartedContainers(simulation().pods)).of(node),
    };
    const nodes: UsageNodes = {
      node: (name) => simulation().nodes.store.get(name),
      podsOf: (name) => simulation().pods.store.byIndex('node', name),
    };
    this.usage = new ClusterUsage({ ...common, objects, nodes, logger });
    this.metrics = new MetricObjects({
      ...common,
      ...{ objects, nodes, nodeNames, logger },
      usage: (resource, by) => this.usage.inUse(resource, by),
      cumulativeUsage: (resource, by) => this.usage.cumulative(resource, by),
    });
  }
}
