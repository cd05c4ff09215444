import { type Clock, systemClock } from '../../base/clock.ts';
import { AgentError } from '../../base/errors.ts';
import { connectionFromKubeconfig } from '../../api/kubeconfig/kube-client.ts';
import type { ApiConnection } from '../../api/rest/connection.ts';

/** Where the connection is described. */
export interface LoadConnectionOptions {
  /** A kubeconfig file, or several separated by `:`. */
  readonly path?: string;
  /** A context of the kubeconfig; default: its current one. */
  readonly context?: string;
  readonly clock?: Clock;
}

/** What `@kubernetes/client-node` falls back to when it finds no configuration. */
const nowhere = 'http://localhost:8080';

/**
 * Returns the connection to the cluster: of a kubeconfig file, or without one of `KUBECONFIG`, `~/.kube/config` or the service account of the
 * pod that this process runs in, the first that there is.
 *
 * @throws {AgentError} `invalid_argument` when there is none, or it is incomplete
 *
 * @example
 * const manager = new Manager({ connection: await loadConnection() });
 */
export async function loadConnection(options: string | LoadConnectionOptions = {}): Promise<ApiConnection> {
  const { path, context, clock = systemClock } = typeof options === 'string' ? { path: options } : options;
  const connection = await connectionFromKubeconfig(clock, path, context);
  if (path === undefined && connection.server === nowhere && connection.namespace === undefined)
    throw new AgentError(
      'invalid_argument',
      'no cluster is configured: set KUBECONFIG, write ~/.kube/config, or run in a pod with a service account',
    );
  return connection;
}
