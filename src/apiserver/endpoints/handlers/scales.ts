import type { ServerResponse } from 'node:http';
import { type JsonObject, metadataOf, nameOf, stringAt, withMetadata } from '../../../apimachinery/json.ts';
import { decodeKind, groupVersionOf, type Kind } from '../../../apimachinery/kinds.ts';
import type { Writer } from '../../../apimachinery/managed-fields/managed-fields.ts';
import { isWritable } from '../../../apimachinery/serializer/protobuf-writer.ts';
import { badRequest, methodNotAllowed, noSuchResource } from '../../../apimachinery/status-error.ts';
import type { AdmissionChain } from '../../admission/chain.ts';
import type { CustomResources } from '../../apiextensions/custom-resources.ts';
import { checkNamespaceOf } from '../../registry/metadata-rules.ts';
import type { PendingWrite } from '../../registry/pending-write.ts';
import type { Registry } from '../../registry/registry.ts';
import type { ApiRequest, ResourcePath } from '../../request/request.ts';
import type { World, WriteContext } from '../../request/write-context.ts';
import { expectedOf, readBody, readWritten } from '../body.ts';
import { contextOf, typed, withWarnings } from '../exchange.ts';
import { negotiate, type Representation, wantsPretty } from '../negotiate.ts';
import { sendBody } from '../respond.ts';
import { bareViews, metaVersion, partial, viewBare } from '../views.ts';
import { optionsOf, readWriteQuery, type WriteQuery } from '../write-options.ts';
import { admitted } from './admitted.ts';
import {
  applyConfig,
  judgedApply,
  patched,
  patchTypeOf,
  patchValue,
  readApply,
  readPatch,
} from './patch-request.ts';
import { cols, column, countAt, createdAgo } from '../../printers/table-printer.ts';
import type { ResourceApi } from './resource-api.ts';
import { scaleWithOwners } from '../../../apimachinery/managed-fields/scale-owners.ts';
import { appliedScale } from './scale-owners.ts';
import {
  builtInScale,
  checkScaled,
  customScale,
  rescaled,
  scaleKind,
  scaleOf,
  type ScaleView,
} from './scale-object.ts';

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

/** One write of a scale. */
interface ScaleWrite {
  readonly query: WriteQuery;
  readonly options: 'UpdateOptions' | 'PatchOptions';
  /** Begins the write of the object that is scaled. */
  readonly begin: (registry: Registry, context: WriteContext) => PendingWrite;
}

/** How the scale of a request follows from the standing one. */
type Change = (standing: JsonObject, context: WriteContext) => JsonObject;

/** Returns a scale as the request has it, with a name and a namespace that fit the path. @throws {StatusError} 400 */
function named(scale: JsonObject, { name, namespace }: ResourcePath): JsonObject {
  const own = nameOf(scale);
  if (own === '')
    throw badRequest(
      `the name of the object (${name} based on URL) was undeterminable: name must be provided`,
    );
  if (own !== name)
    throw badRequest(`the name of the object (${own}) does not match the name on the URL (${name})`);
  checkNamespaceOf(scale, namespace);
  return scale;
}

/** Scales serves `/scale` of every kind that has it, built in or custom: admission sees the Scale, the object is written. Follows `ScaleREST`. */
export class Scales {
  readonly #deps: Deps;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** Answers a request on a scale. @throws {StatusError} */
  async handle(call: Call): Promise<void> {
    const view = this.#viewOf(call.kind);
    switch (call.request.method) {
      case 'GET':
        return this.#get(call, view);
      case 'PUT':
        return this.#put(call, view);
      case 'PATCH':
        return this.#patch(call, view);
      default:
        throw methodNotAllowed();
    }
  }

