import type { MetricFamily } from '../metrics/family.ts';
import { single } from '../metrics/metrics.ts';
import type { Simulation } from './simulation.ts';

/** Returns the metrics of a simulation, for Prometheus. */
export function simulationMetrics(simulation: Simulation): readonly MetricFamily[] {
  const { nodes, nodesReady, pods, podsReady } = simulation.counts;
  const { sent, failed } = simulation.heartbeats;
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
