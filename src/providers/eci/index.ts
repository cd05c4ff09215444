/** Alibaba Cloud ECI: pods as container groups. `podtender/providers/eci`. Re-exports only. */
export type { EciAction, EciAnswer, EciApi, EciParameters, EciValue } from './api.ts';
export { BuiltinEciApi, type BuiltinEciApiOptions } from './builtin-api.ts';
export type { CallCounts, EciCallLimits } from './calls.ts';
export { credentialFromEnvironment, type EciCredentials } from './credentials.ts';
export { EciError, type EciErrorClass } from './errors.ts';
export { eciNode, type EciNode } from './node.ts';
export { EciProvider, type EciProviderOptions } from './provider.ts';
export { SdkEciApi, type SdkEciApiOptions } from './sdk-api.ts';
export { eciSettings, type EciQuota, type EciSettings } from './settings.ts';
export type { EciCredential, SignatureAlgorithm } from './signature.ts';
