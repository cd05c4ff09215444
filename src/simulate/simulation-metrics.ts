import type { MetricFamily } from '../metrics/family.ts';
import { single } from '../metrics/metrics.ts';
import type { SimulationCounts } from './tally.ts';

/** What the metrics of a simulation are made of. */
export interface SimulationState {
  readonly counts: SimulationCounts;
  readonly heartbeats: { readonly sent: number; readonly failed: number };
}

/** Returns the sum of the parts of a simulation. */
export function sumOfStates(parts: readonly SimulationState[]): SimulationState {
  const sum = (of: (part: SimulationState) => number): number =>
    parts.reduce((total, part) => total + of(part), 0);
  return {
    counts: {
      nodes: sum(({ counts }) => counts.nodes),
      nodesReady: sum(({ counts }) => counts.nodesReady),
      pods: sum(({ counts }) => counts.pods),
      podsReady: sum(({ counts }) => counts.podsReady),
    },
    heartbeats: {
      sent: sum(({ heartbeats }) => heartbeats.sent),
      failed: sum(({ heartbeats }) => heartbeats.failed),
    },
  };
}

/** Returns the metrics of a simulation, for Prometheus. */
export function simulationMetrics({ counts, heartbeats }: SimulationState): readonly MetricFamily[] {
  const { nodes, nodesReady, pods, podsReady } = counts;
  const { sent, failed } = heartbeats;
  return [
    single('podtender_simulate_nodes', 'gauge', 'Simulated nodes that are registered.', nodes),
    single('podtender_simulate_nodes_ready', 'gauge', 'Simulated nodes that are Ready.', nodesReady),
    single('podtender_simulate_pods', 'gauge', 'Pods bound to simulated nodes.', pods),
    single('podtender_simulate_pods_ready', 'gauge', 'Pods on simulated nodes that are Ready.', podsReady),
    single('podtender_simulate_heartbeats_total', 'counter', 'Leases and node statuses that were due.', sent),
    single(
      'podtender_simulate_heartbeats_failed_total',
      'counter',
      'Leases and node statuses that could not be sent.',
      failed,
    ),
  ];
}
