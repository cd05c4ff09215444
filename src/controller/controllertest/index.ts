/** `podtender/controller/controllertest`: helpers for tests of controllers. Re-exports only. */
export { FakeClock, settle } from '../../base/fake-clock.ts';
export type { Step } from '../controller/controller.ts';
export { type AuditedRequest, AuditLog, type AuditLogOptions } from './audit-log.ts';
export { ControllerDriver } from './controller-driver.ts';
export { type Addition, RecordedQueue } from './recorded-queue.ts';
export { reconcileContext } from './reconcile-context.ts';
