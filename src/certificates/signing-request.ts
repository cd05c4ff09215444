import { createHash, createPrivateKey, createPublicKey } from 'node:crypto';
import { type ApiClient, isAlreadyExists } from '../api/client.ts';
import type { Resource } from '../api/resources.ts';
import { readSigningRequest, writeSigningRequest } from '../pki/certificates.ts';
import type { Clock } from '../base/clock.ts';
import { AgentError } from '../base/errors.ts';
import { isAborted } from '../base/abort.ts';
import type { KubeObject } from '../kube/types.ts';
import type { CertificateTemplate } from './certificate.ts';

/** The part of an API client that certificate requests need. */
export type SigningClient = Pick<ApiClient, 'create' | 'get' | 'list' | 'watch'>;

/** Signers of kubelet certificates. */
export type SignerName = 'kubernetes.io/kubelet-serving' | 'kubernetes.io/kube-apiserver-client-kubelet';

/** The part of a CertificateSigningRequest that is used. */
interface SigningRequest extends KubeObject {
  readonly spec?: { readonly request?: string; readonly signerName?: string };
  readonly status?: {
    readonly certificate?: string;
    readonly conditions?: readonly {
      readonly type: string;
      readonly reason?: string;
      readonly message?: string;
    }[];
  };
}

const resource: Resource = {
  group: 'certificates.k8s.io',
  version: 'v1',
  resource: 'certificatesigningrequests',
  kind: 'CertificateSigningRequest',
  namespaced: false,
};

/** Delay before a request is read again after its watch has ended, ms. */
const lookAgainMs = 1000;

/** A certificate to request, and its key. */
export interface CertificateRequest {
  readonly template: CertificateTemplate;
  readonly signerName: SignerName;
  /** PEM. */
  readonly key: string;
}

/** A request that was created at the API server. */
export interface PendingRequest {
  readonly name: string;
  readonly uid: string;
}

/**
 * Requests a certificate. Equal templates with the same key give the same request, so that a restarted agent continues to wait for it.
 *
 * Follows kubelet `bootstrap.requestNodeCertificate` and client-go `csr.RequestCertificate`.
 *
 * @throws {AgentError} `failed_precondition` when a request of that name is for another key
 */
export async function requestCertificate(
  client: SigningClient,
  certificate: CertificateRequest,
  signal: AbortSignal,
): Promise<PendingRequest> {
  const { template, signerName, key } = certificate;
  const name = nameOf(certificate);
  const usage = signerName === 'kubernetes.io/kubelet-serving' ? 'server auth' : 'client auth';
  const request = writeSigningRequest(key, template.subject, template.hosts);
  const object: SigningRequest = {
    apiVersion: 'certificates.k8s.io/v1',
    kind: 'CertificateSigningRequest',
    metadata: { name },
    spec: {
      request: Buffer.from(request).toString('base64'),
      signerName,
      ...{ usages: ['digital signature', usage] },
    },
  };
  try {
    return pendingOf(await client.create(resource, object, { signal }));
  } catch (reason) {
    if (!isAlreadyExists(reason)) throw reason;
    const there = await client.get<SigningRequest>(resource, { name }, { signal });
    if (there.spec?.signerName !== signerName || !isFor(there, key))
      throw new AgentError(
        'failed_precondition',
        `the certificate signing request ${name} is there already and is for another key`,
      );
    return pendingOf(there);
  }
}

const publicKeyOf = (key: string): string =>
  createPublicKey(createPrivateKey(key)).export({ type: 'spki', format: 'der' }).toString('base64');

function isFor({ spec }: SigningRequest, key: string): boolean {
  try {
    const { publicKey } = readSigningRequest(Buffer.from(spec?.request ?? '', 'base64').toString());
    return publicKey.export({ type: 'spki', format: 'der' }).toString('base64') === publicKeyOf(key);
  } catch {
    return false;
  }
}

function nameOf({ template, signerName, key }: CertificateRequest): string {
  const text = JSON.stringify([publicKeyOf(key), template, signerName]);
  return `node-csr-${createHash('sha256').update(text).digest('hex').slice(0, 43)}`;
}

const pendingOf = ({ metadata: { name = '', uid = '' } = {} }: SigningRequest): PendingRequest => ({
  name,
  uid,
});

/**
 * Waits until a request was decided and the certificate is issued.
 *
 * @returns the certificate, PEM
 * @throws {AgentError} `permission_denied` when it was denied, `internal` when the signer failed, `not_found` when it was deleted; the
 *   signal's reason when it aborts
 */
export async function waitForCertificate(
  client: SigningClient,
  pending: PendingRequest,
  clock: Clock,
  signal: AbortSignal,
): Promise<string> {
  for (;;) {
    const outcome = await look(client, pending, signal);
    if (typeof outcome === 'string') return outcome;
    if (outcome) throw outcome;
    await clock.sleep(lookAgainMs, signal);
  }
}

/** Lists the request and watches it; `undefined` when the watch ended without an outcome. */
async function look(
  client: SigningClient,
  pending: PendingRequest,
  signal: AbortSignal,
): Promise<string | AgentError | undefined> {
  const scope = { fieldSelector: `metadata.name=${pending.name}`, signal };
  const { items, metadata } = await client.list<SigningRequest>(resource, scope);
  const outcome = outcomeOf(items[0], pending);
  if (outcome !== undefined) return outcome;
  const { resourceVersion } = metadata ?? {};
  const from = resourceVersion === undefined ? {} : { resourceVersion };
  try {
    for await (const event of client.watch<SigningRequest>(resource, { ...scope, ...from })) {
      if (event.type === 'ERROR' || event.type === 'BOOKMARK') return undefined;
      const now = outcomeOf(event.type === 'DELETED' ? undefined : event.object, pending);
      if (now !== undefined) return now;
    }
  } catch (reason) {
    if (isAborted(signal)) throw reason;
  }
  return undefined;
}

/** Returns the outcome of a request: the certificate, an error, or `undefined` while it is pending (client-go `csr.WaitForCertificate`). */
function outcomeOf(
  request: SigningRequest | undefined,
  { name, uid }: PendingRequest,
): string | AgentError | undefined {
  if (request?.metadata?.uid !== uid)
    return new AgentError('not_found', `the certificate signing request ${name} was deleted`);
  const { conditions = [], certificate = '' } = request.status ?? {};
  const of = (type: string) => conditions.find((one) => one.type === type);
  const why = ({ reason = '', message = '' }): string => `reason: ${reason}, message: ${message}`;
  const [denied, failed] = [of('Denied'), of('Failed')];
  if (denied)
    return new AgentError(
      'permission_denied',
      `the certificate signing request ${name} is denied, ${why(denied)}`,
    );
  if (failed)
    return new AgentError('internal', `the certificate signing request ${name} failed, ${why(failed)}`);
  if (!of('Approved') || certificate === '') return undefined;
  return Buffer.from(certificate, 'base64').toString();
}
