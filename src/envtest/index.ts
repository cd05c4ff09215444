export { TestEnvironment, type TestEnvironmentOptions } from './environment.ts';
export type { TestUser } from './control-plane.ts';
export { installCrds } from './crds.ts';
export { installWebhooks, type WebhookServing } from './webhooks.ts';
export type { AuditEvent } from '../apiserver/index.ts';
