import { tableOf } from '../../base/own.ts';
import { nodeOf } from '../authorization/node-authorizer.ts';
import { type JsonObject, listAt, objectAt, objectsAt, stringAt, valueAt } from '../../apimachinery/json.ts';
import {
  conflict,
  fault,
  type FieldFault,
  forbidden,
  invalid,
  notFound,
  badRequest,
} from '../../apimachinery/status-error.ts';
import { type Entry, keyOf } from '../storage/store.ts';
import type { WriteContext } from '../request/write-context.ts';
import { seconds } from '../../apimachinery/times.ts';
import type { TokenSigner } from '../authentication/token-signer.ts';

const least = 600;
const most = 2 ** 32;
export const defaultLifetime = 3600;
const yearSeconds = 365 * 24 * 3600;
/** The lifetime that kubelets request: such a token is valid for a year, with a warning after the requested time. */
const kubeletLifetime = 3607;

interface Bound {
  readonly kind: 'pod' | 'secret' | 'node';
  readonly entry: Entry | undefined;
}

const kinds: Readonly<Record<string, readonly [string, Bound['kind']]>> = tableOf({
  Pod: ['pods', 'pod'],
  Secret: ['secrets', 'secret'],
  Node: ['nodes', 'node'],
});

function faultsOf(spec: JsonObject): FieldFault[] {
  const lifetime = Number(spec['expirationSeconds'] ?? defaultLifetime);
  if (lifetime < least)
    return [
      fault.invalid('spec.expirationSeconds', lifetime, 'may not specify a duration less than 10 minutes'),
    ];
  return lifetime > most
    ? [
        fault.invalid(
          'spec.expirationSeconds',
          lifetime,
          'may not specify a duration larger than 2^32 seconds',
        ),
      ]
    : [];
}

/** Issues a token for a service account (TokenRequest; A15, A16). @throws {StatusError} */
export function issueToken(
  account: { readonly namespace: string; readonly name: string },
  request: JsonObject,
  context: WriteContext,
  signer: TokenSigner,
): JsonObject {
  const { world, now } = context;
  checkNames(account, objectAt(request, 'metadata'));
  const entry = world.store.get('serviceaccounts', keyOf(account.namespace, account.name));
  if (!entry) throw notFound({ kind: 'serviceaccounts', name: account.name });
  checkAccountUid(account.name, objectAt(request, 'metadata'), entry);
  const spec = objectAt(request, 'spec');
  const faults = faultsOf(spec);
  if (faults.length > 0) throw invalid('TokenRequest', 'authentication.k8s.io', '', faults);
  const lifetime = Number(spec['expirationSeconds'] ?? defaultLifetime);
  const requested = listAt(spec, 'audiences') as readonly string[];
  const audiences = requested.length > 0 ? requested : [signer.issuer];
  const ref = objectAt(spec, 'boundObjectRef');
  if (nodeOf(context.user) !== undefined && !namesPod(ref))
    throw forbidden(
      { kind: 'serviceaccounts', name: account.name },
      'node requested token not bound to a pod',
    );
  const bound =
    spec['boundObjectRef'] === undefined ? undefined : boundOf(account.namespace, account.name, ref, context);
  checkNode(account, spec, bound, context);
  const at = Math.floor(now / 1000);
  const extended = lifetime === kubeletLifetime && audiences.includes(signer.issuer);
  const token = signer.sign({
    aud: audiences,
    exp: at + (extended ? yearSeconds : lifetime),
    iat: at,
    iss: signer.issuer,
    jti: world.random.uuid(),
    'kubernetes.io': claims(account, entry, bound, {
      context,
      ...(extended && { warnAfter: at + lifetime }),
    }),
    nbf: at,
    sub: `system:serviceaccount:${account.namespace}:${account.name}`,
  });
  return {
    spec: { audiences, expirationSeconds: lifetime, boundObjectRef: spec['boundObjectRef'] ?? null },
    status: { token, expirationTimestamp: seconds((at + lifetime) * 1000) },
  };
}

/** Checks that a request's metadata matches its service account. @throws {StatusError} 422 */
function checkNames(
  account: { readonly namespace: string; readonly name: string },
  metadata: JsonObject,
): void {
  for (const key of ['name', 'namespace'] as const) {
    const own = stringAt(metadata, key);
    if (own !== '' && own !== account[key])
      throw invalid('TokenRequest', 'authentication.k8s.io', account.name, [
        fault.invalid(`metadata.${key}`, own, `must match the service account ${key} if specified`),
      ]);
  }
}

/** @throws {StatusError} 409 */
function checkAccountUid(name: string, metadata: JsonObject, account: Entry): void {
  const [uid, found] = [stringAt(metadata, 'uid'), stringAt(objectAt(account.object, 'metadata'), 'uid')];
  if (uid !== '' && uid !== found)
    throw conflict(
      { kind: 'TokenRequest', group: 'authentication.k8s.io', name },
      `the UID in the token request (${uid}) does not match the UID of the service account (${found})`,
    );
}

