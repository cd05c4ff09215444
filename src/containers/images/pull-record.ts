import { ownMember } from '../../base/own.ts';
import { typeMetaOf } from '../../go/go-types.ts';
import { rfc3339 } from '../../kube/time.ts';
import type { Coordinates, PullCredential } from './pull-credentials.ts';

/** A pull secret that pulled an image, with the hash of what it then held. */
export interface ImagePullSecret extends Coordinates {
  readonly credentialHash: string;
}

/** Who may use an image by what it was pulled with. */
export interface ImagePullCredentials {
  readonly kubernetesSecrets?: readonly ImagePullSecret[];
  readonly kubernetesServiceAccounts?: readonly Coordinates[];
  /** Every pod of the node: the pull took no credentials, or the node's. */
  readonly nodePodsAccessible?: boolean;
}

/** An image that the agent pulled. */
export interface ImagePulledRecord {
  /** RFC 3339, whole seconds. */
  readonly lastUpdatedTime: string;
  /** The image as the runtime names it. */
  readonly imageRef: string;
  /** By the image's name with its registry, without tag and digest. */
  readonly credentialMapping?: Readonly<Record<string, ImagePullCredentials>>;
}

/** What a successful pull says of who may use the image. Follows `trackedToImagePullCreds`. */
export function credentialsOf(used: PullCredential | undefined): ImagePullCredentials {
  const source = used?.source;
  if (!source) return { nodePodsAccessible: true };
  return 'secret' in source
    ? { kubernetesSecrets: [{ ...source.secret, credentialHash: used.hash ?? '' }] }
    : { kubernetesServiceAccounts: [source.serviceAccount] };
}

/**
 * A record with what one more pull has shown; the same record when that is nothing new.
 * Follows `pulledRecordMergeNewCreds` (pkg/kubelet/images/pullmanager).
 *
 * @param added absent: the image was pulled nobody knows how
 */
export function withCredentials(
  record: ImagePulledRecord,
  repository: string,
  added: ImagePullCredentials | undefined,
  now: number,
): ImagePulledRecord {
  const known = ownMember(record.credentialMapping, repository);
  const merged = added && mergedCredentials(known, added);
  if (!merged || merged === known) return record;
  return {
    ...record,
    lastUpdatedTime: rfc3339(now),
    credentialMapping: { ...record.credentialMapping, [repository]: merged },
  };
}

function mergedCredentials(
  known: ImagePullCredentials | undefined,
  added: ImagePullCredentials,
): ImagePullCredentials | undefined {
  const { kubernetesSecrets = [], kubernetesServiceAccounts = [], nodePodsAccessible } = added;
  if (!nodePodsAccessible && kubernetesSecrets.length + kubernetesServiceAccounts.length === 0) return known;
  if (!known) return added;
  if (known.nodePodsAccessible) return known;
  if (nodePodsAccessible) return { nodePodsAccessible: true };
  const [field, more]: [keyof ImagePullCredentials, readonly Coordinates[]] =
    kubernetesSecrets.length > 0
      ? ['kubernetesSecrets', kubernetesSecrets]
      : ['kubernetesServiceAccounts', kubernetesServiceAccounts];
  const list: readonly Coordinates[] = known[field] ?? [];
  const same = (a: Coordinates, b: Coordinates): boolean =>
    JSON.stringify(orderly(a)) === JSON.stringify(orderly(b));
  if (more.every((one) => list.some((old) => same(old, one)))) return known;
  const byName = new Map([...list, ...more].map((one) => [nameKey(one), one]));
  return { ...known, [field]: [...byName.keys()].sort().map((key) => byName.get(key)) };
}

const nameKey = ({ namespace, name, uid }: Coordinates): string => [namespace, name, uid].join('\0');

/** A new record of an image. */
export const newRecord = (
  imageRef: string,
  repository: string,
  credentials: ImagePullCredentials | undefined,
  now: number,
): ImagePulledRecord => ({
  lastUpdatedTime: rfc3339(now),
  imageRef,
  ...(credentials && { credentialMapping: { [repository]: credentials } }),
});

const version = 'kubelet.config.k8s.io/v1beta1';
const readable: readonly string[] = [version, 'kubelet.config.k8s.io/v1alpha1'];

