export { EmbeddedApiServer, type EmbeddedApiServerOptions } from './server.ts';
export type { KeyPair } from '../base/certificates.ts';
export type { TokenUser, User } from './users.ts';
export { Authority } from '../base/certificates.ts';
