/** undici's file with the pool; its types are undici's own. */
declare module 'undici/lib/dispatcher/pool.js' {
  import { Pool } from 'undici';
  // eslint-disable-next-line no-restricted-syntax -- CommonJS: Node gives its exports as the default
  export default Pool;
}

/** Creates sockets, with TLS or without. */
declare module 'undici/lib/core/connect.js' {
  import { buildConnector } from 'undici';
  // eslint-disable-next-line no-restricted-syntax -- CommonJS: Node gives its exports as the default
  export default buildConnector;
}
