import { keyOf, nameOf, namespaceOf, uidOf } from '../../../kube/names.ts';
import type { Pod } from '../../../kube/types.ts';

interface Sent {
  readonly name?: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly image?: string;
}

/**
 * A list as recorded: sorted by namespace and name. A UID that is a hash cannot be Go's, which covers a dump of Go structures; a well-formed
 * one takes the recorded one's place where that is a hash as well.
 */
export function sent(pods: readonly Pod[], recorded: readonly Sent[] | undefined): Sent[] {
  return pods
    .toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))
    .map((pod, i) => {
      const hash = recorded?.[i]?.uid ?? '';
      const bothHashes = isHash(uidOf(pod)) && isHash(hash);
      return {
        name: nameOf(pod),
        namespace: namespaceOf(pod),
        uid: bothHashes ? hash : uidOf(pod),
        image: pod.spec?.containers[0]?.image ?? '',
      };
    });
}

const isHash = (uid: string): boolean => /^[0-9a-f]{32}$/.test(uid);
