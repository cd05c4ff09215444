import { isObject, type JsonObject, objectAt, objectsAt, specOf, statusOf } from '../../apimachinery/json.ts';
import { badRequest, methodNotAllowed, notFound } from '../../apimachinery/status-error.ts';
import { apiErrorOf } from '../client/request.ts';
import { jsonOf } from '../json-value.ts';
import { kindKey } from '../kinds.ts';
import type {
  ApplyOptions,
  Client,
  GetOptions,
  Kind,
  KubeObject,
  Patch,
  PatchOptions,
  SubResourceClient,
  WriteOptions,
} from '../types.ts';
import { typeOf } from './update-rules.ts';

/** What a subresource needs of its client. */
export interface FakeObjects extends Pick<Client, 'get' | 'delete'> {
  /** Updates the object, or its status only. */
  updateAs<T extends KubeObject>(
    kind: Kind<T>,
    object: T,
    options: WriteOptions,
    subresource: string,
  ): Promise<T>;
  /** Patches the object, or its status only. */
  patchAs<T extends KubeObject>(
    kind: Kind<T>,
    object: T,
    request: { readonly patch: Patch; readonly options: PatchOptions; readonly subresource?: string },
  ): Promise<T>;
}

type Body = { readonly subResourceBody?: KubeObject };

/** The expiry of the fake's tokens. */
const tokenExpiry = '6041-01-01T00:00:00Z';
const scalable = new Set([
  'apps/v1/Deployment',
  'apps/v1/ReplicaSet',
  'apps/v1/StatefulSet',
  '/v1/ReplicationController',
]);

/** FakeSubResource reads and writes one subresource of a fake's objects: status, scale, eviction, binding, token and others that are parts. */
export class FakeSubResource implements SubResourceClient {
  readonly #client: FakeObjects;
  readonly #name: string;

  constructor(client: FakeObjects, name: string) {
    this.#client = client;
    this.#name = name;
  }

