import type { Keyring } from '../containers/images/pull-credentials.ts';
import type { DockerConfig } from '../containers/credentials/docker-config.ts';
import { DockerKeyring } from '../containers/credentials/docker-keyring.ts';
import type { PluginProvider } from '../containers/credentials/plugin-provider.ts';
import { secretKeyring } from './secret-keyring.ts';

export interface PodKeyringDeps {
  /** The node's own credentials. */
  readonly nodeConfig: () => DockerConfig;
  /** In the order of their settings. */
  readonly plugins: readonly PluginProvider[];
}

/**
 * All credentials for an image of a pod: its pull secrets', the node's, the plug-ins', in this order.
 * Follows `makeLookupPullCredentialsFunc` (pkg/kubelet/images).
 */
export function podKeyring({ nodeConfig, plugins }: PodKeyringDeps): Keyring {
  return async (repository, secrets, pod) => {
    const ofSecrets = secretKeyring(secrets);
    const node = new DockerKeyring();
    node.add(nodeConfig());
    const external = new DockerKeyring();
    for (const plugin of plugins) {
      const { config, source } = await plugin.provide(repository, pod);
      external.add(config, source);
    }
    return [ofSecrets, node, external].flatMap((keyring) => keyring.lookup(repository));
  };
}
