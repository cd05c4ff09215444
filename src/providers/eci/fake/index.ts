/** A double of Alibaba Cloud's ECI for tests and examples: `podtender/providers/eci/fake`. Re-exports only. */
export type { FakeFaultKind, FaultRule } from './faults.ts';
export type { Sent, SentParameters } from './request.ts';
export {
  type FakeCall,
  type FakeEci,
  type FakeEciOptions,
  type FakeGroupView,
  startFakeEci,
} from './server.ts';
export type { FakeAccessKey } from './verify.ts';
