import type { IncomingMessage, ServerResponse } from 'node:http';
import { AgentError, messageOf } from '../../base/errors.ts';
import { isObject, type JsonObject, listAt, stringAt } from '../../apimachinery/json.ts';
import { isPanic } from '../controller/attempt.ts';
import { cloneJson } from '../json-value.ts';
import type { Kind, KubeObject } from '../types.ts';
import type { ServingContext, WebhookHandler } from './handler.ts';
import { BodyError, readJsonText, writeJson } from './http-body.ts';

/** A version of a kind that is converted by way of the hub. The functions get copies, which they may change and return. */
export interface Spoke<H extends KubeObject = KubeObject, S extends KubeObject = KubeObject> {
  readonly kind: Kind<S>;
  /** Returns the object in the hub's version. Kind and version are set, and metadata is kept when it is left out. */
  convertTo(spoke: S): H | Promise<H>;
  /** Returns the hub's object in this version. */
  convertFrom(hub: H): S | Promise<S>;
}

/** The versions of a kind: each spoke is converted to the hub and from it. */
export interface HubAndSpokes<H extends KubeObject = KubeObject> {
  readonly hub: Kind<H>;
  /** Each has a type of its own: make them with {@link spoke}. */
  readonly spokes: readonly Spoke<H>[];
}

const group = 'apiextensions.k8s.io';
const versions: ReadonlySet<string> = new Set([`${group}/v1`, `${group}/v1beta1`]);
/** The largest review, bytes: a page of a list is converted in one call. */
const maxBytes = 128 * 1024 * 1024;

const apiVersionOf = ({ group: of, version }: Kind): string => (of === '' ? version : `${of}/${version}`);
const keyOf = (apiVersion: string, kind: string): string => `${apiVersion}, Kind=${kind}`;

interface Family {
  readonly hub: Kind;
  /** `undefined` for the hub itself. */
  readonly spoke: Spoke | undefined;
}

/** ConversionWebhook converts the objects of CustomResourceDefinitions between their versions. */
export class ConversionWebhook implements WebhookHandler {
  readonly #families = new Map<string, Family>();

  /** @throws {AgentError} `invalid_argument` for a version that is there twice, or a spoke of another kind */
  constructor(families: readonly HubAndSpokes[]) {
    for (const family of families) this.add(family);
  }

  /** Adds the versions of another kind. @throws {AgentError} as the constructor does */
  add({ hub, spokes }: HubAndSpokes): void {
    this.#add(hub, { hub, spoke: undefined });
    for (const spoke of spokes) {
      if (spoke.kind.group !== hub.group || spoke.kind.kind !== hub.kind)
        throw new AgentError(
          'invalid_argument',
          `conversion: ${keyOf(apiVersionOf(spoke.kind), spoke.kind.kind)} is no version of ${hub.kind}.${hub.group}`,
        );
      this.#add(spoke.kind, { hub, spoke });
    }
  }

