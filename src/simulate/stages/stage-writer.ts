import { isDeepStrictEqual } from 'node:util';
import { type ApiClient, isAlreadyExists, type Patch } from '../../api/client.ts';
import type { KnownObjects } from '../../api/cache/known-objects.ts';
import type { Resource } from '../../api/resources.ts';
import type { JsonObject } from '../../apimachinery/json.ts';
import { jsonPatch, mergePatch } from '../../apimachinery/patch/patch.ts';
import { strategicPatch } from '../../apimachinery/patch/strategic-patch.ts';
import { AgentError } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import type { Template, TemplateContext } from '../../go/template/template.ts';
import type { EventRecorder } from '../../kube/events.ts';
import type { KubeObject } from '../../kube/types.ts';
import { RenderedYaml } from './rendered-yaml.ts';
import type { Stage, StageApply, StageFinalizers, StagePatch, StageStep } from './stage.ts';

/** The kind of objects that stages change, and what is particular to it. */
export interface WrittenKind<T extends KubeObject> {
  readonly resource: Resource;
  /** The type of the kind for strategic merge patches, as `Kind.type` of a built-in kind; absent: the API server alone knows it. */
  readonly type?: string;
  /** The objects that an informer holds; a response with a version in here is not parsed. */
  readonly knownObjects?: KnownObjects<T>;
  functionsOf(object: T): TemplateContext;
  /** Corrects the object as a stage would leave it; `problem` is reported, and without `next` nothing is sent. */
  guard?(before: T, next: T): { readonly next?: T; readonly problem?: string };
}

/** Finds the resource of a kind that a cluster serves. */
export type FindResource = (apiVersion: string, kind: string) => Promise<Resource | undefined>;

/** Dependencies of a StageWriter. */
export interface StageWriterDeps {
  readonly client: ApiClient;
  /** Returns a client that acts as another user; absent: stages that ask for one fail. */
  readonly clientOf?: (username: string) => ApiClient;
  /** Finds the resources of objects that stages create; absent: such stages fail. */
  readonly findResource?: FindResource;
  readonly logger: Logger;
  readonly recorder: EventRecorder;
  readonly signal: AbortSignal;
}

/** What a stage has done to its object. */
export interface Written<T> {
  /** The object afterwards; the same when nothing was sent. */
  readonly after: T;
  /** Whether a patch was refused. */
  readonly refused: boolean;
  /** The bodies of the patches that were sent. */
  readonly sent: readonly JsonObject[];
}

const requestMs = 30_000;

const manager = 'podtender-simulate';

/** StageWriter does what stages of one kind of objects say: Events, finalizers, patches, other objects, and deletion. */
export class StageWriter<T extends KubeObject> {
  readonly #deps: StageWriterDeps;
  readonly #kind: WrittenKind<T>;
  readonly #yaml = new RenderedYaml();

  constructor(deps: StageWriterDeps, kind: WrittenKind<T>) {
    this.#deps = deps;
    this.#kind = kind;
  }

  /** Does the steps of a stage in their order. After a deletion only Events follow. @throws {ApiError} */
  async write(stage: Stage, object: T): Promise<Written<T>> {
    const sent: JsonObject[] = [];
    let [after, refused, isDeleted] = [object, false, false];
    for (const step of stage.steps) {
      if (isDeleted && !('event' in step)) continue;
      const next = await this.#step({ stage, step, sent }, after);
      refused ||= next === undefined;
      after = next ?? after;
      isDeleted ||= 'delete' in step;
    }
    return { after, refused, sent };
  }