  #viewOf(kind: Kind): ScaleView {
    if (!kind.custom) return builtInScale(kind);
    const paths = this.#deps.customs.customOf(kind)?.scale;
    if (!paths) throw noSuchResource();
    return customScale(paths);
  }

  async #get(call: Call, view: ScaleView): Promise<void> {
    const { store } = this.#deps.world;
    if (store.busy) await store.settled();
    const { namespace, name } = call.target;
    const registry = this.#deps.resources.registryForRequest(call.kind);
    await registry.load(namespace, name);
    const object = registry.served(registry.entry(namespace, name));
    checkScaled(object, view);
    await this.#send(call, scaleOf(object, view), []);
  }

  async #put(call: Call, view: ScaleView): Promise<void> {
    const query = queryOf(call, 'UpdateOptions');
    const { object, warnings } = await readWritten(call.request.raw, expectedOf(scaleKind), query);
    const scale = named(object, call.target);
    const begin = this.#update(call, view, query, () => scale);
    await this.#write(call, view, { query, options: 'UpdateOptions', begin }, warnings);
  }

  async #patch(call: Call, view: ScaleView): Promise<void> {
    const { request, target, kind } = call;
    const type = patchTypeOf(request.raw.headers['content-type'], kind);
    const query = queryOf(call, 'PatchOptions', type === 'apply');
    const body = await readBody(request.raw);
    request.audit?.patches(() => patchValue(body, type));
    if (type === 'apply') return this.#apply(call, view, query, body);
    const patch = readPatch(body, type, query.fieldValidation);
    const begin = this.#update(call, view, query, (standing, context) => {
      const { object, warnings } = patched(standing, patch, scaleKind, query);
      context.warnings.push(...warnings);
      return named(object, target);
    });
    await this.#write(call, view, { query, options: 'PatchOptions', begin }, []);
  }

  /** Applies a Scale: its replicas become a field of the applier in the object. */
  async #apply(call: Call, view: ScaleView, query: WriteQuery, body: Buffer): Promise<void> {
    const { target, kind } = call;
    const applied = readApply(body);
    const warnings = judgedApply(applied, query.fieldValidation);
    const { object: config, converted } = applyConfig(applied.value, scaleKind);
    const scale = named(withMetadata(config, { name: nameOf(config) || target.name }), target);
    const begin: ScaleWrite['begin'] = (registry, context) => {
      const { manager, force } = query;
      const writer = { manager, force, view, apiVersion: groupVersionOf(kind), now: context.now };
      let owned = (object: JsonObject): JsonObject => object;
      const next = (standing: JsonObject): JsonObject => {
        const result = appliedScale(standing, scale, writer);
        owned = result.owned;
        const decoded = converted(() => decodeKind(scaleKind, typed(scaleKind, result.scale)));
        return rescaled(standing, decoded.object, view, kind);
      };
      const write = registry.beginUpdate(target, next, writerOf(call, query), context);
      return this.#asScale({ ...write, object: owned(write.object) }, view, kind);
    };
    await this.#write(call, view, { query, options: 'PatchOptions', begin }, warnings);
  }

  #update(call: Call, view: ScaleView, query: WriteQuery, change: Change): ScaleWrite['begin'] {
    const { target, kind } = call;
    return (registry, context) => {
      const next = (standing: JsonObject): JsonObject =>
        rescaled(
          standing,
          change(scaleWithOwners(scaleOf(standing, view), standing, view.spec), context),
          view,
          kind,
        );
      const at = { ...target, replicas: view.spec };
      return this.#asScale(registry.beginUpdate(at, next, writerOf(call, query), context), view, kind);
    };
  }

  /** Returns the write of an object as the write of its scale, which admission sees. */
  #asScale(write: PendingWrite, view: ScaleView, kind: Kind): PendingWrite {
    return {
      ...write,
      object: scaleOf(write.object, view),
      ...(write.old && { old: scaleOf(write.old, view) }),
      finish: (scale) => write.finish(rescaled(write.object, scale, view, kind)),
      shown: (finished) => scaleOf(finished, view),
    };
  }

  async #write(
    call: Call,
    view: ScaleView,
    { query, options, begin }: ScaleWrite,
    warnings: readonly string[],
  ): Promise<void> {
    const { world, admission, resources } = this.#deps;
    const { target, kind } = call;
    const { namespace, name, subresource } = target;
    const context = contextOf(world, call.request, query.dryRun);
    context.warnings.push(...warnings);
    const registry = resources.registryForRequest(kind);
    const request = {
      kind,
      subresource,
      namespace,
      name,
      options: optionsOf(options, query),
      context,
      registry,
    };
    try {
      const { object } = await admitted(admission, request, () => begin(registry, context));
      await world.store.settled();
      await this.#send(call, scaleOf(object, view), context.warnings);
    } catch (reason) {
      throw withWarnings(reason, context.warnings);
    }
  }

  #send({ request, response, kind }: Call, scale: JsonObject, warnings: readonly string[]): Promise<void> {
    const representation = negotiate(request.raw.headers.accept, {
      views: kind.custom ? bareViews : ['Table', ...bareViews],
      pretty: wantsPretty(request.query, request.raw.headers['user-agent']),
      protobuf: isWritable(scaleKind.type),
    });
    const body =
      representation.as === 'Table'
        ? tableOfScale(scale, representation, this.#deps.world.clock.now())
        : viewBare(typed(scaleKind, scale), representation, 'autoscaling.Scale');
    return sendBody(request.raw, response, { status: 200, body, representation, extras: { warnings } });
  }
}

const queryOf = ({ request }: Call, options: 'UpdateOptions' | 'PatchOptions', apply = false): WriteQuery =>
  readWriteQuery(request.query, request.raw.headers['user-agent'], { options, apply });

const writerOf = ({ kind, target }: Call, { manager }: WriteQuery): Writer => ({
  manager,
  operation: 'Update',
  apiVersion: groupVersionOf(kind),
  subresource: target.subresource,
});

/** Columns of the scale of a built-in kind. */
const columns = [{ ...column('Name'), format: '' }, ...cols('Desired:integer', 'Available:integer', 'Age')];

/** Returns the Table of a scale. */
const tableOfScale = (scale: JsonObject, representation: Representation, now: number): JsonObject => ({
  kind: 'Table',
  apiVersion: metaVersion(representation),
  metadata: { resourceVersion: stringAt(metadataOf(scale), 'resourceVersion') },
  columnDefinitions: columns,
  rows: [
    {
      cells: [
        nameOf(scale),
        countAt(scale, 'spec', 'replicas'),
        countAt(scale, 'status', 'replicas'),
        createdAgo(scale, now),
      ],
      object: partial(scale, representation),
    },
  ],
});
