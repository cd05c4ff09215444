import { nameOf, namespaceOf, uidOf } from '../kube/names.ts';
import type { Secret } from '../kube/types.ts';
import {
  type DockerConfig,
  readDockerConfig,
  readDockerConfigJson,
} from '../containers/credentials/docker-config.ts';
import { DockerKeyring } from '../containers/credentials/docker-keyring.ts';

/** The types of secrets that hold credentials, the key that they are under, and how it is read. */
const kinds: readonly (readonly [type: string, key: string, read: (text: string) => DockerConfig])[] = [
  ['kubernetes.io/dockerconfigjson', '.dockerconfigjson', readDockerConfigJson],
  ['kubernetes.io/dockercfg', '.dockercfg', readDockerConfig],
];

/**
 * The credentials of pull secrets; those of other types are passed over. Follows `MakeDockerKeyring` (pkg/credentialprovider/secrets).
 *
 * @throws {AgentError} `invalid_argument` the first secret that cannot be read, in the words of Go's decoder
 */
export function secretKeyring(secrets: readonly Secret[]): DockerKeyring {
  const keyring = new DockerKeyring();
  for (const secret of secrets) {
    const [, key = '', read] = kinds.find(([type]) => type === secret.type) ?? [];
    const data = secret.data?.[key] ?? '';
    if (!read || data === '') continue;
    const coordinates = { uid: uidOf(secret), namespace: namespaceOf(secret), name: nameOf(secret) };
    keyring.add(read(Buffer.from(data, 'base64').toString()), { secret: coordinates });
  }
  return keyring;
}
