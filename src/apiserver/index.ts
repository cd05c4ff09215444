export { EmbeddedApiServer, type EmbeddedApiServerOptions } from './server.ts';
export { StorageError } from './storage/storage-error.ts';
export type { KeyPair } from '../pki/certificates.ts';
export type { TokenUser, User } from './authentication/users.ts';
export { Authority } from '../pki/certificates.ts';
