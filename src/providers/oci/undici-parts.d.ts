/** undici's files with what is needed of it: its entry loads all, fetch and test doubles among it. Types are undici's own. */
declare module 'undici/lib/dispatcher/agent.js' {
  import { Agent } from 'undici';
  // eslint-disable-next-line no-restricted-syntax -- CommonJS: Node gives its exports as the default
  export default Agent;
}

declare module 'undici/lib/dispatcher/proxy-agent.js' {
  import { ProxyAgent } from 'undici';
  // eslint-disable-next-line no-restricted-syntax -- CommonJS: Node gives its exports as the default
  export default ProxyAgent;
}

declare module 'undici/lib/dispatcher/dispatcher.js' {
  import { Dispatcher } from 'undici';
  // eslint-disable-next-line no-restricted-syntax -- CommonJS: Node gives its exports as the default
  export default Dispatcher;
}

/** The methods of dispatchers besides `dispatch`, such as `request` and `connect`, which undici's entry adds to them. */
declare module 'undici/lib/api/index.js' {
  const methods: object;
  // eslint-disable-next-line no-restricted-syntax -- CommonJS: Node gives its exports as the default
  export default methods;
}