  async #step({ stage, step, sent }: Doing, object: T): Promise<T | undefined> {
    if ('event' in step) {
      const { type, reason, message } = step.event;
      this.#deps.recorder.event(this.#named(object), type, reason, message);
      return object;
    }
    if ('finalizers' in step) return this.#setFinalizers(object, step.finalizers);
    if ('patch' in step) return this.#patch({ stage, patch: step.patch, sent }, object);
    if ('apply' in step) await this.#applyObject(step.apply, object);
    else await this.#delete(object);
    return object;
  }

  #named({ metadata }: T): KubeObject {
    const { kind, group, version } = this.#kind.resource;
    const apiVersion = group === '' ? version : `${group}/${version}`;
    return { kind, apiVersion, ...(metadata && { metadata }) };
  }

  async #setFinalizers(object: T, { add, remove, empty }: StageFinalizers): Promise<T> {
    const before = object.metadata?.finalizers ?? [];
    const rest = empty ? [] : before.filter((one) => !remove.includes(one));
    const finalizers = [...rest, ...add.filter((one) => !rest.includes(one))];
    if (isDeepStrictEqual(before, finalizers)) return object;
    const { resourceVersion } = object.metadata ?? {};
    const body = { metadata: { finalizers, ...(resourceVersion !== undefined && { resourceVersion }) } };
    return this.#send(object, { type: 'merge', body }, {});
  }

  async #delete(object: T): Promise<void> {
    const { client, signal } = this.#deps;
    const { uid } = object.metadata ?? {};
    await client.delete(this.#kind.resource, refOf(object), {
      ...{ signal, timeoutMs: requestMs, gracePeriodSeconds: 0, propagationPolicy: 'Background' as const },
      discardAnswer: true,
      ...(uid !== undefined && { preconditions: { uid } }),
    });
  }

  /** @returns the object afterwards; `undefined` when the patch was refused */
  async #patch({ stage, patch, sent: all }: Patching, object: T): Promise<T | undefined> {
    const { recorder, logger } = this.#deps;
    const rendered = this.#rendered(patch.template, object);
    if (rendered === undefined) return object;
    const body = bodyOf(patch, rendered);
    const outcome = this.#outcome(object, patch, body);
    const { next, problem } = outcome ? (this.#kind.guard?.(object, outcome) ?? { next: outcome }) : {};
    if (problem !== undefined) {
      recorder.event(this.#named(object), 'Warning', 'StageCorrected', `stage ${stage.name}: ${problem}`);
      logger.warn('a stage was corrected', { stage: stage.name, object: nameOf(object), problem });
    }
    if (outcome && !next) return undefined;
    if (outcome && isDeepStrictEqual(next, object)) return object;
    const isCorrected = next !== outcome;
    const change = isCorrected
      ? { type: 'merge' as const, body: { status: (next as WithStatus | undefined)?.status } }
      : { type: patch.type, body };
    all.push(change.body as JsonObject);
    return this.#send(object, change, patch);
  }

  #rendered(template: Template, object: T): JsonObject | readonly JsonObject[] | undefined {
    const rendered: unknown = this.#yaml.parse(template(object, this.#kind.functionsOf(object)));
    if (rendered === null || rendered === undefined) return undefined;
    if (typeof rendered === 'object') return rendered as JsonObject;
    throw new AgentError(
      'invalid_argument',
      `the template yields ${JSON.stringify(rendered)}, not an object`,
    );
  }

  /** Returns the object as the patch leaves it; undefined where only the API server knows. */
  #outcome(object: T, { type }: StagePatch, body: object): T | undefined {
    const target = object as unknown as JsonObject;
    switch (type) {
      case 'strategic':
        if (this.#kind.type === undefined) return undefined;
        return strategicPatch(target, body as JsonObject, this.#kind.type) as unknown as T;
      case 'merge':
        return mergePatch(target, body) as T;
      case 'json':
        return jsonPatch(target, body as readonly unknown[]) as T;
    }
  }

  #send(object: T, patch: Patch, options: Pick<StagePatch, 'subresource' | 'username'>): Promise<T> {
    const { resource, knownObjects } = this.#kind;
    return this.#clientOf(options).patch<T>(resource, refOf(object), patch, {
      ...{ ...this.#options(options), ...(knownObjects && { knownObjects }) },
      fieldManager: manager,
    });
  }

  #options({ subresource = '' }: Pick<StagePatch, 'subresource'>): {
    readonly signal: AbortSignal;
    readonly timeoutMs: number;
    readonly subresource?: string;
  } {
    const { signal } = this.#deps;
    return { signal, timeoutMs: requestMs, ...(subresource !== '' && { subresource }) };
  }

  #clientOf({ username }: Pick<StagePatch, 'username'>): ApiClient {
    const { client, clientOf } = this.#deps;
    if (username === undefined) return client;
    if (clientOf) return clientOf(username);
    throw new AgentError('unimplemented', `this simulation cannot act as user ${username}`);
  }

  /** Creates the object that a template describes, or changes it where it exists. */
  async #applyObject(apply: StageApply, source: T): Promise<void> {
    const rendered = this.#rendered(apply.template, source) as KubeObject | undefined;
    if (!rendered) return;
    const resource = await this.#resourceOf(rendered);
    const { metadata = {} } = rendered;
    const namespace = metadata.namespace ?? source.metadata?.namespace;
    const place = resource.namespaced && namespace !== undefined ? { namespace } : {};
    await this.#createOrPatch(resource, { ...rendered, metadata: { ...metadata, ...place } }, apply);
  }

  async #resourceOf({ apiVersion = '', kind = '', metadata }: KubeObject): Promise<Resource> {
    if (apiVersion === '' || kind === '' || metadata?.name === undefined)
      throw new AgentError(
        'invalid_argument',
        'the template of apply needs apiVersion, kind and metadata.name',
      );
    const resource = await this.#deps.findResource?.(apiVersion, kind);
    if (resource) return resource;
    throw new AgentError('not_found', `the API server serves no ${kind} of ${apiVersion}`);
  }

  async #createOrPatch(resource: Resource, object: KubeObject, apply: StageApply): Promise<void> {
    const client = this.#clientOf(apply);
    const options = { ...this.#options(apply), fieldManager: manager };
    const isPart = (apply.subresource ?? '') !== '';
    try {
      if (!isPart) {
        await client.create(resource, object, options);
        return;
      }
    } catch (reason) {
      if (!isAlreadyExists(reason)) throw reason;
    }
    const force = apply.type === 'apply' && { force: true };
    await client.patch(resource, refOf(object), { type: apply.type, body: object, ...force }, options);
  }
}

interface Doing {
  readonly stage: Stage;
  readonly step: StageStep;
  readonly sent: JsonObject[];
}

/** A patch that is being applied. */
interface Patching {
  readonly stage: Stage;
  readonly patch: StagePatch;
  readonly sent: JsonObject[];
}

interface WithStatus {
  readonly status?: unknown;
}

/** Puts what a template describes where the patch's `root` says. */
function bodyOf({ root, type }: StagePatch, rendered: JsonObject | readonly JsonObject[]): object {
  if (root === undefined || root === '') return rendered;
  if (type !== 'json') return { [root]: rendered };
  const operations = (Array.isArray(rendered) ? rendered : [rendered]) as readonly JsonObject[];
  return operations.map((one) => ({ ...one, path: `/${root}${String(one['path'])}` }));
}

function refOf({ metadata }: KubeObject): { readonly name: string; readonly namespace?: string } {
  const { name = '', namespace } = metadata ?? {};
  return namespace === undefined || namespace === '' ? { name } : { name, namespace };
}

/** Returns the namespace and name of an object, as logs show it. */
export function nameOf({ metadata }: KubeObject): string {
  const { namespace = '', name = '' } = metadata ?? {};
  return namespace === '' ? name : `${namespace}/${name}`;
}
