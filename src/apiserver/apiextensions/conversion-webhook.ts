import { messageOf } from '../../base/errors.ts';
import { setOwn } from '../../base/own.ts';
import { goQuote } from '../../go/go-quote.ts';
import { labelValueRule, qualifiedNameRule } from '../../kube/validation/name-rules.ts';
import {
  type Draft,
  isObject,
  type JsonObject,
  listAt,
  metadataOf,
  nameOf,
  namespaceOf,
  objectAt,
  sameJson,
  stringAt,
} from '../../apimachinery/json.ts';
import { StatusError } from '../../apimachinery/status-error.ts';
import type { WebhookClient } from '../webhooks/webhook-client.ts';

/** What a conversion webhook is called with. */
export interface ConversionDeps {
  readonly client: Pick<WebhookClient, 'post'>;
  readonly random: { uuid(): string };
}

/** Time limit of a call, seconds. */
const timeoutSeconds = 30;

const knownVersions: ReadonlySet<string> = new Set(['v1', 'v1beta1']);

/** Returns how Go prints the group, version and kind of an object. */
const kindOf = (object: JsonObject): string => {
  const apiVersion = stringAt(object, 'apiVersion');
  const cut = apiVersion.indexOf('/');
  return `${cut < 0 ? '' : apiVersion.slice(0, cut)}/${apiVersion.slice(cut + 1)}, Kind=${stringAt(object, 'kind')}`;
};

const apiGroup = 'apiextensions.k8s.io';

/**
 * Returns the converted objects of an answer.
 *
 * @param version the version of the review that was sent: v1beta1 is checked less
 * @throws {Error} for an answer that does not fit the request, or that is a failure
 */
function convertedIn(answer: JsonObject, uid: string, version: string): readonly unknown[] {
  const expected = `${apiGroup}/v1, Kind=ConversionReview`;
  if (version === 'v1' && kindOf(answer) !== expected)
    throw new Error(`expected webhook response of ${expected}, got ${kindOf(answer)}`);
  const { response } = answer;
  if (!isObject(response)) throw new Error('no response provided');
  const found = stringAt(response, 'uid');
  if (version === 'v1' && found !== uid)
    throw new Error(`expected response.uid=${goQuote(uid)}, got ${goQuote(found)}`);
  const result = objectAt(response, 'result');
  const status = stringAt(result, 'status');
  if (status !== 'Success')
    throw new Error(stringAt(result, 'message') || `response.result.status was '${status}', not 'Success'`);
  return listAt(response, 'convertedObjects');
}

/** @throws {Error} where the identity of an object was changed */
function checkIdentity(original: JsonObject, converted: JsonObject): void {
  const same = (what: string, before: string, after: string): void => {
    if (before !== after) throw new Error(`must have the same ${what}: ${before} != ${after}`);
  };
  same('name', nameOf(original), nameOf(converted));
  same('namespace', namespaceOf(original), namespaceOf(converted));
  same('UID', stringAt(metadataOf(original), 'uid'), stringAt(metadataOf(converted), 'uid'));
}

/** Returns labels or annotations that a webhook may set. @throws {Error} */
function checkedMap(field: 'labels' | 'annotations', value: unknown, before: unknown): JsonObject {
  if (!isObject(value))
    throw new Error(`invalid metadata.${field} of type ${goType(value)} in converted object`);
  for (const [key, text] of Object.entries(value))
    if (typeof text !== 'string')
      throw new Error(
        `metadata.${field}[${key}] must be a string, but is ${goType(text)} in converted object`,
      );
  if (sameJson(value, before)) return value;
  for (const [key, text] of Object.entries(value as Readonly<Record<string, string>>)) {
    const fault =
      qualifiedNameRule(field === 'labels' ? key : key.toLowerCase())[0] ??
      (field === 'labels' ? labelValueRule(text)[0] : undefined);
    if (fault !== undefined) throw new Error(`metadata.${field}: Invalid value: ${goQuote(key)}: ${fault}`);
  }
  return value;
}

