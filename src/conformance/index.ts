/** Recordings of the Go kubelet for any implementation of its state machines: `podtender/conformance`. Re-exports only. */
export type { Difference } from './state-machines/compare.ts';
export {
  jsonLinesSubject,
  type JsonLinesOptions,
  type JsonLinesProgram,
} from './state-machines/json-lines.ts';
export {
  podtenderStateMachines,
  type BackOffMachine,
  type PlegMachine,
  type PodConfigMachine,
  type PodManagerMachine,
  type PodWorkersMachine,
  type ProbeWorkerMachine,
  type StateMachines,
  type StateMachineSubject,
  type StatusManagerMachine,
  type WorkQueueMachine,
} from './state-machines/machines.ts';
export type { Header, RecordedCase, Step } from './state-machines/recording.ts';
export {
  formatDiff,
  replayStateMachines,
  shippedRecordings,
  type FamilyReport,
  type ReplayDiff,
  type ReplayOptions,
  type ReplayReport,
} from './state-machines/replay.ts';
export type { FamilyProtocol, HistoryStart, VectorCall } from './state-machines/protocol.ts';
export {
  conformance,
  providerClauses,
  runClause,
  runProviderClauses,
  type ClauseOptions,
  type ClauseResult,
  type TestRunner,
} from './runner.ts';
export { Trial, type Clause } from './subject.ts';
export type { AgentNode } from './agent-node.ts';
export type { TrialNode } from './trial-node.ts';
export {
  BrokenClause,
  type Ability,
  type AgentAround,
  type Behaviour,
  type Lack,
  type MakeWorld,
  type ProbeResults,
  type ProviderWorld,
} from './world.ts';
