import { createHash } from 'node:crypto';
import { dirname, resolve } from 'node:path';
import { hostname } from 'node:os';
import type { AgentOptions } from '../agent/agent-options.ts';
import { connectionFromKubeconfig } from '../api/kubeconfig/kube-client.ts';
import { inClusterConnection } from '../api/kubeconfig/plain-kubeconfig.ts';
import type { ApiConnection } from '../api/rest/connection.ts';
import type { Clock } from '../base/clock.ts';
import { AgentError } from '../base/errors.ts';
import type { EffectiveOptions } from '../options/load.ts';
import { readProviderConfig } from './provider-config.ts';

type KubernetesParts = Required<Pick<AgentOptions, 'makeProvider' | 'node'>>;

/**
 * kubernetesParts returns the provider of a second cluster and the description of its node.
 *
 * @param file the settings file (`--provider-config`)
 * @throws {AgentError} `invalid_argument` for a missing file and for each wrong setting
 */
export async function kubernetesParts(
  settings: EffectiveOptions,
  environment: Readonly<Record<string, string | undefined>>,
  file: string | undefined,
): Promise<KubernetesParts> {
  if (file === undefined)
    throw new AgentError(
      'invalid_argument',
      '--provider kubernetes: needs --provider-config FILE with the backing cluster, such as "kubeconfig: backing.conf" and "namespace: podtender"',
    );
  const { KubernetesProvider, backingNode, kubernetesSettings } =
    await import('../providers/kubernetes/index.ts');
  const value = await readProviderConfig(file, 'namespace: podtender');
  const { kubeconfig, context, ...rest } = kubernetesSettings(
    value,
    file.startsWith('{') ? '--provider-config' : `--provider-config ${file}`,
  );
  const { nodeName, nodeLabels, rootDir } = settings.agent;
  const { labels, ...node } = backingNode(nodeName, rest);
  const path = kubeconfig === undefined ? undefined : resolve(dirname(file), kubeconfig);
  return {
    node: { ...node, labels: { ...labels, ...nodeLabels }, runtimeVersion: () => 'kubernetes://1.0.0' },
    makeProvider: async ({ clock, random, logger }) => {
      const connection = await connectionOf({ path, context }, environment, clock);
      const identity = `${hostname()}_${createHash('sha256').update(rootDir).digest('hex').slice(0, 12)}`;
      const provider = new KubernetesProvider({
        ...rest,
        ...{ connection, nodeName, clock, random, logger, identity },
      });
      await provider.open();
      return { provider, upkeep: { run: (signal) => provider.lead(signal) } };
    },
  };
}

function connectionOf(
  { path, context }: { readonly path: string | undefined; readonly context: string | undefined },
  environment: Readonly<Record<string, string | undefined>>,
  clock: Clock,
): Promise<ApiConnection> {
  if (path !== undefined) return connectionFromKubeconfig(clock, path, context);
  return inClusterConnection(clock, {
    host: environment['KUBERNETES_SERVICE_HOST'],
    port: environment['KUBERNETES_SERVICE_PORT'],
  });
}
