import { isIP } from 'node:net';
import { tableOf } from '../../base/own.ts';
import { hour, type SigningRequest, year } from '../../pki/certificates.ts';
import { type ControllerDeps, follow } from './controllers.ts';
import { requestOf } from '../registry/certificates/csr.ts';
import {
  type JsonObject,
  listAt,
  nameOf,
  objectAt,
  objectsAt,
  stringAt,
  textOf,
  valueAt,
} from '../../apimachinery/json.ts';
import type { Store } from '../storage/store.ts';
import { seconds } from '../../apimachinery/times.ts';

/** Validity of issued certificates. */
export interface SigningTimes {
  /** Maximum validity, ms (kube-controller-manager `--cluster-signing-duration`). */
  readonly lifetimeMs: number;
  /** How far a validity starts in the past, for clients whose clock is behind, ms. */
  readonly backdateMs: number;
}

const signingTimes: SigningTimes = { lifetimeMs: year, backdateMs: hour / 12 };
/** Minimum validity that a request can ask for, ms. */
const shortestWishMs = hour / 6;
/** A validity below this is not shortened by the backdating, ms. */
const shortLifeMs = 8 * hour;

const serving = 'kubernetes.io/kubelet-serving';
const kubeletClient = 'kubernetes.io/kube-apiserver-client-kubelet';
const apiClient = 'kubernetes.io/kube-apiserver-client';
const signers: Readonly<Record<string, readonly ('client auth' | 'server auth')[]>> = tableOf({
  [apiClient]: ['client auth'],
  [kubeletClient]: ['client auth'],
  [serving]: ['server auth'],
});
const storage = 'certificates.k8s.io/certificatesigningrequests';

/**
 * Approves certificates that nodes request for themselves, and signs approved requests. A serving certificate is approved once all its
 * names and addresses are among the addresses of the Node; an earlier request waits for them.
 *
 * Follows kube-controller-manager's csrapproving and csrsigning controllers; serving certificates are approved too, which in a cluster an
 * approver of the operator's choice does.
 */
export function signRequests(deps: ControllerDeps, times: Partial<SigningTimes> = {}): () => void {
  const { store } = deps.world;
  const look = (name: string): void => {
    const entry = store.get(storage, name);
    const next = entry && step(entry.object, deps, { ...signingTimes, ...times });
    if (next) store.put(storage, next);
  };
  const stopRequests = follow(store, storage, (csr) => {
    look(nameOf(csr));
  });
  const stopNodes = follow(store, 'nodes', (node) => {
    const user = `system:node:${nameOf(node)}`;
    const own = [...store.list(storage)].filter(({ object }) => isWaiting(object, user));
    for (const { key } of own) look(key);
  });
  return () => {
    stopRequests();
    stopNodes();
  };
}

/** Reports whether a node's request for a serving certificate is neither approved nor denied. */
const isWaiting = (csr: JsonObject, user: string): boolean =>
  valueAt(csr, 'spec', 'signerName') === serving &&
  valueAt(csr, 'spec', 'username') === user &&
  objectsAt(objectAt(csr, 'status'), 'conditions').length === 0;

/** Returns the next state of a request; undefined: unchanged. */
function step(csr: JsonObject, deps: ControllerDeps, times: SigningTimes): JsonObject | undefined {
  const status = objectAt(csr, 'status');
  const spec = objectAt(csr, 'spec');
  const signer = stringAt(spec, 'signerName');
  const usages = signers[signer];
  if (!usages || status['certificate'] !== undefined) return undefined;
  const types = objectsAt(status, 'conditions').map((condition) => condition['type']);
  if (types.includes('Denied') || types.includes('Failed')) return undefined;
  const request = requestOf(csr);
  if (!request) return undefined;
  const now = deps.clock.now();
  if (!types.includes('Approved')) {
    const message = approval(spec, request, deps.world.store);
    return message === undefined ? undefined : withCondition(csr, now, 'Approved', ['AutoApproved', message]);
  }
  const fault = faultOf(signer, request, listAt(spec, 'usages').map(textOf));
  if (fault !== undefined) return withCondition(csr, now, 'Failed', ['SignerValidationFailure', fault]);
  return issue(csr, request, { deps, usages, times });
}

/** Returns why a request is approved automatically; undefined: it is not. */
function approval(spec: JsonObject, request: SigningRequest, store: Store): string | undefined {
  const signer = stringAt(spec, 'signerName');
  if (signer !== serving && signer !== kubeletClient) return undefined;
  if (faultOf(signer, request, listAt(spec, 'usages').map(textOf)) !== undefined) return undefined;
  const isSelf = stringAt(spec, 'username') === request.subject.commonName;
  if (signer === serving)
    return isSelf && isOfNode(request, store) ? 'The node asked for its own serving certificate.' : undefined;
  if (isSelf) return 'Auto approving self kubelet client certificate after SubjectAccessReview.';
  const groups = listAt(spec, 'groups');
  return groups.includes('system:bootstrappers') || groups.includes('system:masters')
    ? 'Auto approving kubelet client certificate after SubjectAccessReview.'
    : undefined;
}

const nameTypes = new Set<unknown>(['Hostname', 'InternalDNS', 'ExternalDNS']);
const addressTypes = new Set<unknown>(['InternalIP', 'ExternalIP', 'Hostname']);

