export { replay } from './pod_actions.ts';
