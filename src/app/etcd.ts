import { mkdirSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { resolve } from 'node:path';
import { AgentError, messageOf } from '../base/errors.ts';
import { type Flags, isSet, lastOf, listOf } from './go-flags.ts';

/** Path at which the stand-in says where its data are; `kube-apiserver` of the same launchers reads it. */
export const storePath = '/podtender/store';

/** What {@link storePath} answers. */
export interface EtcdStore {
  /** Directory for the API server's objects. */
  readonly dataDir: string;
  readonly fsync: boolean;
}

/** A running stand-in of etcd. */
export interface RunningEtcd {
  readonly urls: readonly string[];
  stop(): Promise<void>;
}

/**
 * Starts the stand-in of etcd: it holds a data directory for the API server and answers `/health`, `/readyz`, `/livez` and `/version`. It
 * serves no keys; the API server keeps its objects in the directory itself.
 *
 * @throws {AgentError} for URLs, a directory or a port that cannot be used
 */
export async function startEtcd(flags: Flags): Promise<RunningEtcd> {
  const urls = listOf(flags, 'listen-client-urls');
  const dataDir = resolve(lastOf(flags, 'data-dir') ?? `${lastOf(flags, 'name') ?? 'default'}.etcd`);
  try {
    mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  } catch (reason) {
    throw new AgentError('invalid_argument', `--data-dir ${dataDir}: ${messageOf(reason)}`, {
      cause: reason,
    });
  }
  const store: EtcdStore = { dataDir, fsync: !isSet(flags, 'unsafe-no-fsync') };
  const servers: Server[] = [];
  const stop = async (): Promise<void> => {
    await Promise.all(servers.map((server) => closed(server)));
  };
  try {
    for (const url of urls.length > 0 ? urls : ['http://localhost:2379'])
      servers.push(await serve(url, store));
  } catch (reason) {
    await stop();
    throw reason;
  }
  return {
    urls: servers.map((server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`),
    stop,
  };
}

const answers: Readonly<Record<string, string>> = {
  '/health': '{"health":"true","reason":""}',
  '/readyz': 'ok\n',
  '/livez': 'ok\n',
  '/version': '{"etcdserver":"3.6.0","etcdcluster":"3.6.0","storage":"3.6.0"}',
};

async function serve(text: string, store: EtcdStore): Promise<Server> {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol !== 'http:')
    throw new AgentError('invalid_argument', `--listen-client-urls ${text}: an http:// URL is expected`);
  const answer = ({ url: path = '' }: IncomingMessage, response: ServerResponse): void => {
    const body =
      path === storePath ? JSON.stringify(store) : Object.entries(answers).find(([at]) => at === path)?.[1];
    response.writeHead(body === undefined ? 404 : 200, { 'Content-Type': 'application/json' });
    response.end(body ?? '404 page not found\n');
  };
  const server = createServer(answer);
  await new Promise<void>((done, reject) => {
    server.once('error', reject);
    server.listen(Number(url.port || 80), url.hostname.replace(/^\[|\]$/g, ''), done);
  });
  return server;
}

function closed(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => {
      resolve();
    });
    server.closeAllConnections();
  });
}
