import type { ServerResponse } from 'node:http';
import { ownMember, setOwn } from '../../base/own.ts';
import { isObject, type JsonObject, objectAt, stringAt, valueAt } from '../../apimachinery/json.ts';
import { groupVersionOf, type Kind } from '../../apimachinery/kinds.ts';
import { jsonPatch, mergePatch } from '../../apimachinery/patch/patch.ts';
import {
  badRequest,
  fault,
  internalError,
  invalid,
  methodNotAllowed,
  noSuchResource,
  unsupportedMediaType,
} from '../../apimachinery/status-error.ts';
import type { AdmissionChain } from '../admission/chain.ts';
import { type Expected, readBody, readWritten } from '../endpoints/body.ts';
import { contextOf, withWarnings } from '../endpoints/exchange.ts';
import { admitted } from '../endpoints/handlers/admitted.ts';
import { patchTypeOf, readPatch } from '../endpoints/handlers/patch-request.ts';
import type { ResourceApi } from '../endpoints/handlers/resource-api.ts';
import { negotiate, wantsPretty } from '../endpoints/negotiate.ts';
import { sendBody } from '../endpoints/respond.ts';
import { optionsOf, readWriteQuery, type WriteQuery } from '../endpoints/write-options.ts';
import type { ApiRequest, ResourcePath } from '../request/request.ts';
import type { World, WriteContext } from '../request/write-context.ts';
import type { ScalePaths } from './custom-kinds.ts';
import type { CustomResources } from './custom-resources.ts';

interface Call {
  readonly request: ApiRequest;
  readonly response: ServerResponse;
  readonly target: ResourcePath;
  readonly kind: Kind;
}

interface Deps {
  readonly world: World;
  readonly resources: ResourceApi;
  readonly admission: AdmissionChain;
  readonly customs: CustomResources;
}

const scaleBody: Expected = {
  apiVersion: 'autoscaling/v1',
  kind: 'Scale',
  type: 'Scale',
  internal: 'autoscaling.Scale',
};

/** How the Scale of a request follows from the standing one. */
type Change = (standing: JsonObject) => JsonObject;

const numberAt = (object: JsonObject, path: readonly string[]): number | undefined => {
  const value = valueAt(object, ...path);
  return typeof value === 'number' ? value : undefined;
};

/** The scale of an object, as the paths of its kind say. */
function scaleOf(object: JsonObject, { spec, status, selector }: ScalePaths): JsonObject {
  const metadata = objectAt(object, 'metadata');
  const kept = ['name', 'namespace', 'uid', 'resourceVersion', 'creationTimestamp'].flatMap((key) =>
    ownMember(metadata, key) === undefined ? [] : [[key, ownMember(metadata, key)] as const],
  );
  const text = selector && valueAt(object, ...selector);
  return {
    kind: 'Scale',
    apiVersion: 'autoscaling/v1',
    metadata: Object.fromEntries(kept),
    spec: { replicas: numberAt(object, spec) ?? 0 },
    status: {
      replicas: numberAt(object, status) ?? 0,
      ...(typeof text === 'string' && text !== '' && { selector: text }),
    },
  };
}

/** The object with another value at a path. */
function withValue(object: JsonObject, [key = '', ...rest]: readonly string[], value: unknown): JsonObject {
  const copy: Record<string, unknown> = { ...object };
  setOwn(copy, key, rest.length === 0 ? value : withValue(objectAt(object, key), rest, value));
  return copy;
}

/** Serves `/scale` of custom resources. Follows apiextensions-apiserver's `ScaleREST`. */
export class CustomScales {
  readonly #deps: Deps;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** Answers a request on a scale. @throws {StatusError} */
  async handle(call: Call): Promise<void> {
    const paths = this.#deps.customs.customOf(call.kind)?.scale;
    if (!paths) throw noSuchResource();
    switch (call.request.method) {
      case 'GET':
        return this.#get(call, paths);
      case 'PUT':
        return this.#put(call, paths);
      case 'PATCH':
        return this.#patch(call, paths);
      default:
        throw methodNotAllowed();
    }
  }

