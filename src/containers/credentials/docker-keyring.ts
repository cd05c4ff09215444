import { ownMember } from '../../base/own.ts';
import { createHash } from 'node:crypto';
import { goStructJson } from '../../go/go-json.ts';
import { parseSchemelessUrl, registryMatches } from '../../kube/registry-url.ts';
import type { PullCredential, Keyring } from '../images/pull-credentials.ts';
import {
  type DockerConfig,
  type DockerConfigEntry,
  readDockerConfigJson,
  readDockerConfig,
} from '../../kube/docker-config.ts';
import type { PluginProvider } from './plugin-provider.ts';
import type { Secret } from '../../kube/types.ts';
import { uidOf, namespaceOf, nameOf } from '../../kube/names.ts';

/** Docker's name of its own registry. */
const defaultRegistry = 'index.docker.io';

/**
 * DockerKeyring holds credentials by registry and finds those for an image. Follows `BasicDockerKeyring` (pkg/credentialprovider).
 */
export class DockerKeyring {
  readonly #credentials = new Map<string, PullCredential[]>();

  /** Adds the credentials of a Docker config. @param source the secret or service account that they come from; absent: the node's own */
  add(config: DockerConfig, source?: PullCredential['source']): void {
    for (const [registry, entry] of Object.entries(config)) {
      const key = keyOf(registry);
      if (key === undefined) continue; // not a URL: ignored, as in the kubelet
      const credential = { ...tracked(entry), ...(source && { source }) };
      this.#credentials.set(key, [...(this.#credentials.get(key) ?? []), credential]);
    }
  }

  /**
   * Returns every matching credential, longer registry paths first.
   *
   * @param repository an image name without tag and digest
   */
  lookup(repository: string): readonly PullCredential[] {
    const found = [...this.#credentials.entries()]
      .filter(([pattern]) => registryMatches(pattern, repository))
      .sort(([a], [b]) => Buffer.compare(Buffer.from(b), Buffer.from(a)))
      .flatMap(([, credentials]) => credentials);
    if (found.length > 0 || !isOfDefaultRegistry(repository)) return found;
    return this.#credentials.get(defaultRegistry) ?? [];
  }
}

/** Returns the key of a registry: host and path; the paths `/v1/` and `/v2/` stand for the host alone, as in Docker. */
function keyOf(registry: string): string | undefined {
  const url = parseSchemelessUrl(registry.replace(/^https?:\/\//, ''));
  if (typeof url === 'string') return undefined;
  const path = /^\/v[12]\//.test(url.path) ? url.path.slice(3) : url.path;
  return path === '/' ? url.host : `${url.host}${path}`;
}

/**
 * True for images of Docker Hub such as `library/ubuntu` and `docker.io/ubuntu`; false for `host.example/ubuntu` or
 * `localhost:5000/ubuntu`.
 */
function isOfDefaultRegistry(repository: string): boolean {
  const [first = '', ...rest] = repository.split('/');
  if (first === '') return false;
  return rest.length === 0 || first === 'docker.io' || first === defaultRegistry || !/[.:]/.test(first);
}

function tracked({ username, password, email }: DockerConfigEntry): PullCredential {
  const nonEmpty = Object.entries({ username, password, email }).filter(([, value]) => value !== '');
  return {
    auth: { username, password },
    hash: createHash('sha256')
      .update(goStructJson(Object.fromEntries(nonEmpty)))
      .digest('hex'),
  };
}

interface PodKeyringDeps {
  /** Returns the node's own credentials. */
  readonly nodeConfig: () => DockerConfig;
  /** Plug-ins in the order of their configuration. */
  readonly plugins: readonly PluginProvider[];
}

/**
 * Returns the keyring of a pod: credentials of its pull secrets, then the node's, then the plug-ins'.
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

/** The secret types that hold credentials, the key that holds them, and its parser. */
const kinds: readonly (readonly [type: string, key: string, read: (text: string) => DockerConfig])[] = [
  ['kubernetes.io/dockerconfigjson', '.dockerconfigjson', readDockerConfigJson],
  ['kubernetes.io/dockercfg', '.dockercfg', readDockerConfig],
];

/**
 * Returns a keyring of pull secrets; secrets of other types are skipped. Follows `MakeDockerKeyring` (pkg/credentialprovider/secrets).
 *
 * @throws {AgentError} `invalid_argument` for the first secret that cannot be parsed, worded as by Go's decoder
 */
export function secretKeyring(secrets: readonly Secret[]): DockerKeyring {
  const keyring = new DockerKeyring();
  for (const secret of secrets) {
    const [, key = '', read] = kinds.find(([type]) => type === secret.type) ?? [];
    const data = ownMember(secret.data, key) ?? '';
    if (!read || data === '') continue;
    const coordinates = { uid: uidOf(secret), namespace: namespaceOf(secret), name: nameOf(secret) };
    keyring.add(read(Buffer.from(data, 'base64').toString()), { secret: coordinates });
  }
  return keyring;
}
