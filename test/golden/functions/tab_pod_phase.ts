export { replay } from './pod_phase.ts';
