import type { ApiClient } from '../api/client.ts';
import { secretResource } from '../api/resources.ts';
import { AgentError, messageOf } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';
import { namespaceOf, uidOf } from '../kube/names.ts';
import type { Container, Pod, Secret } from '../kube/types.ts';
import { withMethods } from '../provider/guarded-provider.ts';
import type { PodProvider } from '../provider/provider.ts';

/** A registry and its credentials. */
export interface RegistryAuth {
  /** The registry and path before the image's name, for example `registry.example.com/team`. */
  readonly repository?: string;
  /** The name of a pull secret (`kubernetes.io/dockerconfigjson`) with the credentials, in the pod's namespace. */
  readonly secretName?: string;
  readonly username?: string;
  readonly password?: string;
  /** `username:password` in base64, instead of the two fields. */
  readonly auth?: string;
  /** The registry's address when `repository` does not begin with it. */
  readonly serverAddress?: string;
  readonly identityToken?: string;
  readonly registryToken?: string;
}

/**
 * The registries of a node.
 *
 * @example
 * const registry = {
 *   default: { repository: 'registry.example.com/team', secretName: 'team-pulls' },
 *   allows: [{ repository: 'mirror.example.com', username: 'node', password }],
 * };
 */
export interface RegistryOptions {
  /**
   * The repository of images with at most one slash in their name: `busybox` and `library/busybox` become
   * `registry.example.com/team/busybox`. Longer names are not changed. Its credentials are used like those of `allows`.
   */
  readonly default?: RegistryAuth;
  /** Credentials for further registries, passed to the provider after the pod's own pull secrets. */
  readonly allows?: readonly RegistryAuth[];
}

/** Validates the repositories. @throws {AgentError} `invalid_argument`, naming the option */
export function checkRegistry({ default: main, allows = [] }: RegistryOptions): void {
  const check = (path: string, { repository }: RegistryAuth): void => {
    if (repository !== undefined && !/^[a-z0-9][\w.:-]*(\/[\w.-]+)*\/?$/i.test(repository))
      throw new AgentError(
        'invalid_argument',
        `${path}.repository: ${JSON.stringify(repository)} is not a repository; write it like registry.example.com/team`,
      );
  };
  if (main) check('registry.default', main);
  allows.forEach((auth, index) => {
    check(`registry.allows[${index}]`, auth);
  });
}

/** Returns the image's name in the default repository. */
export function imageFrom(repository: string | undefined, image: string): string {
  if (repository === undefined || repository === '') return image;
  const parts = image.split('/');
  return parts.length > 2 ? image : `${repository.replace(/\/+$/, '')}/${parts.at(-1) ?? image}`;
}

function podFrom(repository: string | undefined, pod: Pod): Pod {
  const { spec } = pod;
  if (!spec || repository === undefined || repository === '') return pod;
  const moved = <C extends Pick<Container, 'image'>>(containers: readonly C[]): C[] =>
    containers.map((one) =>
      one.image === undefined ? one : { ...one, image: imageFrom(repository, one.image) },
    );
  return {
    ...pod,
    spec: {
      ...spec,
      containers: moved(spec.containers),
      ...(spec.initContainers && { initContainers: moved(spec.initContainers) }),
      ...(spec.ephemeralContainers && { ephemeralContainers: moved(spec.ephemeralContainers) }),
    },
  };
}

/** Makes a pull secret from the credentials; `undefined` when there are none. */
function secretOf(auth: RegistryAuth, name: string): Secret | undefined {
  const { repository, serverAddress, username, password, identityToken, registryToken } = auth;
  const server = serverAddress ?? repository;
  const entry = Object.fromEntries(
    Object.entries({
      username,
      password,
      auth: auth.auth,
      identitytoken: identityToken,
      registrytoken: registryToken,
    }).filter(([, value]) => value !== undefined),
  );
  if (server === undefined || Object.keys(entry).length === 0) return undefined;
  const config = JSON.stringify({ auths: { [server]: entry } });
  return {
    metadata: { name },
    type: 'kubernetes.io/dockerconfigjson',
    data: { '.dockerconfigjson': Buffer.from(config).toString('base64') },
  };
}

/** The dependencies of {@link withRegistry}. */
export interface RegistryDeps {
  readonly kubeClient?: ApiClient | undefined;
  readonly logger: Logger;
}

/** Wraps a provider so that its pods use the default repository and the credentials of the registries. */
export function withRegistry<P extends PodProvider>(
  provider: P,
  registry: RegistryOptions,
  deps: RegistryDeps,
): P {
  checkRegistry(registry);
  const auths = [...(registry.default ? [registry.default] : []), ...(registry.allows ?? [])];
  const fixed = auths
    .map((auth, index) => secretOf(auth, `registry-${index}`))
    .filter((secret) => secret !== undefined);
  const names = auths.map(({ secretName }) => secretName).filter((name) => name !== undefined && name !== '');
  const own: Partial<PodProvider> = {
    syncPod: async (request, signal) => {
      const read = await Promise.all(names.map((name) => secretNamed(deps, request.pod, name ?? '')));
      const pullSecrets = [...request.pullSecrets, ...read.flat(), ...fixed];
      const pod = podFrom(registry.default?.repository, request.pod);
      return provider.syncPod({ ...request, pod, pullSecrets }, signal);
    },
  };
  return withMethods(provider, own);
}

/** Reads a pull secret. One that cannot be read is omitted: the pull fails if it was needed. */
async function secretNamed(
  { kubeClient, logger }: RegistryDeps,
  pod: Pod,
  name: string,
): Promise<readonly Secret[]> {
  if (!kubeClient) return [];
  try {
    return [await kubeClient.get<Secret>(secretResource, { namespace: namespaceOf(pod), name })];
  } catch (reason) {
    logger.warn('a pull secret of the registries cannot be read', {
      uid: uidOf(pod),
      secret: name,
      err: messageOf(reason),
    });
    return [];
  }
}
