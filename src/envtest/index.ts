export { TestEnvironment, type TestEnvironmentOptions, type TestUser } from './environment.ts';
export { installCrds } from './crds.ts';
export { installWebhooks, type WebhookServing } from './webhooks.ts';
export type { AuditEvent } from '../apiserver/index.ts';
