/**
 * The kubelet API in your own HTTP server: for a provider that has its own server or serves more on the same port.
 *
 *   npm run example -- kubelet-api
 *
 * Serves one pod whose log is a constant text and whose only program prints its arguments. Clients authenticate with a token.
 */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Pod } from '../src/index.ts';
import {
  attachHandler,
  type Authenticator,
  type Authorizer,
  handleContainerExec,
  handleContainerLogs,
  handlePodStatsSummary,
  handleRunningPods,
  instrumentHandler,
  notFound,
  notImplemented,
  type PodHandler,
  type ServerHost,
} from '../src/server/index.ts';

const pod: Pod = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'hello', namespace: 'default', uid: 'uid-hello' },
  spec: { containers: [{ name: 'main', image: 'any' }] },
  status: {
    phase: 'Running',
    containerStatuses: [
      {
        name: 'main',
        image: 'any',
        imageID: '',
        containerID: 'mine://1',
        ready: true,
        restartCount: 0,
        state: { running: { startedAt: '2026-01-01T00:00:00Z' } },
      },
    ],
  },
};

/** The features of your provider; requests for anything omitted are answered with "not implemented". */
const host: ServerHost = {
  nodeName: 'mine',
  pods: () => [pod],
  podByName: (namespace, name) => (namespace === 'default' && name === 'hello' ? pod : undefined),
  podStatus: () => undefined,
  runningPods: async () => [
    {
      uid: 'uid-hello',
      name: 'hello',
      namespace: 'default',
      containers: [{ id: 'mine://1', name: 'main', state: 'running' }],
      sandboxes: [],
    },
  ],
  syncLoopFault: () => undefined,
  readLog: async (_request, sink) => {
    await sink(Buffer.from('hello from the log\n'));
  },
  exec: async (_container, command, { stdout }) => {
    stdout?.write(`${command.join(' ')}\n`);
    return 0;
  },
};

/** Authenticates a request. For client certificates, cluster tokens and access rules see `webhookAccess`. */
const byToken = (token: string): Authenticator => ({
  authenticate: ({ headers }) =>
    Promise.resolve(headers.authorization === `Bearer ${token}` ? { name: 'viewer', groups: [] } : undefined),
});
/** Authorizes a request. */
const viewersOnly: Authorizer = { authorize: ({ user }) => Promise.resolve(user.name === 'viewer') };

/** Serves the API on loopback, next to a page that is not the kubelet's; `seen` is called with each request. */
export async function serve(token: string, seen: (line: string) => void): Promise<Server> {
  const options = { host, authenticators: [byToken(token)], authorizer: viewersOnly };
  const routes: Readonly<Record<string, PodHandler>> = {
    pods: handleRunningPods(options),
    runningpods: handleRunningPods(options),
    containerLogs: handleContainerLogs(options),
    exec: handleContainerExec(options),
    stats: handlePodStatsSummary(options),
    attach: () => Promise.resolve(notImplemented),
    about: () => Promise.resolve({ status: 200, headers: {}, body: 'a provider of my own\n' }),
  };
  const all: PodHandler = async (request) => {
    const handle = routes[request.target.split(/[/?]/)[1] ?? ''];
    return handle ? await handle(request) : notFound;
  };
  const server = createServer();
  attachHandler(
    server,
    instrumentHandler(all, async (request, handle) => {
      const reply = await handle();
      seen(`${request.method} ${request.target} ${reply.status}`);
      return reply;
    }),
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}

if (process.argv[1] === import.meta.filename) {
  const server = await serve('secret', (line) => {
    console.log(line);
  });
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}/containerLogs/default/hello/main`;
  const answer = await fetch(url, { headers: { authorization: 'Bearer secret' } });
  console.log(await answer.text());
  server.closeAllConnections();
  server.close();
}
