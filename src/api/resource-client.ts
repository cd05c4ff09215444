import type { KubeList, KubeObject } from '../kube/types.ts';
import type { ApiClient, DeleteOptions, ListOptions, Patch, RequestOptions, WriteOptions } from './client.ts';
import type { Resource } from './resources.ts';

/**
 * ResourceClient accesses one kind in one namespace (or none) by name: client-go's typed interfaces.
 *
 * @example
 * const pods = new ResourceClient<Pod>(client, podResource, 'default');
 * const pod = await pods.get('web');
 */
export class ResourceClient<T extends KubeObject> {
  readonly #client: ApiClient;
  readonly #resource: Resource;
  readonly #namespace: string | undefined;

  constructor(client: ApiClient, resource: Resource, namespace?: string) {
    this.#client = client;
    this.#resource = resource;
    this.#namespace = namespace;
  }

  get(name: string, options?: RequestOptions & { readonly resourceVersion?: string }): Promise<T> {
    return this.#client.get<T>(this.#resource, this.#ref(name), options);
  }

  list(options?: ListOptions): Promise<KubeList<T>> {
    return this.#client.list<T>(this.#resource, {
      ...(this.#namespace !== undefined && { namespace: this.#namespace }),
      ...options,
    });
  }

  create(object: T, options?: WriteOptions): Promise<T> {
    return this.#client.create<T>(this.#resource, object, options);
  }

  update(object: T, options?: WriteOptions): Promise<T> {
    return this.#client.update<T>(this.#resource, object, options);
  }

  patch(name: string, patch: Patch, options?: WriteOptions): Promise<T> {
    return this.#client.patch<T>(this.#resource, this.#ref(name), patch, options);
  }

  delete(name: string, options?: DeleteOptions): Promise<KubeObject> {
    return this.#client.delete(this.#resource, this.#ref(name), options);
  }

  #ref(name: string): { name: string; namespace?: string } {
    return this.#namespace === undefined ? { name } : { name, namespace: this.#namespace };
  }
}
