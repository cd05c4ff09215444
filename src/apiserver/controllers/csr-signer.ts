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
  valueAt,
} from '../../apimachinery/json.ts';
import { seconds } from '../../apimachinery/times.ts';

/** How certificates are issued. */
export interface SigningTimes {
  /** The longest life, ms (kube-controller-manager `--cluster-signing-duration`). */
  readonly lifetimeMs: number;
  /** How far in the past a life begins, for those whose clock is behind, ms. */
  readonly backdateMs: number;
}

const signingTimes: SigningTimes = { lifetimeMs: year, backdateMs: hour / 12 };
/** No life is shorter because the one who asks wishes it, ms. */
const shortestWishMs = hour / 6;
/** A life below this is not cut short by what it began in the past, ms. */
const shortLifeMs = 8 * hour;

const serving = 'kubernetes.io/kubelet-serving';
const kubeletClient = 'kubernetes.io/kube-apiserver-client-kubelet';
const signers: Readonly<Record<string, readonly ('client auth' | 'server auth')[]>> = tableOf({
  'kubernetes.io/kube-apiserver-client': ['client auth'],
  [kubeletClient]: ['client auth'],
  [serving]: ['server auth'],
});
const storage = 'certificates.k8s.io/certificatesigningrequests';

/**
 * Approves what nodes ask for themselves, and issues certificates for requests that were approved.
 *
 * Follows kube-controller-manager's csrapproving and csrsigning controllers; serving certificates are approved too, which in a cluster somebody else does.
 */
export function signRequests(deps: ControllerDeps, times: Partial<SigningTimes> = {}): () => void {
  const { store } = deps.world;
  return follow(store, storage, (csr) => {
    const entry = store.get(storage, nameOf(csr));
    const next = entry && step(entry.object, deps, { ...signingTimes, ...times });
    if (next) store.put(storage, next);
  });
}

/** What a request becomes next; nothing: it stands. */
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
    const message = approval(spec, request);
    return message === undefined ? undefined : withCondition(csr, now, 'Approved', ['AutoApproved', message]);
  }
  const fault = faultOf(signer, request, listAt(spec, 'usages') as readonly string[]);
  if (fault !== undefined) return withCondition(csr, now, 'Failed', ['SignerValidationFailure', fault]);
  return issue(csr, request, { deps, usages, times });
}

/** Why a request is approved without asking anybody; nothing: it is not. */
function approval(spec: JsonObject, request: SigningRequest): string | undefined {
  const signer = stringAt(spec, 'signerName');
  if (signer !== serving && signer !== kubeletClient) return undefined;
  if (faultOf(signer, request, listAt(spec, 'usages') as readonly string[]) !== undefined) return undefined;
  const groups = listAt(spec, 'groups') as readonly string[];
  if (stringAt(spec, 'username') === request.subject.commonName)
    return signer === serving
      ? 'The node asked for its own serving certificate.'
      : 'Auto approving self kubelet client certificate after SubjectAccessReview.';
  const mayBootstrap = groups.includes('system:bootstrappers') || groups.includes('system:masters');
  return mayBootstrap && signer === kubeletClient
    ? 'Auto approving kubelet client certificate after SubjectAccessReview.'
    : undefined;
}

/** What a kubelet's signer has against a request (`certificates.ValidateKubeletServingCSR`, `ValidateKubeletClientCSR`). */
function faultOf(signer: string, request: SigningRequest, wanted: readonly string[]): string | undefined {
  if (signer !== serving && signer !== kubeletClient) return undefined;
  const { subject, dnsNames, ips, emails, uris } = request;
  const isServing = signer === serving;
  const auth = isServing ? 'server auth' : 'client auth';
  const allowed = new Set(['digital signature', 'key encipherment', auth]);
  const faults: readonly (readonly [boolean, string])[] = [
    [subject.organizations?.join() !== 'system:nodes', 'subject organization is not system:nodes'],
    [isServing && dnsNames.length + ips.length === 0, 'DNS or IP subjectAltName is required'],
    [!isServing && dnsNames.length > 0, 'DNS subjectAltNames are not allowed'],
    [emails.length > 0, 'Email subjectAltNames are not allowed'],
    [!isServing && ips.length > 0, 'IP subjectAltNames are not allowed'],
    [uris.length > 0, 'URI subjectAltNames are not allowed'],
    [!subject.commonName.startsWith('system:node:'), 'subject common name does not begin with system:node: '],
    [
      !wanted.every((one) => allowed.has(one)) ||
        !wanted.includes(auth) ||
        !wanted.includes('digital signature'),
      `usages did not match ${isServing ? '[digital signature key encipherment server auth]' : '[client auth digital signature key encipherment]'}`,
    ],
  ];
  return faults.find(([is]) => is)?.[1];
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
  const asked = typeof wish === 'number' ? Math.max(wish * 1000, shortestWishMs) : lifetimeMs;
  const life = Math.min(asked, lifetimeMs);
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
