import type { ConfigMap, Pod, Secret, Service } from '../kube/types.ts';
import { nameOf, namespaceOf } from '../kube/names.ts';
import type { Lister, ProviderConfig } from './contract.ts';
import { invalidInput, notFoundError } from './errors.ts';

/**
 * The objects that a provider may look up, in one: as the first releases gave them to providers.
 *
 * @example
 * const secret = resources.getSecret('pulls', 'default');
 */
export class ResourceManager {
  readonly #pods: Lister<Pod>;
  readonly #secrets: Lister<Secret>;
  readonly #configMaps: Lister<ConfigMap>;
  readonly #services: Lister<Service>;

  /** @throws {InvalidInputError} naming the lister that is missing */
  constructor({
    pods,
    secrets,
    configMaps,
    services,
  }: Pick<ProviderConfig, 'pods' | 'secrets' | 'configMaps' | 'services'>) {
    for (const [name, lister] of Object.entries({ pods, secrets, configMaps, services }))
      if ((lister as unknown) === undefined) throw invalidInput(`missing lister of ${name}`);
    this.#pods = pods;
    this.#secrets = secrets;
    this.#configMaps = configMaps;
    this.#services = services;
  }

  /** All pods of the node. */
  getPods(): readonly Pod[] {
    return this.#pods.list();
  }

  /** @throws {NotFoundError} */
  getConfigMap(name: string, namespace: string): ConfigMap {
    return found(this.#configMaps.get(namespace, name), `configmap "${name}" not found`);
  }

  /** @throws {NotFoundError} */
  getSecret(name: string, namespace: string): Secret {
    return found(this.#secrets.get(namespace, name), `secret "${name}" not found`);
  }

  /** All services of the cluster. */
  listServices(): readonly Service[] {
    return this.#services.list();
  }

  /** The pods of the node by `namespace-name`, as the first releases' providers named theirs. */
  podsByName(): ReadonlyMap<string, Pod> {
    return new Map(this.getPods().map((pod) => [`${namespaceOf(pod)}-${nameOf(pod)}`, pod]));
  }
}

function found<T>(object: T | undefined, message: string): T {
  if (object === undefined) throw notFoundError(message);
  return object;
}
