/**
 * Hooks on a pod's way: a chain of middleware for the PodsController of examples/embed.ts.
 *
 *   npm run example -- middleware
 *
 * Runs a pod that the chain changes, and one that it refuses, and prints what became of them.
 */
import { EmbeddedApiServer } from '../src/apiserver/index.ts';
import { envImport, imageAllowList, type Middleware } from '../src/middleware/index.ts';
import { runPod, startNode } from './embed.ts';

/** Refuses pods that nobody owns. */
const owners: Middleware = {
  name: 'owners',
  podAddition: ({ pod }) =>
    pod.metadata?.labels?.['owner'] === undefined
      ? { refuse: { reason: 'NoOwner', message: 'the pod has no label owner: add one, such as owner=shop' } }
      : undefined,
};

/** Gives each container the name of its pod's owner, without a change of the API object. */
const ownerVariable: Middleware = {
  name: 'ownerVariable',
  containerOptions: ({ pod }) => ({
    env: [{ name: 'OWNER', value: pod.metadata?.labels?.['owner'] ?? '' }],
  }),
};

/** Measures the provider's syncs and shows what it is given. @param print receives a line for each */
const syncTimes = (print: (line: string) => void): Middleware => ({
  name: 'syncTimes',
  providerSync: async (request, next) => {
    const startedAt = performance.now();
    const result = await next(request);
    const { metadata, spec } = request.pod;
    const variables = (spec?.containers[0]?.env ?? []).map(({ name, value = '' }) => `${name}=${value}`);
    const took = (performance.now() - startedAt).toFixed(1);
    print(`sync of ${metadata?.name} with ${variables.join(' ')} took ${took} ms`);
    return result;
  },
});

/** Says in each status which rack the pod runs in. */
const rack: Middleware = {
  name: 'rack',
  podStatus: ({ status }) =>
    status.phase === 'Running' ? { ...status, message: 'runs in rack 7' } : undefined,
};

/** The chain, in its order. */
export const chain = (print: (line: string) => void): readonly Middleware[] => [
  owners,
  imageAllowList({ images: ['registry.example.com/shop/*'] }),
  envImport({
    rules: [{ selector: { matchLabels: { app: 'web' } }, env: [{ name: 'ZONE', value: 'eu-1' }] }],
  }),
  ownerVariable,
  syncTimes(print),
  rack,
];

if (process.argv[1] === import.meta.filename) {
  const server = await EmbeddedApiServer.start();
  const stop = new AbortController();
  const node = await startNode(
    server,
    stop.signal,
    chain((line) => {
      console.log(line);
    }),
  );
  const labels = { app: 'web', owner: 'shop' };
  for (const [name, image] of [
    ['allowed', 'registry.example.com/shop/web:1'],
    ['refused', 'elsewhere.example.com/web:1'],
  ] as const) {
    const status = await runPod(server, name, { labels, image });
    console.log(`pod ${name} is ${status?.phase}: ${status?.message ?? ''}`);
  }
  stop.abort();
  await node.stop();
  await server.stop();
}