  async #get(call: Call, paths: ScalePaths): Promise<void> {
    const { store } = this.#deps.world;
    if (store.busy) await store.settled();
    const registry = this.#deps.resources.registryForRequest(call.kind);
    await registry.load(call.target.namespace, call.target.name);
    const object = registry.served(registry.entry(call.target.namespace, call.target.name));
    if (numberAt(object, paths.spec) === undefined)
      throw internalError(
        `the spec replicas field ${JSON.stringify(`.${paths.spec.join('.')}`)} does not exist`,
      );
    await this.#send(call, scaleOf(object, paths), []);
  }

  async #put(call: Call, paths: ScalePaths): Promise<void> {
    const query = this.#query(call, 'UpdateOptions');
    const { object, warnings } = await readWritten(call.request.raw, scaleBody, query);
    await this.#write(call, paths, { query, options: 'UpdateOptions', warnings, change: () => object });
  }

  async #patch(call: Call, paths: ScalePaths): Promise<void> {
    const type = patchTypeOf(call.request.raw.headers['content-type'], call.kind);
    if (type === 'apply' || type === 'strategic')
      throw unsupportedMediaType(['application/json-patch+json', 'application/merge-patch+json']);
    const query = this.#query(call, 'PatchOptions');
    const patch = readPatch(await readBody(call.request.raw), type, query.fieldValidation);
    const change: Change = (standing) => {
      const next =
        type === 'json'
          ? jsonPatch(standing, patch.value as readonly unknown[])
          : mergePatch(standing, patch.value);
      return isObject(next) ? next : {};
    };
    await this.#write(call, paths, { query, options: 'PatchOptions', warnings: [], change });
  }

  #query({ request }: Call, options: 'UpdateOptions' | 'PatchOptions'): WriteQuery {
    return readWriteQuery(request.query, request.raw.headers['user-agent'], { options, apply: false });
  }

  async #write(
    call: Call,
    paths: ScalePaths,
    {
      query,
      options,
      warnings,
      change,
    }: {
      readonly query: WriteQuery;
      readonly options: 'UpdateOptions' | 'PatchOptions';
      readonly warnings: readonly string[];
      readonly change: Change;
    },
  ): Promise<void> {
    const context = contextOf(this.#deps.world, call.request, query.dryRun);
    context.warnings.push(...warnings);
    try {
      const written = await this.#written(call, paths, {
        query,
        context,
        options: optionsOf(options, query),
        change,
      });
      await this.#deps.world.store.settled();
      await this.#send(call, scaleOf(written, paths), context.warnings);
    } catch (reason) {
      throw withWarnings(reason, context.warnings);
    }
  }

  async #written(
    { target, kind }: Call,
    paths: ScalePaths,
    write: {
      readonly query: WriteQuery;
      readonly context: WriteContext;
      readonly options: JsonObject;
      readonly change: Change;
    },
  ): Promise<JsonObject> {
    const registry = this.#deps.resources.registryForRequest(kind);
    const { namespace, name, subresource } = target;
    const writer = {
      manager: write.query.manager,
      operation: 'Update',
      apiVersion: groupVersionOf(kind),
      subresource,
    } as const;
    const { context, options } = write;
    const { object } = await admitted(
      this.#deps.admission,
      { kind, subresource, namespace, name, options, context, registry },
      () =>
        registry.beginUpdate(
          target,
          (standing) => rescaled(standing, paths, write.change(scaleOf(standing, paths)), target.name),
          writer,
          context,
        ),
    );
    return object;
  }

  #send({ request, response }: Call, body: JsonObject, warnings: readonly string[]): Promise<void> {
    const representation = negotiate(request.raw.headers.accept, {
      views: [],
      pretty: wantsPretty(request.query, request.raw.headers['user-agent']),
    });
    return sendBody(request.raw, response, { status: 200, body, representation, extras: { warnings } });
  }
}

/** The object with the replicas of a Scale. @throws {StatusError} 400, 422 for a Scale that is not valid */
function rescaled(standing: JsonObject, paths: ScalePaths, scale: JsonObject, name: string): JsonObject {
  const metadata = objectAt(scale, 'metadata');
  const given = stringAt(metadata, 'name');
  if (given !== name)
    throw badRequest(`the name of the object (${given}) does not match the name on the URL (${name})`);
  const replicas = numberAt(scale, ['spec', 'replicas']) ?? 0;
  if (replicas < 0)
    throw invalid('Scale', 'autoscaling', name, [
      fault.invalid('spec.replicas', replicas, 'must be greater than or equal to 0'),
    ]);
  const version =
    stringAt(metadata, 'resourceVersion') || stringAt(objectAt(standing, 'metadata'), 'resourceVersion');
  const next = withValue(standing, paths.spec, replicas);
  return { ...next, metadata: { ...objectAt(standing, 'metadata'), resourceVersion: version } };
}