const goType = (value: unknown): string => {
  if (Array.isArray(value)) return '[]interface {}';
  if (typeof value === 'number') return Number.isInteger(value) ? 'int64' : 'float64';
  return typeof value === 'boolean'
    ? 'bool'
    : typeof value === 'string'
      ? 'string'
      : 'map[string]interface {}';
};

/** Returns the converted object with the original's metadata, but labels and annotations, which a webhook may change. @throws {Error} */
function withOriginalMetadata(original: JsonObject, converted: JsonObject): JsonObject {
  const { metadata: answered } = converted;
  if (answered === undefined) throw new Error('missing metadata in converted object');
  if (!isObject(answered))
    throw new Error(`invalid metadata of type ${goType(answered)} in converted object`);
  const metadata: Draft = { ...metadataOf(original) };
  for (const field of ['labels', 'annotations'] as const) {
    const value = answered[field];
    if (value === undefined || value === null) delete metadata[field];
    else setOwn(metadata, field, checkedMap(field, value, metadata[field]));
  }
  return { ...converted, metadata };
}

/** Returns one converted object, checked against its original. @throws {Error} that names what is wrong */
function checked(original: JsonObject, converted: unknown, to: string, place: string): JsonObject {
  if (!isObject(converted)) throw new Error(`returned invalid ${place}: the object is missing`);
  const [version, kind] = [stringAt(converted, 'apiVersion'), stringAt(converted, 'kind')];
  if (version !== to)
    throw new Error(`returned invalid ${place}: invalid groupVersion (expected ${to}, received ${version})`);
  if (kind !== original['kind'])
    throw new Error(
      `returned invalid ${place}: invalid kind (expected ${stringAt(original, 'kind')}, received ${kind})`,
    );
  try {
    checkIdentity(original, converted);
  } catch (reason) {
    throw new Error(`returned invalid ${place.replace(' at index 0', '')}: ${messageOf(reason)}`, {
      cause: reason,
    });
  }
  try {
    return withOriginalMetadata(original, converted);
  } catch (reason) {
    throw new Error(`returned invalid metadata: ${messageOf(reason)}`, { cause: reason });
  }
}

/** ConversionWebhook converts the objects of a CustomResourceDefinition between its versions. Follows apiextensions-apiserver `webhookConverter`. */
export class ConversionWebhook {
  readonly #webhook: JsonObject;
  readonly #deps: ConversionDeps;

  /** @param webhook `spec.conversion.webhook` of the definition */
  constructor(webhook: JsonObject, deps: ConversionDeps) {
    this.#webhook = webhook;
    this.#deps = deps;
  }

  /**
   * Converts objects, which have a kind and a version, in one call.
   *
   * @param to the group and version to convert to
   * @throws {StatusError} 500 that says what failed
   */
  async convert(objects: readonly JsonObject[], to: string): Promise<readonly JsonObject[]> {
    const [first] = objects;
    if (!first) return [];
    const failed = (why: string): StatusError =>
      new StatusError(500, '', `conversion webhook for ${kindOf(first)} ${why}`);
    const converted = await this.#answer(objects, to).catch((reason: unknown) => {
      throw failed(`failed: ${messageOf(reason)}`);
    });
    if (converted.length !== objects.length)
      throw failed(`returned ${converted.length} objects, expected ${objects.length}`);
    return objects.map((original, i) => {
      const place = objects.length === 1 ? 'object at index 0' : `converted object at index ${i}`;
      try {
        return checked(original, converted[i], to, place);
      } catch (reason) {
        throw failed(messageOf(reason));
      }
    });
  }

  async #answer(objects: readonly JsonObject[], to: string): Promise<readonly unknown[]> {
    const versions = listAt(this.#webhook, 'conversionReviewVersions') as readonly string[];
    const version = versions.find((one) => knownVersions.has(one));
    if (version === undefined) throw new Error('no supported conversion review versions');
    const uid = this.#deps.random.uuid();
    const answer = await this.#deps.client.post({
      config: objectAt(this.#webhook, 'clientConfig'),
      body: {
        kind: 'ConversionReview',
        apiVersion: `${apiGroup}/${version}`,
        request: { uid, desiredAPIVersion: to, objects },
      },
      timeoutSeconds,
    });
    return convertedIn(answer, uid, version);
  }
}
