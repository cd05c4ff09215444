import {
  isObject,
  type JsonObject,
  listAt,
  objectAt,
  stringAt,
  valueAt,
} from '../../../apimachinery/json.ts';
import { groupVersionOf, type Kind } from '../../../apimachinery/kinds.ts';
import { goQuote } from '../../../go/go-quote.ts';
import type { User } from '../../authentication/users.ts';
import type { Attributes } from '../plugin.ts';
import { namespaceIn, type Invocation } from './matching.ts';

/** The object and the stored object of a request, in the version of a webhook. */
export interface ReviewedObjects {
  readonly object?: JsonObject;
  readonly oldObject?: JsonObject;
}

/** The answer of a webhook, checked. */
export interface Verdict {
  readonly allowed: boolean;
  /** `status` of the answer. */
  readonly result?: JsonObject;
  /** Steps of a JSON patch, as text. */
  readonly patch: string;
  readonly patchType: string;
  readonly warnings: readonly string[];
  readonly auditAnnotations: Readonly<Record<string, string>>;
}

const knownVersions: ReadonlySet<string> = new Set(['v1', 'v1beta1']);

/** Returns the first version of AdmissionReview that a webhook and this server know. @throws {Error} when there is none */
export function reviewVersionOf(versions: readonly string[]): string {
  const found = versions.find((version) => knownVersions.has(version));
  if (found === undefined)
    throw new Error('webhook does not accept known AdmissionReview versions (v1, v1beta1)');
  return found;
}

/** The group, version and kind of the objects of a (sub)resource. */
export function objectKindOf(kind: Kind, subresource: string): JsonObject & { readonly kind: string } {
  const part = kind.subresources.find(({ name }) => name === subresource);
  return {
    group: part?.group ?? kind.group,
    version: part?.version ?? kind.version,
    kind: part?.kind ?? kind.kind,
  };
}

const resourceOf = ({ group, version, resource }: Kind): JsonObject => ({ group, version, resource });

const userInfo = ({ name, uid, groups, extra }: User): JsonObject => ({
  username: name,
  ...(uid !== undefined && uid !== '' && { uid }),
  ...(groups.length > 0 && { groups }),
  ...(extra && Object.keys(extra).length > 0 && { extra }),
});

/** Returns an object with the kind and version of a (sub)resource in front. */
export function typedAs(object: JsonObject | undefined, kind: Kind, subresource: string): JsonObject | null {
  if (!object) return null;
  const { group, version, kind: name } = objectKindOf(kind, subresource) as Readonly<Record<string, string>>;
  return {
    kind: name,
    apiVersion: groupVersionOf({ group: group ?? '', version: version ?? '' }),
    ...object,
  };
}

/** Options of the request for a review; a connection has none, its options are the object. */
function optionsOf({ operation, options }: Attributes): JsonObject | null {
  if (operation === 'CONNECT') return null;
  const usual = { CREATE: 'CreateOptions', UPDATE: 'UpdateOptions', DELETE: 'DeleteOptions' }[operation];
  return { kind: usual, apiVersion: 'meta.k8s.io/v1', ...options };
}

/** Returns the request of an AdmissionReview without the objects, as webhooks and policies see it in a kind. */
export function requestOf(attributes: Attributes, kind: Kind): JsonObject {
  const { subresource, operation, context } = attributes;
  const name = attributes.ofCollection ? '' : attributes.name;
  const namespace = namespaceIn(attributes);
  return {
    kind: objectKindOf(kind, subresource),
    resource: resourceOf(kind),
    ...(subresource !== '' && { subResource: subresource }),
    requestKind: objectKindOf(attributes.kind, subresource),
    requestResource: resourceOf(attributes.kind),
    ...(subresource !== '' && { requestSubResource: subresource }),
    ...(name !== '' && { name }),
    ...(namespace !== '' && { namespace }),
    operation,
    userInfo: userInfo(context.user),
    dryRun: context.dryRun,
    options: optionsOf(attributes),
  };
}

/** Returns the AdmissionReview that a webhook is sent. Follows apiserver `CreateV1AdmissionReview`. */
export function reviewOf(
  attributes: Attributes,
  { webhook, kind }: Invocation,
  sent: ReviewedObjects & { readonly uid: string },
): JsonObject {
  const { subresource } = attributes;
  return {
    kind: 'AdmissionReview',
    apiVersion: `admission.k8s.io/${reviewVersionOf(webhook.reviewVersions)}`,
    request: {
      uid: sent.uid,
      ...requestOf(attributes, kind),
      object: typedAs(sent.object, kind, subresource),
      oldObject: typedAs(sent.oldObject, kind, subresource),
    },
  };
}

/** Returns how Go prints the group, version and kind of an object. */
const shownKind = (object: JsonObject): string => {
  const apiVersion = stringAt(object, 'apiVersion');
  const cut = apiVersion.indexOf('/');
  const [group, version] = cut < 0 ? ['', apiVersion] : [apiVersion.slice(0, cut), apiVersion.slice(cut + 1)];
  return `${group}/${version}, Kind=${stringAt(object, 'kind')}`;
};

/** @throws {Error} where patch and patch type do not fit each other, or the type of webhook */
function checkPatch(patch: string, patchType: unknown, mutating: boolean): void {
  if (!mutating) {
    if (patch !== '') throw new Error('validating webhook may not return response.patch');
    if (patchType !== undefined) throw new Error('validating webhook may not return response.patchType');
    return;
  }
  if (patch !== '' && patchType === undefined)
    throw new Error('webhook returned response.patch but not response.patchType');
  if (patch === '' && patchType !== undefined)
    throw new Error('webhook returned response.patchType but not response.patch');
  if (patchType === '') throw new Error('webhook returned invalid response.patchType of ""');
}

/**
 * Checks an answered review and returns its verdict. Follows apiserver `VerifyAdmissionResponse`.
 *
 * @param version the version of the review that was sent: v1beta1 is checked less
 * @throws {Error} for an answer that does not fit the request
 */
export function verdictOf(
  review: JsonObject,
  { uid, version, mutating }: { readonly uid: string; readonly version: string; readonly mutating: boolean },
): Verdict {
  const { response } = review;
  if (!isObject(response)) throw new Error('webhook response was absent');
  const patch = Buffer.from(stringAt(response, 'patch'), 'base64').toString();
  const patchType = response['patchType'] ?? undefined;
  if (version === 'v1') {
    if (stringAt(response, 'uid') !== uid)
      throw new Error(`expected response.uid=${goQuote(uid)}, got ${goQuote(stringAt(response, 'uid'))}`);
    const expected = 'admission.k8s.io/v1, Kind=AdmissionReview';
    if (shownKind(review) !== expected)
      throw new Error(`expected webhook response of ${expected}, got ${shownKind(review)}`);
    checkPatch(patch, patchType, mutating);
  }
  const result = valueAt(response, 'status');
  return {
    allowed: response['allowed'] === true,
    ...(isObject(result) && { result }),
    patch: mutating ? patch : '',
    patchType: version === 'v1' ? stringAt(response, 'patchType') : 'JSONPatch',
    warnings: listAt(response, 'warnings').map(String),
    auditAnnotations: objectAt(response, 'auditAnnotations') as Readonly<Record<string, string>>,
  };
}
