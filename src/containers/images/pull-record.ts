import { ownMember } from '../../base/own.ts';
import { typeMetaOf } from '../../go/go-types.ts';
import { rfc3339 } from '../../kube/time.ts';
import type { Coordinates, PullCredential } from './pull-credentials.ts';

/** A pull secret that pulled an image, with the hash of its content at that time. */
export interface ImagePullSecret extends Coordinates {
  readonly credentialHash: string;
}

/** The credentials that give access to an image. */
export interface ImagePullCredentials {
  readonly kubernetesSecrets?: readonly ImagePullSecret[];
  readonly kubernetesServiceAccounts?: readonly Coordinates[];
  /** True when every pod of the node has access: the pull was anonymous or used the node's credentials. */
  readonly nodePodsAccessible?: boolean;
}

/** Record of an image that the agent pulled. */
export interface ImagePulledRecord {
  /** RFC 3339, in seconds. */
  readonly lastUpdatedTime: string;
  /** The runtime's reference of the image. */
  readonly imageRef: string;
  /** Credentials by image name with registry, without tag and digest. */
  readonly credentialMapping?: Readonly<Record<string, ImagePullCredentials>>;
}

/** Returns the access that a successful pull proves. Follows `trackedToImagePullCreds`. */
export function credentialsOf(used: PullCredential | undefined): ImagePullCredentials {
  const source = used?.source;
  if (!source) return { nodePodsAccessible: true };
  return 'secret' in source
    ? { kubernetesSecrets: [{ ...source.secret, credentialHash: used.hash ?? '' }] }
    : { kubernetesServiceAccounts: [source.serviceAccount] };
}

/**
 * Merges the access proven by another pull into a record; returns the same record when nothing changes.
 * Follows `pulledRecordMergeNewCreds` (pkg/kubelet/images/pullmanager).
 *
 * @param added absent: the image was pulled with unknown credentials
 */
export function withCredentials(
  record: ImagePulledRecord,
  repository: string,
  added: ImagePullCredentials | undefined,
  now: number,
): ImagePulledRecord {
  const existing = ownMember(record.credentialMapping, repository);
  const merged = added && mergedCredentials(existing, added);
  if (!merged || merged === existing) return record;
  return {
    ...record,
    lastUpdatedTime: rfc3339(now),
    credentialMapping: { ...record.credentialMapping, [repository]: merged },
  };
}

function mergedCredentials(
  existing: ImagePullCredentials | undefined,
  added: ImagePullCredentials,
): ImagePullCredentials | undefined {
  const { kubernetesSecrets = [], kubernetesServiceAccounts = [], nodePodsAccessible } = added;
  if (!nodePodsAccessible && kubernetesSecrets.length + kubernetesServiceAccounts.length === 0)
    return existing;
  if (!existing) return added;
  if (existing.nodePodsAccessible) return existing;
  if (nodePodsAccessible) return { nodePodsAccessible: true };
  const [field, more]: [keyof ImagePullCredentials, readonly Coordinates[]] =
    kubernetesSecrets.length > 0
      ? ['kubernetesSecrets', kubernetesSecrets]
      : ['kubernetesServiceAccounts', kubernetesServiceAccounts];
  const list: readonly Coordinates[] = existing[field] ?? [];
  const same = (a: Coordinates, b: Coordinates): boolean =>
    JSON.stringify(orderly(a)) === JSON.stringify(orderly(b));
  if (more.every((one) => list.some((old) => same(old, one)))) return existing;
  const byName = new Map([...list, ...more].map((one) => [nameKey(one), one]));
  return { ...existing, [field]: [...byName.keys()].sort().map((key) => byName.get(key)) };
}

const nameKey = ({ namespace, name, uid }: Coordinates): string => [namespace, name, uid].join('\0');

/** Creates a record of an image. */
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

/** Formats a record as in the kubelet's file. */
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

/** Formats a pull intent as in the kubelet's file. */
export const intentText = (image: string): string => fileText('ImagePullIntent', { image });

const fileText = (kind: string, content: object): string =>
  `${JSON.stringify({ kind, apiVersion: version, ...content })}\n`;

/** Parses a record file of the agent or a kubelet. @throws {Error} when the text is not a record */
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

/** Parses an intent file and returns its image. @throws {Error} when the text is not an intent */
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

/** When pods must prove access to images that are present (`imagePullCredentialsVerificationPolicy`). */
export type VerificationPolicy =
  'NeverVerify' | 'NeverVerifyPreloadedImages' | 'NeverVerifyAllowlistedImages' | 'AlwaysVerify';

/**
 * Decides whether a pod's credentials for an image must be verified. Follows `ImagePullPolicyEnforcer` (pkg/kubelet/images/pullmanager).
 *
 * @param image as named in the container spec
 * @param pulledByAgent true when the agent pulled the image; false when it was preloaded
 */
export type RequiresVerification = (image: string, pulledByAgent: boolean) => boolean;

/**
 * Returns the decision function of a policy. @param allowlist images without tag and digest, or prefixes that end in `/*`; for
 * `NeverVerifyAllowlistedImages` only
 */
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

/** Strips tag and digest from an image name. */
const withoutTag = (image: string): string => image.replace(/@.*$/s, '').replace(/:[^/:]*$/, '');
