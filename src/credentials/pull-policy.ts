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
