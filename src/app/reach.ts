import { join } from 'node:path';
import { certificateMetrics } from '../agent/metrics/certificate-metrics.ts';
import type { ApiConnection } from '../api/rest/connection.ts';
import { connectionFromKubeconfig, throughProxy } from '../api/kubeconfig/kube-client.ts';
import { type InCluster, inClusterConnection } from '../api/kubeconfig/plain-kubeconfig.ts';
import { systemClock } from '../base/clock.ts';
import { AgentError, messageOf } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';
import { systemRandom } from '../base/random.ts';
import { clientCredentials } from '../certificates/client-credentials.ts';
import type { EffectiveOptions } from '../options/load.ts';
import type { MetricFamily } from '../metrics/family.ts';
import type { RunOptions } from './running.ts';

const clock = systemClock;

/** The connection of an agent to its cluster, and the renewal of its credentials. */
export interface Reach {
  readonly connection: ApiConnection;
  readonly keep: (signal: AbortSignal) => Promise<void>;
  /** Resolves once it can be used; absent: at once. */
  readonly ready?: (signal: AbortSignal) => Promise<void>;
  /** Metrics of the renewed client certificate; absent: there is none. */
  readonly metrics?: () => readonly MetricFamily[];
}

/** Returns the connection with in-cluster credentials, those of a kubeconfig, or a client certificate that is requested and renewed. */
export async function reachOf(
  { kubeconfig: explicit }: Pick<RunOptions, 'kubeconfig'>,
  { kubelet, agent: { bootstrapKubeconfig = '', nodeName, ...agent } }: EffectiveOptions,
  {
    certDir,
    dataDir,
    logger,
  }: { readonly certDir: string; readonly dataDir: string; readonly logger: Logger },
): Promise<Reach> {
  const kubeconfig = explicit ?? agent.kubeconfig;
  const bootstraps = bootstrapKubeconfig !== '';
  const keep = (): Promise<void> => Promise.resolve();
  if (kubeconfig === undefined && !bootstraps)
    return { connection: throughProxy(await ofThisPod(), process.env), keep };
  const rotate = kubelet.rotateCertificates ?? false;
  if (kubeconfig !== undefined && !bootstraps && !rotate)
    return { connection: throughProxy(await connectionFromKubeconfig(clock, kubeconfig), process.env), keep };
  const credentials = await clientCredentials({
    kubeconfig: kubeconfig ?? join(dataDir, 'kubeconfig'),
    ...(bootstraps && { bootstrapKubeconfig }),
    certDir,
    nodeName,
    rotate,
    proxies: process.env,
    clock,
    random: systemRandom,
    logger,
  });
  return {
    connection: credentials.connection,
    keep: (signal) => credentials.run(signal),
    ready: (signal) => credentials.ready(signal),
    metrics: () => {
      const { failures } = credentials.stats();
      return certificateMetrics('client', { certificate: credentials.certificate(), failures }, clock.now());
    },
  };
}

/** @throws {AgentError} `invalid_argument` outside of a pod, naming the missing flag */
async function ofThisPod(): Promise<ApiConnection> {
  try {
    return await inClusterConnection(clock, inPod());
  } catch (cause) {
    throw new AgentError(
      'invalid_argument',
      `there are no credentials of a cluster: name a kubeconfig with --kubeconfig or $KUBECONFIG (without one those of a pod are used, but: ${messageOf(cause)})`,
      { cause },
    );
  }
}

const inPod = (): InCluster => ({
  host: process.env['KUBERNETES_SERVICE_HOST'],
  port: process.env['KUBERNETES_SERVICE_PORT'],
});