/** As the kubelet writes it to its file. */
export const pulledRecordText = ({
  lastUpdatedTime,
  imageRef,
  credentialMapping = {},
}: ImagePulledRecord): string =>
  fileText('ImagePulledRecord', {
    lastUpdatedTime,
    imageRef,
    ...(Object.keys(credentialMapping).length > 0 && {
      credentialMapping: Object.fromEntries(
        Object.entries(credentialMapping)
          .sort(([a], [b]) => (a < b ? -1 : 1))
          .map(([repository, credentials]) => [repository, credentialsText(credentials)]),
      ),
    }),
  });

const credentialsText = ({
  kubernetesSecrets = [],
  kubernetesServiceAccounts = [],
  nodePodsAccessible,
}: ImagePullCredentials): object => ({
  ...(kubernetesSecrets.length > 0 && { kubernetesSecrets: kubernetesSecrets.map(orderly) }),
  ...(kubernetesServiceAccounts.length > 0 && {
    kubernetesServiceAccounts: kubernetesServiceAccounts.map(orderly),
  }),
  ...(nodePodsAccessible && { nodePodsAccessible }),
});

const orderly = ({ uid, namespace, name, ...rest }: Coordinates): Coordinates => ({
  uid,
  namespace,
  name,
  ...rest,
});

/** A pull that has begun, as the kubelet writes it to its file. */
export const intentText = (image: string): string => fileText('ImagePullIntent', { image });

const fileText = (kind: string, content: object): string =>
  `${JSON.stringify({ kind, apiVersion: version, ...content })}\n`;

/** @throws {Error} the text is no record, ours or the kubelet's */
export function readPulledRecord(text: string): ImagePulledRecord {
  const { imageRef, lastUpdatedTime, credentialMapping } = contentOf(text, 'ImagePulledRecord');
  if (typeof imageRef !== 'string') throw new Error('imageRef is missing');
  return {
    imageRef,
    lastUpdatedTime: typeof lastUpdatedTime === 'string' ? lastUpdatedTime : '',
    ...(typeof credentialMapping === 'object' && {
      credentialMapping: (credentialMapping ?? {}) as Record<string, ImagePullCredentials>,
    }),
  };
}

/** The image of a pull that had begun. @throws {Error} the text is no such record */
export function readIntent(text: string): string {
  const { image } = contentOf(text, 'ImagePullIntent');
  if (typeof image !== 'string') throw new Error('image is missing');
  return image;
}

function contentOf(text: string, kind: string): Readonly<Record<string, unknown>> {
  const value = JSON.parse(text) as Readonly<Record<string, unknown>>;
  const meta = typeMetaOf(value, text);
  if (typeof meta === 'string') throw new Error(meta);
  if (meta.kind !== kind || !readable.includes(meta.apiVersion))
    throw new Error(`no ${kind} but ${meta.kind} of ${meta.apiVersion}`);
  return value;
}

/** When a pod must show its credentials for an image that is already there (`imagePullCredentialsVerificationPolicy`). */
export type VerificationPolicy =
  'NeverVerify' | 'NeverVerifyPreloadedImages' | 'NeverVerifyAllowlistedImages' | 'AlwaysVerify';

/**
 * Must the pod's credentials for an image be verified? Follows `ImagePullPolicyEnforcer` (pkg/kubelet/images/pullmanager).
 *
 * @param image as the container names it
 * @param pulledByAgent the agent pulled it once; else it was put there by others
 */
export type RequiresVerification = (image: string, pulledByAgent: boolean) => boolean;

/** @param allowlist images without tag and digest, or prefixes that end in `/*`; for `NeverVerifyAllowlistedImages` alone */
export function requiresVerification(
  policy: VerificationPolicy,
  allowlist: readonly string[] = [],
): RequiresVerification {
  switch (policy) {
    case 'NeverVerify':
      return () => false;
    case 'NeverVerifyPreloadedImages':
      return (_image, pulledByAgent) => pulledByAgent;
    case 'AlwaysVerify':
      return () => true;
    case 'NeverVerifyAllowlistedImages':
      return (image) => !allowlist.some((pattern) => isListed(withoutTag(image), pattern));
  }
}

const isListed = (image: string, pattern: string): boolean =>
  pattern.endsWith('/*') ? image.startsWith(pattern.slice(0, -1)) : image === pattern;

/** The name as it was written, without tag and digest. */
const withoutTag = (image: string): string => image.replace(/@.*$/s, '').replace(/:[^/:]*$/, '');
