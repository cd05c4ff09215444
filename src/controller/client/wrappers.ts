import { AgentError } from '../../base/errors.ts';
import type {
  ApplyOptions,
  Client,
  DeleteAllOfOptions,
  DeleteOptions,
  Kind,
  KubeObject,
  ListOptions,
  ObjectKey,
  PatchOptions,
  SubResourceClient,
  WriteOptions,
} from '../types.ts';
import { keyOf } from './request.ts';

/** Changes the options of calls that write. */
interface OptionChanges {
  write<O extends WriteOptions>(options: O): O;
  apply(options: ApplyOptions): ApplyOptions;
  delete<O extends DeleteOptions>(options: O): O;
}

/**
 * Returns a client all of whose writes are dry runs: the server checks and answers them and stores nothing.
 *
 * @example
 * await newDryRunClient(client).delete(kinds.Pod, { namespace, name }); // is only checked
 */
export const newDryRunClient = (client: Client): Client =>
  withOptions(client, {
    write: (options) => ({ ...options, dryRun: true }),
    apply: (options) => ({ ...options, dryRun: true }),
    delete: (options) => ({ ...options, dryRun: true }),
  });

/**
 * Returns a client whose writes own fields as `owner`, unless a call names another owner.
 *
 * @example
 * const owned = withFieldOwner(client, 'my-operator');
 */
export const withFieldOwner = (client: Client, owner: string): Client =>
  withOptions(client, {
    write: (options) => ({ ...options, fieldOwner: options.fieldOwner ?? owner }),
    // an apply without an owner is rejected by type; for callers without types
    apply: (options) => ({ ...options, fieldOwner: (options as Partial<ApplyOptions>).fieldOwner ?? owner }),
    delete: (options) => options,
  });

/**
 * Returns a client whose writes use this field validation, unless a call names another one.
 *
 * @example
 * const strict = withFieldValidation(client, 'Strict');
 */
export const withFieldValidation = (client: Client, fieldValidation: 'Ignore' | 'Warn' | 'Strict'): Client =>
  withOptions(client, {
    write: (options) => ({ ...options, fieldValidation: options.fieldValidation ?? fieldValidation }),
    apply: (options) => ({ ...options, fieldValidation: options.fieldValidation ?? fieldValidation }),
    delete: (options) => options,
  });

function withOptions(client: Client, changes: OptionChanges): Client {
  const sub = (inner: SubResourceClient): SubResourceClient => ({
    get: (kind, object, options) => inner.get(kind, object, options),
    create: (kind, object, body, options = {}) => inner.create(kind, object, body, changes.write(options)),
    update: (kind, object, options = {}) => inner.update(kind, object, changes.write(options)),
    patch: (kind, object, patch, options = {}) => inner.patch(kind, object, patch, changes.write(options)),
    apply: (kind, configuration, options) => inner.apply(kind, configuration, changes.apply(options)),
  });
  return {
    get: (kind, key, options) => client.get(kind, key, options),
    list: (kind, options) => client.list(kind, options),
    watch: (kind, options) => client.watch(kind, options),
    create: (kind, object, options = {}) => client.create(kind, object, changes.write(options)),
    update: (kind, object, options = {}) => client.update(kind, object, changes.write(options)),
    patch: (kind, object, patch, options: PatchOptions = {}) =>
      client.patch(kind, object, patch, changes.write(options)),
    apply: (kind, configuration, options) => client.apply(kind, configuration, changes.apply(options)),
    delete: (kind, object, options = {}) => client.delete(kind, object, changes.delete(options)),
    deleteAllOf: (kind, options) => client.deleteAllOf(kind, changes.delete(options)),
    status: sub(client.status),
    subResource: (name) => sub(client.subResource(name)),
  };
}

/**
 * Returns a client of one namespace: calls for namespaced kinds have it without naming it, and a call that names another one is rejected.
 * Cluster-scoped kinds are as before.
 *
 * @example
 * const pods = await newNamespacedClient(client, 'shop').list(kinds.Pod);
 */
export function newNamespacedClient(client: Client, namespace: string): Client {
  const at = (kind: Kind, key: ObjectKey): ObjectKey =>
    kind.namespaced ? { ...key, namespace: checked(key.namespace, namespace, key.name) } : key;
  const within = <T extends KubeObject>(kind: Kind<T>, object: T): T => {
    if (!kind.namespaced) return object;
    const { namespace: own, name } = object.metadata ?? {};
    return { ...object, metadata: { ...object.metadata, namespace: checked(own, namespace, name ?? '') } };
  };
  const of = <O extends ListOptions | DeleteAllOfOptions>(kind: Kind, options: O): O =>
    kind.namespaced ? { ...options, namespace: checked(options.namespace, namespace, 'list') } : options;
  const sub = (inner: SubResourceClient): SubResourceClient => ({
    get: (kind, object, options) => inner.get(kind, within(kind, object), options),
    create: (kind, object, body, options) => inner.create(kind, within(kind, object), body, options),
    update: (kind, object, options) => inner.update(kind, within(kind, object), options),
    patch: (kind, object, patch, options) => inner.patch(kind, within(kind, object), patch, options),
    apply: (kind, configuration, options) => inner.apply(kind, within(kind, configuration), options),
  });
  return {
    get: async (kind, key, options) => client.get(kind, at(kind, key), options),
    list: async (kind, options = {}) => client.list(kind, of(kind, options)),
    watch: (kind, options = {}) => client.watch(kind, of(kind, options)),
    create: async (kind, object, options) => client.create(kind, within(kind, object), options),
    update: async (kind, object, options) => client.update(kind, within(kind, object), options),
    patch: async (kind, object, patch, options) => client.patch(kind, within(kind, object), patch, options),
    apply: async (kind, configuration, options) => client.apply(kind, within(kind, configuration), options),
    delete: async (kind, object, options) => client.delete(kind, at(kind, keyOf(object)), options),
    deleteAllOf: async (kind, options) => client.deleteAllOf(kind, of(kind, options)),
    status: sub(client.status),
    subResource: (name) => sub(client.subResource(name)),
  };
}

function checked(own: string | undefined, namespace: string, what: string): string {
  if (own !== undefined && own !== '' && own !== namespace)
    throw new AgentError(
      'invalid_argument',
      `namespace ${own} of the object ${what} does not match the namespace ${namespace} on the client`,
    );
  return namespace;
}