/** Reports whether every name and address of a request is one of its node's own, and none is the API server's. */
function isOfNode({ subject, dnsNames, ips }: SigningRequest, store: Store): boolean {
  const node = store.get('nodes', subject.commonName.replace(/^system:node:/, ''))?.object;
  if (!node) return false;
  const of = (types: ReadonlySet<unknown>): string[] =>
    objectsAt(objectAt(node, 'status'), 'addresses').flatMap(({ type, address }) =>
      types.has(type) && typeof address === 'string' ? [address.toLowerCase()] : [],
    );
  const names = new Set([...of(nameTypes), nameOf(node)]);
  const addresses = new Set(of(addressTypes).map(canonicalIp));
  return (
    dnsNames.every((name) => names.has(name.toLowerCase()) && !isOfServer(name)) &&
    ips.every((ip) => addresses.has(canonicalIp(ip)))
  );
}

/** Returns an address in canonical form; other texts unchanged. */
function canonicalIp(text: string): string {
  return text.includes(':') && isIP(text) === 6 ? new URL(`http://[${text}]`).hostname.slice(1, -1) : text;
}

const isOfServer = (name: string): boolean =>
  /^kubernetes(\.default(\.svc(\..*)?)?)?\.?$/i.test(name) || /^localhost\.?$/i.test(name);

/** Returns why a signer rejects a request (`ValidateKubeletServingCSR`, `ValidateKubeletClientCSR`, `validAPIServerClientUsages`). */
function faultOf(signer: string, request: SigningRequest, usages: readonly string[]): string | undefined {
  if (signer === apiClient) return clientUsageFault(usages);
  if (signer !== serving && signer !== kubeletClient) return undefined;
  const faults = signer === serving ? servingFaults(request, usages) : clientFaults(request, usages);
  return faults.find(([is]) => is)?.[1];
}

type Faults = readonly (readonly [is: boolean, why: string])[];

const isNodes = ({ subject }: SigningRequest): boolean =>
  subject.organizations?.length === 1 && subject.organizations[0] === 'system:nodes';
const isNodeName = ({ subject }: SigningRequest): boolean => subject.commonName.startsWith('system:node:');
const [notNodes, notNode] = [
  'subject organization is not system:nodes',
  'subject common name does not begin with system:node:',
];
const noEmails = 'Email subjectAltNames are not allowed';
const noUris = 'URI subjectAltNames are not allowed';

const servingFaults = (request: SigningRequest, usages: readonly string[]): Faults => [
  [!isNodes(request), notNodes],
  [request.dnsNames.length + request.ips.length === 0, 'DNS or IP subjectAltName is required'],
  [request.emails.length > 0, noEmails],
  [request.uris.length > 0, noUris],
  [
    !areUsages(usages, 'server auth'),
    'usages did not match [digital signature key encipherment server auth]',
  ],
  [!isNodeName(request), notNode],
];

const clientFaults = (request: SigningRequest, usages: readonly string[]): Faults => [
  [!isNodes(request), notNodes],
  [request.dnsNames.length > 0, 'DNS subjectAltNames are not allowed'],
  [request.emails.length > 0, noEmails],
  [request.ips.length > 0, 'IP subjectAltNames are not allowed'],
  [request.uris.length > 0, noUris],
  [!isNodeName(request), notNode],
  [
    !areUsages(usages, 'client auth'),
    'usages did not match [client auth digital signature key encipherment]',
  ],
];

/** Reports whether a request has the usages of a kubelet's certificate, with or without the one that RSA keys need. */
function areUsages(usages: readonly string[], auth: string): boolean {
  const requested = new Set(usages);
  const needed = requested.has(auth) && requested.has('digital signature');
  return needed && requested.size === (requested.has('key encipherment') ? 3 : 2);
}

function clientUsageFault(usages: readonly string[]): string | undefined {
  const allowed = ['digital signature', 'key encipherment', 'client auth'];
  const odd = usages.find((usage) => !allowed.includes(usage));
  if (odd !== undefined) return `invalid usage for client certificate: ${odd}`;
  return usages.includes('client auth')
    ? undefined
    : 'missing required usage for client certificate: client auth';
}

function withCondition(
  csr: JsonObject,
  now: number,
  type: string,
  [reason, message]: readonly [string, string],
): JsonObject {
  const at = seconds(now);
  const condition = { type, status: 'True', reason, message, lastUpdateTime: at, lastTransitionTime: at };
  const status = objectAt(csr, 'status');
  return { ...csr, status: { ...status, conditions: [...objectsAt(status, 'conditions'), condition] } };
}

function issue(
  csr: JsonObject,
  { subject, publicKey, dnsNames, ips }: SigningRequest,
  {
    deps,
    usages,
    times,
  }: {
    readonly deps: ControllerDeps;
    readonly usages: readonly ('client auth' | 'server auth')[];
    readonly times: SigningTimes;
  },
): JsonObject {
  const now = deps.clock.now();
  const { lifetimeMs, backdateMs } = times;
  const wish = valueAt(csr, 'spec', 'expirationSeconds');
  const requestedMs = typeof wish === 'number' ? Math.max(wish * 1000, shortestWishMs) : lifetimeMs;
  const life = Math.min(requestedMs, lifetimeMs);
  const certificate = deps.authority.sign({
    subject,
    publicKey,
    notBefore: now - backdateMs,
    notAfter: now + life - (life < shortLifeMs ? 0 : backdateMs),
    usages,
    hosts: [...dnsNames, ...ips],
  });
  return {
    ...csr,
    status: { ...objectAt(csr, 'status'), certificate: Buffer.from(certificate).toString('base64') },
  };
}