  async get<T extends KubeObject, S extends KubeObject = KubeObject>(
    kind: Kind<T>,
    object: T,
    _options?: GetOptions,
  ): Promise<S> {
    const stored = await this.#client.get(kind, keyOf(object));
    if (this.#name === 'status') return stored as unknown as S;
    if (this.#name !== 'scale') throw apiErrorOf(methodNotAllowed());
    return scaleOf(kind, stored) as S;
  }

  async create<T extends KubeObject>(
    kind: Kind<T>,
    object: T,
    subResource: KubeObject,
    options: WriteOptions = {},
  ): Promise<KubeObject> {
    const create = creations.get(this.#name);
    if (!create) throw apiErrorOf(methodNotAllowed());
    const { of, body } = create;
    if (subResource.kind !== undefined && subResource.kind !== body)
      throw apiErrorOf(badRequest(`got invalid type ${subResource.kind}, expected ${body}`));
    if (kind.group !== '' || kind.kind !== of) throw apiErrorOf(notFound({}));
    await this.#client.get(kind, keyOf(object));
    return create.run(this.#client, { kind, object, subResource, options });
  }

  async update<T extends KubeObject>(
    kind: Kind<T>,
    object: T,
    options: WriteOptions & Body = {},
  ): Promise<T> {
    const { subResourceBody, ...rest } = options;
    if (this.#name === 'scale') return this.#scale(kind, object, subResourceBody, rest);
    return this.#client.updateAs(kind, (subResourceBody as T | undefined) ?? object, rest, this.#name);
  }

  async patch<T extends KubeObject>(
    kind: Kind<T>,
    object: T,
    patch: Patch,
    options: PatchOptions & Body = {},
  ): Promise<T> {
    const { subResourceBody, ...rest } = options;
    if (this.#name !== 'scale')
      return this.#client.patchAs(kind, (subResourceBody as T | undefined) ?? object, {
        patch,
        options: rest,
        subresource: this.#name,
      });
    const data = patch.data(subResourceBody ?? object);
    const replicas = isObject(data) ? specOf(data)['replicas'] : undefined;
    const body = { kind: 'Scale', spec: { replicas } } as KubeObject;
    return this.#scale(kind, object, body, rest);
  }

  async apply<T extends KubeObject>(
    kind: Kind<T>,
    configuration: T,
    options: ApplyOptions & Body,
  ): Promise<T> {
    const { subResourceBody, ...rest } = options;
    const applied =
      this.#name === 'scale'
        ? await this.#scaled(kind, configuration, subResourceBody)
        : ((subResourceBody as T | undefined) ?? configuration);
    const patch: Patch = { type: 'apply', data: (object) => object };
    return this.#client.patchAs(kind, applied, { patch, options: rest, subresource: this.#name });
  }

  /** Returns the configuration of the object that a Scale stands for. @throws {ApiError} 400, 404 */
  async #scaled<T extends KubeObject>(
    kind: Kind<T>,
    { metadata }: T,
    scale: KubeObject | undefined,
  ): Promise<T> {
    const { name = '', namespace = '' } = metadata ?? {};
    scaleOf(kind, await this.#client.get(kind, { name, namespace }));
    return { metadata: { name, namespace }, spec: { replicas: replicasOf(scale) } } as KubeObject as T;
  }

  async #scale<T extends KubeObject>(
    kind: Kind<T>,
    object: T,
    scale: KubeObject | undefined,
    options: WriteOptions,
  ): Promise<T> {
    const stored = await this.#client.get(kind, keyOf(object));
    const replicas = replicasOf(scale);
    scaleOf(kind, stored);
    const resourceVersion = scale?.metadata?.resourceVersion;
    const changed = {
      ...stored,
      metadata: { ...stored.metadata, ...(resourceVersion !== undefined && { resourceVersion }) },
      spec: { ...specOf(jsonOf(stored)), replicas },
    };
    return this.#client.updateAs(kind, changed, options, this.#name);
  }
}

const keyOf = ({ metadata }: KubeObject): { namespace: string; name: string } => ({
  namespace: metadata?.namespace ?? '',
  name: metadata?.name ?? '',
});

/** @throws {ApiError} 400 for what is no Scale */
function replicasOf(scale: KubeObject | undefined): number {
  if (!scale) throw apiErrorOf(badRequest('missing SubResourceBody'));
  if (scale.kind !== undefined && scale.kind !== 'Scale')
    throw apiErrorOf(badRequest(`expected Scale, got ${scale.kind}`));
  const { replicas } = specOf(jsonOf(scale));
  if (typeof replicas !== 'number') throw apiErrorOf(badRequest('spec.replicas of the Scale must be set'));
  return replicas;
}

/** @throws {ApiError} 404 for a kind without a scale */
function scaleOf(kind: Kind, stored: KubeObject): KubeObject {
  const object = jsonOf(stored);
  const spec = specOf(object);
  const isScalable = scalable.has(kindKey(kind)) || (typeOf(kind) === undefined && 'replicas' in spec);
  if (!isScalable)
    throw apiErrorOf(notFound({ kind: kind.resource, group: kind.group, name: keyOf(stored).name }));
  const { name, namespace, uid, resourceVersion, creationTimestamp } = stored.metadata ?? {};
  const selector = selectorText(objectAt(spec, 'selector'), kind.kind === 'ReplicationController');
  return {
    apiVersion: 'autoscaling/v1',
    kind: 'Scale',
    metadata: { name, namespace, uid, resourceVersion, creationTimestamp },
    spec: { replicas: spec['replicas'] ?? 1 },
    status: { replicas: statusOf(object)['replicas'] ?? 0, ...(selector !== '' && { selector }) },
  } as KubeObject;
}

function selectorText(selector: JsonObject, isMap: boolean): string {
  const labels = isMap ? selector : objectAt(selector, 'matchLabels');
  const equal = Object.entries(labels).map(([key, value]) => `${key}=${String(value)}`);
  const expressions = objectsAt(selector, 'matchExpressions').map(({ key, operator, values }) => {
    const list = Array.isArray(values) ? values.join(',') : '';
    if (operator === 'Exists') return String(key);
    if (operator === 'DoesNotExist') return `!${String(key)}`;
    return `${String(key)} ${operator === 'In' ? 'in' : 'notin'} (${list})`;
  });
  return [...equal, ...expressions].sort().join(',');
}

/** A request to create a subresource. */
interface Creation {
  readonly kind: Kind;
  readonly object: KubeObject;
  readonly subResource: KubeObject;
  readonly options: WriteOptions;
}

interface CreationRule {
  /** The core kind that has the subresource. */
  readonly of: string;
  /** The kind of the request. */
  readonly body: string;
  run(client: FakeObjects, creation: Creation): Promise<KubeObject>;
}

const creations: ReadonlyMap<string, CreationRule> = new Map<string, CreationRule>([
  [
    'eviction',
    {
      of: 'Pod',
      body: 'Eviction',
      run: async (client, { kind, object, subResource, options }) => {
        await client.delete(kind, object, { dryRun: options.dryRun ?? false });
        return subResource;
      },
    },
  ],
  [
    'token',
    {
      of: 'ServiceAccount',
      body: 'TokenRequest',
      run: (_client, { subResource }) =>
        Promise.resolve({
          ...subResource,
          status: { token: 'fake-token', expirationTimestamp: tokenExpiry },
        } as KubeObject),
    },
  ],
  [
    'binding',
    {
      of: 'Pod',
      body: 'Binding',
      run: async (client, { kind, object, subResource, options }) => {
        const nodeName = objectAt(jsonOf(subResource), 'target')['name'];
        const patch: Patch = { type: 'merge', data: () => ({ spec: { nodeName } }) };
        await client.patchAs(kind, object, { patch, options, subresource: 'binding' });
        return subResource;
      },
    },
  ],
]);
