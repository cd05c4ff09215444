/** Thousands of simulated nodes in one process: `podtender/simulate`. Re-exports only. */
export { createLoad, loadLabel, type LoadOptions } from './load.ts';
export type { NodeOverlay } from './node-keeper.ts';
export { Simulation, type SimulationOptions, simulatedLabel } from './simulation.ts';
export { SimulatedProvider } from './simulated-provider.ts';
export type { SimulationCounts } from './tally.ts';
