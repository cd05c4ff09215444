export { EmbeddedApiServer } from './server.ts';
export type { EmbeddedApiServerOptions } from './server-options.ts';
export { StorageError } from './storage/storage-error.ts';
export type { KeyPair } from '../pki/certificates.ts';
export type { TokenUser, User } from './authentication/users.ts';
export { Authority } from '../pki/certificates.ts';
export type { ServingOptions } from './serving-options.ts';
export { controllerNames } from './controllers/controller-names.ts';
