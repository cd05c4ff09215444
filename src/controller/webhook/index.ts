/** `podtender/controller/webhook`: admission and conversion webhooks, as controller-runtime has them. Re-exports only. */
export {
  type AdmissionContext,
  type AdmissionHandler,
  type AdmissionOptions,
  AdmissionWebhook,
  multiMutating,
  multiValidating,
  mutating,
  validating,
} from './admission.ts';
export { mutatePath, newWebhookManagedBy, validatePath, type WebhookBuilder } from './builder.ts';
export type { InjectionTargets } from './ca-injection.ts';
export { certWatcher, CertWatcher, type CertWatcherOptions } from '../serving/cert-watcher.ts';
export type { CertificateBundle } from './certificate-bundle.ts';
export { conversion, ConversionWebhook, type HubAndSpokes, spoke, type Spoke } from './conversion.ts';
export { decoder } from './decoder.ts';
export type { ServingContext, WebhookHandler } from './handler.ts';
export {
  CertificateProvisioner,
  type CertificateProvisionerDeps,
  type CertificateProvisionerOptions,
} from './provisioner.ts';
export { allowed, denied, DeniedError, errored, patched, withWarnings } from './responses.ts';
export type {
  AdmissionRequest,
  AdmissionResponse,
  AdmissionResult,
  GroupVersionKind,
  GroupVersionResource,
  UserInfo,
} from './review.ts';
export { WebhookServer, type WebhookServerDeps, type WebhookServerOptions } from './server.ts';
export {
  defaulter,
  type DefaultFunc,
  type TypedContext,
  validator,
  type Validator,
  type Warnings,
} from './typed-handlers.ts';
export type { HttpHandler } from '../serving/http-server.ts';
export type { JsonPatchOperation } from '../../apimachinery/patch/create-json-patch.ts';