  /** Converts one object. @param to group and version @throws {AgentError} when there is no way, or what a function throws */
  async convert(object: KubeObject, to: string): Promise<KubeObject> {
    const { apiVersion = '', kind = '' } = object;
    if (apiVersion === to) return object;
    const [source, target] = [keyOf(apiVersion, kind), keyOf(to, kind)].map((key) => this.#families.get(key));
    if (!source || !target)
      throw new AgentError(
        'invalid_argument',
        `no conversion from ${keyOf(apiVersion, kind)} to ${keyOf(to, kind)}: ${[...this.#families.keys()].join('; ')} are served`,
      );
    const original = cloneJson(object);
    const hub = source.spoke
      ? complete(await source.spoke.convertTo(cloneJson(object)), source.hub, original)
      : original;
    return target.spoke
      ? complete(await target.spoke.convertFrom(cloneJson(hub)), target.spoke.kind, original)
      : hub;
  }

  async serve(request: IncomingMessage, response: ServerResponse, context: ServingContext): Promise<void> {
    let review: JsonObject;
    try {
      review = parse(await context.until(readJsonText(request, maxBytes)));
    } catch (reason) {
      context.logger.error('unable to read the conversion review', { err: messageOf(reason) });
      const status = reason instanceof BodyError ? reason.code : 400;
      response
        .writeHead(status, { 'Content-Type': 'text/plain; charset=utf-8', Connection: 'close' })
        .end(`${messageOf(reason)}\n`);
      return;
    }
    const { uid, desiredAPIVersion, objects } = review['request'] as ConversionRequest;
    const answer = await this.#answer(desiredAPIVersion, objects, context);
    writeJson(request, response, {
      body: {
        kind: 'ConversionReview',
        apiVersion: review['apiVersion'],
        response: { uid, ...answer },
      },
    });
  }

  async #answer(to: string, objects: readonly KubeObject[], context: ServingContext): Promise<JsonObject> {
    try {
      const all = Promise.all(objects.map((object) => this.convert(object, to)));
      const convertedObjects = await context.until(all);
      return { convertedObjects, result: { metadata: {}, status: 'Success' } };
    } catch (reason) {
      const panic = isPanic(reason) && reason !== context.signal.reason;
      if (panic) context.metrics.panicked('conversion');
      const message = panic ? `panic: ${messageOf(reason)} [recovered]` : messageOf(reason);
      context.logger.error('conversion failed', { err: message });
      return { convertedObjects: [], result: { metadata: {}, status: 'Failure', message } };
    }
  }

  #add(kind: Kind, family: Family): void {
    const key = keyOf(apiVersionOf(kind), kind.kind);
    if (this.#families.has(key))
      throw new AgentError('invalid_argument', `conversion: ${key} is there twice`);
    this.#families.set(key, family);
  }
}

interface ConversionRequest {
  readonly uid: string;
  readonly desiredAPIVersion: string;
  readonly objects: readonly KubeObject[];
}

function parse(text: string): JsonObject {
  const review = JSON.parse(text) as unknown;
  if (!isObject(review) || stringAt(review, 'kind') !== 'ConversionReview')
    throw new AgentError('invalid_argument', `expected a ConversionReview of ${group}`);
  const apiVersion = stringAt(review, 'apiVersion');
  if (!versions.has(apiVersion))
    throw new AgentError(
      'invalid_argument',
      `expected ${[...versions].join(' or ')}, got ${JSON.stringify(apiVersion)}`,
    );
  const { request } = review;
  if (!isObject(request)) throw new AgentError('invalid_argument', 'the ConversionReview has no request');
  const objects = listAt(request, 'objects');
  return { ...review, request: { ...request, objects } };
}

/** Sets kind and version, and the metadata where the function has left it out. */
const complete = (object: KubeObject, kind: Kind, original: KubeObject): KubeObject => ({
  ...object,
  apiVersion: apiVersionOf(kind),
  kind: kind.kind,
  ...(!object.metadata && original.metadata && { metadata: original.metadata }),
});

/**
 * Returns a webhook that converts between the versions of kinds: register it as `/convert`.
 *
 * @example
 * manager.webhookServer.register('/convert', conversion({
 *   hub: CronTabV2,
 *   spokes: [spoke(CronTabV1, {
 *     convertTo: (old) => ({ ...old, spec: { schedule: [old.spec.cron] } }),
 *     convertFrom: (hub) => ({ ...hub, spec: { cron: hub.spec.schedule[0] } }),
 *   })],
 * }));
 */
export function conversion<H extends KubeObject>(family: HubAndSpokes<H>): ConversionWebhook;
export function conversion(...families: readonly HubAndSpokes[]): ConversionWebhook;
export function conversion(...families: readonly HubAndSpokes[]): ConversionWebhook {
  return new ConversionWebhook(families);
}

/** Returns a spoke whose functions are typed by its kind. */
export const spoke = <H extends KubeObject, S extends KubeObject>(
  kind: Kind<S>,
  functions: Omit<Spoke<H, S>, 'kind'>,
): Spoke<H, S> => ({ kind, ...functions });