interface RefTo {
  readonly account: string;
  readonly kind: string;
  readonly name: string;
  readonly ofNode: boolean;
}

/** @throws {StatusError} when the reference is to an earlier object of the same name */
function checkUid(ref: JsonObject, entry: Entry, { account, kind, name, ofNode }: RefTo): void {
  const [uid, found] = [stringAt(ref, 'uid'), stringAt(objectAt(entry.object, 'metadata'), 'uid')];
  if (uid === '' || uid === found) return;
  const why = `the UID in the bound object reference (${uid}) does not match the UID in record. The object might have been deleted and then recreated`;
  throw ofNode ? forbidden({ kind: 'serviceaccounts', name: account }, why) : conflict({ kind, name }, why);
}

function boundOf(namespace: string, account: string, ref: JsonObject, context: WriteContext): Bound {
  const kind = stringAt(ref, 'kind');
  const bindable = kinds[kind];
  const apiVersion = stringAt(ref, 'apiVersion');
  const isCore = !apiVersion.includes('/');
  if (!bindable || !isCore)
    throw badRequest(`cannot bind token to object of type ${isCore ? '/' : ''}${apiVersion}, Kind=${kind}`);
  const [storage, claim] = bindable;
  const name = stringAt(ref, 'name');
  const ofNode = nodeOf(context.user) !== undefined; // its admission runs first, with other messages
  const entry = context.world.store.get(storage, claim === 'node' ? name : keyOf(namespace, name));
  if (!entry) throw notFound({ kind: ofNode ? claim : storage, name });
  if (claim === 'pod' && valueAt(entry.object, 'spec', 'serviceAccountName') !== account)
    throw badRequest(
      `cannot bind token for serviceaccount "${account}" to pod running with different serviceaccount name.`,
    );
  checkUid(ref, entry, { account, kind, name, ofNode });
  return { kind: claim, entry };
}

const namesPod = (ref: JsonObject): boolean =>
  ref['apiVersion'] === 'v1' && ref['kind'] === 'Pod' && stringAt(ref, 'name') !== '';

/** Allows a node to request only tokens of its own pods, for audiences that they use. */
function checkNode(
  account: { readonly name: string },
  spec: JsonObject,
  bound: Bound | undefined,
  context: WriteContext,
): void {
  const node = nodeOf(context.user);
  if (node === undefined) return;
  const refuse = (why: string): Error => forbidden({ kind: 'serviceaccounts', name: account.name }, why);
  const who = JSON.stringify(node);
  if (stringAt(objectAt(spec, 'boundObjectRef'), 'uid') === '')
    throw refuse('node requested token with a pod binding without a uid');
  const pod = bound?.entry?.object;
  if (valueAt(pod, 'spec', 'nodeName') !== node)
    throw refuse(`node requested token bound to a pod scheduled on a different node`);
  for (const audience of listAt(spec, 'audiences') as readonly string[])
    if (audience !== '' && !podAudiences(pod ?? {}).includes(audience))
      throw refuse(
        `audience ${JSON.stringify(audience)} not found in pod spec volume, ${who.replace(/"/g, '"')} is not authorized to request tokens for this audience`.replace(
          `${who} is not`,
          `${context.user.name} is not`,
        ),
      );
}

const podAudiences = (pod: JsonObject): readonly string[] =>
  objectsAt(objectAt(pod, 'spec'), 'volumes').flatMap((volume) =>
    objectsAt(objectAt(volume, 'projected'), 'sources').map((source) =>
      stringAt(objectAt(source, 'serviceAccountToken'), 'audience'),
    ),
  );

const refOf = (entry: Entry): JsonObject => ({
  name: valueAt(entry.object, 'metadata', 'name'),
  uid: valueAt(entry.object, 'metadata', 'uid'),
});

function claims(
  account: { readonly namespace: string },
  entry: Entry,
  bound: Bound | undefined,
  at: { readonly context: WriteContext; readonly warnAfter?: number },
): JsonObject {
  const pod = bound?.kind === 'pod' ? bound.entry?.object : undefined;
  const nodeName = stringAt(objectAt(pod, 'spec'), 'nodeName');
  const node = nodeName ? at.context.world.store.get('nodes', nodeName) : undefined;
  return {
    namespace: account.namespace,
    ...(nodeName && { node: node ? refOf(node) : { name: nodeName } }),
    ...(bound?.entry && { [bound.kind]: refOf(bound.entry) }),
    serviceaccount: refOf(entry),
    ...(at.warnAfter !== undefined && { warnafter: at.warnAfter }),
  };
}
