import type { ApiClient } from '../api/client.ts';
import type { KeyPair } from '../base/certificates.ts';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import type { Tracer } from '../base/tracing.ts';
import type { KubeletServer } from '../server/kubelet-server.ts';
import type { PodsController } from './pods-controller.ts';
import { type ServeOptions, serveKubeletApi, type ServerHostOptions } from './server-host.ts';

/** Whether and how an agent serves the kubelet API. */
export interface KubeletApiOptions
  extends
    Omit<ServeOptions, keyof ServerHostOptions | 'client' | 'logger' | 'tls' | 'address' | 'tracer'>,
    Pick<ServerHostOptions, 'configz' | 'flags' | 'program' | 'commandLine' | 'logsRoot' | 'statsRoot'> {
  /** `node`: the node's first address alone. Default: all interfaces. */
  readonly address?: string;
  /** The serving key pair, or one for these names and addresses; default: self-signed. */
  readonly tls?: KeyPair | ((hosts: readonly string[]) => KeyPair);
}

interface KubeletApiParts {
  readonly controller: PodsController;
  readonly client: ApiClient | undefined;
  readonly nodeName: string;
  readonly nodeIPs: readonly string[];
  readonly clock: Clock;
  readonly logger: Logger;
  readonly tracer: Tracer | undefined;
}

/** Two resyncs, and at least this long, may the sync loop take, ms (kubelet `syncLoopHealthCheck`). */
const loopPatienceMs = 120_000;

/** Starts the kubelet API of an agent; its port is known when this resolves. @throws {AgentError} when it cannot listen */
export async function startKubeletApi(
  { address, tls, ...options }: KubeletApiOptions,
  { controller, nodeIPs, nodeName, client, clock, logger, tracer }: KubeletApiParts,
): Promise<KubeletServer> {
  const [nodeIP = '127.0.0.1'] = nodeIPs;
  const hosts = [nodeName, ...nodeIPs, 'localhost', '127.0.0.1'];
  const pair = typeof tls === 'function' ? tls(hosts) : tls;
  return await serveKubeletApi({
    ...options,
    engines: controller.engines,
    nodeName,
    clock,
    logger,
    syncLoopFault: () => syncLoopFault(controller, clock.now()),
    ...(address !== undefined && { address: address === 'node' ? nodeIP : address }),
    ...(client && { client }),
    ...(tracer && { tracer }),
    ...(pair && { tls: pair }),
  });
}

function syncLoopFault({ lastIteration, resyncMs }: PodsController, now: number): string | undefined {
  const patience = Math.max(2 * resyncMs, loopPatienceMs);
  if (!lastIteration || now - lastIteration.startedAt <= patience) return undefined;
  return 'sync Loop took longer than expected';
}
